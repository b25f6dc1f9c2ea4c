"""Fixtures for all tests: one thread per worker, fixed seeds, small models and real corpora."""

import atexit
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Before torch is imported, and also for child processes: test workers share the cores, so more threads are slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell starts a background job with SIGINT ignored, and child processes inherit that; tests interrupt such processes.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests, their workers, child processes and browsers leave the user's cache and configuration folders unchanged.
if "PYTEST_XDIST_WORKER" not in os.environ:
    user_folders = tempfile.mkdtemp(prefix="regard-tests-user-")
    atexit.register(shutil.rmtree, user_folders, ignore_errors=True)
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        os.environ[name] = str(Path(user_folders) / name)

import pytest
from hypothesis import settings

from regard.machine import bfloat16
from regard.machine.process import tune

tune()

# On some virtual machines bfloat16 crashes; test workers inherit this setting.
if "PYTEST_XDIST_WORKER" not in os.environ and not bfloat16.is_safe():
    os.environ.update(bfloat16.DISABLE_AMX)
    bfloat16.is_safe.cache_clear()

REPOSITORY = Path(__file__).parents[1]
SHARED_DATA = Path(os.environ.get("REGARD_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))

# The same examples in every run, and no time limit: the machine may be busy.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that use the `shared_data` fixture, and skip them if there are no corpora.

    The commands of the documentation take minutes and run one after another, so they come first: at the end they would
    leave a core idle.
    """
    items.sort(key=lambda item: item.path.name != "test_readme.py")
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker("shared_data")
        if item.get_closest_marker("shared_data") and not SHARED_DATA.is_dir():
            item.add_marker(pytest.mark.skip(reason=f"no corpora in {SHARED_DATA}; set REGARD_SHARED_DATA"))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder of pyproject.toml."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real corpora."""
    return SHARED_DATA


@pytest.fixture(scope="session")
def make_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that writes the folder of a small model with random parameters."""
    import torch

    from regard.model_folder.writer import save_folder
    from regard.models.kinds.transformer import Transformer
    from regard.settings.kinds.transformer import TransformerSettings
    from regard.tokenizers.sentencepiece import SentencePieceTokenizer
    from regard.tokenizers.special_ids import EOS
    from regard.tokenizers.vocabulary import train_tokenizer

    def make(
        seed: int = 1, text: str = "the cat sees a red house", languages: Any = ("en", "xx"), **shape: Any
    ) -> Path:
        tokenizer = SentencePieceTokenizer(train_tokenizer(iter([text] * 9), kind="unigram", vocab_size=300))
        plain = {
            "width": 16,
            "heads": 2,
            "feedforward": 24,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "max_positions": 64,
        }
        settings = TransformerSettings(
            source_vocab_size=tokenizer.embedding_rows,
            target_vocab_size=tokenizer.embedding_rows,
            norm="pre",
            **{**plain, **shape},
        )
        torch.manual_seed(seed)
        model = Transformer(settings)
        with torch.no_grad():
            model.embedding.weight.mul_(3)
            last: Any = model.decoder["norm"]
            last.bias.add_(model.embedding.weight[EOS], alpha=0.4)
        folder = tmp_path_factory.mktemp("models") / f"seed-{seed}"
        weights = model.state_dict()
        save_folder(folder, settings=settings, weights=weights, tokenizer=tokenizer, languages=languages, card="")
        return folder

    return make


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that returns the folder of a small model of a named shape, written once."""
    root = tmp_path_factory.mktemp("models")

    def folder_of_shape(shape: str) -> Path:
        from tests.interpret.small_models import SHAPES, write_model

        folder = root / shape
        return folder if folder.exists() else write_model(folder, SHAPES[shape])

    return folder_of_shape


@pytest.fixture(scope="session")
def model_of(folder_of: Callable[[str], Path]) -> Callable[[str], Any]:
    """Return a function that loads a small model of a named shape, with the torch backend, which needs no export."""
    import regard

    models: dict[str, Any] = {}

    def load(shape: str) -> Any:
        if shape not in models:
            models[shape] = regard.load(folder_of(shape), backend="torch")
        return models[shape]

    return load


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium. It ends with the module: Playwright's event loop runs until then, and asyncio refuses another one."""
    from playwright.sync_api import sync_playwright
    from tests.page.browser import ARGUMENTS

    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert path, "no Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Start every test from the same torch seed, without importing torch for tests that do not use it."""
    if torch := sys.modules.get("torch"):
        torch.manual_seed(1)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the results of the campaigns, in the words of docs/explanation/reliability.md."""
    lines = [
        f"{value}"
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name == "campaign" and report.when == "call"
    ]
    if lines:
        terminalreporter.section("campaigns")
        terminalreporter.write("".join(line + "\n" for line in lines))
