"""How often a model uses the terms of a glossary, and what happens to the other words.

    python bench/glossary.py [MODEL]        # needs ../shared/data/tatoeba (or $REGARD_SHARED_DATA)

The first 200 sentences of the Tatoeba test and validation sets with a term of bench/workloads/glossary.tsv are
translated with and without the glossary. A word is damaged if the translation without the glossary has it and the one
with the glossary does not, beyond one word for each term. BLEU is computed without the terms: in the translation with
the glossary, the terms are removed, and in the other one and in the reference, the words that the terms replaced.
"""

import difflib
import gzip
import re
import sys
from pathlib import Path

from common.corpora import DATA

import regard
from regard.evaluation.scores import Scorer

GLOSSARY = Path(__file__).parent / "workloads" / "glossary.tsv"

SENTENCES = 200

_WORD = re.compile(r"\w+(?:-\w+)*|[^\w\s]")


def main() -> None:
    model = regard.load(sys.argv[1] if len(sys.argv) > 1 else "en-fr")
    glossary = regard.Glossary.read(GLOSSARY)
    pairs = sentences(glossary)
    plain = [one.text for one in model.translate([source for source, _ in pairs])]
    translations = model.translate([source for source, _ in pairs], glossary=glossary)
    terms = used = by_model = damaged = 0
    rest: list[tuple[str, str, str]] = []
    for (source, reference), before, after in zip(pairs, plain, translations, strict=True):
        placed = [span for span in after.spans if span.kind == "term"]
        terms += len(placed)
        used += sum(span.placed_by != "end" and after.text[slice(*span.target)] == span.text for span in placed)
        by_model += sum(span.placed_by == "model" for span in placed)
        without_terms = after.text
        for begin, end in sorted((span.target for span in placed), reverse=True):
            without_terms = without_terms[:begin] + without_terms[end:]
        replaced = lost_words(_WORD.findall(before), _WORD.findall(without_terms))
        damaged += max(0, len(replaced) - len(placed))
        if len(replaced) > len(placed):
            print(f"  {source}\n  {before}\n  {after.text}\n")
        rest.append((without_terms, without(before, replaced), without(reference, replaced)))
    scores = [bleu([row[side] for row in rest], [row[2] for row in rest]) for side in (0, 1)]
    print(f"{terms} terms in {len(pairs)} sentences: {used / terms:.1%} used ({by_model} with a stand-in)")
    print(
        f"{damaged} other words changed; BLEU without the terms {scores[0]:.2f}, without the glossary {scores[1]:.2f}"
    )


def sentences(glossary: regard.Glossary) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for split in ("test", "val"):
        with gzip.open(DATA / "tatoeba" / "en-fr" / f"{split}.tsv.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                source, reference = line.rstrip("\n").split("\t")[:2]
                if any(glossary.find(source, [])):
                    found.setdefault(source, reference)
    return list(found.items())[:SENTENCES]


def lost_words(before: list[str], after: list[str]) -> list[str]:
    changes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [word for tag, begin, end, _, _ in changes if tag in ("delete", "replace") for word in before[begin:end]]


def without(text: str, words: list[str]) -> str:
    left = list(words)
    return " ".join(word for word in _WORD.findall(text) if word not in left or left.remove(word))


def bleu(translations: list[str], references: list[str]) -> float:
    scorer = Scorer([[" ".join(_WORD.findall(one))] for one in references], names=("bleu",))
    return scorer.metric_scores(list(scorer.statistics([" ".join(_WORD.findall(one)) for one in translations])))["bleu"]


if __name__ == "__main__":
    main()
