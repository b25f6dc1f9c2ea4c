"""How many protected spans a model keeps in place, and what that costs in BLEU.

    python bench/check_protected_spans.py en-fr                       # a bundled model
    python bench/check_protected_spans.py my-model --test test.tsv    # and BLEU with and without protection
    python bench/check_protected_spans.py en-fr --random 300          # and spans at random places of Tatoeba

The cases are in bench/workloads/protected_spans.tsv: language, kind and sentence. A case is exact if the translation
has every span of the source byte for byte and equally often, and none was lost. A span whose stand-in the model lost is
put where the word alignment says, or at the end, which counts as a failure here. (Pairs of tags such as <b> have no
stand-in; the word alignment always places them.)

With `--random`, a random span of the cases is inserted at a random place between two words of a sentence of the Tatoeba
test set (../shared/data, or $REGARD_SHARED_DATA), so most of these sentences are not what a person would write.
"""

import argparse
import gzip
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from common.corpora import DATA

import regard
from regard.spans.patterns import find_spans

Case = tuple[str, str]  # the kind of the span, and the sentence

CASES = Path(__file__).parent / "workloads" / "protected_spans.tsv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument(
        "--test", action="append", default=[], nargs="+", help="a test set: a TSV, or two or more files"
    )
    parser.add_argument("--failures", action="store_true", help="print the cases that are not exact")
    parser.add_argument("--random", type=int, default=0, metavar="COUNT", help="number of sentences with random spans")
    options = parser.parse_args()
    model = regard.load(options.model)
    rows = [line.split("\t") for line in CASES.read_text("utf-8").splitlines()]
    cases = [(kind, text) for language, kind, text in rows if model.languages[0] in (None, language)]
    report_cases(model, cases, failures=options.failures)
    if options.random:
        report_cases(model, list(random_cases(model, cases, options.random)), failures=options.failures)
    for files in options.test:
        report_bleu(model, files)


def random_cases(model: regard.Model, cases: list[Case], count: int) -> Iterator[Case]:
    """Yield sentences of Tatoeba with a span of the cases at a random place."""
    numbers = random.Random(1)
    found = [
        (span.kind, text[span.begin : span.end])
        for kind, text in cases
        if kind != "several"
        for span in find_spans(text)
    ]
    side = ("en", "fr").index(model.languages[0] or "en")
    with gzip.open(DATA / "tatoeba" / "en-fr" / "test.tsv.gz", "rt", encoding="utf-8") as lines:
        sentences = sorted({line.rstrip("\n").split("\t")[side] for line in lines})
    for sentence in numbers.sample(sentences, count):
        kind, span = numbers.choice(found)
        words = sentence.split(" ")
        words.insert(numbers.randrange(len(words)), span)  # never after the full stop
        yield kind, " ".join(words)


def report_cases(model: regard.Model, cases: list[Case], *, failures: bool) -> None:
    translations = model.translate([text for _, text in cases])
    without = model.translate([text for _, text in cases], regard.DecodeSettings(protect=False))
    exact, kept, before, total = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for (kind, text), translation, unprotected in zip(cases, translations, without, strict=True):
        has_spans = has_all(text, translation.text)
        in_place = has_spans and all(warning.kind != "lost span" for warning in translation.warnings)
        total[kind] += 1
        kept[kind] += has_spans
        exact[kind] += in_place
        before[kind] += has_all(text, unprotected.text)
        if failures and not in_place:
            print(f"  {text}\n  {translation.text}\n  (unprotected: {unprotected.text})\n")
    print(f"\n{'':14} cases  exact  kept  unprotected")
    for kind in [*total, "all"]:
        counts = [one.total() if kind == "all" else one[kind] for one in (total, exact, kept, before)]
        print(f"{kind:14} {counts[0]:5} " + " ".join(f"{count / counts[0]:6.1%}" for count in counts[1:]))


def has_all(source: str, translation: str) -> bool:
    """Return whether a translation has each span of its source equally often."""
    spans = Counter(span.text for span in find_spans(source))
    return all(translation.count(text) >= count for text, count in spans.items())


def report_bleu(model: regard.Model, files: list[str]) -> None:
    scores = [regard.evaluate(model, files, regard.DecodeSettings(protect=protect)).scores for protect in (True, False)]
    print(f"{files[0]}: BLEU {scores[0].bleu:.2f} with protection, {scores[1].bleu:.2f} without")


if __name__ == "__main__":
    main()
