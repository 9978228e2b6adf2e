"""Files and their texts: reading YAML, writing a file in one step."""
