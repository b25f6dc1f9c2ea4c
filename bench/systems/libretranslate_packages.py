"""Write model packages of LibreTranslate; runs in its environment.

    python libretranslate_packages.py PACKAGES CACHE MODEL SOURCE TARGET [MODEL SOURCE TARGET …]

MODEL is a folder with CTranslate2 files and a `peer.json` that names the SentencePiece model. LibreTranslate splits
texts into sentences with a neural network that it downloads. A package may have a pipeline of spaCy instead; an empty
one, to which LibreTranslate adds spaCy's rules for the ends of sentences, needs no download and is faster.
"""

import json
import shutil
import sys
from pathlib import Path

import spacy


def write_package(folder: Path, model: Path, source: str, target: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(model, folder / "model", dirs_exist_ok=True)
    shutil.copy(json.loads((model / "peer.json").read_text("utf-8"))["tokenizer"], folder / "sentencepiece.model")
    metadata = {"package_version": "1.0", "argos_version": "1.0", "type": "translate"}
    for side, code in (("from", source), ("to", target)):
        metadata |= {f"{side}_code": code, f"{side}_name": code}
    (folder / "metadata.json").write_text(json.dumps(metadata), "utf-8")
    spacy.blank(source).to_disk(folder / "spacy")


if __name__ == "__main__":
    packages, cache, *rest = sys.argv[1:]
    # If this folder exists, the pipeline for all languages is not downloaded; the packages have their own.
    (Path(cache) / "argos-translate" / "spacy" / "senter" / "model").mkdir(parents=True, exist_ok=True)
    for model, source, target in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        write_package(Path(packages) / f"{source}_{target}", Path(model), source, target)
