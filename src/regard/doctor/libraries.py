"""Checks whether the dependencies of Regard are installed and can be imported, and which devices they find."""

import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from regard.doctor.check_result import CheckResult
from regard.doctor.child_process import ChildError, run_child
from regard.render.units import format_count

# The dependencies in pyproject.toml. For each of them, the name of the package is also the name of the module.
LIBRARIES = (
    "torch", "ctranslate2", "sentencepiece", "numpy", "safetensors", "sacrebleu", "click", "defusedxml", "filelock",
    "platformdirs", "polib", "psutil", "rich", "scipy", "wcwidth",
    *(("backports.zstd",) if sys.version_info < (3, 14) else ()),
)  # fmt: skip

_CODE = """
import importlib, sys
library = importlib.import_module(sys.argv[1])
report({expression})
"""
_EXPRESSIONS = {
    "torch": "{'threads': library.get_num_threads(), 'apple': library.backends.mps.is_available(), 'cuda': "
    "[library.cuda.get_device_name(number) for number in range(library.cuda.device_count())]}",
    "ctranslate2": "{'types': sorted(library.get_supported_compute_types('cpu'))}",
}


def check_library(name: str) -> Iterator[CheckResult]:
    """Check one library by importing it in a child process."""
    try:
        installed = version(name)
    except PackageNotFoundError:
        yield CheckResult("Libraries", name, "missing", f"{name} is not installed; install it: pip install {name}")
        return
    try:
        reports = list(run_child(_CODE.replace("{expression}", _EXPRESSIONS.get(name, "None")), name))
    except ChildError as error:
        fix = f"install it again: pip install --force-reinstall {name}"
        yield CheckResult("Libraries", name, installed, f"{name} cannot be imported: {error}; {fix}")
        return
    yield CheckResult("Libraries", name, installed)
    match name, reports:
        case "torch", [{"threads": threads, "apple": apple, "cuda": cuda}]:
            gpus = [*cuda, *(["an Apple GPU"] if apple else [])]
            found = f"in {format_count(threads, 'thread')}; {', '.join(gpus) or 'no GPU'}"
            yield CheckResult("Devices", "torch computes", found)
        case "ctranslate2", [{"types": types}]:
            yield CheckResult("Devices", "ctranslate2 computes", f"on the processor in {', '.join(types)}")
