"""The proof: schedules a rendered stack on a real API server and scheduler, and fails its servers one at a time."""
