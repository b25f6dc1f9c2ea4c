"""Translate with a model that copies, so that the output is as long as the input.

python -m workloads.translation one FOLDER BACKEND LENGTH ROUNDS    # texts of LENGTH tokens, one by one
python -m workloads.translation many FOLDER SENTENCES ROUNDS        # many sentences at once
"""

import sys
import time
from collections.abc import Sequence
from itertools import cycle
from random import Random

from common.child_process import report
from common.corpora import synthetic_sentences

import regard
from regard.inference.translator import Translator


def one(folder: str, backend: str, length: str, rounds: str) -> None:
    translator = regard.load(folder, backend="torch" if backend == "torch" else "auto")
    translator.translate("This is to warm up.")
    _measure(translator, [[_text(translator, int(length), number)] for number in range(int(rounds))])


def many(folder: str, count: str, rounds: str) -> None:
    translator = regard.load(folder)
    texts = [source for source, _ in synthetic_sentences()][: int(count)]
    translator.translate(texts)  # to warm up
    _measure(translator, [texts] * int(rounds))


def _measure(translator: Translator, rounds: Sequence[list[str]]) -> None:
    seconds, tokens, copied = [], 0, 0
    for texts in rounds:
        began = time.perf_counter()
        translations = translator.translate(texts)
        seconds.append(round(time.perf_counter() - began, 4))
        tokens += sum(len(translation.tokens) for translation in translations)
        copied += sum(translation.text == translation.source for translation in translations)
    report(seconds=seconds, pieces=tokens / len(rounds), copied=copied / sum(map(len, rounds)))


def _text(translator: Translator, length: int, number: int) -> str:
    """Return random sentences of the synthetic language, cut to `length` tokens or a few less."""
    texts = [source for source, _ in synthetic_sentences()]
    Random(number).shuffle(texts)
    words: list[str] = []
    for text in cycle(texts):
        words += text.split()
        if len(words) >= length:
            break
    low, high = 1, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        fits = len(translator.tokenizer.encode([" ".join(words[:middle])])[0]) <= length
        low, high = (middle, high) if fits else (low, middle - 1)
    return " ".join(words[:low])


if __name__ == "__main__":
    {"one": one, "many": many}[sys.argv[1]](*sys.argv[2:])
