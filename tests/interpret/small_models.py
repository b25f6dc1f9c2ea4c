"""Small models of random weights, in folders, for looking into."""

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, sync_playwright
from tests.inside.browser import ARGUMENTS

import regard
from regard.data.tokenizer import END, Tokenizer, train_tokenizer
from regard.decoding import fast
from regard.folder import save_folder
from regard.model.transformer import Transformer
from regard.settings import ModelSettings

WORDS = "the a red old cat dog house tree sees paints finds and under with two three it was tired".split()  # noqa: SIM905
SHAPES: dict[str, dict[str, Any]] = {
    "post": {"norm": "post"},
    "pre": {"norm": "pre"},
    "learned": {"norm": "pre", "positions": "learned"},
    "deep encoder": {"norm": "post", "encoder_layers": 3, "decoder_layers": 1},
    "deep decoder": {"norm": "pre", "encoder_layers": 1, "decoder_layers": 3, "heads": 4},
}


def sentences(count: int) -> list[str]:
    chance = random.Random(1)
    return [" ".join(chance.choices(WORDS, k=chance.randint(2, 12))) + "." for _ in range(count)]


def write_model(folder: Path, shape: dict[str, Any]) -> Path:
    """A model that looks somewhere, and that writes texts of some length."""
    tokenizer = Tokenizer(train_tokenizer(iter(sentences(200)), kind="unigram", pieces=330))
    plain = {"width": 16, "heads": 2, "feedforward": 24, "encoder_layers": 2, "decoder_layers": 2, "longest": 128}
    settings = ModelSettings(vocabulary=tokenizer.rows, **{**plain, **shape})
    torch.manual_seed(3)
    model = Transformer(settings)
    with torch.no_grad():
        model.embedding.weight.mul_(1.5)
        for name, weight in model.named_parameters():
            if ".query.weight" in name or ".key.weight" in name:
                weight.mul_(2)  # no head should be indifferent
        last: Any = model.decoder["norm"] if "norm" in model.decoder else model.decoder.layers()[-1][1].feedforward_norm
        last.bias.add_(1.2 * model.embedding.weight[END])
    weights = model.state_dict()
    save_folder(folder, settings=settings, weights=weights, tokenizer=tokenizer, languages=("en", "xx"), card="")
    return folder


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a model of that shape, made once."""
    root = tmp_path_factory.mktemp("models")

    def made(shape: str) -> Path:
        folder = root / shape
        return folder if folder.exists() else write_model(folder, SHAPES[shape])

    return made


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "user_cache_path", lambda name: tmp_path / "cache" / name)


@pytest.fixture(scope="session")
def model_of(folder_of: Callable[[str], Path]) -> Callable[[str], Any]:
    """The model of that shape, on torch's road (the engine's need files of their own)."""
    made: dict[str, Any] = {}

    def load(shape: str) -> Any:
        if shape not in made:
            made[shape] = regard.load(folder_of(shape), fast=None)
        return made[shape]

    return load


@pytest.fixture(params=SHAPES)
def model(request: pytest.FixtureRequest, model_of: Callable[[str], Any]) -> Any:
    """A model of each shape."""
    return model_of(request.param)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert path, "no Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()
