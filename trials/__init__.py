"""Real programs, run and broken: single services in containers, and the whole cloud on one machine."""
