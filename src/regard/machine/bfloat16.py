"""Whether torch survives bfloat16 on this processor, found out in a process of its own.

Some virtual machines announce AMX, in whose tiles torch computes bfloat16, and trap on its first instruction: no
message and no traceback, only a dead process. Torch can be told to do without, but only from outside, before it starts.
"""

import subprocess
import sys
from functools import cache

DISABLE_AMX = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_FP16"}

_PRODUCT = "import torch; square = torch.ones(64, 64, dtype=torch.bfloat16); square @ square"


@cache
def is_safe() -> bool:
    done = subprocess.run([sys.executable, "-P", "-c", _PRODUCT], capture_output=True)
    return done.returncode in (0, 1)  # 1 is an exception, not a death
