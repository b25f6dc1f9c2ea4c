"""Count the texts whose translation depends on the batch or on the backend.

python bench/check_same_text.py MODEL-FOLDER FILE [MAXIMUM]

FILE has a text per line, or a source, a tab and its translation. Batches are made of shuffled texts. A difference
between the backends is a tie if the scores of the two translations differ by less than 1e-4.
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


def main(folder: str, file: str, maximum: int = 5000) -> None:
    texts = list(dict.fromkeys(line.split("\t")[0] for line in islice(Lines(Path(file)), maximum)))
    print(f"{len(texts):,} distinct texts of {file}", flush=True)
    ctranslate2, torch = regard.load(folder), regard.load(folder, backend="torch")
    for beams in (4, 1):
        decode = DecodeSettings(beam_size=beams)
        alone = in_groups(ctranslate2, texts, 1, decode)
        for size in (2, 8, 32, 64):
            differ = sum(
                alone[text].text != batched.text
                for text, batched in in_groups(ctranslate2, texts, size, decode).items()
            )
            print(f"beams {beams}, CTranslate2, alone and in batches of {size}: {differ} differ", flush=True)
        without_scores = in_groups(ctranslate2, texts, len(texts), replace(decode, scores=False))
        differ = sum(alone[text].text != without_scores[text].text for text in texts)
        print(f"beams {beams}, CTranslate2, alone and all together without scores: {differ} differ", flush=True)
        by_torch = in_groups(torch, texts, len(texts), decode)
        differing = [text for text in texts if alone[text].text != by_torch[text].text]
        ties = sum(abs(alone[text].score - by_torch[text].score) < 1e-4 for text in differing)
        print(f"beams {beams}, CTranslate2 and torch: {len(differing)} differ, {ties} of them ties", flush=True)


def in_groups(translator: Translator, texts: list[str], size: int, decode: DecodeSettings) -> dict[str, Translation]:
    """Return the translation of each text, in groups of shuffled texts."""
    shuffled = random.Random(size).sample(texts, len(texts))
    groups = (shuffled[at : at + size] for at in range(0, len(shuffled), size))
    translations = (translation for group in groups for translation in translator.translate(group, decode))
    return {translation.source: translation for translation in translations}


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
    else:
        print(f"nothing was measured; give a model folder and a file: {(__doc__ or '').splitlines()[2].strip()}")
