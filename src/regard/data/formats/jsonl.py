"""Pairs from JSON Lines: `{"source": "…", "target": "…"}` on each line. Other keys are ignored."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from regard.data.formats.lines import Lines
from regard.data.formats.records import InvalidRecord, Record, parse_pair

_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def read_jsonl(file: Lines) -> Iterator[Record]:
    """Yield one record per line."""
    for number, line in enumerate(file.with_invalid(), start=1):
        yield line if isinstance(line, InvalidRecord) else _record(file, number, line)


def _record(file: Lines, number: int, line: str) -> Record:
    where = f"{file.path}:{number}"
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        problem = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply, or a number too long"
        return InvalidRecord(
            file.path,
            number,
            "not JSON",
            f'{where}: this is not JSON ({problem}); write one object per line: {{"source": "…", "target": "…"}}',
        )
    match value:
        case {"source": str(source), "target": str(target)}:
            return parse_pair(file.path, number, source, target)
    return InvalidRecord(
        file.path,
        number,
        "no source and target",
        f'{where}: expected an object with two texts, {{"source": "…", "target": "…"}}, {_problem(value)}',
    )


def _problem(value: Any) -> str:
    """Return what was found instead of two texts, and how to fix it."""
    if not isinstance(value, dict):
        return f"found {_KINDS[type(value)]}; give every line both keys"
    for key in ("source", "target"):
        if key in value and not isinstance(value[key], str):
            fix = "write a text"
            if "alignment" in value:
                fix = "these are the annotations of regard synthetic: use the TSV file of the same name"
            return f'but the value of "{key}" is {_KINDS[type(value[key])]}; {fix}'
    keys = [repr(key if len(key) <= 20 else key[:20] + "…") for key in islice(value, 5)]
    more = f" and {len(value) - 5:,} more" if len(value) > 5 else ""
    return f"found the keys {', '.join(keys) or 'none'}{more}; give every line both keys"
