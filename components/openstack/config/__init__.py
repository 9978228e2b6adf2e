"""Configuration of processes: layers of values, and file formats."""
