"""Memory-mapped arrays."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def map_file(path: Path, dtype: str) -> NDArray[Any]:
    """Map a file of numbers into memory; only the parts that are accessed are read from disk."""
    return np.asarray(np.memmap(path, np.dtype(dtype), mode="r"))
