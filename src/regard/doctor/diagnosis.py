"""The diagnosis of an installation. It continues if a check fails.

Therefore this package imports no library that may be missing, and uses child processes for code that may crash.
"""

import platform
from collections.abc import Iterator
from itertools import chain

from regard import __version__
from regard.doctor.bundled_models import check_models, check_translations
from regard.doctor.check_result import CheckResult, Diagnosis
from regard.doctor.libraries import LIBRARIES, check_library
from regard.doctor.system import check_machine, check_paths
from regard.doctor.training_trial import check_training


def diagnose() -> Iterator[str | Diagnosis]:
    """Yield the name of each check as it starts, then the diagnosis."""
    results = [
        CheckResult("Versions", "regard", __version__),
        CheckResult("Versions", "Python", platform.python_version()),
    ]
    yield "libraries"
    libraries = [result for name in LIBRARIES for result in check_library(name)]
    results += sorted(libraries, key=lambda result: result.section, reverse=True)  # section Libraries, then Devices
    results += [*check_machine(), *check_paths(), check_models()]
    if any(result.wrong for result in libraries):
        results.append(CheckResult("Self-test", "self-test", "not run: it needs all libraries"))
        yield Diagnosis(tuple(results))
        return
    for event in chain(check_translations(), check_training()):
        if isinstance(event, str):
            yield event
        else:
            results.append(event)
    yield Diagnosis(tuple(results))
