"""Configuration of processes: layers of values, file formats, and Kolla's contract."""
