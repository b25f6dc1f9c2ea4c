"""Everything there is to know about an installation when something is wrong with it. Whatever fails, the rest is told.

So this room imports nothing that may be missing, and leaves what may crash to other processes.
"""

import platform
from collections.abc import Iterator
from itertools import chain

from regard import __version__
from regard.doctor.bundled_models import models, translations
from regard.doctor.check_result import CheckResult, Diagnosis
from regard.doctor.libraries import LIBRARIES, library
from regard.doctor.system import computer, paths
from regard.doctor.training_trial import trial


def diagnose() -> Iterator[str | Diagnosis]:
    """Say what is being looked at, then give the result."""
    findings = [
        CheckResult("Versions", "regard", __version__),
        CheckResult("Versions", "Python", platform.python_version()),
    ]
    yield "libraries"
    imported = [finding for name in LIBRARIES for finding in library(name)]
    findings += sorted(imported, key=lambda finding: finding.section, reverse=True)  # libraries, then devices
    findings += [*computer(), *paths(), models()]
    if any(finding.wrong for finding in imported):
        findings.append(CheckResult("Self-test", "self-test", "not run: it needs all libraries"))
        yield Diagnosis(tuple(findings))
        return
    for event in chain(translations(), trial()):
        if isinstance(event, str):
            yield event
        else:
            findings.append(event)
    yield Diagnosis(tuple(findings))
