"""The reference architectures: data, model and checks."""
