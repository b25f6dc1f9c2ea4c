"""Whether a text translates the same alone, in batches, and on both roads: counted on a real model and real sentences.

python bench/same_text.py MODEL-FOLDER FILE [MOST]
"""

import sys
from itertools import islice
from pathlib import Path

import regard
from regard.data.lines import Lines
from regard.decoding.translation import TextTranslator
from regard.settings import DecodeSettings


def main(folder: str, file: str, most: int = 1000) -> None:
    texts = list(islice(Lines(Path(file)), most))
    roads = {"torch": regard.load(folder, fast=None), "engine": regard.load(folder)}
    for beams in (4, 1):
        decode = DecodeSettings(beams=beams)
        alone = {road: in_groups(translator, texts, 1, decode) for road, translator in roads.items()}
        for road, translator in roads.items():
            for size in (2, 8, 64):
                found = in_groups(translator, texts, size, decode)
                print(
                    f"beams {beams}, {road}: alone and in batches of {size}: {differ(alone[road], found)}", flush=True
                )
        print(f"beams {beams}: torch and engine: {differ(alone['torch'], alone['engine'])}", flush=True)


def in_groups(translator: TextTranslator, texts: list[str], size: int, decode: DecodeSettings) -> list[str]:
    groups = (texts[at : at + size] for at in range(0, len(texts), size))
    return [found.text for group in groups for found in translator.translate_all(group, decode)]


def differ(one: list[str], other: list[str]) -> str:
    count = sum(a != b for a, b in zip(one, other, strict=True))
    return f"{count} of {len(one)} texts differ"


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
    else:
        print(f"nothing measured; it wants a model and a file: {(__doc__ or '').splitlines()[2].strip()}")
