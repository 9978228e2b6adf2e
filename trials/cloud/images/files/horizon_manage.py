#!/var/lib/kolla/venv/bin/python
"""Django's command line with Horizon's settings, as in Horizon's source distribution; its wheel does not have it."""

import os
import sys
from importlib import import_module

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openstack_dashboard.settings")
import_module("django.core.management").execute_from_command_line(sys.argv)
