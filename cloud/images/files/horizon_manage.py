#!/var/lib/kolla/venv/bin/python
"""Django's command line with Horizon's settings, as in Horizon's source distribution; its wheel does not have it."""

import os
import sys

from django.core import management  # pyright: ignore[reportMissingImports, reportMissingModuleSource]

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openstack_dashboard.settings")
management.execute_from_command_line(sys.argv)
