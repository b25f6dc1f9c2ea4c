"""How long translating takes, by a model that copies, whose output is as long as its input.

python -m growth.translating alone FOLDER ROAD LENGTH ROUNDS     # texts of so many pieces, one by one
python -m growth.translating together FOLDER SENTENCES ROUNDS    # many sentences
"""

import sys
import time
from collections.abc import Sequence
from itertools import cycle
from random import Random

from growth import corpus
from growth.child import tell

import regard
from regard.inference.translator import Translator


def alone(folder: str, road: str, length: str, rounds: str) -> None:
    translator = regard.load(folder, fast=None if road == "torch" else "float32")
    translator.translate("This is to warm up.")
    _tell(translator, [[_text(translator, int(length), number)] for number in range(int(rounds))])


def together(folder: str, count: str, rounds: str) -> None:
    translator = regard.load(folder)
    texts = [source for source, _ in corpus.sentences()][: int(count)]
    translator.translate_all(texts)  # it tries its settings by itself
    _tell(translator, [texts] * int(rounds))


def _tell(translator: Translator, rounds: Sequence[list[str]]) -> None:
    seconds, pieces, copied = [], 0, 0
    for texts in rounds:
        began = time.perf_counter()
        found = translator.translate_all(texts)
        seconds.append(round(time.perf_counter() - began, 4))
        pieces += sum(len(one.tokens) for one in found)
        copied += sum(one.text == one.source for one in found)
    tell(seconds=seconds, pieces=pieces / len(rounds), copied=copied / sum(map(len, rounds)))


def _text(translator: Translator, length: int, number: int) -> str:
    """Sentences up to as many words as give so many pieces, or a few less."""
    texts = [source for source, _ in corpus.sentences()]
    Random(number).shuffle(texts)
    words: list[str] = []
    for text in cycle(texts):
        words += text.split()
        if len(words) >= length:
            break
    low, high = 1, len(words)  # low fits, or is all that is left
    while low < high:
        middle = (low + high + 1) // 2
        fits = len(translator.tokenizer.encode([" ".join(words[:middle])])[0]) <= length
        low, high = (middle, high) if fits else (low, middle - 1)
    return " ".join(words[:low])


if __name__ == "__main__":
    {"alone": alone, "together": together}[sys.argv[1]](*sys.argv[2:])
