"""Whether torch can compute in bfloat16 on this processor, tested in a child process.

Some virtual machines report AMX, which torch uses for bfloat16, and crash on its first instruction: the process dies
without a message or traceback. Torch can be told not to use AMX, but only by an environment variable set before it
starts.
"""

import subprocess
import sys
from functools import cache

DISABLE_AMX = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_FP16"}

_MATRIX_PRODUCT = "import torch; square = torch.ones(64, 64, dtype=torch.bfloat16); square @ square"


@cache
def is_safe() -> bool:
    """Return whether a bfloat16 matrix product leaves its process alive."""
    process = subprocess.run([sys.executable, "-P", "-c", _MATRIX_PRODUCT], capture_output=True)
    return process.returncode in (0, 1)  # 1 is a Python exception, not a crash
