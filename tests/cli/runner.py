"""Runs a command in this process or in a new one, on a tiny corpus."""

import io
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from regard.cli import main
from regard.training.planning.step_time import StepTime

TINY = (
    "model.width=16",
    "model.heads=2",
    "model.feedforward=24",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "tokenizer.vocab_size=300",
    "train.micro_batch_tokens=96",
    "train.batch_tokens=96",
    "train.dropout=0.1",
    "train.validate_every=30",
    "decode.beam_size=2",
    "decode.max_length_offset=2",
)
SETTINGS = [word for override in TINY for word in ("--set", override)]
SMALL = ["--size", "tiny", *SETTINGS]
SOURCES = ["a bo cat dog", "elf fig gnu hat", "ink jam a bo", "cat dog elf"]
WORDS = ["a", "bo", "cat", "dog", "elf", "fig", "gnu", "hat", "ink", "jam"]


def sentences(count: int, seed: int = 1) -> list[str]:
    numbers = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found[" ".join(WORDS[int(10 * numbers.random())] for _ in range(3 + int(3 * numbers.random())))] = None
    return list(found)


@dataclass(frozen=True)
class Done:
    """The exit code, standard output and standard error of a command."""

    code: int
    output: bytes
    said: str

    @property
    def lines(self) -> list[str]:
        return self.output.decode("utf-8").split("\n")[:-1]


@dataclass(frozen=True)
class Trained:
    """A model folder, and the command that wrote it."""

    path: Path
    done: Done


@contextmanager
def fixed_step_time() -> Iterator[None]:
    """Plan runs without measuring the speed of this machine; restore signal handlers at the end."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.training.planning.step_time.measure_step_time", lambda *_: StepTime(0.01, 50.0))
        yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def call(*words: object, typed: bytes = b"") -> Done:
    """Run a command in this process, with its own standard input, output and error."""
    output, said = io.BytesIO(), io.BytesIO()
    # Each has a name here, because a text stream closes its bytes when it is deleted.
    stdout, stderr = (io.TextIOWrapper(bytes_, encoding="utf-8", write_through=True) for bytes_ in (output, said))
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryFile("r+b") as file:
        file.write(typed)
        file.seek(0)
        patch.setattr(sys, "stdin", io.TextIOWrapper(file, encoding="utf-8"))
        patch.setattr(sys, "stdout", stdout)
        patch.setattr(sys, "stderr", stderr)
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
    return Done(int(end.value.code or 0), output.getvalue(), said.getvalue().decode("utf-8"))


def write(path: Path, lines: Sequence[str]) -> Path:
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    return path


def process(*words: object, **options: object) -> subprocess.Popen:
    arguments = [sys.executable, "-m", "regard", *map(str, words)]
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        arguments, **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    )


GOOD = ["one two", "three four", "five six", "seven eight", "nine ten"]


def bad_corpora(folder: Path) -> dict[str, tuple[list[Path], str]]:
    """Return files that cannot be trained on, each with its error message."""
    good, other = write(folder / "good.en", GOOD), write(folder / "good.fr", GOOD)
    fewer, more = write(folder / "fewer.fr", GOOD[:-1]), write(folder / "more.fr", [*GOOD, "extra"])
    latin = folder / "latin.fr"
    latin.write_bytes(b"one\ntwo\ndeux \xe9t\xe9s\nfour\nfive\n")
    empty_en, empty_fr = write(folder / "empty.en", []), write(folder / "empty.fr", [])
    blank_en, blank_fr = write(folder / "blank.en", ["", " "]), write(folder / "blank.fr", ["", ""])
    no_tab = write(folder / "no_tab.tsv", ["one\tun", "two deux", "three\ttrois"])
    two_tabs = write(folder / "two_tabs.tsv", ["one\tun", "two\tdeux", "three\ttrois\tdrei"])
    unequal = "the files differ in their number of lines: {} has {}, {} has {}; "
    return {
        "missing": ([good, folder / "none.fr"], f"{folder / 'none.fr'}: no such file; check the name and the current"),
        "a folder": ([good, folder], f"{folder}: this is a folder; give the files in it instead"),
        "no partner": ([good], f"{good}: this file has no partner; give a source file and a target file"),
        "one line less": ([good, fewer], unequal.format(good, 5, fewer, 4)),
        "one line more": ([good, more], unequal.format(good, 5, more, 6)),
        "not UTF-8": (
            [good, latin],
            f"{latin}:3: byte 6 of the line (0xe9) is not UTF-8; if it is latin1, convert it: iconv -f latin1 -t utf-8",
        ),
        "empty": ([empty_en, empty_fr], "empty.en + empty.fr: there are no lines in it; a corpus needs at least one"),
        "only blank lines": (
            [blank_en, blank_fr],
            "there is nothing to train on: every pair of blank.en + blank.fr has an empty side; fill in the texts, or "
            "give other files",
        ),
        "no tab": (
            [no_tab],
            f"{no_tab}:2: expected 2 columns separated by tabs, found 1; separate source and target by one tab; "
            "the line is 'two deux'",
        ),
        "two tabs": ([two_tabs], f"{two_tabs}:3: expected 2 columns separated by tabs, found 3; remove the other"),
        "swapped": ([other, good, folder / "none.en", other], f"{folder / 'none.en'}: no such file"),
    }
