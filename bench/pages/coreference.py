"""Write docs/explanation/coreference.md from the results of the campaign and of the heads in real English.

No number in it is typed by hand, and no sentence about a result: they follow from the results.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from common.environments import ROOT
from common.plots import Axis, Series, plot
from common.results import Record, latest, table

CAMPAIGN = ROOT / "bench" / "results" / "coreference_campaign.jsonl"
HEADS = ROOT / "bench" / "results" / "coreference_heads.jsonl"
PAGE = ROOT / "docs" / "explanation" / "coreference.md"
PICTURES = PAGE.parent / "pictures"

INTRODUCTION = """\
# Does coreference emerge by itself?

Texts about attention say that heads learn to connect "it" with the noun that it stands for, without being taught. The
bundled English-French model was taught by a lesson of its own: generated sentences in minimal pairs, in which one word
decides what "it" is, with extra loss weight on the French pronoun. So it cannot answer the question. This page compares
small models that are trained with and without such a lesson, and looks at real English.

Written by `python bench/coreference_campaign.py` and `python bench/coreference_heads.py`, which keep every result in
`bench/results/`; do not edit. Figures in brackets are 95 % confidence intervals;
[measuring.md](measuring.md#how-to-read-the-figures) explains them.
"""
CORPORA = {
    "language": "The synthetic language",
    "text": "Real text: Tatoeba and parallel-en-fr",
}
ABOUT = {
    "language": 'Without the lesson, a model trains on ordinary pairs of the synthetic language; in one of three, "it" '
    "could stand for either of two nouns. With the lesson, two of three pairs are from minimal pairs instead.",
    "text": "Without the lesson, a model trains on translations written by people only. With the lesson, two of three "
    "pairs are from minimal pairs of the synthetic language instead.",
}
SAME = """\
All models of a corpus have the same shape ({shape}), the same number of steps and the same number of tokens per step.
Seeds differ in the initial parameters and in the order of the pairs. The test is the same for all: in held-out minimal
pairs of the synthetic language, is the correct French pronoun more probable than the other? A model that chooses the
same noun whatever the cue is right in half of the sentences and in both sentences of no pair."""
SHAPE = "4 encoder and 2 decoder layers of width 128 with 4 heads"
SHORTCUT = """\
In half of the sentences both nouns are of one class, such as two vehicles, so that each could have either role. There,
the words without their order do not tell the antecedent. In the others, a model can be right because it knows which
words go together: "tired" goes with animals. A model that is as good without its positional encoding, so that it cannot
see the order of words in the source, uses little more than that."""
HOW_TO_READ = """\
*What this shows:* whether models of this size and this much training learn what "it" stands for in sentences of this
kind, and whether one of their heads shows it. *What it does not show:* whether larger models, more text or longer
training would; and where a model without the lesson saw other sentences than one with it, not which difference
between their data matters."""
REAL = """\
## Real English

Each head of the encoder is asked: of the names to which a pronoun may refer, which one gets most of its attention? The
head is chosen on one half of the texts and reported on the other. GAP has two names in every text; LitBank has all
names and nouns of a sentence and the one before. The subject rule answers with a name at the start of a clause for
"he" and "she", and stands for parallelism, which needs a parser; with one, parallelism is the best simple system of
Webster et al. (2018), with 66.9 F1 on the test set of GAP.
"""
REAL_READ = """\
*What this shows:* how often the attention of one head agrees with coreference in text written by people. *What it does
not show:* that the model uses this attention. A head above the rules would be needed to say that it does more than
prefer near names or subjects. Models that translate sentences have not been trained on texts as long as these."""


def write_page() -> None:
    """Write the page from the latest results."""
    records = latest(CAMPAIGN, "part", "corpus", "lesson", "seed", "steps")
    lines = [INTRODUCTION]
    for corpus in (corpus for corpus in CORPORA if any(record["corpus"] == corpus for record in records)):
        lines += _corpus(corpus, [record for record in records if record["corpus"] == corpus])
    if missing := [title for corpus, title in CORPORA.items() if not any(one["corpus"] == corpus for one in records)]:
        lines += [f"Not yet run: {', '.join(missing)}.", ""]
    lines += _real_english(latest(HEADS, "model", "corpus", "system"))
    sources = [record for file in (CAMPAIGN, HEADS) for record in latest(file, "command", "machine")]
    lines += [f"    {command}" for command in dict.fromkeys(record["command"] for record in sources)]
    lines += ["", *dict.fromkeys(f"{record['date']}, {record['machine']}" for record in sources)]
    PAGE.write_text("\n".join(lines).rstrip() + "\n", "utf-8", newline="\n")


def _corpus(corpus: str, records: Sequence[Record]) -> Iterator[str]:
    steps = max(record["steps"] for record in records)
    chosen = sorted((one for one in records if one["steps"] == steps), key=lambda one: (not one["lesson"], one["seed"]))
    runs = [record for record in chosen if record["part"] == "training"]
    yield from (f"## {CORPORA[corpus]}", "", ABOUT[corpus], SAME.format(shape=SHAPE), "")
    measured = {(run["lesson"], run["seed"]): run["result"] for run in chosen if run["part"] == "accuracy"}
    yield _conclusion(runs, list(measured.items()))
    yield ""
    head = ("lesson", "seed", "steps", "BLEU", "sentences", "both sentences", "nouns of one class", "without positions")
    yield from table(head, (_row(run, measured.get((run["lesson"], run["seed"]))) for run in runs))
    yield from (*SHORTCUT.split("\n"), "")
    yield from table(("lesson", "seed", "heads", "best head", "p", "right direction"), map(_head_row, runs))
    yield (
        'BLEU is that of 200 validation pairs of the corpus. "Heads" are those that follow the cue according to the '
        "search of `regard measure pronouns` (p ≤ 0.05, corrected for all heads); for the best one, the proportion of "
        "changed preferences in the right direction is given, where chance is one half. With the validations below, "
        "many searches are made: of twenty searches without anything to find, one names a head."
    )
    yield from ("", *HOW_TO_READ.split("\n"), "")
    PICTURES.mkdir(exist_ok=True)
    picture = PICTURES / f"coreference-{corpus}.svg"
    picture.write_text(_curves(runs), "utf-8", newline="\n")
    yield from (f"![Pronoun accuracy over training](pictures/{picture.name})", "")
    yield "Both sentences of a pair right, and the number of heads that follow the cue, at each validation:"
    yield ""
    steps_of = [str(point["step"]) for point in runs[0]["curve"]]
    rows = [
        [_lesson(run), str(run["seed"]), *(f"{p['pair_accuracy']['value']:.3f} ({p['heads']})" for p in run["curve"])]
        for run in runs
    ]
    yield from table(["lesson", "seed", *steps_of], rows)
    yield from _findings([record for record in chosen if record["part"] != "training"])


def _lesson(record: Record) -> str:
    return "with" if record["lesson"] else "without"


def _row(run: Record, measured: dict[str, Any] | None) -> list[str]:
    names = [_lesson(run), str(run["seed"]), f"{run['steps']:,}", f"{run['validations'][-1]['bleu']:.1f}"]
    if measured is None:
        return [*names, *["–"] * 4]
    model, without = measured["model"], measured["without positions"]
    scores = (model["accuracy"], model["pair_accuracy"], model["swappable"], without["accuracy"])
    return [*names, *map(_interval, scores)]


def _head_row(run: Record) -> list[str]:
    last = run["curve"][-1]
    best = last["best"]
    right = _interval(best["right"]) if best["right"] else "–"
    name = f"{best['head']} from “{best['query']}”"
    return [_lesson(run), str(run["seed"]), str(last["heads"]), name, f"{best['p']:.4f}", right]


def _interval(estimate: dict[str, float]) -> str:
    return f"{estimate['value']:.3f} [{estimate['low']:.3f}, {estimate['high']:.3f}]"


def _conclusion(runs: Sequence[Record], measured: Sequence[tuple[tuple[bool, int], dict[str, Any]]]) -> str:
    """Say how many models of each condition know what "it" stands for, and how many have a head for it."""
    sentences = []
    for lesson in (False, True):
        heads = [run["curve"][-1]["heads"] > 0 for run in runs if run["lesson"] == lesson]
        chosen = [result["model"] for (of_lesson, _), result in measured if of_lesson == lesson]
        if chosen:
            knows, uses_order = (sum(one[name]["low"] > 0.5 for one in chosen) for name in ("accuracy", "swappable"))
            sentences.append(
                f"{'With' if lesson else 'Without'} the lesson, {knows} of {len(chosen)} models choose the right "
                f"pronoun more often than chance, {uses_order} of {len(chosen)} also where the words alone do not tell "
                f"it, and {sum(heads)} of {len(heads)} have a head that follows the cue."
            )
    return f"**{' '.join(sentences)}**"


def _curves(runs: Sequence[Record]) -> str:
    series = [
        Series(
            f"{_lesson(run)} the lesson, seed {run['seed']}",
            [(point["step"], 100 * point["pair_accuracy"]["value"]) for point in run["curve"]],
            dashed=not run["lesson"],
        )
        for run in runs
    ]
    return plot("Both pronouns of a minimal pair right, in per cent", Axis("training steps"), Axis("per cent"), series)


@dataclass(frozen=True)
class Finding:
    """A statement about a model, and how to see from the result of a measurement whether it holds."""

    text: str
    part: str
    holds: Callable[[dict[str, Any]], bool]


def _has_role(name: str) -> Callable[[dict[str, Any]], bool]:
    return lambda result: any((head["role"] or "").startswith(name) for head in result["heads"])


def _largest_effect_is_cross(result: dict[str, Any]) -> bool:
    effects = {head["address"]: head["loss"]["value"] for head in result["heads"]}
    return ".cross." in max(effects, key=lambda address: effects[address])


def _lift(task: str) -> Callable[[dict[str, Any]], bool]:
    return lambda result: any(
        max(lift["low"] for lift in one["lift"]) > 0 for one in result["tasks"] if one["task"] == task
    )


def _below(*baselines: str) -> Callable[[dict[str, Any]], bool]:
    return lambda result: all(result["error"]["high"] < result["baselines"][name]["low"] for name in baselines)


def findings(probe_tasks: Sequence[str]) -> list[Finding]:
    """Return the findings that docs/explanation/looking-inside.md reports of the bundled model, for any model."""
    rules = ("best fixed offset", "diagonal")
    return [
        Finding("It prefers the correct pronoun more often than chance", "pronouns",
                lambda result: result["baselines"][0]["accuracy"]["low"] > 0.5),
        Finding("It also does where the words alone do not tell the antecedent", "accuracy",
                lambda result: result["model"]["swappable"]["low"] > 0.5),
        Finding("A head follows the cue", "pronouns",
                lambda result: any(head["p"] <= 0.05 for head in result["antecedent_heads"])),
        Finding("The pronoun depends on the attention of these heads", "pronouns",
                lambda result: result["verdict"]["outcome"] == "depends"),
        Finding("A cross-attention head aligns words better than rules about positions", "alignment", _below(*rules)),
        Finding("It also aligns better than IBM model 1", "alignment", _below("IBM model 1")),
        Finding("A head has the role of alignment", "heads", _has_role("align")),
        Finding("A head has the role “it → antecedent”", "heads", _has_role("it →")),
        Finding("The head with the largest effect on the loss is a cross-attention head", "heads",
                _largest_effect_is_cross),
        *(Finding(f"Training adds information to a layer: {task}", "probes", _lift(task)) for task in probe_tasks),
    ]  # fmt: skip


def _findings(records: Sequence[Record]) -> Iterator[str]:
    """Yield a table of how many seeds show each finding."""
    if not records:
        return
    tasks = [task["task"] for record in records if record["part"] == "probes" for task in record["result"]["tasks"]]
    yield from ("### How many seeds show a finding", "")
    yield (
        "The same measurements as in [looking-inside.md](looking-inside.md), on every trained model. A finding that "
        "only some seeds show says something about one training run, not about models of this kind."
    )
    yield ""
    rows = []
    for finding in findings(list(dict.fromkeys(tasks))):
        cells = []
        for lesson in (True, False):
            chosen = [one for one in records if one["part"] == finding.part and one["lesson"] == lesson]
            cells.append(f"{sum(finding.holds(one['result']) for one in chosen)} of {len(chosen)}" if chosen else "–")
        if cells != ["–", "–"]:
            rows.append([finding.text, *cells])
    yield from table(["finding", "with the lesson", "without"], rows)


def _real_english(records: Sequence[Record]) -> Iterator[str]:
    if not records:
        return
    yield REAL
    for corpus in dict.fromkeys(record["corpus"] for record in records):
        chosen = [record for record in records if record["corpus"] == corpus]
        rows = []
        for model in dict.fromkeys(record["model"] for record in chosen):
            of_model = {record["system"]: record for record in chosen if record["model"] == model}
            for system, record in of_model.items():
                name = f"{system} ({record['head']})" if record["head"] else system
                cells = [_interval(record["accuracy"]), str(record["accuracy"]["count"])]
                rows.append([model, name, *cells, *([f"{100 * record['f1']:.1f}"] if corpus == "GAP" else [])])
            yield f"{_head_conclusion(model, corpus, of_model)}"
        yield ""
        yield from table(["model", "system", "accuracy", "n", *(["F1"] if corpus == "GAP" else [])], rows)
    yield from (*REAL_READ.split("\n"), "")


def _head_conclusion(model: str, corpus: str, systems: dict[str, Record]) -> str:
    """Say whether the best head of a model is better than the rules and than the best heads of untrained models."""
    best = systems["best head"]["accuracy"]
    places: dict[str, list[str]] = {"better than": [], "worse than": [], "not clearly different from": []}
    for name, record in systems.items():
        other = record["accuracy"]
        is_worse, is_better = best["high"] < other["low"], best["low"] > other["high"]
        place = "worse than" if is_worse else "better than" if is_better else "not clearly different from"
        if name != "best head":
            places[place].append(name.removeprefix("best head, "))
    parts = [f"{place} {', '.join(names)}" for place, names in places.items() if names]
    return f"**On {corpus}, the best head of {model} is {'; '.join(parts)}.**"
