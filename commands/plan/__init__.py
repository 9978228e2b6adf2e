"""Commands that read a stack and its plan without the engine."""
