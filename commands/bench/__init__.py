"""Measures planning, previews, updates and proofs."""
