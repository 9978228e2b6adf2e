"""The policy pack: it judges resources, whoever wrote them, and never reads the plan."""
