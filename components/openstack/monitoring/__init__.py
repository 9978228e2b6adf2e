"""What Prometheus reads and which alerts it raises, derived from the plan."""
