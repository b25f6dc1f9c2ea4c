"""Reads the fields of a request to the compatible APIs, wherever the client has put them.

Clients of LibreTranslate and DeepL send the same fields in the query string, in a form, as JSON, or in several of these
places. One reader merges them: JSON wins over the form, and the form over the query string. Names that the API does not
know are ignored, and `null` and `""` count as absent. The fields are read only once for each request.
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from python_multipart.multipart import parse_options_header
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from regard.errors import UserError

_SCOPE_KEY = "regard.inputs"

_MAX_FIELDS = 10_000  # repeated `text=` fields of the DeepL API; limits of the APIs apply to the texts later

_MAX_FILES = 10
_MAX_PART_BYTES = 1 << 24  # of a field of a multipart form that is not a file

_CHARSETS = ("utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin-1", "latin1")

_KEY_FIELDS = ("api_key", "apiKey", "auth_key", "token", "key")

_AUTHORIZATION = re.compile(r"(?:DeepL-Auth-Key|Bearer)\s+(\S+)", re.IGNORECASE)

_TRUE = ("1", "true", "yes", "on")


class InputError(UserError):
    """A request that cannot be read, or a field with a wrong value."""


@dataclass(frozen=True)
class UploadedFile:
    """A file in a form."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Inputs:
    """The fields of a request, without those that are empty."""

    values: Mapping[str, Any]  # of the JSON object
    fields: Mapping[str, list[str]]  # of the form and the query string
    files: Mapping[str, UploadedFile] = field(default_factory=dict)

    def get(self, name: str) -> Any:
        """Return a field, which may be any JSON value, or None if it is absent. A repeated one is its first value."""
        return self.values[name] if name in self.values else next(filter(None, self.fields.get(name, ())), None)

    def get_all(self, name: str) -> Any:
        """Return a field as `get` does, but all values of a repeated field of a form as a list."""
        return self.values[name] if name in self.values else self.fields.get(name)

    def get_text(self, name: str) -> str | None:
        """Return a field that must be a text, or None if it is absent."""
        value: str | None = self.get(name)
        if value is not None:
            check_text(name, value)
        return value

    def get_flag(self, name: str) -> bool:
        """Return a field that is true or false; forms write 1 or 0."""
        value = self.get(name)
        return value is True or (isinstance(value, str | int) and str(value).lower() in _TRUE)

    def get_names(self, name: str) -> list[str]:
        """Return a field that is a list of names, or a text with commas between them."""
        value = self.get_all(name)
        texts = value if isinstance(value, list) else [] if value is None else [value]
        for text in texts:
            check_text(name, text)
        return [one.strip() for text in texts for one in text.split(",") if one.strip()]


def check_text(name: str, value: Any) -> None:
    """Raise an error if a value of JSON is not a text, or has half of a surrogate pair, which is no character."""
    if not isinstance(value, str):
        raise InputError(f"{name} must be a text, not {_json_type(value)}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InputError(f"{name} has a lone surrogate, which is not a character") from None


def _json_type(value: Any) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), "null")


async def read_inputs(request: Request) -> Inputs:
    """Return the fields of a request."""
    if _SCOPE_KEY not in request.scope:
        request.scope[_SCOPE_KEY] = await _read(request)
    found: Inputs = request.scope[_SCOPE_KEY]
    return found


async def _read(request: Request) -> Inputs:
    query = _pairs(request.scope["query_string"])
    content_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if content_type == "multipart/form-data" and request.method != "GET":
        texts, files = await _read_multipart(request)
        return Inputs({}, _merge(query, texts), files)
    body = await request.body()
    if content_type == "application/x-www-form-urlencoded":
        return Inputs({}, _merge(query, _pairs(body)))
    is_json = content_type == "application/json" or content_type.endswith("+json")
    values = _parse_json(body) if is_json and body and request.method != "GET" else {}
    return Inputs({name: value for name, value in values.items() if value is not None and value != ""}, _merge(query))


async def _read_multipart(request: Request) -> tuple[list[tuple[str, str]], dict[str, UploadedFile]]:
    _, options = parse_options_header(request.headers["content-type"])
    charset = options.get(b"charset", b"utf-8").decode("latin-1").lower()
    if charset not in _CHARSETS:  # some decoders of Python take quadratic time
        raise InputError(f"Invalid form: the charset {charset[:40]!r} is not supported; send UTF-8")
    parser = _FormParser(
        request.headers, request.stream(), max_files=_MAX_FILES, max_fields=_MAX_FIELDS, max_part_size=_MAX_PART_BYTES
    )
    texts, files = [], {}
    try:
        form = await parser.parse()
        for name, value in form.multi_items():
            if isinstance(value, str):
                texts.append((name, value))
            else:
                files[name] = UploadedFile(value.filename or "", await value.read())
        await form.close()
    except MultiPartException as error:
        raise InputError(f"Invalid form: {error.message}") from None
    return texts, files


class _FormParser(MultiPartParser):
    # Files stay in memory: the server writes no texts to disk, and the whole body has a limit.
    spool_max_size = sys.maxsize


def _pairs(encoded: bytes) -> list[tuple[str, str]]:
    text = encoded.decode("utf-8", "replace")
    try:
        return parse_qsl(text, keep_blank_values=True, errors="replace", max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise InputError(f"Invalid request: more than {_MAX_FIELDS:,} fields") from None


def _merge(query: Iterable[tuple[str, str]], form: Iterable[tuple[str, str]] = ()) -> dict[str, list[str]]:
    """Return the values of each field; those of the form replace those of the query string."""
    merged: dict[str, list[str]] = {}
    for pairs in (query, form):
        found: dict[str, list[str]] = {}
        for name, value in pairs:
            found.setdefault(name, []).append(value)
        # In a repeated field, an empty text has its place: as many texts are returned as were sent.
        merged |= {name: values for name, values in found.items() if any(values) or len(values) > 1}
    return merged


def _parse_json(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InputError("Invalid JSON format")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def find_key(headers: Mapping[str, str], inputs: Inputs) -> str | None:
    """Return the key of a client, from the first of the places where clients send it, or None."""
    if found := _AUTHORIZATION.fullmatch(headers.get("authorization", "").strip()):
        return found[1]
    found_in = [*map(inputs.get, _KEY_FIELDS[:3]), headers.get("key"), *map(inputs.get, _KEY_FIELDS[3:])]
    return next((key for key in found_in if isinstance(key, str) and key), None)
