"""The records of the OpenStack projects, one file a project. Every list of their facts is derived.

`<name>.yaml` is the record of the project of this name; project_record.py and process_definition.py define its form. To
add a project, write its record here and a Python file of the same name in openstack/projects/.
"""
