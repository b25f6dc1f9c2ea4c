"""Describes every route and field of /v1 as Markdown, from the OpenAPI schema in docs/reference/v1-openapi.json."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

_INTRODUCTION = """\
# HTTP, interface /v1

Every route and field, generated from [v1-openapi.json](v1-openapi.json). A running server offers the same schema, with
its own limits, at `/v1/openapi.json`, and this list at `/v1/docs`. A test compares the two, and another one sends
requests generated from the schema and validates the answers. [HTTP](http-api.md) has examples.
"""
_LIMITS = (("minimum", "≥"), ("maximum", "≤"), ("maxLength", "of length ≤"), ("maxItems", "of length ≤"))


def v1_page(schema_file: Path) -> str:
    openapi = json.loads(schema_file.read_text("utf-8"))
    lines = [_INTRODUCTION]
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            lines += _operation(f"{method.upper()} {path}", operation)
    for name, schema in openapi["components"]["schemas"].items():
        lines += [f"## {name}", "", *_fields(schema), ""]
    return "\n".join(lines).rstrip() + "\n"


def _operation(title: str, operation: Schema) -> Iterator[str]:
    yield from (f"## {title}", "", operation["description"], "")
    if body := operation.get("requestBody"):
        yield from (f"The request is a {_type(_content(body))}.", "")
    yield from ("| status | meaning | answer |", "|---|---|---|")
    for status, response in sorted(operation["responses"].items()):
        yield f"| {status} | {response['description']} | {_type(_content(response))} |"
    yield ""


def _content(message: Schema) -> Schema:
    [media] = message.get("content", {"": {}}).values()
    schema: Schema = media.get("schema", {})
    return schema


def _fields(schema: Schema) -> Iterator[str]:
    required = schema.get("required", ())
    yield from ("| field | type | meaning |", "|---|---|---|")
    for name, field in schema.get("properties", {}).items():
        notes = ["required"] if name in required else []
        if "default" in field:
            notes.append(f"default: `{json.dumps(field['default'], ensure_ascii=False)}`")
        notes += [f"{sign} {field[limit]}" for limit, sign in _LIMITS if limit in field]
        meaning = " ".join([field.get("description", ""), f"({', '.join(notes)})" if notes else ""]).strip()
        yield f"| `{name}` | {_type(field)} | {meaning.replace('|', chr(92) + '|')} |"


def _type(schema: Schema) -> str:
    """Return the type of a value; the name of an object is a link to its fields."""
    if name := schema.get("$ref", "").rpartition("/")[2]:
        return f"[{name}](#{name.lower()})"
    if choices := schema.get("anyOf"):
        return " or ".join(map(_type, choices))
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(one)}`" for one in schema["enum"])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))
