"""Describes the JSON output of every command as Markdown, from the JSON schemas in docs/reference/schemas/."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

_INTRODUCTION = """\
# JSON output

What each command prints with `--json`, generated from the JSON schemas in `docs/reference/schemas/`. A test validates
the output of every command against its schema, and a change of a key is a decision that the changelog names. `[]`
stands for each item of a list, and `*` for any key. A key that the table does not call optional is always there. An
*estimate* is an object with `value`, its 95 % confidence interval from `low` to `high`, and `count`, the number of
cases.
"""


def json_page(schemas: Path) -> str:
    lines = [_INTRODUCTION]
    for path in sorted(schemas.glob("*.json")):
        schema = json.loads(path.read_text("utf-8"))
        command, _, note = schema["title"].partition(", ")
        lines += [f"## {command.removesuffix(' --json')}", ""]
        lines += [f"[{path.name}](schemas/{path.name}){f': {note}' if note else ''}", ""]
        rows = [
            f"| `{place}` | {kind} | {text} |"
            for place, kind, text in _rows(schema, schema, "", frozenset())
            if place and (text or kind != "object")
        ]
        lines += ["| key | type | meaning |", "|---|---|---|", *rows, ""]
    return "\n".join(lines).rstrip() + "\n"


def _rows(schema: Schema, root: Schema, place: str, seen: frozenset[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the place, type and meaning of a value and of the values in it. A definition in itself is not repeated."""
    text = schema.get("description", "")
    nullable = "anyOf" in schema or "null" in schema.get("type", [])
    if "anyOf" in schema:
        schema = schema["anyOf"][0]
    if name := _name(schema):
        if name in seen:
            yield place, "as above", text
            return
        seen |= {name}
        schema = root["$defs"][name]
        text = text or schema.get("description", "")
    kind = name if name == "estimate" else _type(schema)
    yield place, kind + (" or null" if nullable else ""), text
    if name == "estimate":
        return
    for key, value in schema.get("properties", {}).items():
        for inner, kind, meaning in _rows(value, root, f"{place}.{key}".lstrip("."), seen):
            optional = inner == f"{place}.{key}".lstrip(".") and key not in schema["required"]
            yield inner, kind, f"{meaning} (optional)" if optional else meaning
    if isinstance(values := schema.get("additionalProperties"), dict):
        yield from _rows(values, root, f"{place}.*", seen)
    if (items := schema.get("items")) and _has_keys(items):
        yield from _rows(items, root, f"{place}[]", seen)


def _has_keys(schema: Schema) -> bool:
    return "properties" in schema or _name(schema) not in ("", "estimate")


def _name(schema: Schema) -> str:
    """Return the name of the definition that a schema refers to, if it does."""
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _type(schema: Schema) -> str:
    if name := _name(schema):
        return name
    kind = schema.get("type", "any")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "array" and "items" in schema and (item := _type(schema["items"])) not in ("any", "object"):
        return f"array of {item}"
    return str(kind)
