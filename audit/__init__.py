"""The audit: what the rules said, out of the engine's own events of a real preview, as documents."""
