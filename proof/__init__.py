"""The proof: a real API server and the real scheduler place a rendered stack, and lose its servers one by one."""
