"""Write docs/explanation/serving-speed.md from the results. No number in it is typed by hand."""

import statistics
from pathlib import Path

from common.results import Record, latest, spread, table

INTRODUCTION = """\
# Speed of the server

Written by `python bench/speed_serve.py`, which keeps every measurement in `bench/results/speed_serve.jsonl`; do not
edit. The server is `regard serve` with its defaults, on the loopback interface. Each client sends one sentence, waits
for the translation, and sends the next; no sentence is sent twice. CPU time is that of all processes of a server, and
never that of the clients, which run on the same cores.
"""
CAPACITY = """\
## Capacity

`regard bench serve` with the bundled English-French model and {sentences:,} sentences of {lines}. "Refused" and
"different" count requests without a translation, and translations that differ from those of `regard translate`.
"""
PEER = """\
## Compared with LibreTranslate

LibreTranslate 1.9.6 serves the same CTranslate2 model in float32 with the same SentencePiece model and beam size, to
{clients} clients. The servers take turns. "LibreTranslate" has its defaults (four threads, one worker of CTranslate2);
"tuned" has a worker for each core. It downloads a neural network that splits texts into sentences; here it uses the
rules of spaCy instead, which are faster. Of {common:,} sentences that all have translated, the texts have
{characters} characters on average; {equal:,} of LibreTranslate's texts equal Regard's (its length penalty differs).
"""
NAMES = {
    "regard": "Regard",
    "libretranslate": "LibreTranslate",
    "libretranslate, tuned": "LibreTranslate, tuned",
}


def write_page(results: Path, out: Path) -> None:
    """Write the page from the latest result of each part."""
    records = {record["part"]: record for record in latest(results, "part")}
    if not records:
        return
    lines = [INTRODUCTION]
    for part, section in (("capacity", capacity), ("libretranslate", peer)):
        if record := records.get(part):
            lines += [*section(record), f"    {record['command']}", "", f"{record['date']}, {record['machine']}", ""]
    out.write_text("\n".join(lines).rstrip() + "\n", "utf-8")


def capacity(record: Record) -> list[str]:
    rows = [
        [
            f"{load['clients']:,}",
            f"{load['sentences_per_second']:,.0f}",
            f"{load['sentences_per_cpu_second']:,.0f}",
            *(f"{load[f'{name}_milliseconds']:,.0f}" for name in ("p50", "p95", "p99")),
            f"{load['refused']:,}",
            f"{load['different']:,}",
        ]
        for load in record["loads"]
    ]
    head = [
        "clients",
        "sentences per second",
        "per CPU second",
        "p50, ms",
        "p95, ms",
        "p99, ms",
        "refused",
        "different",
    ]
    return [
        CAPACITY.format(**record),
        *table(head, rows),
        f"- `regard translate` on the sentences of the largest load: {record['translate_sentences_per_second']:,.0f} "
        f"per second, {record['translate_sentences_per_cpu_second']:,.0f} per CPU second, without its start. The "
        f"server has {record['share_of_translate']:.0%} of the latter.",
        f"- A short sentence when nothing else is asked: {record['idle_p50_milliseconds']:.1f} ms (p50); "
        f"{record['engine_p50_milliseconds']:.1f} ms by the same translator without a server.",
        f"- Memory of all processes of the server: {record['resident_mb']:,.0f} MB. The clients took at most "
        f"{max(load['client_cpu_share'] for load in record['loads']):.0%} of a core.",
        "",
    ]


def peer(record: Record) -> list[str]:
    rows = []
    own = _median(record, "regard", "per_cpu_second")
    for name, title in NAMES.items():
        rounds = record["rounds"][name]
        rows.append(
            [
                title,
                *(spread([each[key] for each in rounds]) for key in ("per_second", "per_cpu_second")),
                f"{own / _median(record, name, 'per_cpu_second'):.1f}x",
                *(f"{_median(record, name, key):,.0f}" for key in ("p50", "p95", "p99")),
                f"{sum(each['refused'] for each in rounds):,}",
                f"{record['resident_mb'][name]:,.0f}",
            ]
        )
    head = ["server", "sentences per second", "per CPU second", "Regard is", "p50, ms", "p95, ms", "p99, ms", "refused"]
    characters = " / ".join(f"{record['characters'][name]:.0f}" for name in NAMES)
    text = PEER.format(**record | {"characters": characters, "equal": record["equal"]["libretranslate"]})
    return [text, *table([*head, "memory, MB"], rows)]


def _median(record: Record, name: str, key: str) -> float:
    return statistics.median(each[key] for each in record["rounds"][name])
