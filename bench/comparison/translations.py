"""Checks that both checkouts return the same translations with the bundled models: text, score, alignment and the rest.

All sentences are translated by the command line with the default settings, and by both methods of the Python interface.
Some of them are translated by the command line again with other decode settings, some of which need the torch backend.
"""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from comparison.checkout import Checkout, Pair, Sessions
from comparison.corpus import Corpus, spread
from comparison.dialects import Dialect
from comparison.items import Item, compared
from comparison.json_difference import first_difference, json_values, renamed

Translations = tuple[list[dict[str, Any]], list[dict[str, Any]]]  # by the old checkout, and by the new one

MODELS = {"en-fr": "en", "fr-en": "fr"}  # for each model, its source language
SCORE_TOLERANCE = 1e-6
FEW = 40  # the number of sentences that are translated with other decode settings

SETTINGS: dict[str, tuple[str, ...]] = {
    "greedy": ("decode.beam_size=1",),
    "n-best": ("decode.n_best=3", "decode.log_probabilities=true"),
    "limits": (
        "decode.length_penalty=1.2", "decode.min_length=8", "decode.max_length=14", "decode.max_length_offset=6",
        "decode.no_repeat_ngram_size=2",
    ),
    "sampling": ("decode.temperature=0.7", "decode.top_k=20", "decode.n_best=2", "decode.seed=3"),
    "prefix": ("decode.prefix=Il", "decode.beam_size=3"),
}  # fmt: skip

# A program that translates the texts on standard input by the Python interface and prints a line of JSON for each.
_PROGRAM = """
import json, sys
from dataclasses import asdict
import regard
name, method, alignment = sys.argv[1:]
translate = getattr(regard.load(name), method)
for found in translate(json.load(sys.stdin), regard.DecodeSettings(**{alignment: True})):
    print(json.dumps(asdict(found), ensure_ascii=False))
"""


def compare_translations(pair: Pair, corpus: Corpus, sentences: int) -> Iterator[Item]:
    """Translate in both directions with all interfaces and settings, and compare the results."""
    with pair.sessions() as sessions:
        for model, language in MODELS.items():
            chosen = spread(corpus.sentences[language], sentences)
            texts, few = [*chosen, *_unusual(corpus.sentences[language])], spread(chosen, FEW)
            yield from _by_command(sessions, model, texts)
            for method in ("translate", "translate_iterable"):
                name = f"{model}, {len(texts):,} texts by Python's {method}"
                yield compared(name, partial(_by_python, pair, model, texts, method))
            for name, settings in SETTINGS.items():
                words = [word for setting in settings for word in ("--set", setting)]
                label = f"{model}, {len(few)} texts, {name}: {' '.join(settings)}"
                yield compared(label, partial(_difference, sessions, model, few, words))
            words = ["--compute-type", "int8"]
            yield compared(f"{model}, {len(few)} texts in int8", partial(_difference, sessions, model, few, words))


def _unusual(sentences: list[str]) -> list[str]:
    """Return blank texts, a text of two lines, a text too long for the model, and one of unknown characters."""
    return ["", " ", "\n".join(sentences[:2]), " ".join(spread(sentences, 200)), "🙂 ↯ 𝔘"]


def _by_command(sessions: Sessions, model: str, texts: list[str]) -> Iterator[Item]:
    """Compare the translations by the command line: first their texts, then scores, alignments and all fields."""
    found: list[Translations] = []

    def text_difference() -> str | None:
        found.append(_translate(sessions, model, texts, []))
        return first_difference(*_field(found[0], "text"))

    label = f"{model}, {len(texts):,} texts by the command line"
    yield compared(f"{label}: text", text_difference)
    for one in found:
        yield compared(f"{label}: score to {SCORE_TOLERANCE:g}", partial(_score_difference, one))
        yield compared(f"{label}: alignment", partial(first_difference, *_field(one, "alignment")))
        yield compared(f"{label}: every field", partial(first_difference, *one))


def _field(found: Translations, name: str) -> tuple[list[Any], list[Any]]:
    old, new = ([one.get(name, f"no {name}") for one in translations] for translations in found)
    return old, new


def _score_difference(found: Translations) -> str | None:
    for number, (old, new) in enumerate(zip(*_field(found, "score"), strict=True)):
        if not (isinstance(old, float) and isinstance(new, float) and abs(old - new) <= SCORE_TOLERANCE):
            return f"[{number}]: {old} became {new}"
    return None


def _difference(sessions: Sessions, model: str, texts: list[str], words: list[str]) -> str | None:
    return first_difference(*_translate(sessions, model, texts, words))


def _translate(sessions: Sessions, model: str, texts: list[str], words: list[str]) -> Translations:
    old, new = sessions.run("translate", "--model", model, "--json", *words, "--", *texts)
    pair = sessions.pair
    return _parsed(old, len(texts), pair.old.dialect), _parsed(new, len(texts), pair.new.dialect)


def _by_python(pair: Pair, model: str, texts: list[str], method: str) -> str | None:
    def translate(checkout: Checkout) -> list[dict[str, Any]]:
        dialect = checkout.dialect
        words = (model, dialect.method(method), dialect.setting("decode.alignment"))
        return _parsed(checkout.python(_PROGRAM, *words, stdin=json.dumps(texts)), len(texts), dialect)

    return first_difference(*pair.both(translate))


def _parsed(output: str, texts: int, dialect: Dialect) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = renamed(json_values(output), dialect)
    if len(found) != texts:
        raise ValueError(f"{texts} texts became {len(found)} translations")
    return found
