"""Properties of the readers. `make e2e` tries a thousand examples of each, `make test` ten."""
