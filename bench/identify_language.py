"""Measure how often the language of a text is identified, how far the confidence can be trusted, and how long it takes.

    python bench/identify_language.py               # prints the tables of docs/explanation/measurements.md
    python bench/identify_language.py --calibrate   # prints how well other factors would fit

The profiles are made from the training sentences of Tatoeba in English, French and German, as `regard train` does. The
test sentences are held out. Texts of three words and of one word are taken from a random place of each sentence.
"""

import argparse
import datetime
import gzip
import math
import random
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, pairwise

from common.corpora import DATA, MULTI30K
from common.results import machine, table

from regard import language_id
from regard.language_id import Identification, LanguageIdentifier, LanguageProfile

SAMPLE = 20_000  # training sentences of each profile, as in `regard train`
SIDES = {"en": ("en-fr", 0), "fr": ("en-fr", 1), "de": ("en-de", 1)}
LENGTHS = {"sentence": None, "three words": 3, "one word": 1}
PAIRS = list(combinations(SIDES, 2))
CONFIDENCES = (0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)

Texts = dict[str, list[str]]  # by language


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calibrate", action="store_true", help="try other factors on the validation sentences")
    calibrates = parser.parse_args().calibrate
    profiles = {language: LanguageProfile.of(spaced(sentences(language, "train"))) for language in SIDES}
    print(f"{datetime.date.today()}, {machine()}\n")
    if calibrates:
        calibrate(profiles)
        return
    tatoeba: Texts = {language: sentences(language, "test") for language in SIDES}
    test_sets = {"Tatoeba": tatoeba, "Multi30k": {language: multi30k(language) for language in SIDES}}
    rows = [row for name, texts in test_sets.items() for row in accuracy(profiles, name, texts)]
    head = ["test set", "text", "of three", *SIDES, "of two", "wrong", "unknown", "third language unknown"]
    print("\n".join(table(head, rows)))
    rows = [row for name, texts in test_sets.items() for row in reliability(profiles, name, texts)]
    print("\n".join(table(["test set", "confidence", "texts", "mean confidence", "right"], rows)))
    print("\n".join(table(["text", "microseconds of CPU time, first time", "again"], speed(profiles, tatoeba))))
    rows = [row for name, texts in test_sets.items() for row in mismatches(profiles, name, texts)]
    print("\n".join(table(["test set", "sentences", "reported", "share"], rows)))
    rows = list(thresholds(profiles, tatoeba))
    print("\n".join(table(["confidence", "unknown of two", "third language unknown"], rows)))


def sentences(language: str, split: str) -> list[str]:
    """Return the sentences of Tatoeba in one language."""
    folder, side = SIDES[language]
    with gzip.open(DATA / "tatoeba" / folder / f"{split}.tsv.gz", "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t")[side] for line in lines]


def multi30k(language: str) -> list[str]:
    """Return the image captions of Multi30k in one language; no profile has seen texts like these."""
    with gzip.open(MULTI30K / f"test_2016_flickr.{language}.gz", "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n") for line in lines]


def spaced(texts: list[str]) -> Iterator[str]:
    for number in range(SAMPLE):
        yield texts[number * len(texts) // SAMPLE]


def excerpts(texts: Iterable[str], words: int | None, seed: int = 1) -> list[str]:
    """Return some consecutive words of each text with that many words, or the whole texts."""
    if words is None:
        return list(texts)
    numbers = random.Random(seed)
    found = []
    for text in texts:
        every = text.split()
        if len(every) >= words:
            start = numbers.randrange(len(every) - words + 1)
            found.append(" ".join(every[start : start + words]))
    return found


def of_pairs(profiles: Mapping[str, LanguageProfile], texts: Texts) -> Iterator[tuple[str, bool, Identification]]:
    """Identify every text among two languages, for all three pairs; yield its language and whether it is loaded."""
    for pair in PAIRS:
        identifier = LanguageIdentifier({language: profiles[language] for language in pair})
        for language, of_language in texts.items():
            for text in of_language:
                yield language, language in pair, identifier.identify(text)


def accuracy(profiles: Mapping[str, LanguageProfile], name: str, test: Texts) -> Iterator[list[str]]:
    """Yield for each length how often the language is right: of three languages, and of two with a third unknown."""
    identifier = LanguageIdentifier(profiles)
    for length, words in LENGTHS.items():
        texts = {language: excerpts(of_language, words) for language, of_language in test.items()}
        right = [
            statistics.mean(identifier.identify(text).language == language for text in texts[language])
            for language in SIDES
        ]
        found = list(of_pairs(profiles, texts))
        loaded = [(language, one.language) for language, is_loaded, one in found if is_loaded]
        others = [one.language for _, is_loaded, one in found if not is_loaded]
        shares = [
            statistics.mean(right),
            *right,
            statistics.mean(language == one for language, one in loaded),
            statistics.mean(one not in (language, None) for language, one in loaded),
            statistics.mean(one is None for _, one in loaded),
            statistics.mean(one is None for one in others),
        ]
        yield [name, length, *(f"{100 * share:.1f} %" for share in shares)]


def reliability(profiles: Mapping[str, LanguageProfile], name: str, test: Texts) -> Iterator[list[str]]:
    """Yield for each range of the confidence how often the language is right.

    Texts of the third language count a tenth, which is how rare the identification expects them to be.
    """
    found = []
    for words in LENGTHS.values():
        texts = {language: excerpts(of_language, words) for language, of_language in test.items()}
        for language, is_loaded, one in of_pairs(profiles, texts):
            if one.language is not None:
                found.append((one.confidence, one.language == language, 1.0 if is_loaded else 0.1))
    for low, high in pairwise(CONFIDENCES):
        inside = [each for each in found if low <= each[0] < high or each[0] == high == 1]
        weight = sum(each[2] for each in inside)
        mean = sum(each[0] * each[2] for each in inside) / weight
        right = sum(each[1] * each[2] for each in inside) / weight
        yield [
            name,
            f"{100 * low:.0f} % to {100 * high:.0f} %",
            f"{len(inside):,}",
            f"{100 * mean:.1f} %",
            f"{100 * right:.1f} %",
        ]


def speed(profiles: Mapping[str, LanguageProfile], test: Texts) -> Iterator[list[str]]:
    """Yield the CPU time for each text with English and French: before any n-gram is remembered, and after."""
    for length, words in LENGTHS.items():
        texts = [text for language in ("en", "fr") for text in excerpts(test[language], words)]
        first, again = [], []
        for _ in range(5):
            identifier = LanguageIdentifier({language: profiles[language] for language in ("en", "fr")})
            for seconds in (first, again):
                began = time.process_time()
                for text in texts:
                    identifier.identify(text)
                seconds.append((time.process_time() - began) / len(texts))
        yield [length, f"{1e6 * min(first):.0f}", f"{1e6 * min(again):.0f}"]


def mismatches(profiles: Mapping[str, LanguageProfile], name: str, test: Texts) -> Iterator[list[str]]:
    """Yield how often a sentence is reported as a mismatch: in the expected language, in the other one, in a third."""
    counts = {"the expected language": [0, 0], "the other language": [0, 0], "a third language": [0, 0]}
    for pair in PAIRS:
        identifier = LanguageIdentifier({language: profiles[language] for language in pair})
        for expected in pair:
            for language, texts in test.items():
                place = list(counts)[0 if language == expected else 1 if language in pair else 2]
                counts[place][0] += sum(identifier.find_mismatch(text, expected) is not None for text in texts)
                counts[place][1] += len(texts)
    for place, (reported, total) in counts.items():
        yield [name, f"in {place}", f"{reported:,} of {total:,}", f"{100 * reported / total:.2f} %"]


def thresholds(profiles: Mapping[str, LanguageProfile], test: Texts) -> Iterator[list[str]]:
    """Yield how many sentences are unknown if a higher confidence is required: in two loaded languages, in a third."""
    found = list(of_pairs(profiles, test))
    for threshold in (0.6, 0.8, 0.9, 0.95, 0.99):
        unknown = [
            statistics.mean(one.confidence < threshold for _, is_loaded, one in found if is_loaded == wanted)
            for wanted in (True, False)
        ]
        yield [f"{100 * threshold:.0f} %", *(f"{100 * share:.1f} %" for share in unknown)]


def calibrate(profiles: Mapping[str, LanguageProfile]) -> None:
    """Print the mean negative log-probability of the right answer on validation texts, for several factors."""
    validation: Texts = {language: sentences(language, "val") for language in SIDES}
    rows = []
    for factor in (0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.7, 1.0):
        language_id._EVIDENCE = factor
        losses = []
        for words in LENGTHS.values():
            texts = {language: excerpts(of_language, words) for language, of_language in validation.items()}
            total = weights = 0.0
            for language, is_loaded, one in of_pairs(profiles, texts):
                other = 1 - sum(one.probabilities.values())
                weight = 1.0 if is_loaded else 0.1
                total -= weight * math.log(max(one.probabilities[language] if is_loaded else other, 1e-12))
                weights += weight
            losses.append(total / weights)
        rows.append([f"{factor}", *(f"{loss:.4f}" for loss in [*losses, statistics.mean(losses)])])
    print("\n".join(table(["factor", *LENGTHS, "mean"], rows)))


if __name__ == "__main__":
    main()
