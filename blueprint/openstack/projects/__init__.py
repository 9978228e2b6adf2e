"""Facts of each OpenStack project that several packages need, one file a project; every list of them is derived.

`<name>.yaml` is the record of the project of this name (record.py describes its form). To add a project, write its
record here and its Python file in openstack/projects/.
"""
