"""Reads and validates stack files (Pulumi.<stack>.yaml), and writes their JSON Schema."""
