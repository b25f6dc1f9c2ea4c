"""The log of a run: one JSON object per line in `run/log.jsonl`, and TensorBoard files if enabled."""

import json
import math
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from regard.storage.atomic_files import explain_full_disk, write_atomically


class Log:
    """The log file of a run; when a run is resumed, records of steps that it will repeat are removed first."""

    def __init__(self, folder: Path, resumed_step: int, *, tensorboard: bool) -> None:
        self._path = path = folder / "log.jsonl"
        if path.exists():
            kept = [line for line in path.read_bytes().splitlines(keepends=True) if _step(line) <= resumed_step]
            write_atomically(path, b"".join(kept))
        self._file = path.open("ab", buffering=0)
        self._board = _tensorboard(folder / "tensorboard", resumed_step) if tensorboard else None

    def write(self, step: int, **values: Any) -> None:
        # JSON cannot represent NaN or infinity.
        finite = {name: None if _is_not_finite(value) else value for name, value in values.items()}
        line = (json.dumps({"step": step, **finite}, ensure_ascii=False) + "\n").encode()
        with explain_full_disk(self._path, len(line)):
            while line:  # when the disk is almost full, `write` may write only the first bytes
                line = line[self._file.write(line) :]
        if self._board is not None:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self._board.add_scalar(name, value, step)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if self._board is not None:
            self._board.close()


def _is_not_finite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _step(line: bytes) -> float:
    try:
        return float(json.loads(line)["step"]) if line.endswith(b"\n") else float("inf")
    except (KeyError, TypeError, ValueError):
        return float("inf")  # a crash left the line incomplete; with an infinite step, it will be removed


def _tensorboard(folder: Path, resumed_step: int) -> Any:
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder), purge_step=resumed_step + 1)
