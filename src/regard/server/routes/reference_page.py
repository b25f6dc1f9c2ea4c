"""The documentation of our interface as one HTML page without scripts, made from its OpenAPI schema."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from html import escape
from typing import Any

from regard.render.html_page import page, table

Schema = Mapping[str, Any]

_LIMITS = (("minimum", "≥"), ("maximum", "≤"), ("maxLength", "of length ≤"), ("maxItems", "of length ≤"))


def reference_page(openapi: Schema) -> str:
    """Return the page for an OpenAPI schema."""
    schemas = openapi["components"]["schemas"]
    body = [f'<p>{escape(openapi["info"]["description"])} The schema: <a href="openapi.json">openapi.json</a>.</p>']
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            body += _operation(path, method, operation, schemas)
    body.append("<h2>Objects</h2>")
    for name, schema in schemas.items():
        body += [f'<h3 id="{escape(name)}">{escape(name)}</h3>', *_fields(schema, f"fields of {name}")]
    return page(openapi["info"]["title"], "\n".join(body), kind="API")


def style_policy(html: str) -> str:
    """Return the content security policy of a page, which allows its own style sheet and nothing else."""
    style = html.partition("<style>")[2].partition("</style>")[0]
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; frame-ancestors 'none'"


def _operation(path: str, method: str, operation: Schema, schemas: Mapping[str, Schema]) -> Iterator[str]:
    yield f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(operation['description'])}</p>"
    if body := operation.get("requestBody"):
        schema = _content(body)
        request = schemas[_name(schema)]
        yield f"<h3>Request: {_link(schema)}</h3>"
        yield from _fields(request, f"fields of {path}")
        yield f"<pre>{escape(_curl(path, request))}</pre>"
    answers = [
        (status, response["description"], _plain(_content(response)))
        for status, response in sorted(operation["responses"].items())
    ]
    yield "<h3>Answers</h3>" + table(("status", "meaning", "object"), answers, f"answers of {path}")


def _curl(path: str, schema: Schema) -> str:
    """Return a command that calls a route with the example of each required field."""
    values = {name: _example(schema["properties"][name]) for name in schema.get("required", ())}
    address = f"http://127.0.0.1:5000{path}"
    return f"curl {address} \\\n  -H 'Content-Type: application/json' \\\n  -d '{json.dumps(values)}'"


def _example(schema: Schema) -> Any:
    return schema["examples"][0] if "examples" in schema else 0


def _fields(schema: Schema, name: str) -> Iterator[str]:
    """Yield the description of an object and the table of its fields."""
    if text := schema.get("description"):
        yield f"<p>{escape(text)}</p>"
    rows = [
        (name, _plain(field), _default(name, field, schema), field.get("description", ""))
        for name, field in schema.get("properties", {}).items()
    ]
    yield table(("field", "type", "default", "meaning"), rows, name)


def _default(name: str, field: Schema, schema: Schema) -> str:
    return (
        "required" if name in schema.get("required", ()) else json.dumps(field["default"]) if "default" in field else ""
    )


def _plain(schema: Schema) -> str:
    """Return the type of a value in words."""
    if "$ref" in schema:
        return _name(schema)
    if "anyOf" in schema:
        return " or ".join(_plain(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(map(json.dumps, schema["enum"]))
    if "prefixItems" in schema:
        return f"[{', '.join(_plain(each) for each in schema['prefixItems'])}]"
    if schema.get("type") == "array":
        return " ".join(["list", *_limits(schema), "of", _plain(schema["items"])])
    return " ".join([schema.get("type", "object"), *_limits(schema)])


def _limits(schema: Schema) -> list[str]:
    return [f"{sign} {schema[name]:,g}" for name, sign in _LIMITS if name in schema]


def _content(body: Schema) -> Schema:
    schema: Schema = next(iter(body["content"].values())).get("schema", {})
    return schema


def _name(schema: Schema) -> str:
    return str(schema["$ref"]).rsplit("/", 1)[-1]


def _link(schema: Schema) -> str:
    name = escape(_name(schema))
    return f'<a href="#{name}">{name}</a>'
