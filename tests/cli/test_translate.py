"""`regard translate`: each input line gives one output line."""

import io
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from tests.cli.runner import Done, call, process, sentences, write

import regard
from regard.cli.line_input import ready_lines
from regard.data.formats.lines import MAX_LINE_BYTES, STANDARD_INPUT_COPY, Lines
from regard.errors import DataError
from regard.model_folder.folder import AlignmentHead
from regard.model_folder.writer import save_alignment_head
from regard.settings.decode import DecodeSettings


def test_each_input_line_gives_one_output_line_and_empty_lines_stay_empty(model: Path) -> None:
    lines = ["a bo cat", "", "dog elf", "   ", "", "fig gnu hat ink"]
    done = call("translate", "--model", model, typed=("\n".join(lines) + "\n").encode())
    assert done.code == 0, done.said
    assert len(done.lines) == len(lines)
    assert [done.lines[number] for number in (1, 3, 4)] == ["", "   ", ""]
    assert done.lines[0] == regard.load(model).translate("a bo cat").text


def test_the_last_line_needs_no_line_feed(model: Path) -> None:
    assert call("translate", "--model", model, typed=b"a bo\ncat") == call(
        "translate", "--model", model, typed=b"a bo\ncat\n"
    )


def test_empty_input_gives_empty_output(model: Path) -> None:
    assert call("translate", "--model", model, typed=b"") == Done(0, b"", "")


def test_only_a_line_feed_ends_a_line(model: Path) -> None:
    text = "a\u2028bo\u0085cat\x0bdog\n"
    assert len(call("translate", "--model", model, typed=text.encode()).lines) == 1


def test_texts_as_arguments_equal_texts_on_standard_input(model: Path) -> None:
    done = call("translate", "--model", model, "a bo", "cat")
    assert done.output == call("translate", "--model", model, typed=b"a bo\ncat\n").output


def test_a_text_of_several_lines_gives_one_output_line(model: Path) -> None:
    assert len(call("translate", "--model", model, "a bo\n\ncat dog").lines) == 1


def test_decode_settings_are_applied(model: Path) -> None:
    done = call(
        "translate", "--model", model, "--set", "decode.beam_size=1", "--set", "decode.max_length_offset=1", "a bo cat"
    )
    expected = regard.load(model).translate("a bo cat", DecodeSettings(beam_size=1, max_length_offset=1)).text
    assert done.lines == [expected]


def test_json_has_scores_tokens_and_alternatives(model: Path) -> None:
    done = call(
        "translate", "--model", model, "--json", "--beam-size", "4", "--n-best", "3", typed=b"a bo cat\n\ndog\n"
    )
    assert done.code == 0, done.said
    first, blank, last = (json.loads(line) for line in done.lines)
    assert list(first) == [
        "source", "text", "score", "log_probability", "tokens", "log_probabilities", "word_probabilities",
        "alternatives", "alignment", "warnings", "spans", "detected",
    ]  # fmt: skip
    assert first["source"] == "a bo cat"
    assert first["score"] < 0
    assert all(isinstance(token, str) for token in first["tokens"])
    assert len(first["alternatives"]) == len(last["alternatives"]) == 2
    scores = [each["score"] for each in (first, *first["alternatives"])]
    assert scores == sorted(scores, reverse=True)
    assert len({each["text"] for each in (first, *first["alternatives"])}) > 1
    assert blank == {
        "source": "", "text": "", "score": 0.0, "log_probability": 0.0, "tokens": [], "log_probabilities": [],
        "word_probabilities": [], "alternatives": [], "alignment": None, "warnings": [], "spans": [],
        "detected": None,
    }  # fmt: skip


def test_json_leaves_out_what_the_user_does_not_want(model: Path, tmp_path: Path) -> None:
    aligned = tmp_path / "model"
    shutil.copytree(model, aligned, ignore=shutil.ignore_patterns("run"))
    save_alignment_head(aligned, AlignmentHead("decoder.1.cross.1", "written"))

    def translation(*settings: str) -> dict[str, object]:
        options = [word for setting in settings for word in ("--set", setting)]
        (line,) = call("translate", "--model", aligned, "--json", "--n-best", 2, *options, "a bo cat").lines
        return json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))  # type: ignore[no-any-return]

    complete = translation()
    assert complete["alignment"]
    assert complete == translation("decode.alignment=true", "decode.scores=true")
    unaligned, unscored = translation("decode.alignment=false"), translation("decode.scores=false")
    for whole, one, other in zip(*(map(_with_alternatives, (complete, unaligned, unscored))), strict=True):
        assert one == {**whole, "alignment": None}
        assert other == {**whole, "score": None, "log_probability": None}


def _with_alternatives(translation: dict[str, Any]) -> list[dict[str, Any]]:
    best = {**translation, "alternatives": []}
    return [best, *translation["alternatives"]]


def test_json_has_token_log_probabilities_on_request(model: Path) -> None:
    words = ("--json", "--set", "decode.n_best=2", "--set", "decode.log_probabilities=true")
    (line,) = call("translate", "--model", model, *words, "a bo cat").lines
    best = json.loads(line)
    for found in (best, *best["alternatives"]):
        assert len(found["log_probabilities"]) - len(found["tokens"]) in (0, 1)
        assert sum(found["log_probabilities"]) == pytest.approx(found["log_probability"], abs=1e-4)


def test_sampling_is_reproducible(model: Path) -> None:
    words = [word for each in ("temperature=1", "top_k=9", "top_p=0.9") for word in ("--set", f"decode.{each}")]
    first = call("translate", "--model", model, *words, "a bo cat", "dog", "a bo cat")
    assert first.code == 0, first.said
    assert first.lines[0] == first.lines[2]
    assert call("translate", "--model", model, *words, "a bo cat").lines == first.lines[:1]
    assert call("translate", "--model", model, *words, "--set", "decode.seed=2", "a bo cat").lines != first.lines[:1]


def test_every_translation_starts_with_the_prefix(model: Path) -> None:
    done = call("translate", "--model", model, "--set", "decode.prefix=gnu ½", "a bo cat", "dog")
    assert [line[:5] for line in done.lines] == ["gnu ½"] * 2


def test_an_ensemble_of_equal_models_equals_the_model(model: Path) -> None:
    done = call("translate", "--model", model, "--model", model, "a bo cat", "dog")
    assert done == call("translate", "--model", model, "a bo cat", "dog")


def test_one_translation_has_no_alternatives(model: Path) -> None:
    (line,) = call("translate", "--model", model, "--json", "a bo").lines
    assert json.loads(line)["alternatives"] == []


def test_a_dash_is_standard_input(model: Path) -> None:
    typed = b"a bo cat\ndog\n"
    assert call("translate", "--model", model, "-", typed=typed) == call("translate", "--model", model, typed=typed)


def test_a_file_name_as_text_is_refused_with_advice(model: Path, folder: Path) -> None:
    file = folder / "train.en"
    done = call("translate", "--model", model, file)
    assert (done.code, done.output) == (2, b"")
    assert done.said == f"error: {file} is a file; to translate its lines: regard translate --file {file}\n"


@pytest.mark.parametrize("before", [0, 1, 5000])
def test_a_line_that_is_not_utf8_is_named(model: Path, before: int) -> None:
    """What came before it is translated."""
    done = call("translate", "--model", model, typed=b"a\n" * before + b"caf\xe9\nbo\n")
    assert done.code == 2
    assert done.said.endswith(
        f"error: standard input:{before + 1}: byte 4 of the line (0xe9) is not UTF-8; "
        "if it is latin1, convert it: iconv -f latin1 -t utf-8 FILE > fixed.txt\n"
    )
    assert len(done.lines) == before


def test_a_text_longer_than_a_file_name_may_be(model: Path) -> None:
    done = call("translate", "--model", model, "a bo cat " * 60)
    assert done.code == 0
    assert len(done.lines) == 1


def test_blocks_of_code_in_a_markdown_file_stay(model: Path, tmp_path: Path) -> None:
    lines = ["# a bo cat", "```sh", "elf fig gnu", "", "```", "elf fig gnu"]
    translated = call("translate", "--model", model, typed=b"# a bo cat\nelf fig gnu\n").output.splitlines()
    markdown, text = write(tmp_path / "a.md", lines), write(tmp_path / "a.txt", lines)
    done = call("translate", "--model", model, "--file", markdown)
    assert done.output.splitlines() == [translated[0], b"```sh", b"elf fig gnu", b"", b"```", translated[1]]
    assert call("translate", "--model", model, "--file", text).output.splitlines()[2] == translated[1]


def test_windows_line_ends_stay_and_byte_order_marks_are_ignored(model: Path) -> None:
    twin = call("translate", "--model", model, typed=b"a bo cat\nelf fig\n")
    done = call("translate", "--model", model, typed=b"a bo cat\r\nelf fig\r\n")
    assert done.output == twin.output.replace(b"\n", b"\r\n")
    assert call("translate", "--model", model, typed=b"\xef\xbb\xbfa bo cat\nelf fig\n") == twin


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "", "x"], "error: --model is empty; give a model folder, or the name of a bundled model\n"),
        (["--model", "none", "x"], "error: none: no such model folder; check the name and the current folder ("),
        (
            ["--model", "none", "--set", "decode.beam=3"],
            "error: unknown setting decode.beam; did you mean decode.beam_size?",
        ),
        (
            ["--model", "none", "--set", "decode.n_best=2"],
            "error: the result of decode.n_best is shown with --json only; add --json\n",
        ),
        (
            ["--model", "none", "--set", "decode.log_probabilities=true", "--set", "decode.alignment=true"],
            "error: the result of decode.log_probabilities, decode.alignment is shown with --json only; add --json\n",
        ),
        (
            ["--model", "none", "--set", "decode.scores=true"],
            "error: the result of decode.scores is shown with --json only; add --json\n",
        ),
        (
            ["--model", "none", "--set", "model.max_positions=12"],
            "error: model.max_positions has no effect here; `regard settings` lists all settings\n",
        ),
        (
            ["--model", "none", "--set", "decode.n_best=9"],
            "error: the result of decode.n_best is shown with --json only; add --json\n",
        ),
    ],
)
def test_bad_options_of_translate_are_refused(words: list[str], message: str) -> None:
    done = call("translate", *words)
    assert (done.code, done.output) == (2, b"")
    assert message in done.said


def test_a_damaged_model_is_named(model: Path, tmp_path: Path) -> None:
    for name in ("manifest.json", "settings.json", "tokenizer.model", "weights.safetensors"):
        (tmp_path / name).write_bytes((model / name).read_bytes())
    os.truncate(tmp_path / "weights.safetensors", 1000)
    done = call("translate", "--model", tmp_path, "x")
    assert done.code == 2
    assert f"error: {tmp_path / 'weights.safetensors'} has 1,000 bytes instead of " in done.said


def test_a_closed_pipe_is_no_error(model: Path, tmp_path: Path) -> None:
    """`regard translate < many | head -1`"""
    many = write(tmp_path / "many", ["a bo"] * 20_000)
    with many.open("rb") as file, process("translate", "--model", model, stdin=file) as running:
        assert running.stdout and running.stderr
        running.stdout.close()
        said = running.stderr.read()
    assert said == b""
    assert running.returncode == 0


def test_input_and_output_are_utf8_in_any_locale(model: Path) -> None:
    """UTF-8 in and out, and no carriage returns, whatever the terminal says."""
    with process("translate", "--model", model, env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0"}) as running:
        output, said = running.communicate("é €\n\u00a0\n".encode())
    assert running.returncode == 0
    assert all(line.startswith("warning: ") for line in said.decode().splitlines()[:-1])
    assert len(output.split(b"\n")) == 3
    assert output.split(b"\n")[1] == "\u00a0".encode()
    output.decode("utf-8")


def test_a_report_is_utf8_in_any_locale(tmp_path: Path) -> None:
    pairs = write(tmp_path / "a.tsv", [f"word {number}\tслово {number}" for number in range(40)] + ["кот\tкот"] * 9)
    with process("check", pairs, env={**os.environ, "PYTHONIOENCODING": "latin-1"}) as running:
        output, said = running.communicate()
    assert running.returncode == 0, said
    assert "кот" in output.decode("utf-8")


def test_an_argument_that_is_not_utf8_is_refused(model: Path) -> None:
    with process("translate", "--model", model, os.fsdecode(b"caf\xe9")) as running:
        output, said = running.communicate()
    assert (running.returncode, output) == (2, b"")
    assert said.decode().startswith("error: character 4 of the text (U+DCE9) is half of a surrogate pair")


@pytest.mark.parametrize("leaving", ["Ctrl-D", "Ctrl-C"])
def test_each_typed_line_is_answered_at_once(model: Path, leaving: str) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    with process("translate", "--model", model, stdin=theirs) as running:
        assert running.stdout and running.stderr
        assert running.stderr.readline() == b"type a line to translate it; Ctrl-D ends\n"
        for line in (b"a bo cat\n", b"\n"):
            os.write(ours, line)
            assert running.stdout.readline().endswith(b"\n")
        if leaving == "Ctrl-D":
            os.write(ours, b"\x04")
        else:
            running.send_signal(signal.SIGINT)
        said = running.stderr.read()
    os.close(ours)
    os.close(theirs)
    assert leaving != "Ctrl-D" or said.startswith(b"warning: 1 translation ")
    assert leaving == "Ctrl-D" or said == b""
    assert running.returncode == (0 if leaving == "Ctrl-D" else 130)


@pytest.mark.parametrize("size", [1, 2, 5, 1 << 16])
def test_standard_input_is_read_like_a_file(size: int, tmp_path: Path) -> None:
    class Blocks(io.BytesIO):
        def read1(self, most: int | None = -1, /) -> bytes:
            return super().read1(size)

    typed = "\ufeffé €\r\n\n\0 a\rb\u2028c\r\n".encode() + b"x" * 30 + b"\nno end"
    (tmp_path / "file").write_bytes(typed)
    assert list(chain.from_iterable(ready_lines(Blocks(typed)))) == list(Lines(tmp_path / "file"))
    read = chain.from_iterable(ready_lines(Blocks(b"a\nb\n\xff\nc\n")))
    assert [next(read), next(read)] == ["a", "b"]
    with pytest.raises(DataError, match="standard input:3: byte 1"):
        next(read)


@pytest.mark.parametrize("length", [MAX_LINE_BYTES - 1, MAX_LINE_BYTES, MAX_LINE_BYTES + 1])
@pytest.mark.parametrize("end", [b"", b"\n", b"\nb\n"])
def test_a_line_on_standard_input_may_be_as_long_as_in_a_file(length: int, end: bytes, tmp_path: Path) -> None:
    def read(lines: Iterable[str]) -> tuple[list[str], str]:
        found: list[str] = []
        try:
            found.extend(lines)
        except DataError as error:
            return found, str(error)
        return found, ""

    typed = b"a\n" + b"x" * length + end
    file = tmp_path / STANDARD_INPUT_COPY
    file.write_bytes(typed)
    assert read(chain.from_iterable(ready_lines(io.BytesIO(typed)))) == read(Lines(file))


def test_a_line_without_an_end_is_refused_before_it_fills_the_memory() -> None:
    class Endless(io.BytesIO):
        blocks = 0

        def read1(self, most: int | None = -1, /) -> bytes:
            self.blocks += 1
            return b"x" * (1 << 16) if self.blocks <= 1000 else b""

    stream = Endless()
    with pytest.raises(DataError) as error:
        list(chain.from_iterable(ready_lines(stream)))
    assert str(error.value) == (
        "standard input:1: the text has 1,048,576 bytes or more; write a sentence or a paragraph per line, and end "
        "each line with a line feed (\\n)"
    )
    assert stream.blocks == MAX_LINE_BYTES >> 16


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe does not tell there whether more is waiting")
def test_a_group_of_lines_ends_where_no_input_is_waiting() -> None:
    theirs, ours = os.pipe()
    with open(theirs, "rb") as reading, open(ours, "wb", buffering=0) as writing:  # noqa: PTH123
        groups = ready_lines(reading)
        for lines in (["a"], ["b", "c"]):
            writing.write("".join(line + "\n" for line in lines).encode())
            assert list(next(groups)) == lines
        writing.write(b"d\nno end")
        writing.close()
        assert [list(group) for group in groups] == [["d", "no end"]]


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe does not tell there whether more is waiting")
def test_a_program_that_waits_for_translations_gets_them(model: Path) -> None:
    texts = sentences(40)
    whole = call("translate", "--model", model, typed="".join(text + "\n" for text in texts).encode()).output
    answers = b""
    with process("translate", "--model", model) as running:
        assert running.stdin and running.stdout and running.stderr
        for group in (texts[:1], texts[1:30], texts[30:]):
            running.stdin.write("".join(text + "\n" for text in group).encode())
            running.stdin.flush()
            answers += b"".join(running.stdout.readline() for _ in group)
        running.stdin.write(b"\xff\n")
        running.stdin.close()
        said = running.stderr.read()
    assert answers == whole
    assert b"standard input:41: byte 1" in said
    assert running.returncode == 2
