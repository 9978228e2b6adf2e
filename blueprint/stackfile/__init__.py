"""The stack file: its models, its reader, its errors and its JSON Schema."""
