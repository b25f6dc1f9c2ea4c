"""Whether a text translates the same alone, in batches, and on both roads: counted on a real model and real sentences.

python bench/same_text.py MODEL-FOLDER FILE [MOST]

FILE has a text on each line, or a source, a tab and its translation. Batches are of shuffled texts. Where the roads
differ, it is a tie if both found the two texts equally good, within 1e-4.
"""

import random
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import regard
from regard.data.formats.lines import Lines
from regard.inference.result import Translation
from regard.inference.translator import Translator
from regard.settings.decode import DecodeSettings


def main(folder: str, file: str, most: int = 5000) -> None:
    texts = list(dict.fromkeys(line.split("\t")[0] for line in islice(Lines(Path(file)), most)))
    print(f"{len(texts):,} distinct texts of {file}", flush=True)
    engine, torch_road = regard.load(folder), regard.load(folder, fast=None)
    for beams in (4, 1):
        decode = DecodeSettings(beam_size=beams)
        alone = in_groups(engine, texts, 1, decode)
        for size in (2, 8, 32, 64):
            differ = sum(
                alone[text].text != found.text for text, found in in_groups(engine, texts, size, decode).items()
            )
            print(f"beams {beams}, engine, alone and in batches of {size}: {differ} differ", flush=True)
        bare = in_groups(engine, texts, len(texts), replace(decode, scores=False))
        differ = sum(alone[text].text != bare[text].text for text in texts)
        print(f"beams {beams}, engine, alone and all together without scores: {differ} differ", flush=True)
        slow = in_groups(torch_road, texts, len(texts), decode)
        differing = [text for text in texts if alone[text].text != slow[text].text]
        ties = sum(abs(alone[text].score - slow[text].score) < 1e-4 for text in differing)
        print(f"beams {beams}, engine and torch: {len(differing)} differ, {ties} of them ties", flush=True)


def in_groups(translator: Translator, texts: list[str], size: int, decode: DecodeSettings) -> dict[str, Translation]:
    """Each text's translation, made in groups that never saw the order of another size."""
    shuffled = random.Random(size).sample(texts, len(texts))
    groups = (shuffled[at : at + size] for at in range(0, len(shuffled), size))
    return {found.source: found for group in groups for found in translator.translate_all(group, decode)}


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
    else:
        print(f"nothing measured; it wants a model and a file: {(__doc__ or '').splitlines()[2].strip()}")
