"""What was measured, kept as JSON lines, so that runs on different days make one page; and the words of that page."""

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
    """Keep one measurement, with when, where and how it was made."""
    file.parent.mkdir(parents=True, exist_ok=True)
    facts = {"date": str(datetime.date.today()), "machine": machine(), "command": command()}
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(record | facts, ensure_ascii=False) + "\n")


def command() -> str:
    """What would do the same elsewhere: whole paths are this machine's own."""
    script, *words = sys.argv
    words = [f"bench/{Path(script).name}", *(Path(word).name if Path(word).is_absolute() else word for word in words)]
    threads = os.environ.get("OMP_NUM_THREADS")
    return shlex.join([*([f"OMP_NUM_THREADS={threads}"] if threads else []), "python", *words])


def latest(file: Path, *keys: str) -> list[Record]:
    """The last record of each combination of these keys, in the order they first came."""
    found: dict[Hashable, Record] = {}
    for line in file.read_text("utf-8").splitlines() if file.exists() else []:
        record = json.loads(line)
        found[tuple(record.get(key) for key in keys)] = record
    return list(found.values())


def machine() -> str:
    """The processor, what it can, and the system."""
    name, flags = platform.processor() or platform.machine(), set()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        fields = dict(map(str.strip, line.split(":", 1)) for line in cpuinfo.read_text().splitlines() if ":" in line)
        name, flags = fields.get("model name", name), set(fields.get("flags", "").split())
    able = [flag for flag in ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8") if flag in flags]
    words = [name, f"{os.cpu_count()} cores", " ".join(able), platform.system(), f"Python {platform.python_version()}"]
    return ", ".join(word for word in words if word)


def spread(values: Sequence[float], digits: int = 0) -> str:
    """The median, and the least and the most."""
    low, middle, high = (f"{value:,.{digits}f}" for value in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low}–{high})"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table in Markdown, and an empty line."""
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines] + [""]


def plain(settings: Record) -> str:
    """Settings as people read them."""
    return ", ".join(f"{name} {value}" for name, value in settings.items()) or "none"
