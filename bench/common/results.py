"""Results as JSON lines, so that measurements of different days make one page; and helpers to format them."""

import datetime
import json
import os
import platform
import shlex
import statistics
import sys
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def append(file: Path, **record: Any) -> None:
    """Append a measurement with its date, machine and command."""
    file.parent.mkdir(parents=True, exist_ok=True)
    facts = {"date": str(datetime.date.today()), "machine": machine(), "command": command()}
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(record | facts, ensure_ascii=False) + "\n")


def command() -> str:
    """Return the command of this process, with absolute paths reduced to their names."""
    script, *words = sys.argv
    words = [f"bench/{Path(script).name}", *(Path(word).name if Path(word).is_absolute() else word for word in words)]
    threads = os.environ.get("OMP_NUM_THREADS")
    return shlex.join([*([f"OMP_NUM_THREADS={threads}"] if threads else []), "python", *words])


def latest(file: Path, *keys: str) -> list[Record]:
    """Return the last record of each combination of these keys, in the order of first occurrence."""
    records: dict[Hashable, Record] = {}
    for line in file.read_text("utf-8").splitlines() if file.exists() else []:
        record = json.loads(line)
        records[tuple(record.get(key) for key in keys)] = record
    return list(records.values())


def machine() -> str:
    """Describe the processor, its vector extensions and the operating system."""
    name, flags = platform.processor() or platform.machine(), set()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        fields = dict(map(str.strip, line.split(":", 1)) for line in cpuinfo.read_text().splitlines() if ":" in line)
        name, flags = fields.get("model name", name), set(fields.get("flags", "").split())
    extensions = [flag for flag in ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8") if flag in flags]
    facts = [name, f"{os.cpu_count()} cores", " ".join(extensions), platform.system()]
    return ", ".join(fact for fact in [*facts, f"Python {platform.python_version()}"] if fact)


def spread(values: Sequence[float], digits: int = 0) -> str:
    """Format the median with the minimum and the maximum."""
    low, middle, high = (f"{value:,.{digits}f}" for value in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low}–{high})"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table, followed by an empty line."""
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines] + [""]


def describe(settings: Record) -> str:
    """Format settings as a list of names and values."""
    return ", ".join(f"{name} {value}" for name, value in settings.items()) or "none"
