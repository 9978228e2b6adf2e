"""OpenStack's own configuration options, as data."""
