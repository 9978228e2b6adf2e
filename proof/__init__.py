"""The proof of a stack: real Kubernetes programs schedule the rendered stack on simulated nodes, and servers fail."""
