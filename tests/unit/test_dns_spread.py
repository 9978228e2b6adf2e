"""CoreDNS, which kubeadm starts on the first master, is spread over the servers of the masters."""

from __future__ import annotations

from typing import Any

from blueprint.plan.planner import Plan, plan
from blueprint.stackfile.loader import load_file
from components.k8s_master import dns
from components.machine import Parts
from tests.rendered import LARGE
from tests.stacks import STACKS
