"""Generates the JSON Schema of stack files, for editors and other programs that check stack files."""

from __future__ import annotations

import json

from blueprint.stackfile.settings import Settings


def schema() -> str:
    """Returns the JSON Schema of a stack file: every key below `config:` that begins with `quorate:`."""
    settings = Settings.model_json_schema(by_alias=True)
    definitions = settings.pop("$defs")
    secret = {
        "type": "object",
        "properties": {"secure": {"type": "string"}},
        "required": ["secure"],
        "additionalProperties": False,
        "description": "root of all passwords; written by 'pulumi config set --secret quorate:rootSecret'",
    }
    keys = {f"quorate:{key}": value for key, value in settings["properties"].items()} | {"quorate:rootSecret": secret}
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Quorate stack file",
        "type": "object",
        "required": ["config"],
        "properties": {
            "config": {
                "type": "object",
                "required": [f"quorate:{key}" for key in settings["required"]],
                "properties": keys,
                "propertyNames": {"anyOf": [{"enum": list(keys)}, {"not": {"pattern": "^quorate:"}}]},
            }
        },
        "$defs": definitions,
    }
    return json.dumps(document, indent=2) + "\n"
