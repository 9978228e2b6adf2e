"""Formats that blueprint, components and policy read alike: image references, quantities, waivers, SSH options."""
