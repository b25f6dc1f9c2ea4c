"""Whether the libraries Regard stands on are there and can be imported, and what devices they see."""

import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from regard.doctor.check_result import CheckResult
from regard.doctor.child_process import ChildError, run_child

# Those of pyproject.toml. Each is imported by the name it is installed by.
LIBRARIES = (
    "torch", "ctranslate2", "sentencepiece", "numpy", "safetensors", "sacrebleu", "click", "defusedxml", "filelock",
    "platformdirs", "polib", "psutil", "rich", "wcwidth", *(("backports.zstd",) if sys.version_info < (3, 14) else ()),
)  # fmt: skip

_CODE = """
import importlib, sys
library = importlib.import_module(sys.argv[1])
tell({asked})
"""
_ASKED = {
    "torch": "{'threads': library.get_num_threads(), 'apple': library.backends.mps.is_available(), 'cuda': "
    "[library.cuda.get_device_name(number) for number in range(library.cuda.device_count())]}",
    "ctranslate2": "{'types': sorted(library.get_supported_compute_types('cpu'))}",
}


def library(name: str) -> Iterator[CheckResult]:
    """One library, imported elsewhere."""
    try:
        installed = version(name)
    except PackageNotFoundError:
        yield CheckResult("Libraries", name, "missing", f"{name} is not installed; install it: pip install {name}")
        return
    try:
        answers = list(run_child(_CODE.replace("{asked}", _ASKED.get(name, "None")), name))
    except ChildError as error:
        mend = f"install it again: pip install --force-reinstall {name}"
        yield CheckResult("Libraries", name, installed, f"{name} cannot be imported: {error}; {mend}")
        return
    yield CheckResult("Libraries", name, installed)
    match name, answers:
        case "torch", [{"threads": threads, "apple": apple, "cuda": cuda}]:
            gpus = [*cuda, *(["an Apple GPU"] if apple else [])]
            yield CheckResult("Devices", "torch computes", f"in {threads} threads; {', '.join(gpus) or 'no GPU'}")
        case "ctranslate2", [{"types": types}]:
            yield CheckResult("Devices", "ctranslate2 computes", f"on the processor in {', '.join(types)}")
