"""What cannot be data of Quorate's own OpenStack projects, a module each: jobs, and the content of configuration files.

project_modules.py says which functions a module may have.
"""
