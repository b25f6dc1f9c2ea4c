"""Whether the libraries Regard stands on are there and can be imported, and what devices they see."""

import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from regard.doctor.child import ChildError, told_by
from regard.doctor.findings import Finding

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


def library(name: str) -> Iterator[Finding]:
    """One library, imported elsewhere."""
    try:
        installed = version(name)
    except PackageNotFoundError:
        yield Finding("Libraries", name, "missing", f"{name} is not installed; install it: pip install {name}")
        return
    try:
        answers = list(told_by(_CODE.replace("{asked}", _ASKED.get(name, "None")), name))
    except ChildError as error:
        mend = f"install it again: pip install --force-reinstall {name}"
        yield Finding("Libraries", name, installed, f"{name} cannot be imported: {error}; {mend}")
        return
    yield Finding("Libraries", name, installed)
    match name, answers:
        case "torch", [{"threads": threads, "apple": apple, "cuda": cuda}]:
            gpus = [*cuda, *(["an Apple GPU"] if apple else [])]
            yield Finding("Devices", "torch computes", f"in {threads} threads; {', '.join(gpus) or 'no GPU'}")
        case "ctranslate2", [{"types": types}]:
            yield Finding("Devices", "ctranslate2 computes", f"on the processor in {', '.join(types)}")
