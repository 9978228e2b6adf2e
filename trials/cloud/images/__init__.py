"""Images with Kolla's contract, for a lab that reaches no container registry.

Recipes (recipes.yaml) name packages of Debian and PyPI. The start scripts are those of PyPI's `kolla`, unchanged.
`python -m trials.cloud.images` builds images; `trials.cloud.images.prepare.prepare` is what a lab calls.
"""
