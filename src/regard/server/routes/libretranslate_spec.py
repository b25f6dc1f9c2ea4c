"""The description of LibreTranslate's interface at `/spec`, in the format of Swagger 2.

Clients recognise a LibreTranslate server by the title.
"""

from typing import Any

from regard import __version__

_LANGUAGE = "code of a language, such as `en`"
_KEY = ("api_key", "string", "key, if the server asks for one", False)

# By path: method, summary, and for each field its name, type, description, and whether it is required.
_ROUTES: dict[str, tuple[str, str, list[tuple[str, str, str, bool]]]] = {
    "/translate": (
        "post",
        "Translate a text, or a list of texts",
        [
            ("q", "string", "text; in JSON also a list of texts", True),
            ("source", "string", f"{_LANGUAGE}, or `auto`", True),
            ("target", "string", _LANGUAGE, True),
            ("format", "string", "`text` or `html`", False),
            ("alternatives", "integer", "number of other translations", False),
            _KEY,
        ],
    ),
    "/detect": ("post", "Detect the language of a text", [("q", "string", "text", True), _KEY]),
    "/languages": ("get", "List the languages", []),
    "/translate_file": (
        "post",
        "Translate a file",
        [
            ("file", "file", "file to translate", True),
            ("source", "string", f"{_LANGUAGE}, or `auto`", True),
            ("target", "string", _LANGUAGE, True),
            _KEY,
        ],
    ),
    "/frontend/settings": ("get", "Settings of the server", []),
    "/health": ("get", "Whether the server is ready", []),
}


def _operation(summary: str, fields: list[tuple[str, str, str, bool]]) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "formData", "type": kind, "description": text, "required": required}
        for name, kind, text, required in fields
    ]
    codes = {"200": "success", "400": "wrong request", "403": "wrong key", "429": "too many requests"}
    responses = {code: {"description": text} for code, text in codes.items()}
    return {"summary": summary, "tags": ["translate"], "parameters": parameters, "responses": responses}


SPEC: dict[str, Any] = {
    "swagger": "2.0",
    "info": {
        "title": "LibreTranslate",
        "version": __version__,
        "description": "The interface of LibreTranslate, served by Regard.",
    },
    "paths": {path: {method: _operation(summary, fields)} for path, (method, summary, fields) in _ROUTES.items()},
}
