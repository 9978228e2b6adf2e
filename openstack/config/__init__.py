"""Configuration files of OpenStack processes: values in layers that override each other, and file formats."""
