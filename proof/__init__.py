"""The proof: schedules a rendered stack with a real API server and scheduler on simulated nodes, and fails servers."""
