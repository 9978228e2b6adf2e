"""What a change of the program or of a stack would do: bases, differences and audit reports."""
