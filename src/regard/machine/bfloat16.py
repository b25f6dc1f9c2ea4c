"""Tests in a child process whether torch can compute in bfloat16 on this processor.

Torch uses the AMX instructions of the processor for bfloat16. Some virtual machines report that they support AMX, but
the first AMX instruction ends the process without a message or traceback. An environment variable keeps torch from
using AMX, but it must be set before torch is imported.
"""

import subprocess
import sys
from functools import cache

DISABLE_AMX = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_FP16"}

_MATRIX_PRODUCT = "import torch; square = torch.ones(64, 64, dtype=torch.bfloat16); square @ square"


@cache
def is_safe() -> bool:
    """Return whether a child process survives a bfloat16 matrix product."""
    process = subprocess.run([sys.executable, "-P", "-c", _MATRIX_PRODUCT], capture_output=True)
    return process.returncode in (0, 1)  # 1 means a Python exception, which is not a crash
