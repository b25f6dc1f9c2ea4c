"""The models that come with Regard: which are there, and what each makes of a sentence, in a process of its own."""

import time
from collections.abc import Iterator

from regard import bundled
from regard.doctor.child import ChildError, told_by
from regard.doctor.findings import Finding, size

SENTENCES = {"en": "I am a student.", "fr": "Je suis étudiant."}
_CODE = """
import sys
from pathlib import Path
from regard.decoding.load import load
tell(load(Path(sys.argv[1])).translate(sys.argv[2]).text)
"""


def models() -> Finding:
    """Which there are."""
    found = [(name, bundled.HERE / name) for name in bundled.names()]
    sizes = [f"{name}, {size(sum(file.stat().st_size for file in folder.iterdir()))}" for name, folder in found]
    return Finding("Models", "bundled", "; ".join(sizes) or "none in this copy of Regard")


def translations() -> Iterator[str | Finding]:
    """Say with which is translated, then what came of it."""
    for name in bundled.names():
        yield f"the bundled model {name}"
        yield _translation(name, SENTENCES[name.partition("-")[0]])


def _translation(name: str, text: str) -> Finding:
    began = time.monotonic()
    try:
        (found,) = told_by(_CODE, str(bundled.HERE / name), text)
    except (ChildError, OSError) as error:
        return Finding("Models", name, "failed", f"it should translate, but: {error}")
    return Finding("Models", name, f"{text} → {found}; {time.monotonic() - began:.0f} s")
