"""How to build what the plan says: one component for each thing that a user would name."""
