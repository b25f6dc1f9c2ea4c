"""Translate the sentences of the blind comparison, and make or judge a comparison of two models.

    python recipes/blind_sentences.py translate MODEL_EN_FR MODEL_FR_EN OUT.tsv
    python recipes/blind_sentences.py shuffle BEFORE.tsv AFTER.tsv SEED OUT.tsv     # which side is which is hidden
    python recipes/blind_sentences.py judge BEFORE.tsv AFTER.tsv SEED JUDGED.tsv    # judged: A, B or = in column 1

The sentences are in sentences.tsv, which `domain_corpora.py` keeps out of the training data. `shuffle` writes an empty
column for the judgement, the source, and the two translations in random order; the order depends on the seed.
"""

import sys
from collections import Counter
from pathlib import Path
from random import Random

SENTENCES = Path(__file__).parent / "sentences.tsv"


def main() -> None:
    command, *words = sys.argv[1:]
    if command == "translate":
        translate(words[0], words[1], Path(words[2]))
        return
    before, after = (dict(read(Path(path))) for path in words[:2])
    if command == "shuffle":
        rows = [(source, *pair) for source, pair in shuffled(before, after, int(words[2])).items()]
        Path(words[3]).write_text("".join("\t".join(["", *row]) + "\n" for row in rows), "utf-8")
        return
    counts: Counter[str] = Counter()
    for line in Path(words[3]).read_text("utf-8").splitlines():
        verdict, source, *_ = line.split("\t")
        chosen = dict(zip("AB", shuffled(before, after, int(words[2]))[source], strict=True)).get(verdict)
        same = before[source] == after[source] or chosen is None
        counts["equal" if same else "after" if chosen == after[source] else "before"] += 1
    print(f"after is better: {counts['after']}, before is better: {counts['before']}, equal: {counts['equal']}")


def translate(to_french: str, to_english: str, out: Path) -> None:
    from regard.inference.translator_loader import load_translator

    rows = [line.split("\t") for line in SENTENCES.read_text("utf-8").splitlines()[1:]]
    translated: dict[str, str] = {}
    for languages, model in (("en-fr", to_french), ("fr-en", to_english)):
        sources = [text for _, of, text in rows if of == languages]
        translated |= zip(sources, (one.text for one in load_translator(model).translate(sources)), strict=True)
    out.write_text("".join(f"{text}\t{translated[text]}\n" for _, _, text in rows), "utf-8")


def read(path: Path) -> list[tuple[str, str]]:
    lines = path.read_text("utf-8").splitlines()
    return [(source, target) for source, target in (line.split("\t") for line in lines)]


def shuffled(before: dict[str, str], after: dict[str, str], seed: int) -> dict[str, tuple[str, str]]:
    """Return the two translations of each source; both orders, of sources and of translations, depend on the seed."""
    random = Random(seed)
    sources = list(before)
    random.shuffle(sources)
    pairs = {source: (before[source], after[source]) for source in sources}
    return {source: pair if random.random() < 0.5 else pair[::-1] for source, pair in pairs.items()}


if __name__ == "__main__":
    main()
