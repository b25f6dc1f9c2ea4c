"""Memory-mapped arrays."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def map_file(path: Path, kind: str) -> NDArray[Any]:
    """A file of numbers, read from disk only where it is looked at."""
    return np.asarray(np.memmap(path, np.dtype(kind), mode="r"))
