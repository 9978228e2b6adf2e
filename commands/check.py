"""The blueprint's command lines: judge a stack file, show its plan, print the schema. No engine, no Pulumi.

Exit codes: 0 sound, 1 refused (every problem on standard error, a line each), 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from blueprint.plan.planner import Plan, plan
from blueprint.problems import InvalidStackError
from blueprint.stackfile.loader import load_file
from blueprint.stackfile.settings import Settings


def main(arguments: Sequence[str]) -> int:
    """`python -m commands.check --check FILE … | --schema`."""
    parser = argparse.ArgumentParser(prog="python -m commands.check", description="Judge stack files.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", nargs="+", type=Path, metavar="FILE", help="judge stack files and what they plan")
    what.add_argument("--schema", action="store_true", help="print the JSON Schema of a stack file")
    chosen = parser.parse_args(arguments)
    if chosen.schema:
        sys.stdout.write(schema())
        return 0
    verdicts = [_planned(path) for path in chosen.check]
    for path, result in zip(chosen.check, verdicts, strict=True):
        if result:
            print(f"{path}: sound: {summary(result)}")
    return 0 if all(verdicts) else 1


def show_plan(arguments: Sequence[str]) -> int:
    """`plan --stack-file FILE [--json] [--out FILE]`: the plan as a table, or as plan.json."""
    parser = argparse.ArgumentParser(prog="plan", description="Show a stack's plan.")
    parser.add_argument("--stack-file", type=Path, required=True)
    parser.add_argument("--json", action="store_true", help="print plan.json instead of a table")
    parser.add_argument("--out", type=Path, help="write plan.json here as well")
    chosen = parser.parse_args(arguments)
    result = _planned(chosen.stack_file)
    if result is None:
        return 1
    if chosen.out:
        result.write(chosen.out)
    sys.stdout.write(result.to_json() if chosen.json else table(result))
    return 0


def summary(result: Plan) -> str:
    """One line: size, profile, nodes by pool."""
    pools = Counter(node.pool for node in result.nodes)
    nodes = ", ".join(f"{pool} {count}" for pool, count in pools.items())
    return f"architecture {result.architecture.name}, {result.settings.profile}; nodes: {nodes}"


def table(result: Plan) -> str:
    """The plan for a reader: pools with their nodes, then every row with its witness."""
    lines = [summary(result), "", "pool  nodes"]
    width = max(len(node.pool) for node in result.nodes)
    for pool in dict.fromkeys(node.pool for node in result.nodes):
        names = [node.name if node.name == node.server else f"{node.name}@{node.server}" for node in result.pool(pool)]
        lines.append(f"{pool:{width}}  {_shortened(names)}")
    lines += ["", f"{'row':24} {'instances':>9} {'dedicated':>9}  runs on, for example"]
    for service in result.services:
        if service.replaced_by:
            lines.append(f"{service.row:24} {'-':>9} {'-':>9}  retired: {service.replaced_by}")
            continue
        names = [a.node for a in result.assignment if a.service == service.name]
        dedicated = service.dedicated_nodes or "-"
        lines.append(f"{service.row:24} {service.instances:>9} {dedicated:>9}  {_shortened(names)}")
    if result.warnings:
        lines += ["", *(f"warning: {warning}" for warning in result.warnings)]
    return "\n".join(lines) + "\n"


def schema() -> str:
    """The JSON Schema of a stack file, for editors: every key below `config:` that begins with `quorate:`."""
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


def _planned(path: Path) -> Plan | None:
    try:
        return plan(load_file(path))
    except InvalidStackError as refused:
        for problem in refused.problems:
            print(f"{path}: {problem}", file=sys.stderr)
        return None


def _shortened(names: Sequence[str], most: int = 9) -> str:
    if len(names) <= most:
        return " ".join(names) or "-"
    return f"{' '.join(names[: most - 2])} … {names[-1]} ({len(names)})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
