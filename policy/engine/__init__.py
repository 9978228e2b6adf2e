"""How the policy pack answers the engine."""
