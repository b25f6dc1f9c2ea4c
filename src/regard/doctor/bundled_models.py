"""The models that come with Regard: which are there, and what each makes of a sentence, in a process of its own."""

import time
from collections.abc import Iterator

from regard.doctor.check_result import CheckResult
from regard.doctor.child_process import ChildError, run_child
from regard.model_folder import bundled
from regard.render.units import format_size

SENTENCES = {"en": "I am a student.", "fr": "Je suis étudiant."}

_CODE = """
import sys
from pathlib import Path
from regard.inference.translator_loader import load_translator
tell(load_translator(Path(sys.argv[1])).translate(sys.argv[2]).text)
"""


def models() -> CheckResult:
    """Which there are."""
    found = [(name, bundled.HERE / name) for name in bundled.available()]
    sizes = [f"{name}, {format_size(sum(file.stat().st_size for file in folder.iterdir()))}" for name, folder in found]
    return CheckResult("Models", "bundled", "; ".join(sizes) or "none in this copy of Regard")


def translations() -> Iterator[str | CheckResult]:
    """Say with which is translated, then what came of it."""
    for name in bundled.available():
        yield f"the bundled model {name}"
        yield _translation(name, SENTENCES[name.partition("-")[0]])


def _translation(name: str, text: str) -> CheckResult:
    began = time.monotonic()
    try:
        (found,) = run_child(_CODE, str(bundled.HERE / name), text)
    except (ChildError, OSError) as error:
        return CheckResult("Models", name, "failed", f"it should translate, but: {error}")
    return CheckResult("Models", name, f"{text} → {found}; {time.monotonic() - began:.0f} s")
