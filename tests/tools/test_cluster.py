"""How the control plane's programs are named, pinned and kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tools.fakes import executable
from tools import cluster
from tools.go_build import Go
from tools.progress import Reporter, Trouble
