"""Write docs/explanation/benchmarks.md from the results. No number in it is typed by hand."""

import statistics
from pathlib import Path

from common.results import Record, describe, latest, spread, table

NAMES = {
    "regard": "Regard",
    "regard-torch": "Regard, torch backend",
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

Written by `python bench/speed_translate.py` and `python bench/speed_train.py`, which keep every measurement in
`bench/results/`; do not edit. Numbers differ between machines; run the commands to get yours.
"""
TRANSLATION = """\
Translation of English captions of Multi30k into German, from raw text to raw text, in float32 unless stated otherwise.
A rate is the median of all rounds, with the minimum and the maximum; systems take turns within a round. Target tokens
do not include EOS. Every system has the same tokens and the same parameters, except that OpenNMT-py, which does not
support post-norm, has a pre-norm model of the same shape for `base`, which copies its source as well. Other systems run
with the fastest of the settings that their documentation recommends, found in a short trial (below). 1,000 sentences
are test_2016_flickr, more are the start of the training text. "Same text" is the proportion of texts equal to those of
the first system. The upper bound is the rate if only the matrix products took time, at the speed of one large matrix
product with all cores.

The searches differ in two points: Regard and OpenNMT-py divide by ((5 + n) / 6)^0.6, CTranslate2 and Hugging Face by
n^0.6; OpenNMT-py stops when the most probable beam has ended, the others when as many hypotheses are finished as there
are beams. Regard translates repeated sentences once.
"""
HEAD_TO_HEAD = """\
Regard and CTranslate2 called directly, 1,000 sentences, back to back in each round and in alternating order: the median
of the ratios of all rounds, with the minimum and the maximum. A ratio below one means that Regard is slower. The speed
of a machine changes within minutes, so this is the fair comparison of the two, which share most of their code: Regard
translates with CTranslate2. The tables below, measured one system after the other, decide nothing between them."""
COMPUTE_TYPES = """\
`regard translate --compute-type TYPE` on test_2016_flickr. The last columns are proportions of texts: those that differ
when translated alone and in batches of 8, alone and all at once, and from the text of float32."""


TRAINING = """\
Multi30k, English to German, float32, batches of 4,096 target tokens (each system fills them in its own way), the same
dropout, Adam (also for Regard's `tiny` and `small`, whose default is Muon). A rate counts target tokens with EOS and
without padding, over complete steps: batches, loss, gradient, optimizer. Each system runs its own training loop in its
own process, with no other running; its first steps are not counted. Memory is the peak of the process."""


def page(results: Path) -> str:
    """Return the page from the files in the folder of results."""
    lines = [INTRODUCTION, *_translation(results / "speed_translate.jsonl"), *_training(results / "speed_train.jsonl")]
    return "\n".join(lines).rstrip() + "\n"


def _translation(results: Path) -> list[str]:
    records = latest(results, "part", "size", "sentences", "beams")
    records.sort(key=lambda record: (SIZES.index(record["size"]), record.get("sentences", 0), -record.get("beams", 0)))
    parts = {part: [record for record in records if record["part"] == part] for part in PARTS}
    lines: list[str] = []
    if parts["duel"]:
        lines += ["## Regard and CTranslate2", "", HEAD_TO_HEAD, "", *_head_to_head(parts["duel"])]
    if parts["speed"]:
        lines += ["## Translation", "", TRANSLATION, *_overview(parts["speed"])]
        for size, sentences in dict.fromkeys((record["size"], record["sentences"]) for record in parts["speed"]):
            group = [record for record in parts["speed"] if (record["size"], record["sentences"]) == (size, sentences)]
            lines += _speed(group)
    if parts["cold"]:
        lines += ["## Cold start", "", "One sentence in a new process, from the command to the text, in seconds.", ""]
        lines += [line for record in parts["cold"] for line in _cold_start(record)]
    if parts["quantised"]:
        lines += ["## Compute types", "", COMPUTE_TYPES, ""]
        lines += [line for record in parts["quantised"] for line in _compute_types(record)]
    if parts["speed"]:
        lines += [
            "## Settings",
            "",
            "The settings that were tried, in target tokens per second; the measured ones are in bold.",
            "",
        ]
        lines += [line for record in _one_of_each_beam(parts["speed"]) for line in _settings(record)]
    return lines


def _training(results: Path) -> list[str]:
    records = sorted(latest(results, "size"), key=lambda record: SIZES.index(record["size"]))
    lines = ["## Training", "", TRAINING, ""] if records else []
    for record in records:
        systems = record["systems"]
        head = ["system", "target tokens per second", "Regard / system", "peak memory, GB", "versions and settings"]
        rows = [
            [
                NAMES.get(name, name),
                spread(system["rates"]),
                _training_ratio(systems, name),
                f"{system['memory'] / 1e9:.2f}",
                describe(system["about"]),
            ]
            for name, system in systems.items()
        ]
        lines += [f"### `{record['size']}`, dropout {record['dropout']}", "", *table(head, rows), *_source(record)]
    return lines


def _training_ratio(systems: Record, name: str) -> str:
    if name == "regard" or "regard" not in systems:
        return ""
    regard, other = (statistics.median(systems[system]["rates"]) for system in ("regard", name))
    return f"{regard / other:.2f}x"


def _source(record: Record) -> list[str]:
    return [f"{record['date']}, {record['machine']}", "", f"    {record['command']}", ""]


def _overview(records: list[Record]) -> list[str]:
    """Return a table of all comparisons for each machine."""
    lines = [
        "### Overview",
        "",
        "The speed of Regard divided by that of each other system; below one, Regard is slower:",
        "",
    ]
    for machine in dict.fromkeys(record["machine"] for record in records):
        own = [record for record in records if record["machine"] == machine]
        lines += [f"On {machine}:", "", *_comparisons(own)]
    return lines


def _comparisons(records: list[Record]) -> list[str]:
    names = [
        name for name in dict.fromkeys(name for record in records for name in record["systems"]) if name != "regard"
    ]
    head = ["size", "sentences", "search", *(NAMES[name] for name in names)]
    rows = [
        [
            f"`{record['size']}`",
            f"{record['sentences']:,}",
            _search(record),
            *(_ratio(record["systems"], name) for name in names),
        ]
        for record in records
    ]
    return table(head, rows)


def _ratio(systems: Record, name: str) -> str:
    if name == "regard" or not {name, "regard"} <= systems.keys():
        return ""
    return f"{_rate(systems['regard']) / _rate(systems[name]):.2f}x"


def _speed(records: list[Record]) -> list[str]:
    """Return the table of a size and a number of sentences: a row for each system, columns for each search."""
    first = records[0]
    distinct = f", {first['distinct']:,} of them distinct" if first["distinct"] < first["sentences"] else ""
    lines = [f"### `{first['size']}`, {first['sentences']:,} sentences{distinct}", "", first["model"] + ".", ""]
    head = ["system"]
    for record in records:
        search = _search(record)
        head += [f"{search}: target tokens per second", "sentences per second", "Regard / system", "same text"]
    names = dict.fromkeys(name for record in records for name in record["systems"])
    rows = [[NAMES[name], *(cell for record in records for cell in _cells(record, name))] for name in names]
    sources = {tuple(_source(record)): None for record in records}
    return [*lines, *table(head, rows), *_upper_bounds(records), *(line for source in sources for line in source)]


def _upper_bounds(records: list[Record]) -> list[str]:
    """Return the upper bounds that the arithmetic of the machine sets, where they were measured."""
    bounds = []
    for record in (record for record in records if "limit" in record):
        limit, first = record["limit"], next(iter(record["systems"].values()))
        maximum = first["pieces"] * limit["a second"] / limit["operations"]
        bounds.append(
            f"{maximum:,.0f} target tokens per second, {_search(record)} ({limit['a second'] / 1e9:,.0f} GFLOP/s)"
        )
    return [f"Upper bound: {'; '.join(bounds)}.", ""] if bounds else []


def _cells(record: Record, name: str) -> list[str]:
    systems = record["systems"]
    if name not in systems:
        return ["", "", "", ""]
    system = systems[name]
    rates = [system["pieces"] / seconds for seconds in system["seconds"]]
    sentences = record["sentences"] / statistics.median(system["seconds"])
    return [spread(rates), f"{sentences:,.0f}", _ratio(systems, name), f"{system['same']:.1%}"]


def _rate(system: Record) -> float:
    return system["pieces"] / statistics.median(system["seconds"])


def _head_to_head(records: list[Record]) -> list[str]:
    head = ["size", "search", "Regard / CTranslate2", "rounds", "settings of CTranslate2"]
    rows = [
        [
            f"`{record['size']}`",
            _search(record),
            spread(record["ratios"], 2),
            str(len(record["ratios"])),
            describe(record["settings"]),
        ]
        for record in records
    ]
    sources = {tuple(_source(record)): None for record in records}
    return [*table(head, rows), *(line for source in sources for line in source)]


def _cold_start(record: Record) -> list[str]:
    rows = [[NAMES[name], spread(system["seconds"], 2)] for name, system in record["systems"].items()]
    return [f"### `{record['size']}`", "", *table(["command", "seconds"], rows), *_source(record)]


def _compute_types(record: Record) -> list[str]:
    systems = record["systems"]
    head = [
        "type",
        "target tokens per second",
        "speed-up over float32",
        "BLEU",
        "alone ≠ 8",
        "alone ≠ all",
        "≠ float32",
    ]
    rows = [
        [
            name,
            spread([system["pieces"] / seconds for seconds in system["seconds"]]),
            f"{_rate(system) / _rate(systems['float32']):.2f}x",
            f"{system['bleu']:.2f}",
            *(f"{count / record['sentences']:.1%}" for count in system["changed"].values()),
            f"{1 - system['same']:.1%}",
        ]
        for name, system in systems.items()
    ]
    return [f"### `{record['size']}`, {_search(record)}", "", *table(head, rows), *_source(record)]


def _one_of_each_beam(records: list[Record]) -> list[Record]:
    """Return one record for each size and number of beams, because settings are tried once for both."""
    return list({(record["size"], record["beams"]): record for record in records}.values())


def _settings(record: Record) -> list[str]:
    lines = [f"### `{record['size']}`, {_search(record)}", ""]
    for name, system in record["systems"].items():
        lines.append(f"- {NAMES[name]}: {describe(system['about'])}")
        if system["tried"]:
            tried = [(", ".join(map(str, choice.values())), rate, choice) for choice, rate in system["tried"]]
            shown = [f"**{t}: {r:,}**" if choice == system["settings"] else f"{t}: {r:,}" for t, r, choice in tried]
            lines[-1] += f". Tried ({', '.join(system['settings'])}): {'; '.join(shown)}"
    return [*lines, ""]


def _search(record: Record) -> str:
    return "greedy" if record["beams"] == 1 else f"beam {record['beams']}"
