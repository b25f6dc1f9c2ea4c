"""Checks of the bundled models: which are installed, and whether each can translate a sentence."""

import time
from collections.abc import Iterator

from regard.doctor.check_result import CheckResult
from regard.doctor.child_process import ChildError, run_child
from regard.model_folder import bundled
from regard.render.units import format_bytes

SENTENCES = {"en": "I am a student.", "fr": "Je suis étudiant."}

_CODE = """
import sys
from pathlib import Path
from regard.inference.translator_loader import load_translator
report(load_translator(Path(sys.argv[1])).translate(sys.argv[2]).text)
"""


def check_models() -> CheckResult:
    """Return the names and sizes of the bundled models that are installed."""
    folders = [(name, bundled.HERE / name) for name in bundled.available()]
    sizes = [
        f"{name}, {format_bytes(sum(file.stat().st_size for file in folder.iterdir()))}" for name, folder in folders
    ]
    return CheckResult("Models", "bundled", "; ".join(sizes) or "none are installed")


def check_translations() -> Iterator[str | CheckResult]:
    """Yield the name of each check as it starts, then its result."""
    for name in bundled.available():
        yield f"the bundled model {name}"
        yield _check_translation(name, SENTENCES[name.partition("-")[0]])


def _check_translation(name: str, text: str) -> CheckResult:
    start = time.monotonic()
    try:
        (translation,) = run_child(_CODE, str(bundled.HERE / name), text)
    except (ChildError, OSError) as error:
        return CheckResult("Models", name, "failed", f"the model cannot translate: {error}")
    return CheckResult("Models", name, f"{text} → {translation}; {time.monotonic() - start:.0f} s")
