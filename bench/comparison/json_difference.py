"""Finds the first difference between two JSON values.

Keys and values must be equal, with three exceptions: floats may differ by a millionth of their value, sentences for
people may have another wording if they contain the same numbers, and durations only have to be numbers.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from comparison.dialects import ADDED_KEYS, PROSE_KEYS, TIMING_KEYS, Dialect

TOLERANCE = 1e-6
SHOWN_CHARACTERS = 120


def json_values(text: str) -> list[Any]:
    """Parse a text of one or more JSON values, one after another."""
    decoder, values, position, text = json.JSONDecoder(), [], 0, text.strip()
    while position < len(text):
        value, position = decoder.raw_decode(text, position)
        values.append(value)
        while text[position : position + 1].isspace():
            position += 1
    return values


def renamed(value: Any, dialect: Dialect, parent: str = "") -> Any:
    """Return a JSON value of a dialect with all names replaced by the new ones.

    `parent` is the key, by its name in the dialect, under which the value is found.
    """
    if isinstance(value, dict):
        found = {_new_key(dialect.keys, parent, key): renamed(inner, dialect, key) for key, inner in value.items()}
        if len(found) < len(value):
            raise ValueError(f"the renaming table gives two of these keys one name: {', '.join(value)}")
        return found
    if isinstance(value, list):
        return [renamed(inner, dialect, parent) for inner in value]
    return dialect.values.get(parent, {}).get(value, value) if isinstance(value, str) else value


def _new_key(keys: Mapping[str, str], parent: str, key: str) -> str:
    return keys.get(f"{parent}.{key}", keys.get(key, key))


def first_difference(old: Any, new: Any, path: str = "", key: str = "") -> str | None:
    """Describe the first difference between two values, or return None if they are equal. Both have the new names.

    `path` is the path from the outermost value to these two, and `key` is the last key of it.
    """
    if key in TIMING_KEYS and all(type(value) in (int, float) for value in (old, new)):
        return None
    if isinstance(old, dict) and isinstance(new, dict):
        return _in_objects(old, new, path)
    if isinstance(old, list) and isinstance(new, list):
        return _in_lists(old, new, path, key)
    return None if _equal(old, new, key) else f"{path or 'value'}: {shown(old)} became {shown(new)}"


def _in_objects(old: dict[str, Any], new: dict[str, Any], path: str) -> str | None:
    missing, added = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys() - {*ADDED_KEYS})
    if missing or added:
        lists = [f"{name} {', '.join(keys[:5])}" for name, keys in (("lost", missing), ("gained", added)) if keys]
        return f"{path or 'value'}: keys {' and '.join(lists)}"
    found = (first_difference(old[key], new[key], f"{path}.{key}".lstrip("."), key) for key in old)
    return next((one for one in found if one is not None), None)


def _in_lists(old: list[Any], new: list[Any], path: str, key: str) -> str | None:
    if len(old) != len(new):
        return f"{path or 'value'}: {len(old)} entries became {len(new)}"
    found = (
        first_difference(*values, f"{path}[{index}]", key) for index, values in enumerate(zip(old, new, strict=True))
    )
    return next((one for one in found if one is not None), None)


def _equal(old: Any, new: Any, key: str) -> bool:
    if type(old) is not type(new):
        return False
    if isinstance(old, float):
        both_nan = math.isnan(old) and math.isnan(new)
        return both_nan or math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=1e-12)
    if isinstance(old, str) and key in PROSE_KEYS:
        return _numbers(old) == _numbers(new)
    return bool(old == new)


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d+(?:[.,]\d+)*", text)


def shown(value: Any) -> str:
    """Return a value as JSON, shortened if it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"
