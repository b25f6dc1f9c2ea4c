"""Standard input is read once and saved completely."""

import io
from pathlib import Path

import pytest

from regard.data.formats.corpus import Corpus, corpora
from regard.data.formats.stdin_corpus import reads_standard_input, save_stream
from regard.errors import DataError


def test_a_dash_is_standard_input(tmp_path: Path) -> None:
    assert reads_standard_input([Path("a.tsv"), Path("-=0.5")])
    assert not reads_standard_input([Path("a-.tsv")])
    saved = tmp_path / "saved.tsv"
    assert save_stream(io.BytesIO(b"a\tb\n"), saved)
    assert saved.read_bytes() == b"a\tb\n"
    assert corpora([Path("-=0.5")], standard_input=saved) == [Corpus((saved,), 0.5)]


def test_standard_input_can_be_given_only_once() -> None:
    with pytest.raises(DataError) as error:
        reads_standard_input([Path("-"), Path("-=2")])
    assert str(error.value) == "standard input (-) can be read only once; give it once"


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("empty", [io.BytesIO(), Terminal()])
def test_an_empty_stream_keeps_the_saved_content(tmp_path: Path, empty: io.BytesIO) -> None:
    saved = tmp_path / "saved.tsv"
    saved.write_bytes(b"a\tb\n")
    assert not save_stream(empty, saved)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("saved.tsv", b"a\tb\n")]
    assert save_stream(io.BytesIO(b"c\td\n"), saved)
    assert saved.read_bytes() == b"c\td\n"


def test_a_terminal_is_refused(tmp_path: Path) -> None:
    save_stream(io.BytesIO(), tmp_path / "saved.tsv")  # an empty stream saves no pairs
    with pytest.raises(DataError) as error:
        save_stream(Terminal(), tmp_path / "saved.tsv")
    assert str(error.value) == (
        "standard input (-) is a terminal; pipe pairs into it, for example: zcat pairs.gz | regard …"
    )


def test_a_dash_is_refused_where_standard_input_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"^-: only files can be read here, not standard input; save it to a file first$"
    ):
        corpora([Path("-")])
