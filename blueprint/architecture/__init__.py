"""The reference architectures: YAML files, their data model, and checks of architecture files."""
