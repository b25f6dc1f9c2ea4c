"""A run's diary: one JSON object per line in `run/log.jsonl`, and TensorBoard files if asked for."""

import json
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from regard.errors import RunError
from regard.files import write_atomically


class Log:
    """Appends records that carry a step. A resumed run first forgets what came after the step it resumes from."""

    def __init__(self, folder: Path, resumed_step: int, *, tensorboard: bool) -> None:
        path = folder / "log.jsonl"
        if path.exists():
            kept = [line for line in path.read_bytes().splitlines(keepends=True) if _step(line) <= resumed_step]
            write_atomically(path, b"".join(kept))
        self._file = path.open("a", encoding="utf-8")
        self._board = _tensorboard(folder / "tensorboard", resumed_step) if tensorboard else None

    def write(self, step: int, **values: Any) -> None:
        self._file.write(json.dumps({"step": step, **values}, ensure_ascii=False) + "\n")
        self._file.flush()
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


def _step(line: bytes) -> float:
    try:
        return float(json.loads(line)["step"]) if line.endswith(b"\n") else float("inf")
    except (KeyError, ValueError):
        return float("inf")  # a line cut off by a crash


def check_tensorboard() -> None:
    """Whether TensorBoard is there, before any work."""
    if find_spec("tensorboard") is None:
        raise RunError("train.tensorboard needs TensorBoard: pip install 'regard[tensorboard]'")


def _tensorboard(folder: Path, resumed_step: int) -> Any:
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder), purge_step=resumed_step + 1)
