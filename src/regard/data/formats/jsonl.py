"""Pairs from JSON Lines: `{"source": "…", "target": "…"}` on each line. Other keys are ignored."""

import json
from collections.abc import Iterator

from regard.data.formats.lines import Lines
from regard.data.formats.records import InvalidRecord, Record, parse_pair


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
    content = f"the keys {', '.join(map(repr, value)) or 'none'}" if isinstance(value, dict) else type(value).__name__
    return InvalidRecord(
        file.path,
        number,
        "no source and target",
        f'{where}: expected an object with two texts, {{"source": "…", "target": "…"}}, found {content[:100]}; give '
        "every line both keys",
    )
