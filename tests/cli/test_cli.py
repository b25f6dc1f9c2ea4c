"""The command line: its flags are a decision, its errors teach and leave nothing behind, a line in is a line out."""

import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path

import click
import pytest
import torch
from tests.interpret.planted import planted_model

import regard
from regard.cli import main
from regard.cli.commands.bench import bench
from regard.cli.commands.measure import measure
from regard.cli.line_input import ready_lines
from regard.data.formats.corpus import Corpus
from regard.data.formats.lines import Lines
from regard.data.formats.pairs import Pairs
from regard.data.synthetic import FAMOUS
from regard.data.synthetic.generator import pairs
from regard.errors import DataError
from regard.evaluation.scores import Scorer, Scores
from regard.interpret.selftest.planted_model import planted_sample
from regard.interpret.selftest.view_checks import Check
from regard.model_folder.bundled import available
from regard.model_folder.folder import HASHED
from regard.model_folder.loader import open_folder
from regard.model_folder.writer import save_folder
from regard.settings.decode import DecodeSettings
from regard.settings.reference import as_markdown
from regard.storage.manifest import write_manifest
from regard.training.planning.choices import SHARE_FOR_STEPS
from regard.training.planning.step_time import StepTime

torch.set_num_threads(1)

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
WORDS = ["a", "bo", "cat", "dog", "elf", "fig", "gnu", "hat", "ink", "jam"]


def sentences(count: int, seed: int = 1) -> list[str]:
    numbers = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found[" ".join(WORDS[int(10 * numbers.random())] for _ in range(3 + int(3 * numbers.random())))] = None
    return list(found)


class Kept(io.BytesIO):
    """A stream that can be read after it was closed."""

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    output: bytes
    said: str

    @property
    def lines(self) -> list[str]:
        return self.output.decode("utf-8").split("\n")[:-1]


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    """Nobody waits six seconds to learn how fast this machine is; and handlers of signals are put back."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.training.planning.step_time.measure_step_time", lambda *_: StepTime(0.01, 50.0))
        yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def call(*words: object, typed: bytes = b"") -> Done:
    """Run a command in this process, with standard input, output and error of its own."""
    output, said = Kept(), Kept()
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryFile("r+b") as file:
        file.write(typed)
        file.seek(0)
        patch.setattr(sys, "stdin", io.TextIOWrapper(file, encoding="utf-8"))
        patch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding="utf-8", write_through=True))
        patch.setattr(sys, "stderr", io.TextIOWrapper(said, encoding="utf-8", write_through=True))
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
    return Done(int(end.value.code or 0), output.getvalue(), said.getvalue().decode("utf-8"))


def write(path: Path, lines: Sequence[str]) -> Path:
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `train.en` and `train.fr` are."""
    folder = tmp_path_factory.mktemp("corpus")
    write(folder / "train.en", sentences(60))
    write(folder / "train.fr", [" ".join(reversed(text.split())) for text in sentences(60)])
    return folder


@dataclass(frozen=True)
class Trained:
    path: Path
    done: Done


@pytest.fixture(scope="module")
def trained(folder: Path) -> Trained:
    out = folder / "model"
    done = call("train", folder / "train.en", folder / "train.fr", "--out", out, "--steps", 60, *SMALL)
    return Trained(out, done)


@pytest.fixture(scope="module")
def model(trained: Trained) -> Path:
    return trained.path


# The flags


def test_a_new_flag_is_a_decision() -> None:
    commands = {name: command for name, command in main.commands.items() if command not in (bench, measure)}
    commands |= {f"bench {name}": command for name, command in bench.commands.items()}
    commands |= {f"measure {name}": command for name, command in measure.commands.items()}
    found = {
        name: sorted(option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts))
        for name, command in commands.items()
    }
    assert found == {
        "bench train": ["--json", "--set", "--size", "files"],
        "bench translate": ["--fast", "--json", "--model", "--set"],
        "check": ["--json", "--languages", "--set", "--test", "--valid", "files"],
        "demo": ["--count", "--out", "--quick", "--seed", "--split", "--steps", "--truth", "--write"],
        "doctor": ["--json", "--views"],
        "evaluate": [
            "--against",
            "--by-source",
            "--fast",
            "--json",
            "--model",
            "--out",
            "--scores",
            "--set",
            "--tokenize",
            "files",
        ],
        "look": [
            "--html",
            "--json",
            "--model",
            "--pieces",
            "--set",
            "--svg",
            "--target",
            "--trace",
            "--without",
            "--word",
            "text",
        ],
        "measure alignment": ["--count", "--json", "--model", "files"],
        "measure heads": ["--count", "--html", "--json", "--model", "--svg", "files"],
        "measure it": ["--count", "--html", "--json", "--model", "--svg"],
        "measure layers": ["--count", "--html", "--json", "--model", "--svg"],
        "train": [
            "--average",
            "--budget",
            "--from",
            "--languages",
            "--out",
            "--set",
            "--settings",
            "--size",
            "--steps",
            "--valid",
            "files",
        ],
        "settings": ["--json", "word"],
        "translate": ["--fast", "--json", "--languages", "--model", "--set", "texts"],
    }
    assert [parameter.opts for parameter in main.params] == [["--version"]]


def test_every_flag_has_help() -> None:
    for name, command in (*main.commands.items(), *bench.commands.items(), *measure.commands.items()):
        assert command.help, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, (name, parameter.name)


@pytest.mark.parametrize(
    "words", [["--help"], ["-h"], ["train", "-h"], ["translate", "--help"], ["evaluate", "-h"], ["check", "-h"]]
)
def test_help(words: list[str]) -> None:
    done = call(*words)
    assert done.code == 0
    assert done.output.startswith(b"Usage: ")
    assert done.said == ""


def test_the_version() -> None:
    assert call("--version").lines == [f"regard, version {regard.__version__}"]


# train


def test_train_says_what_it_does(trained: Trained) -> None:
    assert trained.done.code == 0, trained.done.said
    assert trained.done.output == b""
    said = trained.done.said
    for line in [
        "  size tiny, as asked\n",
        "  60 steps, as asked\n",
        "learning: about 1 s\n",
        "step 30: validation loss ",
        f"the model is in {trained.path}; its card is {trained.path / 'card.md'}\n",
    ]:
        assert line in said
    assert re.search(
        r"^kept the .*: validation loss \d+\.\d{3}, BLEU \d+\.\d, chrF \d+\.\d \(3 sentences\)$", said, re.M
    )


def test_a_finished_run_says_so(folder: Path, trained: Trained) -> None:
    again = call("train", folder / "train.en", folder / "train.fr", "--out", trained.path, "--steps", 60, *SMALL)
    assert again.code == 0
    assert again.said.endswith(f"{trained.path} is finished already; nothing to do\n")


def test_another_request_for_the_same_folder_shows_the_difference(folder: Path, trained: Trained) -> None:
    other = call("train", folder / "train.en", folder / "train.fr", "--out", trained.path, "--steps", 61, *SMALL)
    assert other.code == 2
    assert other.said.endswith(
        f"error: {trained.path} holds a run that was started differently:\n  steps: was 60, is now 61\n"
        "give the same command to go on with it, or another --out for a new run\n"
    )


GOOD = ["one two", "three four", "five six", "seven eight", "nine ten"]


def bad_corpora(folder: Path) -> dict[str, tuple[list[Path], str]]:
    """Files that cannot be trained on, and what is said of them."""
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
        "a folder": ([good, folder], f"{folder}: this is a folder; give the files in it, source before target"),
        "no partner": ([good], f"{good}: this file has no partner; give a source file and a target file"),
        "one line less": ([good, fewer], unequal.format(good, 5, fewer, 4)),
        "one line more": ([good, more], unequal.format(good, 5, more, 6)),
        "not UTF-8": (
            [good, latin],
            f"{latin}:3: byte 6 of the line (0xe9) is not UTF-8; if it is latin1, convert it: iconv -f latin1 -t utf-8",
        ),
        "empty": ([empty_en, empty_fr], "empty.en + empty.fr: there is no line in it; a corpus needs at least one"),
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


@pytest.mark.parametrize(
    "case",
    [
        "missing",
        "a folder",
        "no partner",
        "one line less",
        "one line more",
        "not UTF-8",
        "empty",
        "only blank lines",
        "no tab",
        "two tabs",
        "swapped",
    ],
)
def test_a_bad_corpus_is_named_and_a_corrected_second_try_works(folder: Path, tmp_path: Path, case: str) -> None:
    files, message = bad_corpora(tmp_path)[case]
    out = tmp_path / "model"
    done = call("train", *files, "--out", out, "--steps", 1, *SMALL)
    assert done.code == 2
    assert f"error: {message}" in done.said
    assert "Traceback" not in done.said
    corrected = call("train", folder / "train.en", folder / "train.fr", "--out", out, "--steps", 1, *SMALL)
    assert corrected.code == 0, corrected.said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "train.stepz=5"], "error: unknown setting train.stepz; did you mean train.steps?\n"),
        (["--set", "model.max_positions=7"], "error: model.max_positions must be at least 8, got 7\n"),
        (["--set", "train.warmup_steps=soon"], "error: train.warmup_steps must be int, got 'soon'\n"),
        (
            ["--set", "nonsense"],
            "error: --set nonsense: write it as section.name=value, for example train.steps=4000\n",
        ),
        (["--budget", "soon"], "error: --budget soon: write a time such as 90s, 20m or 1h30m\n"),
        (["--budget", "20"], "error: --budget 20: write a time such as 90s, 20m or 1h30m\n"),
        (
            ["--budget", "1m", "--steps", "5"],
            "error: give --steps or --budget, not both: a budget is turned into steps\n",
        ),
        (["--settings", "none.toml"], "error: none.toml: no such settings file\n"),
        (
            ["--from", "none"],
            f"error: none: no such model folder; check the name and the current folder ({Path.cwd()}); `regard train "
            f"SOURCE TARGET --out none` makes one; with Regard come {', '.join(available()) or 'none'}\n",
        ),
        (["--size", "huge"], "Invalid value for '--size': 'huge' is not one of 'tiny', 'small', 'base', 'big'."),
        (["--steps", "0"], "Invalid value for '--steps': 0 is not in the range x>=1."),
    ],
)
def test_a_bad_option_is_refused_before_any_work(folder: Path, tmp_path: Path, words: list[str], message: str) -> None:
    out = tmp_path / "model"
    done = call("train", folder / "train.en", folder / "train.fr", "--out", out, *words)
    assert done.code == 2
    assert message in done.said
    assert "Traceback" not in done.said
    assert not out.exists()


def test_an_empty_budget_is_no_budget(folder: Path, tmp_path: Path) -> None:
    done = call("train", folder / "train.en", folder / "train.fr", "--out", tmp_path / "m", "--budget", "", *SMALL,
                "--set", "train.steps=1")  # fmt: skip
    assert done.code == 2


def test_settings_may_come_from_a_file(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    sections: dict[str, list[str]] = {}
    for override in TINY:
        name, _, value = override.partition("=")
        section, _, name = name.partition(".")
        sections.setdefault(section, []).append(f"{name} = {value}")
    file.write_text("".join(f"[{name}]\n" + "\n".join(lines) + "\n" for name, lines in sections.items()), "utf-8")
    out = tmp_path / "model"
    words = ("--settings", file, "--set", "model.width=8", "--steps", 1, "--languages", "de", "nl")
    done = call("train", folder / "train.en", folder / "train.fr", "--out", out, "--size", "tiny", *words)
    assert done.code == 0, done.said
    facts = json.loads((out / "settings.json").read_text("utf-8"))
    assert (facts["model"]["width"], facts["model"]["feedforward"]) == (8, 24)
    assert facts["languages"] == ["de", "nl"]


def test_lines_left_out_are_said(folder: Path, tmp_path: Path) -> None:
    lines = [*(folder / "train.en").read_text("utf-8").splitlines(), "without a translation"]
    source, target = write(tmp_path / "a.en", lines), write(tmp_path / "a.fr", [*lines[:-1], ""])
    out = tmp_path / "model"
    done = call("train", source, target, "--out", out, "--steps", 1, *SMALL)
    assert f"left out target empty: 1; {out / 'run' / 'shards' / 'dropped.tsv'} lists them\n" in done.said


def test_validation_files_and_fine_tuning_by_flag(folder: Path, model: Path, tmp_path: Path) -> None:
    valid = write(tmp_path / "v.tsv", ["a bo\tbo a", "cat dog\tdog cat"])
    out = tmp_path / "better"
    words = ("--from", model, "--valid", valid, "--steps", 2, "--out", out, "--set", "train.batch_tokens=96")
    done = call("train", folder / "train.en", folder / "train.fr", *words)
    assert done.code == 0, done.said
    assert "  a fine-tune of model, with its size and pieces\n" in done.said
    assert "(2 sentences)" in done.said


def test_the_mean_of_models(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "mean"
    done = call("train", "--average", model, model, "--out", out)
    assert (done.code, done.said) == (0, f"the mean of 2 models is in {out}; its card is {out / 'card.md'}\n")
    assert (out / "weights.safetensors").read_bytes() == (model / "weights.safetensors").read_bytes()
    assert call("translate", "--model", out, "a bo") == call("translate", "--model", model, "a bo")


@pytest.mark.parametrize("words", [["--steps", 1], ["--from", "x"], ["--set", "train.seed=2"], ["--size", "tiny"]])
def test_a_mean_takes_models_as_they_are(model: Path, tmp_path: Path, words: list[str]) -> None:
    done = call("train", "--average", model, model, "--out", tmp_path / "mean", *words)
    assert (done.code, done.said) == (
        2,
        "error: --average makes a model of others as they are; give it their folders and --out, and no more\n",
    )


# check


def dirty(folder: Path) -> Path:
    """A corpus with one of everything that is common."""
    lines = [f"{text}\t{' '.join(reversed(text.split()))} z" for text in sentences(60)]
    path = write(folder / "dirty.tsv", [*lines, "\tx", "y\t", "same here\tsame here", lines[0], "a\u2028b\tc"])
    path.write_bytes(path.read_bytes() + b"\xff\tx\n")
    return path


def test_check_reports_what_it_sees(tmp_path: Path) -> None:
    test = write(tmp_path / "test.tsv", ["new to all\tx", f"{sentences(60)[3]}\tx"])
    done = call("check", dirty(tmp_path), "--test", test, "--set", "tokenizer.vocab_size=300")
    assert done.code == 0, done.said
    shown = done.output.decode("utf-8")
    for line in [
        "training: dirty.tsv, 65 pairs\n",
        "test: test.tsv, 2 pairs\n",
        "  training: 1 unreadable (1.5%): no pairs; left out\n      dirty.tsv:66  not UTF-8\n",
        "  training: 1 source empty (1.5%): left out\n      dirty.tsv:61  \n",
        "  training: 1 target empty (1.5%): left out\n      dirty.tsv:62  \n",
        "      dirty.tsv:63  same here\n",
        "      dirty.tsv:64  like dirty.tsv:1\n",
        "      dirty.tsv:65  a\\u2028b\n",
        "      test.tsv:2  is dirty.tsv:4\n",
        "regard train would keep 63 pairs\n  and leave out 1: source empty\n",
        "  and leave out 1: unreadable\n",
        "Time on this machine (size tiny, because there are 65 training pairs and ",
        "(estimated from the size before)\n",
    ]:
        assert line in shown, line


def test_check_as_json(tmp_path: Path) -> None:
    done = call("check", dirty(tmp_path), "--json", "--set", "tokenizer.vocab_size=300")
    report = json.loads(done.output)
    assert list(report) == ["corpora", "splits", "findings", "forecast"]
    assert report["forecast"]["kept"] == 63
    assert {
        key: value
        for finding in report["findings"]
        if finding["kind"] == "duplicates"
        for key, value in finding.items()
        if key in ("kind", "split", "count")
    } == {"kind": "duplicates", "split": "training", "count": 1}


def test_check_reads_standard_input(tmp_path: Path) -> None:
    done = call("check", "-", "--json", "--set", "tokenizer.vocab_size=300", typed=dirty(tmp_path).read_bytes())
    assert json.loads(done.output)["corpora"][0] == {
        "name": "standard-input.tsv", "split": "training", "weight": 1.0, "pairs": 65, "unreadable": 1
    }  # fmt: skip


@pytest.mark.parametrize("case", ["missing", "no partner", "one line less", "not UTF-8", "empty", "only blank lines"])
def test_check_refuses_what_train_refuses(tmp_path: Path, case: str) -> None:
    files, message = bad_corpora(tmp_path)[case]
    done = call("check", *files)
    assert (done.code, done.output) == (2, b"")
    assert f"error: {message}" in done.said


def test_a_fresh_corpus_has_nothing_odd(folder: Path) -> None:
    good = write(folder / "fresh.tsv", [f"{text} x\ty {text}" for text in sentences(60)])
    shown = call("check", good, "--set", "tokenizer.vocab_size=300").output.decode("utf-8")
    assert "\nNothing odd was seen.\n" in shown


# translate


def test_a_line_in_is_a_line_out_and_empty_lines_stay_empty(model: Path) -> None:
    lines = ["a bo cat", "", "dog elf", "   ", "", "fig gnu hat ink"]
    done = call("translate", "--model", model, typed=("\n".join(lines) + "\n").encode())
    assert done.code == 0, done.said
    assert len(done.lines) == len(lines)
    assert [done.lines[number] for number in (1, 3, 4)] == ["", "   ", ""]
    assert done.lines[0] == regard.load(model).translate("a bo cat").text


def test_the_last_line_needs_no_end(model: Path) -> None:
    assert call("translate", "--model", model, typed=b"a bo\ncat") == call(
        "translate", "--model", model, typed=b"a bo\ncat\n"
    )


def test_nothing_in_is_nothing_out(model: Path) -> None:
    assert call("translate", "--model", model, typed=b"") == Done(0, b"", "")


def test_only_a_line_feed_ends_a_line(model: Path) -> None:
    text = "a\u2028bo\u0085cat\x0bdog\n"
    assert len(call("translate", "--model", model, typed=text.encode()).lines) == 1


def test_texts_may_be_given_as_arguments(model: Path) -> None:
    done = call("translate", "--model", model, "a bo", "cat")
    assert done.output == call("translate", "--model", model, typed=b"a bo\ncat\n").output


def test_a_line_stays_a_line_whatever_the_model_writes(model: Path) -> None:
    assert len(call("translate", "--model", model, "a bo\n\ncat dog").lines) == 1


def test_settings_of_decoding_count(model: Path) -> None:
    done = call(
        "translate", "--model", model, "--set", "decode.beam_size=1", "--set", "decode.max_length_offset=1", "a bo cat"
    )
    expected = regard.load(model).translate("a bo cat", DecodeSettings(beam_size=1, max_length_offset=1)).text
    assert done.lines == [expected]


def test_json_has_the_score_the_pieces_and_the_alternatives(model: Path) -> None:
    done = call("translate", "--model", model, "--json", "--set", "decode.n_best=3", typed=b"a bo cat\n\ndog\n")
    first, blank, last = (json.loads(line) for line in done.lines)
    assert list(first) == [
        "source", "text", "score", "log_probability", "tokens", "log_probabilities", "alternatives", "alignment"
    ]  # fmt: skip
    assert first["source"] == "a bo cat"
    assert first["score"] < 0
    assert all(isinstance(piece, str) for piece in first["tokens"])
    assert len(first["alternatives"]) == len(last["alternatives"]) == 2
    scores = [each["score"] for each in (first, *first["alternatives"])]
    assert scores == sorted(scores, reverse=True)
    assert len({each["text"] for each in (first, *first["alternatives"])}) > 1
    assert blank == {
        "source": "", "text": "", "score": 0.0, "log_probability": 0.0, "tokens": [], "log_probabilities": [],
        "alternatives": [], "alignment": None,
    }  # fmt: skip


def test_json_has_the_log_probability_of_each_piece_if_asked(model: Path) -> None:
    words = ("--json", "--set", "decode.n_best=2", "--set", "decode.log_probabilities=true")
    (line,) = call("translate", "--model", model, *words, "a bo cat").lines
    best = json.loads(line)
    for found in (best, *best["alternatives"]):
        assert len(found["log_probabilities"]) - len(found["tokens"]) in (0, 1)
        assert sum(found["log_probabilities"]) == pytest.approx(found["log_probability"], abs=1e-4)


def test_what_is_drawn_can_be_drawn_again(model: Path) -> None:
    words = [word for each in ("temperature=1", "top_k=9", "top_p=0.9") for word in ("--set", f"decode.{each}")]
    first = call("translate", "--model", model, *words, "a bo cat", "dog", "a bo cat")
    assert first.code == 0, first.said
    assert first.lines[0] == first.lines[2]
    assert call("translate", "--model", model, *words, "a bo cat").lines == first.lines[:1]
    assert call("translate", "--model", model, *words, "--set", "decode.seed=2", "a bo cat").lines != first.lines[:1]


def test_a_prefix_begins_every_line(model: Path) -> None:
    done = call("translate", "--model", model, "--set", "decode.prefix=gnu ½", "a bo cat", "dog")
    assert [line[:5] for line in done.lines] == ["gnu ½"] * 2


def test_several_models_translate_together(model: Path) -> None:
    done = call("translate", "--model", model, "--model", model, "a bo cat", "dog")
    assert done == call("translate", "--model", model, "a bo cat", "dog")


def test_one_translation_has_no_alternatives(model: Path) -> None:
    (line,) = call("translate", "--model", model, "--json", "a bo").lines
    assert json.loads(line)["alternatives"] == []


def test_a_file_name_as_text_says_how_to_feed_a_file(model: Path, folder: Path) -> None:
    file = folder / "train.en"
    done = call("translate", "--model", model, file)
    assert (done.code, done.output) == (2, b"")
    assert done.said == f"error: {file} is a file; to translate its lines: regard translate --model {model} < {file}\n"


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


def test_a_file_from_windows_translates_like_its_twin(model: Path) -> None:
    twin = call("translate", "--model", model, typed=b"a bo cat\nelf fig\n")
    done = call("translate", "--model", model, typed=b"a bo cat\r\nelf fig\r\n")
    assert done == twin
    assert call("translate", "--model", model, typed=b"\xef\xbb\xbfa bo cat\nelf fig\n") == twin


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "none", "x"], "error: none: no such model folder; check the name and the current folder ("),
        (
            ["--model", "none", "--set", "decode.beam=3"],
            "error: unknown setting decode.beam; did you mean decode.beam_size?",
        ),
        (
            ["--model", "none", "--set", "decode.n_best=2"],
            "error: what decode.n_best asks for is shown with --json only; add it\n",
        ),
        (
            ["--model", "none", "--set", "decode.log_probabilities=true", "--set", "decode.alignment=true"],
            "error: what decode.log_probabilities, decode.alignment asks for is shown with --json only; add it\n",
        ),
        (
            ["--model", "none", "--set", "model.max_positions=12"],
            "error: model.max_positions has no effect here; `regard settings` lists them\n",
        ),
        (
            ["--model", "none", "--set", "decode.n_best=9"],
            "error: decode.n_best (9) cannot exceed decode.beam_size (4); add --set decode.beam_size=9\n",
        ),
    ],
)
def test_bad_requests_for_a_translation(words: list[str], message: str) -> None:
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


# demo


@pytest.fixture(scope="module")
def short_demo() -> Iterator[None]:
    """A demo of seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.cli.commands.demo.SETTINGS", TINY)
        for name, count in {"PAIRS_PER_STEP": 30, "VALID": 4, "FLIPS": 12}.items():
            patch.setattr(f"regard.cli.commands.demo.{name}", count)
        patch.setattr("regard.interpret.measure.pronoun_baselines.FITTED_ON", 50)
        yield


@pytest.fixture(scope="module")
def demonstrated(short_demo: None, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    out = tmp_path_factory.mktemp("demo") / "model"
    return Trained(out, call("demo", "--out", out, "--steps", 8))


def test_the_demo_trains_looks_and_says_what_next(demonstrated: Trained) -> None:
    out, done = demonstrated.path, demonstrated.done
    assert done.code == 0, done.said
    assert "A new model learns the built-in language from 240 pairs, three in four with “it”." in done.said
    assert "step 8: validation loss" in done.said and "of 4 flips (always one noun: 0%; a coin: 25%)" in done.said
    assert open_folder(out).languages == ("en", "fr")
    shown = done.output.decode("utf-8")
    for famous in FAMOUS[:2]:
        assert famous[0] in shown
    assert re.search(r"encoder\.1\.self\.[12].*; it\n", shown)
    assert "What next:\n  regard translate --model" in shown and "regard train train.en train.fr" in shown


def test_the_demo_given_again_is_shown_again(short_demo: None, demonstrated: Trained) -> None:
    again = call("demo", "--out", demonstrated.path, "--steps", 8)
    assert f"{demonstrated.path} is finished already; nothing to do" in again.said
    assert again.output == demonstrated.done.output


def test_the_quick_demo_is_the_bundled_model(
    short_demo: None, demonstrated: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shelf").mkdir()
    (tmp_path / "shelf" / "en-fr").symlink_to(demonstrated.path)
    monkeypatch.setattr("regard.model_folder.bundled.HERE", tmp_path / "shelf")
    done = call("demo", "--quick", "--out", tmp_path / "none")
    assert done.code == 0, done.said
    assert done.lines[0] == "The bundled model, English to French:" and "  I am a student." in done.lines
    assert '  regard translate "My sister opened the old door."' in done.lines
    assert not (tmp_path / "none").exists()
    monkeypatch.setattr("regard.model_folder.bundled.HERE", tmp_path)
    missing = "error: this copy of Regard has no bundled model; leave --quick out, and one is trained\n"
    assert call("demo", "--quick").said == missing


def test_the_language_is_written_for_train_to_read(tmp_path: Path) -> None:
    done = call("demo", "--write", tmp_path / "pairs.tsv", "--count", 30, "--truth", "--seed", 7, "--split", "valid")
    assert (done.code, done.output) == (0, b"")
    assert done.said == "".join(f"wrote {tmp_path / name}: 30 lines\n" for name in ("pairs.tsv", "pairs.jsonl"))
    expected = list(islice(pairs(7, "valid"), 30))
    found = list(Pairs(Corpus((tmp_path / "pairs.tsv",))).or_raise())
    assert [(pair.source, pair.target) for pair in found] == [(pair.source, pair.target) for pair in expected]
    truths = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text("utf-8").splitlines()]
    assert truths == json.loads(json.dumps([asdict(pair.truth) for pair in expected]))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pairs.jsonl", "pairs.tsv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--write", "pairs.txt"], "error: pairs.txt: give a name that ends in .tsv, such as pairs.tsv\n"),
        (["--write", "none/pairs.tsv"], "error: none/pairs.tsv: there is no folder none; make it first\n"),
        (
            ["--write", "pairs.tsv", "--split", "dev"],
            "error: the built-in language has no split 'dev'; choose one of train, valid, test, noun-pairs, "
            "noun-words, longer\n",
        ),
        (["--write", "pairs.tsv", "--count", "0"], "Invalid value for '--count': 0 is not in the range x>=1."),
    ],
)
def test_bad_requests_for_the_language(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call("demo", *words)
    assert done.code == 2
    assert message in done.said
    assert list(tmp_path.iterdir()) == []


# translate, as a process of its own


def process(*words: object, **options: object) -> subprocess.Popen:
    arguments = [sys.executable, "-m", "regard", *map(str, words)]
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        arguments, **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    )


def test_a_reader_that_has_enough_is_no_error(model: Path, tmp_path: Path) -> None:
    """`regard translate < many | head -1`"""
    many = write(tmp_path / "many", ["a bo"] * 20_000)
    with many.open("rb") as file, process("translate", "--model", model, stdin=file) as running:
        assert running.stdout and running.stderr
        running.stdout.close()
        said = running.stderr.read()
    assert said == b""
    assert running.returncode == 0


def test_bytes_go_through_as_they_are_in_any_locale(model: Path) -> None:
    """UTF-8 in and out, and no carriage returns, whatever the terminal says."""
    with process("translate", "--model", model, env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0"}) as running:
        output, said = running.communicate("é €\n\u00a0\n".encode())
    assert (running.returncode, said) == (0, b"")
    assert len(output.split(b"\n")) == 3
    assert output.split(b"\n")[1] == "\u00a0".encode()
    output.decode("utf-8")


def test_a_report_can_be_read_in_any_locale(tmp_path: Path) -> None:
    pairs = write(tmp_path / "a.tsv", [f"word {number}\tслово {number}" for number in range(40)] + ["кот\tкот"] * 9)
    with process("check", pairs, env={**os.environ, "PYTHONIOENCODING": "latin-1"}) as running:
        output, said = running.communicate()
    assert running.returncode == 0, said
    assert "кот" in output.decode("utf-8")


def test_an_argument_that_is_not_utf8_is_named(model: Path) -> None:
    with process("translate", "--model", model, os.fsdecode(b"caf\xe9")) as running:
        output, said = running.communicate()
    assert (running.returncode, output) == (2, b"")
    assert said.decode().startswith("error: character 4 of the text (U+DCE9) is half of a surrogate pair")


@pytest.mark.parametrize("leaving", ["Ctrl-D", "Ctrl-C"])
def test_whoever_types_gets_an_answer_after_each_line(model: Path, leaving: str) -> None:
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
    assert said == b""
    assert running.returncode == (0 if leaving == "Ctrl-D" else 130)


@pytest.mark.parametrize("size", [1, 2, 5, 1 << 16])
def test_standard_input_is_read_as_corpora_are(size: int, tmp_path: Path) -> None:
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


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe does not tell there whether more is waiting")
def test_a_turn_ends_where_nothing_more_is_waiting() -> None:
    theirs, ours = os.pipe()
    with open(theirs, "rb") as reading, open(ours, "wb", buffering=0) as writing:  # noqa: PTH123
        all_turns = ready_lines(reading)
        for lines in (["a"], ["b", "c"]):
            writing.write("".join(line + "\n" for line in lines).encode())
            assert list(next(all_turns)) == lines
        writing.write(b"d\nno end")
        writing.close()
        assert [list(turn) for turn in all_turns] == [["d", "no end"]]


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe does not tell there whether more is waiting")
def test_a_program_that_waits_for_answers_gets_them(model: Path) -> None:
    texts = sentences(40)
    whole = call("translate", "--model", model, typed="".join(text + "\n" for text in texts).encode()).output
    answers = b""
    with process("translate", "--model", model) as running:
        assert running.stdin and running.stdout and running.stderr
        for turn in (texts[:1], texts[1:30], texts[30:]):
            running.stdin.write("".join(text + "\n" for text in turn).encode())
            running.stdin.flush()
            answers += b"".join(running.stdout.readline() for _ in turn)
        running.stdin.write(b"\xff\n")
        running.stdin.close()
        said = running.stderr.read()
    assert answers == whole
    assert b"standard input:41: byte 1" in said
    assert running.returncode == 2


# settings


def test_every_setting_is_shown_with_its_default() -> None:
    assert call("settings") == Done(0, as_markdown().encode(), "")
    assert call("settings", "beams") == Done(0, as_markdown("beams").encode(), "")
    assert json.loads(call("settings", "decode.beam_size", "--json").output) == [
        {
            "name": "decode.beam_size",
            "default": 4,
            "type": "whole number",
            "meaning": "hypotheses kept at each step; 1 is greedy",
        }
    ]
    assert call("settings", "beems").said == (
        "error: no setting has 'beems' in its name or meaning; `regard settings` lists them all\n"
    )


def test_views_are_checked_on_planted_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    done = call("doctor", "--views")
    assert (done.code, done.said) == (0, "")
    assert len(done.lines) > 20
    assert all(line.startswith("right ") for line in done.lines)
    monkeypatch.setattr(
        "regard.interpret.selftest.view_checks.check_views", lambda: [Check("a label", False, "swapped")]
    )
    done = call("doctor", "--views", "--json")
    assert (done.code, done.said) == (1, "error: views tell what is not so: a label\n")
    assert json.loads(done.output) == [{"name": "a label", "passed": False, "found": "swapped"}]


# measure


def test_measure_heads_on_pairs_of_ones_own(model: Path, folder: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    lines = zip(*((folder / name).read_text("utf-8").splitlines() for name in ("train.en", "train.fr")), strict=True)
    write(pairs, ["\t".join(both) for both in lines])
    page, picture = tmp_path / "heads.html", tmp_path / "heads.svg"
    done = call("measure", "heads", "--model", model, pairs, "--count", 20)
    assert done.code == 0, done.said
    assert done.lines[0] == f"6 heads of {model.name}, watched on 20 pairs of {pairs}"
    assert sum(line.startswith(("encoder.1.", "decoder.1.")) for line in done.lines) == 6
    assert any(
        line.startswith("Not measured, for want of 30 cases or of the truth: adjective → noun") for line in done.lines
    )
    done = call("measure", "heads", "--model", model, pairs, "--count", 10, "--html", page, "--svg", picture, "--json")
    assert done.code == 0, done.said
    assert f"wrote {page}\nwrote {picture}\n" in done.said
    assert [one["address"] for one in json.loads(done.output)["heads"]][::5] == [
        "encoder.1.self.1",
        "decoder.1.cross.2",
    ]
    assert page.read_text("utf-8").startswith("<!doctype html>") and picture.read_text("utf-8").startswith("<svg")


def test_measure_on_the_built_in_language(model: Path) -> None:
    done = call("measure", "it", "--model", model, "--count", 10)
    assert done.code == 0, done.said
    assert done.lines[0].startswith("The “it” laboratory: 10 pairs of sentences")
    assert json.loads(call("measure", "it", "--model", model, "--count", 10, "--json").output)["verdict"]
    done = call("measure", "layers", "--model", model, "--count", 40)
    assert done.code == 0, done.said
    assert done.lines[-1].startswith("Not tested: discourse and world knowledge")


@pytest.fixture
def planted(tmp_path: Path) -> tuple[Path, Path]:
    """A model that swaps neighbours by a known head, in a folder, and pairs for it."""
    made = planted_model()
    save_folder(
        tmp_path / "planted",
        settings=made.network.settings,
        weights=made.network.state_dict(),
        tokenizer=made.tokenizer,
        languages=("xx", "yy"),
        card="",
    )
    pairs = [f"{item.source}\t{item.target}" for item in planted_sample(made.tokenizer, 30).pairs]
    return tmp_path / "planted", write(tmp_path / "pairs.tsv", pairs)


def test_measure_alignment_stores_the_head_and_gives_a_line_for_each_pair(planted: tuple[Path, Path]) -> None:
    mine, pairs = planted
    done = call("measure", "alignment", "--model", mine, pairs)
    assert done.code == 0, done.said
    assert "decoder.1.cross.1 aligns a target word best, about to write it: alignment error 0.000 [" in done.said
    assert "stored in the model folder" in done.said
    assert done.lines == ["0-1 1-0 2-3 3-2 4-5 5-4 6-7 7-6"] * 30
    again = call("measure", "alignment", "--model", mine, pairs, "--json")
    source, target = pairs.read_text("utf-8").splitlines()[0].split("\t")
    first = json.loads(again.lines[0])
    assert again.said == "" and first == {"source": source.split(), "target": target.split(), "links": first["links"]}
    assert all(first["source"][one] == first["target"][other] for one, other in first["links"])
    assert call("translate", "--model", mine, source).lines == [target]
    (found,) = map(json.loads, call("translate", "--model", mine, "--json", source).lines)
    assert [tuple(link) for link in found["alignment"]] == [(at ^ 1, at) for at in range(8)]


def test_measure_alignment_does_not_store_what_a_rule_does_better(model: Path, folder: Path) -> None:
    done = call("measure", "alignment", "--model", model, "--count", 20)
    assert done.code == 0, done.said
    assert done.lines[-1] == "not stored: no head of this model aligns better than a fixed offset does"
    assert open_folder(model).alignment is None


@pytest.mark.parametrize("command", ["heads", "it", "layers", "alignment"])
def test_measure_says_which_languages_it_needs(model: Path, tmp_path: Path, command: str) -> None:
    mine = tmp_path / "model"
    shutil.copytree(model, mine)
    facts = json.loads((mine / "settings.json").read_text("utf-8"))
    (mine / "settings.json").write_text(json.dumps({**facts, "languages": ["en", "de"]}), "utf-8")
    write_manifest(mine, HASHED)
    done = call("measure", command, "--model", mine)
    assert done.code == 2
    assert "this model translates from en to de, and the built-in language is English and French" in done.said


# look


def test_look_shows_the_whole_at_a_glance(model: Path) -> None:
    done = call("look", "--model", model, "a bo cat")
    assert (done.code, done.said) == (0, "")
    assert done.lines[0] == "source  a bo cat"
    assert "mean of the 2 heads of decoder.1.cross: target looks at source" in done.lines
    assert any(line.startswith("encoder.1.self.2: ") for line in done.lines)
    assert "\x1b" not in done.output.decode()


def test_look_explains_what_translate_writes(model: Path) -> None:
    words = call("translate", "--model", model, "a bo cat").lines[0].split()
    found = json.loads(call("look", "--model", model, "--json", "a bo cat").output)
    assert found["text"].split() == words
    assert found["torch_text"] is None
    assert "encoder.1.self.2.weight" in found["numbers"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--word", "bo"], "encoder.1.self, mean of 2 heads: bo"),
        (
            ["--word", "bo", "--trace", "encoder.1.self.2"],
            "1. What the head reads: the vector of this piece, 16 numbers",
        ),
        (["--word", "bo", "--trace", "encoder"], "encoder.1.self.output: what it takes from its own side"),
        (["--trace", "search"], "Found, best score first"),
        (
            ["--trace", "encoder.self.rollout", "--pieces"],
            "rollout through 1 layers, mean of heads, half for the residual",
        ),
        (["--target", "cat a"], "(target given)"),
        (["--without", "positions"], "Without positions the order of the words leaves no trace."),
        (["--without", "scaling"], "without scaling"),
    ],
)
def test_look_answers_questions(model: Path, words: list[str], said: str) -> None:
    done = call("look", "--model", model, "a bo cat", *words)
    assert done.code == 0, done.said
    assert said in done.output.decode()


def test_look_draws_the_model(model: Path, tmp_path: Path) -> None:
    done = call("look", "--model", model, "--svg", tmp_path / "model.svg")
    assert done.code == 0, done.said
    assert done.lines[1].startswith("encoder, 1 layers, each of: self-attention, 2 heads of 8")
    assert (tmp_path / "model.svg").read_text("utf-8").startswith("<svg")


def test_look_writes_a_page_and_a_picture(model: Path, tmp_path: Path) -> None:
    page, picture = tmp_path / "a.html", tmp_path / "a.svg"
    done = call("look", "--model", model, "a bo", "--html", page, "--svg", picture, "--trace", "encoder.1.self.1")
    assert (done.code, done.output) == (0, b"")
    assert done.said.splitlines() == [
        f"the page is in {page}; it needs nothing else",
        f"{picture} shows encoder.1.self.1: source looks at source",
    ]
    assert page.read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a bo", "--word", "dog"], "there is no word 'dog' here; the words are: a, bo, </s>; "),
        (
            ["a bo", "--trace", "encoder.2.self.1"],
            "there is no attention 'encoder.2.self'; this model has 1 and 1 layers",
        ),
        (["  "], "the text is blank: there is nothing to look at"),
        (["--word", "bo"], "give a text to look at; without one, the model is drawn"),
        (["a bo", "--html", "page.txt"], "page.txt: a view is saved as .html or .json"),
        (["a bo", "--svg", "a.svg"], "--svg draws one map; name it"),
        (["a bo", "--html", "nowhere/a.html"], "nowhere/a.html: there is no folder nowhere; make it first"),
        (["a bo", "--svg", "."], ". is a folder; give the name of a file"),
        (["a bo", "--word", "bo", "--html", "a.html"], "--word is for the terminal; the page shows every word"),
        (["a bo", "--pieces", "--json"], "--pieces is for the terminal and --svg; the page has both, --json pieces"),
    ],
)
def test_look_says_what_is_wrong(model: Path, words: list[str], message: str) -> None:
    done = call("look", "--model", model, *words)
    assert (done.code, done.output) == (2, b"")
    assert done.said.startswith(f"error: {message}")


# evaluate


SOURCES = ["a bo cat dog", "elf fig gnu hat", "ink jam a bo", "cat dog elf"]


def score(translations: Sequence[str], references: Sequence[Sequence[str]]) -> Scores:
    judge = Scorer(references)
    return judge.scores(list(judge.count(translations)))


@pytest.fixture(scope="module")
def translations(model: Path) -> list[str]:
    """What the model makes of SOURCES."""
    return [each.text for each in regard.load(model).translate_all(SOURCES)]


def test_evaluate_on_a_tsv_and_on_files_is_the_same(model: Path, translations: list[str], tmp_path: Path) -> None:
    references = ["dog cat bo a", "hat gnu", "bo a jam ink", "elf"]
    tsv = write(
        tmp_path / "test.tsv", [f"{source}\t{other}" for source, other in zip(SOURCES, references, strict=True)]
    )
    source, target = write(tmp_path / "test.en", SOURCES), write(tmp_path / "test.fr", references)
    wanted = score(translations, [[each] for each in references])
    for files in ([tsv], [source, target]):
        done = call("evaluate", "--model", model, *files, "--json")
        assert done.code == 0, done.said
        found = json.loads(done.output)
        assert {name: found[name] for name in asdict(wanted)} == asdict(wanted)
        assert list(found) == [*asdict(wanted), "by_length", "by_rarity", "against"]
        lines = call("evaluate", "--model", model, *files).lines
        assert lines[:5] == [
            "4 sentences",
            f"BLEU {wanted.bleu:.2f}   {wanted.bleu_signature}",
            f"chrF {wanted.chrf:.2f}   {wanted.chrf_signature}",
            f"TER  {wanted.ter:.2f}   {wanted.ter_signature}",
            "",
        ]
        assert lines[5] == "By how many words the source has"
        assert lines[9] == "By how often the source's rarest word is in the 57 sources it was trained on"


def test_evaluate_against_another_model(model: Path, translations: list[str], tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(model, other, ignore=shutil.ignore_patterns("run"))
    files = [write(tmp_path / "test.en", SOURCES), write(tmp_path / "test.fr", translations)]
    found = json.loads(call("evaluate", "--model", other, "--against", model, *files, "--json").output)
    assert found["against"]["verdict"] == (
        "other and model wrote the same text for every sentence: there is no difference."
    )
    assert found["by_rarity"]["by"].endswith(f"in these sources themselves ({other} has its training text no more)")
    lines = call("evaluate", "--model", other, "--against", model, *files).lines
    assert found["against"]["verdict"] in lines
    assert "4 sentences are written alike, 0 are not" in lines
    missing = call("evaluate", "--model", model, "--against", tmp_path / "none", *files)
    assert (missing.code, missing.output) == (2, b"")
    assert f"error: {tmp_path / 'none'}: no such model folder; " in missing.said


def test_what_the_model_writes_itself_scores_full_marks(model: Path, translations: list[str], tmp_path: Path) -> None:
    source, target = write(tmp_path / "test.en", SOURCES), write(tmp_path / "test.fr", translations)
    assert json.loads(call("evaluate", "--model", model, source, target, "--json").output)["chrf"] == 100


def test_several_references(model: Path, translations: list[str], tmp_path: Path) -> None:
    other = ["nothing of the kind"] * 4
    source = write(tmp_path / "test.en", SOURCES)
    files = [write(tmp_path / "one.fr", other), write(tmp_path / "two.fr", translations)]
    columns = zip(SOURCES, other, translations, strict=True)
    tsv = write(tmp_path / "test.tsv", ["\t".join(each) for each in columns])
    wanted = score(translations, list(zip(other, translations, strict=True)))
    for paths in ([source, *files], [tsv]):
        found = json.loads(call("evaluate", "--model", model, *paths, "--json").output)
        assert (found["chrf"], found["bleu"], found["references"]) == (wanted.chrf, wanted.bleu, 2)
        shown = call("evaluate", "--model", model, *paths).lines
        assert shown[0] == "4 sentences against up to 2 references each"


def test_by_source_takes_each_source_once(model: Path, translations: list[str], tmp_path: Path) -> None:
    lines = [f"{SOURCES[0]}\tfirst", f"{SOURCES[1]}\tonly", f"{SOURCES[0]}\tsecond"]
    tsv = write(tmp_path / "test.tsv", lines)
    found = json.loads(call("evaluate", "--model", model, tsv, "--by-source", "--json").output)
    wanted = score(translations[:2], [["first", "second"], ["only"]])
    assert (found["sentences"], found["references"]) == (2, 2)
    assert (found["bleu"], found["chrf"]) == (wanted.bleu, wanted.chrf)
    assert json.loads(call("evaluate", "--model", model, tsv, "--json").output)["sentences"] == 3


def test_another_tokenisation_is_in_the_signature(model: Path, tmp_path: Path) -> None:
    tsv = write(tmp_path / "test.tsv", ["a bo\tbo a"])
    found = json.loads(call("evaluate", "--model", model, tsv, "--tokenize", "none", "--json").output)
    assert "|tok:none|" in found["bleu_signature"]
    done = call("evaluate", "--model", model, tsv, "--tokenize", "nun")
    assert done.code == 2
    assert "error: unknown tokenisation 'nun' for BLEU; choose one of 13a" in done.said


def test_the_translations_can_be_kept(model: Path, translations: list[str], tmp_path: Path) -> None:
    source, out = write(tmp_path / "test.en", SOURCES), tmp_path / "out.txt"
    call("evaluate", "--model", model, source, source, "--out", out, "--set", "decode.beam_size=4")
    assert out.read_bytes() == "".join(text + "\n" for text in translations).encode()


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (".", ". is a folder; give the name of a file"),
        ("none/out.txt", "none/out.txt: there is no folder none; make it first"),
        ("test.en", "--out test.en is part of the test set, and would be written over; give another name"),
    ],
)
def test_translations_are_kept_where_they_harm_nobody(
    out: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = write(tmp_path / "test.en", SOURCES)
    done = call("evaluate", "--model", "none", source, "test.en", "--out", out)
    assert (done.code, done.said) == (2, f"error: {message}\n")
    assert source.read_text("utf-8").splitlines() == SOURCES


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_does_not_take_the_scores_along(model: Path, tmp_path: Path) -> None:
    source = write(tmp_path / "test.en", SOURCES)
    done = call("evaluate", "--model", model, source, source, "--out", "/dev/full")
    assert done.code == 2
    assert done.said.endswith("error: [Errno 28] No space left on device\n")
    assert done.output == call("evaluate", "--model", model, source, source).output


def test_an_evaluation_is_of_one_text_for_each() -> None:
    done = call("evaluate", "--model", "none", "test.tsv", "--set", "decode.n_best=2")
    assert (done.code, done.said) == (2, "error: decode.n_best has no effect on scores; leave it out\n")


def test_decoding_settings_count_in_an_evaluation(model: Path, tmp_path: Path) -> None:
    source, out = write(tmp_path / "test.en", SOURCES), tmp_path / "out.txt"
    call(
        "evaluate",
        "--model",
        model,
        source,
        source,
        "--out",
        out,
        "--set",
        "decode.max_length_offset=1",
        "--set",
        "decode.beam_size=1",
    )
    decode = DecodeSettings(beam_size=1, max_length_offset=1)
    wanted = [each.text for each in regard.load(model).translate_all(SOURCES, decode)]
    assert out.read_text("utf-8").splitlines() == wanted


def test_the_log_probability_of_given_translations(model: Path, translations: list[str], tmp_path: Path) -> None:
    pairs = [*zip(SOURCES, translations, strict=True), ("a bo", "zzz ½"), ("a bo", "")]
    tsv = write(tmp_path / "test.tsv", ["\t".join(pair) for pair in pairs])
    done = call("evaluate", "--model", model, tsv, "--scores")
    assert done.code == 0, done.said
    wanted = list(regard.load(model, fast=None).score(pairs))
    assert [tuple(line.split("\t")[1:]) for line in done.lines] == pairs
    numbers = [float(line.split("\t")[0]) for line in done.lines]
    assert numbers == pytest.approx([one.log_probability for one in wanted], abs=1e-3)
    pieces = sum(len(one.log_probabilities) for one in wanted)
    each = sum(one.log_probability for one in wanted) / pieces
    assert done.said == f"6 pairs, {pieces} pieces with their end marks: log-probability {each:.4f} a piece\n"
    told = [json.loads(line) for line in call("evaluate", "--model", model, tsv, "--scores", "--json").lines]
    assert [one["tokens"] for one in told] == [list(one.tokens) for one in wanted]
    for one, other in zip(told, wanted, strict=True):
        assert one["log_probabilities"] == pytest.approx(other.log_probabilities, abs=1e-4)


def test_of_several_references_each_has_its_log_probability(model: Path, tmp_path: Path) -> None:
    tsv = write(tmp_path / "test.tsv", ["a bo\tbo a\tcat", "dog\telf\tdog"])
    done = call("evaluate", "--model", model, tsv, "--scores")
    assert [line.split("\t")[1:] for line in done.lines] == [
        ["a bo", "bo a"],
        ["a bo", "cat"],
        ["dog", "elf"],
        ["dog", "dog"],
    ]


@pytest.mark.parametrize("words", [["--by-source"], ["--out", "x"]])
def test_scores_come_without_translations(words: list[str]) -> None:
    done = call("evaluate", "--model", "none", "test.tsv", "--scores", *words)
    assert (done.code, done.output) == (2, b"")
    assert done.said == "error: --scores translates nothing; leave --by-source, --against and --out out\n"


def test_bad_test_sets_are_named(model: Path, tmp_path: Path) -> None:
    source, short = write(tmp_path / "test.en", SOURCES), write(tmp_path / "test.fr", SOURCES[:3])
    ragged = write(tmp_path / "ragged.tsv", ["a\tb\tc", "a\tb"])
    empty = write(tmp_path / "empty.tsv", [])
    cases = [
        ([source, short], f"the files differ in their number of lines: {source} has 4, {short} has 3; "),
        ([source], f"{source}: expected a source file and one or more reference files (test.en test.fr), or one .tsv"),
        ([ragged], f"{ragged}:2: expected 3 columns separated by tabs, found 2; separate source and target by one tab"),
        ([empty], "empty.tsv: there is no line in it; nothing to compare with"),
        ([tmp_path / "none.tsv"], f"{tmp_path / 'none.tsv'}: no such file; check the name and the current folder"),
    ]
    for files, message in cases:
        done = call("evaluate", "--model", model, *files)
        assert (done.code, done.output) == (2, b"")
        assert f"error: {message}" in done.said


# Python


def test_the_python_interface(model: Path) -> None:
    translator = regard.load(model)
    assert translator.translate("a bo cat").text == call("translate", "--model", model, "a bo cat").lines[0]
    assert regard.load(str(model)).translate_all(["a", ""])[1].text == ""
    with pytest.raises(regard.UserError, match="no such model folder"):
        regard.load(model / "none")


def test_the_public_names_are_all_there() -> None:
    for name in regard.__all__:
        assert getattr(regard, name) is not None
    with pytest.raises(AttributeError, match="module 'regard' has no attribute 'nothing'"):
        regard.nothing  # noqa: B018


# How fast


def test_a_model_is_measured_on_this_machine(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.benchmark.translation_speed._SECONDS", 0.05)
    monkeypatch.setattr("regard.benchmark.translation_speed._COLD_STARTS", 1)
    texts = ["-- a line that looks like an option", "a bo cat " * 400, *sentences(18)]
    lines = "".join(text + "\n" for text in [*texts, "", *texts]).encode()
    done = call("bench", "translate", "--model", model, "--json", typed=lines)
    assert done.said.splitlines() == [
        "measuring: many sentences",
        "measuring: one sentence at a time",
        "measuring: starting from nothing",
    ]
    found = json.loads(done.output)
    assert found["sentences"] == 20
    assert 0 < found["p50_milliseconds"] < 1000 * found["cold_start_seconds"]
    assert found["p50_milliseconds"] <= found["p99_milliseconds"]
    assert found["tokens_per_second"] > 0 < found["sentences_per_second"]
    assert found["share_of_engine"] > 0
    shown = call("bench", "translate", "--model", model, typed=lines)
    assert [line.split("  ")[0] for line in shown.lines] == ["many sentences", "one sentence", "from nothing", "memory"]


def test_learning_is_measured_on_this_machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.benchmark.training_speed._SECONDS", 0.0)
    monkeypatch.setattr("regard.benchmark.training_speed._PEAK_WIDTH", 64)
    data = (folder / "train.en", folder / "train.fr")
    few = ("--set", "train.batch_tokens=256", "--set", "train.micro_batch_tokens=256")
    found = json.loads(call("bench", "train", *data, "--json", *few).output)
    assert found["size"] == "tiny"
    assert found["seconds"] == pytest.approx(found["steps"] * found["seconds_per_step"] / SHARE_FOR_STEPS)
    assert found["tokens_per_second"] * found["seconds_per_step"] < 256
    # Forward and back, a weight of a product takes part in six operations for each piece, more or less often.
    assert 2 < 1e9 * found["gigaflops"] / found["tokens_per_second"] / found["parameters"] < 12
    monkeypatch.setattr("regard.benchmark.training_speed._SECONDS", 0.1)
    shown = call("bench", "train", *data, "--size", "small", "--set", "train.steps=1", *few)
    assert [line.split("  ")[0] for line in shown.lines] == ["size", "speed", "arithmetic", "memory", "your data"]
    assert shown.lines[0].split()[1] == "small,"


def test_what_is_not_the_engine_is_not_measured(model: Path) -> None:
    done = call("bench", "translate", "--model", model, "--set", "decode.temperature=0.5", typed=b"a\n")
    said = "error: what is measured is the engine, which leaves this to torch: decode.temperature=0.5\n"
    assert (done.code, done.said) == (2, said)
    done = call("bench", "translate", "--model", model, "--set", "decode.n_best=2", typed=b"a\n")
    said = "error: what is measured is how fast texts are written; leave decode.n_best out\n"
    assert (done.code, done.said) == (2, said)


def test_the_demo_leaves_other_files_alone(tmp_path: Path) -> None:
    (tmp_path / "card.md").write_text("mine")
    assert call("demo", "--out", tmp_path).said == (
        f"error: {tmp_path} holds other files already; choose another --out, or remove it first\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["card.md"]


def test_without_text_there_is_nothing_to_measure(model: Path) -> None:
    done = call("bench", "translate", "--model", model, typed=b"\n  \n")
    assert (done.code, done.said) == (
        2,
        "error: there is no text to measure with; give some lines: regard bench translate --model … < lines\n",
    )
