"""Small corpora on disk."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from regard.data.formats.corpus import Corpus


@pytest.fixture
def corpus(tmp_path: Path) -> Callable[[str, Sequence[tuple[str, str]]], Corpus]:
    """A function that writes pairs as two aligned files."""

    def write(name: str, pairs: Sequence[tuple[str, str]]) -> Corpus:
        paths = tmp_path / f"{name}.en", tmp_path / f"{name}.fr"
        for side, path in enumerate(paths):
            path.write_bytes("".join(pair[side] + "\n" for pair in pairs).encode())
        return Corpus(paths)

    return write


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, bytes], Path]:
    """A function that writes a file."""

    def write_file(name: str, data: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write_file
