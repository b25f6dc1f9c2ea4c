"""Fixtures of the command-line tests: a tiny corpus and a model trained on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tests.cli.runner import SMALL, SOURCES, Trained, call, fixed_step_time, sentences, write

import regard

torch.set_num_threads(1)


@pytest.fixture(scope="module", autouse=True)
def _fixed_step_time() -> Iterator[None]:
    with fixed_step_time():
        yield


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `train.en` and `train.fr`."""
    folder = tmp_path_factory.mktemp("corpus")
    write(folder / "train.en", sentences(60))
    write(folder / "train.fr", [" ".join(reversed(text.split())) for text in sentences(60)])
    return folder


@pytest.fixture(scope="session")
def trained(folder: Path) -> Trained:
    out = folder / "model"
    with fixed_step_time():
        return Trained(
            out, call("train", folder / "train.en", folder / "train.fr", "--out", out, "--steps", 60, *SMALL)
        )


@pytest.fixture(scope="session")
def model(trained: Trained) -> Path:
    return trained.path


@pytest.fixture(scope="session")
def translations(model: Path) -> list[str]:
    """Return the translations of SOURCES."""
    return [each.text for each in regard.load(model).translate(SOURCES)]
