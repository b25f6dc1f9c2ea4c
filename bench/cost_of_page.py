"""Measure the cost of `regard look`: seconds to record a pass, to write its page and to open it, and the page's size.

The parameters are random, so that attention is spread out and compresses badly: the page of a trained model is smaller.
The text is given as the target, so that no search is timed.

    python bench/cost_of_page.py
"""

import datetime
import platform
import shutil
import tempfile
import time
from itertools import islice
from pathlib import Path

import torch

import regard
from regard.api import Model
from regard.data.synthetic.generator import pairs
from regard.model_folder.writer import save_folder
from regard.models.build import build_model
from regard.settings.kinds.transformer import SIZES
from regard.settings.model import ModelSettings
from regard.settings.sections import assemble
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.vocabulary import train_tokenizer

LENGTHS = (12, 100, 500)


def main() -> None:
    print(f"{datetime.date.today()}, {platform.machine()}, torch {torch.__version__}")
    print("| size | tokens per side | seconds to record | seconds to write | MB | seconds to open |")
    print("|---|---|---|---|---|---|")
    for size in ("tiny", "base"):
        with tempfile.TemporaryDirectory() as folder:
            model = random_model(assemble(SIZES[size]).model, Path(folder))
            for length in LENGTHS:
                print(f"| {size} | {length} | {measure(model, length, Path(folder))} |", flush=True)


def random_model(settings: ModelSettings, folder: Path) -> Model:
    """Return a model of this shape with random parameters."""
    texts = [text for pair in islice(pairs(seed=1), 500) for text in (pair.source, pair.target)]
    tokenizer = SentencePieceTokenizer(train_tokenizer(iter(texts), kind="unigram", vocab_size=1000))
    settings = settings.with_vocab_size(tokenizer.embedding_rows)
    weights = build_model(settings).state_dict()
    save_folder(folder, settings=settings, weights=weights, tokenizer=tokenizer, languages=(None, None), card="")
    return regard.load(folder, backend="torch")


def measure(model: Model, length: int, folder: Path) -> str:
    text = "1"
    while len(model.source(text).ids) < length:
        text += f" {len(text) % 10}"
    began = time.perf_counter()
    view = model.look(text, target=text)
    recorded = time.perf_counter()
    view.save(folder / "page.html")
    written = time.perf_counter()
    megabytes = (folder / "page.html").stat().st_size / 1e6
    return f"{recorded - began:.2f} | {written - recorded:.2f} | {megabytes:.2f} | {opening_time(folder / 'page.html')}"


def opening_time(path: Path) -> str:
    """Return the seconds until the page is drawn in Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return "no Chromium"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(offline=True).new_page()
        began = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector("body[data-ready]", timeout=120_000)
        seconds = time.perf_counter() - began
        browser.close()
    return f"{seconds:.2f}"


if __name__ == "__main__":
    main()
