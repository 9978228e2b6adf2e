"""Generates the JSON Schema of the records of projects, for editors and other programs that check records."""

from __future__ import annotations

import json

from blueprint.openstack.projects.project_record import ProjectRecord


def record_schema() -> str:
    """Returns the JSON Schema of a record."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **ProjectRecord.model_json_schema(),
        "title": "Quorate project record",
    }
    return json.dumps(document, indent=2) + "\n"
