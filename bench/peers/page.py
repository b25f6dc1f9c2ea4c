"""docs/benchmarks.md, written from what was measured. No figure in it is typed by hand."""

import statistics
from pathlib import Path

from peers.results import Record, latest, plain, spread, table

NAMES = {
    "regard": "Regard",
    "regard-torch": "Regard, torch road",
    "ctranslate2": "CTranslate2, called directly",
    "transformers": "Hugging Face generate",
    "opennmt": "OpenNMT-py",
    "joeynmt": "JoeyNMT",
    "eole": "EOLE",
    "marian": "Hugging Face MarianMT in a plain loop",
    "torch": "`torch.nn.Transformer` in a plain loop",
    "regard translate": '`regard translate --model … "…"`',
    "import torch": '`python -c "import torch"`, nothing else',
}
SIZES = ["tiny", "small", "base", "big"]
PARTS = ("speed", "duel", "cold", "quantised")
INTRODUCTION = """\
# Benchmarks

Written by `python bench/translate.py` and `python bench/train.py`, which measure and keep every figure in
`bench/results/`; do not edit. Machines differ, and so will your figures; run the commands.
"""
TRANSLATING = """\
Translating English captions of Multi30k into German, raw text in to raw text out, float32 unless said otherwise. A rate
is the median of all rounds, with the least and the most; systems take turns within a round. Target pieces do not count
the end mark. Every system has the same pieces and the same weights; only OpenNMT-py, which has no post-norm, has for
`base` a pre-norm model of the same shape that copies as well. Peers run with the fastest of the settings that their
documentation names, found in a short trial (below). 1,000 sentences are test_2016_flickr, more are the beginning of the
training text. "Same text" is the share of texts equal to the first system's. What the arithmetic allows is how fast all
sentences would be written if their matrix products alone took time, at the pace of one large product with all cores.

What the searches do not share: Regard and OpenNMT-py divide by ((5 + n) / 6)^0.6, CTranslate2 and Hugging Face by
n^0.6; OpenNMT-py stops when the likeliest beam has ended, the others when as many hypotheses are finished as there are
beams. Regard translates repeated sentences once.
"""
DUEL = """\
Regard and CTranslate2 called directly, 1,000 sentences, one after the other in each round, whichever comes first: the
median of the rounds' ratios, with the least and the most. The speed of a machine changes within minutes, so this is the
better comparison of two that are close."""
QUANTISED = """\
`regard translate --fast TYPE`, on test_2016_flickr. Texts that changed: those that came out differently alone and in
batches of 8, those that did alone and all at once, and those that are not float32's."""


TRAINING = """\
Multi30k, English to German, float32, batches of 4,096 target pieces (each program fills them in its own way), the same
dropout, Adam (for Regard's `tiny` and `small` too, which learn by Muon otherwise). A rate counts real target pieces,
end marks included, over whole steps: batches, loss, gradient, optimizer. Each program runs its own loop, alone, in a
process of its own; its first steps are not counted. Memory is the most that the process held at any time."""


def page(results: Path) -> str:
    """The whole page, from the files in the folder of results."""
    lines = [INTRODUCTION, *_translating(results / "translate.jsonl"), *_training(results / "train.jsonl")]
    return "\n".join(lines).rstrip() + "\n"


def _translating(results: Path) -> list[str]:
    records = latest(results, "part", "size", "sentences", "beams")
    records.sort(key=lambda record: (SIZES.index(record["size"]), record.get("sentences", 0), -record.get("beams", 0)))
    parts = {part: [record for record in records if record["part"] == part] for part in PARTS}
    lines: list[str] = []
    if parts["speed"]:
        lines += ["## Translating", "", TRANSLATING, *_glance(parts["speed"])]
        for size, sentences in dict.fromkeys((record["size"], record["sentences"]) for record in parts["speed"]):
            group = [record for record in parts["speed"] if (record["size"], record["sentences"]) == (size, sentences)]
            lines += _speed(group)
    if parts["duel"]:
        lines += ["## Beside the engine", "", DUEL, "", *_duels(parts["duel"])]
    if parts["cold"]:
        lines += ["## Cold start", "", "One sentence in a fresh process, from the command to the text, in seconds.", ""]
        lines += [line for record in parts["cold"] for line in _cold(record)]
    if parts["quantised"]:
        lines += ["## Less precise, and quicker", "", QUANTISED, ""]
        lines += [line for record in parts["quantised"] for line in _quantised(record)]
    if parts["speed"]:
        lines += ["## Settings", "", "What was tried, in target pieces a second, and (in bold) measured.", ""]
        lines += [line for record in _one_of_each_beam(parts["speed"]) for line in _settings(record)]
    return lines


def _training(results: Path) -> list[str]:
    records = sorted(latest(results, "size"), key=lambda record: SIZES.index(record["size"]))
    lines = ["## Training", "", TRAINING, ""] if records else []
    for record in records:
        systems = record["systems"]
        head = ["system", "target pieces a second", "Regard is faster by", "peak memory, GB", "versions and settings"]
        rows = [
            [
                NAMES.get(name, name),
                spread(one["rates"]),
                _times(systems, name),
                f"{one['memory'] / 1e9:.2f}",
                plain(one["about"]),
            ]
            for name, one in systems.items()
        ]
        lines += [f"### `{record['size']}`, dropout {record['dropout']}", "", *table(head, rows), *_source(record)]
    return lines


def _times(systems: Record, name: str) -> str:
    if name == "regard" or "regard" not in systems:
        return ""
    regard, other = (statistics.median(systems[one]["rates"]) for one in ("regard", name))
    return f"{regard / other:.2f}x"


def _source(record: Record) -> list[str]:
    return [f"{record['date']}, {record['machine']}", "", f"    {record['command']}", ""]


def _glance(records: list[Record]) -> list[str]:
    """Every comparison in one table."""
    names = [name for name in dict.fromkeys(name for one in records for name in one["systems"]) if name != "regard"]
    head = ["size", "sentences", "search", *(NAMES[name] for name in names)]
    rows = [
        [f"`{one['size']}`", f"{one['sentences']:,}", _search(one), *(_faster(one["systems"], name) for name in names)]
        for one in records
    ]
    return ["### At a glance", "", "How much faster Regard is than each of the others:", "", *table(head, rows)]


def _faster(systems: Record, name: str) -> str:
    if name == "regard" or not {name, "regard"} <= systems.keys():
        return ""
    return f"{_rate(systems['regard']) / _rate(systems[name]):.2f}x"


def _speed(records: list[Record]) -> list[str]:
    """One table for a size and a number of sentences: a row for each system, the beams side by side."""
    first = records[0]
    distinct = f", {first['distinct']:,} of them distinct" if first["distinct"] < first["sentences"] else ""
    lines = [f"### `{first['size']}`, {first['sentences']:,} sentences{distinct}", "", first["model"] + ".", ""]
    head = ["system"]
    for record in records:
        search = _search(record)
        head += [f"{search}: target pieces a second", "sentences a second", "Regard is faster by", "same text"]
    names = dict.fromkeys(name for record in records for name in record["systems"])
    rows = [[NAMES[name], *(cell for record in records for cell in _cells(record, name))] for name in names]
    sources = {tuple(_source(record)): None for record in records}
    return [*lines, *table(head, rows), *_limits(records), *(line for source in sources for line in source)]


def _limits(records: list[Record]) -> list[str]:
    """How fast the machine's arithmetic would let anybody be, for those of the searches of which it is known."""
    each = []
    for record in (record for record in records if "limit" in record):
        limit, first = record["limit"], next(iter(record["systems"].values()))
        most = first["pieces"] * limit["a second"] / limit["operations"]
        each.append(f"{most:,.0f} target pieces a second, {_search(record)} ({limit['a second'] / 1e9:,.0f} GFLOP/s)")
    return [f"What the arithmetic allows: {'; '.join(each)}.", ""] if each else []


def _cells(record: Record, name: str) -> list[str]:
    systems = record["systems"]
    if name not in systems:
        return ["", "", "", ""]
    one = systems[name]
    rates = [one["pieces"] / seconds for seconds in one["seconds"]]
    sentences = record["sentences"] / statistics.median(one["seconds"])
    return [spread(rates), f"{sentences:,.0f}", _faster(systems, name), f"{one['same']:.1%}"]


def _rate(system: Record) -> float:
    return system["pieces"] / statistics.median(system["seconds"])


def _duels(records: list[Record]) -> list[str]:
    head = ["size", "search", "Regard / CTranslate2", "rounds", "its settings"]
    rows = [
        [
            f"`{one['size']}`",
            _search(one),
            spread(one["ratios"], 2),
            str(len(one["ratios"])),
            plain(one["settings"]),
        ]
        for one in records
    ]
    sources = {tuple(_source(record)): None for record in records}
    return [*table(head, rows), *(line for source in sources for line in source)]


def _cold(record: Record) -> list[str]:
    rows = [[NAMES[name], spread(one["seconds"], 2)] for name, one in record["systems"].items()]
    return [f"### `{record['size']}`", "", *table(["command", "seconds"], rows), *_source(record)]


def _quantised(record: Record) -> list[str]:
    systems = record["systems"]
    head = ["type", "target pieces a second", "faster than float32", "BLEU", "alone ≠ 8", "alone ≠ all", "≠ float32"]
    rows = [
        [
            name,
            spread([one["pieces"] / seconds for seconds in one["seconds"]]),
            f"{_rate(one) / _rate(systems['float32']):.2f}x",
            f"{one['bleu']:.2f}",
            *(f"{count / record['sentences']:.1%}" for count in one["changed"].values()),
            f"{1 - one['same']:.1%}",
        ]
        for name, one in systems.items()
    ]
    return [f"### `{record['size']}`, {_search(record)}", "", *table(head, rows), *_source(record)]


def _one_of_each_beam(records: list[Record]) -> list[Record]:
    """Settings are tried once for a size and a number of beams, whatever the number of sentences."""
    return list({(record["size"], record["beams"]): record for record in records}.values())


def _settings(record: Record) -> list[str]:
    lines = [f"### `{record['size']}`, {_search(record)}", ""]
    for name, one in record["systems"].items():
        lines.append(f"- {NAMES[name]}: {plain(one['about'])}")
        if one["tried"]:
            tried = [(", ".join(map(str, choice.values())), rate, choice) for choice, rate in one["tried"]]
            shown = [f"**{t}: {r:,}**" if choice == one["settings"] else f"{t}: {r:,}" for t, r, choice in tried]
            lines[-1] += f". Tried ({', '.join(one['settings'])}): {'; '.join(shown)}"
    return [*lines, ""]


def _search(record: Record) -> str:
    return "greedy" if record["beams"] == 1 else f"beam {record['beams']}"
