"""The data of runs: weighted corpora, standard input, other formats, unreadable lines and the data report."""

import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from regard.errors import DataError, RunError
from regard.storage.json_files import read_json
from regard.storage.manifest import sha256
from regard.training.tracking.events import Event, Note, Planned, Stopped

if TYPE_CHECKING:
    from tests.training.conftest import TinyRuns


def notes(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Note)]


def tsv(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    return path


@pytest.fixture
def mixed(tiny: "TinyRuns", tmp_path: Path) -> list[Path]:
    """Two corpora with different weights."""
    pairs = tiny.sentences(60, seed=1)
    first, second = tsv(tmp_path / "one.tsv", pairs[:40]), tsv(tmp_path / "two.tsv", pairs[40:])
    return [Path(f"{first}=0.3"), Path(f"{second}=2")]


@pytest.mark.parametrize("step", [1, 9, 17])
def test_a_run_on_weighted_corpora_resumes_bit_for_bit(
    tiny: "TinyRuns", mixed: list[Path], tmp_path: Path, step: int
) -> None:
    tiny(tmp_path / "uninterrupted", mixed, steps=20)
    events: list[Event] = []
    for event in tiny.events(
        tmp_path / "resumed", mixed, steps=20, stop=lambda: bool(events) and getattr(events[-1], "step", 0) == step
    ):
        events.append(event)  # noqa: PERF402 (`stop` reads the list)
    assert events[-1] == Stopped(step)
    tiny(tmp_path / "resumed", mixed, steps=20)
    first, second = (sha256(tmp_path / name / "weights.safetensors") for name in ("uninterrupted", "resumed"))
    assert first == second


def test_corpus_weights_change_the_model(tiny: "TinyRuns", mixed: list[Path], tmp_path: Path) -> None:
    plain = [tmp_path / "one.tsv", tmp_path / "two.tsv"]
    for name, files in {"mixed": mixed, "plain": plain}.items():
        tiny(tmp_path / name, files, steps=5)
    assert sha256(tmp_path / "mixed" / "weights.safetensors") != sha256(tmp_path / "plain" / "weights.safetensors")
    assert "- weights of the training corpora: 0.3, 2\n" in (tmp_path / "mixed" / "card.md").read_text("utf-8")
    with pytest.raises(RunError, match=r"started differently:\n  weights: was 0\.3 2\.0, is now not given"):
        tiny(tmp_path / "mixed", plain, steps=5)


def test_weights_for_validation_data_are_refused(tiny: "TinyRuns", mixed: list[Path], tmp_path: Path) -> None:
    with pytest.raises(RunError) as error:
        tiny(tmp_path / "model", tiny.files, valid=mixed[:1])
    assert str(error.value) == "one.tsv=0.3: validation data cannot be weighted; leave the weight out"
    assert not (tmp_path / "model").exists()


def pipe(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_standard_input_is_read_once(tiny: "TinyRuns", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tsv(tmp_path / "pairs.tsv", tiny.sentences(60, seed=1))
    tiny(tmp_path / "file", [file], steps=12)
    out = tmp_path / "piped"
    pipe(monkeypatch, file.read_bytes())
    events = tiny.events(out, [Path("-")], steps=12)
    assert any(isinstance(event, Planned) for event in events)
    events.close()  # type: ignore[attr-defined]
    kept = out / "run" / "standard-input.tsv"
    assert kept.read_bytes() == file.read_bytes()
    pipe(monkeypatch, b"")
    again = tiny(out, [Path("-")], steps=12)
    assert notes(again)[0] == f"standard input is not read again: the run continues with the pairs kept in {kept}"
    assert sha256(out / "weights.safetensors") == sha256(tmp_path / "file" / "weights.safetensors")


def test_standard_input_is_read_again_if_the_run_has_no_plan_yet(
    tiny: "TinyRuns", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "piped"
    pipe(monkeypatch, b"no tab\n")
    with pytest.raises(DataError, match=r"^standard input:1: expected 2 columns"):
        tiny(out, [Path("-")], steps=1)
    pipe(monkeypatch, tsv(tmp_path / "a.tsv", tiny.sentences(60, seed=1)).read_bytes())
    tiny(out, [Path("-")], steps=1)
    assert (out / "weights.safetensors").exists()


def test_all_formats_give_the_same_model(tiny: "TinyRuns", tmp_path: Path) -> None:
    pairs = tiny.sentences(60, seed=1)
    jsonl = tmp_path / "a.jsonl"
    jsonl.write_text("".join(json.dumps({"source": s, "target": t}) + "\n" for s, t in pairs), "utf-8")
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{s}</seg></tuv><tuv xml:lang="fr"><seg>{t}</seg></tuv></tu>\n' for s, t in pairs
    )
    tmx = tmp_path / "a.tmx"
    tmx.write_text(f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>', "utf-8")
    po = tmp_path / "a.po"
    po.write_text("".join(f'msgid "{s}"\nmsgstr "{t}"\n\n' for s, t in pairs), "utf-8")
    for name, files in {"plain": tiny.files, "jsonl": [jsonl], "tmx": [tmx], "po": [po]}.items():
        tiny(tmp_path / name, files, steps=3)
    assert len({sha256(tmp_path / name / "weights.safetensors") for name in ("plain", "jsonl", "tmx", "po")}) == 1
    assert read_json(tmp_path / "tmx" / "settings.json")["directions"] == [["en", "fr"]]


def test_unreadable_lines_are_listed(tiny: "TinyRuns", tmp_path: Path) -> None:
    file = tsv(tmp_path / "a.tsv", tiny.sentences(60, seed=1))
    file.write_bytes(file.read_bytes() + b"\xff\tx\nno tab\n")
    out = tmp_path / "model"
    events = tiny(out, [file], steps=1)
    listing = out / "run" / "tokens" / "dropped.tsv"
    assert notes(events) == [f"left out not 2 columns: 1, not UTF-8: 1; {listing} lists them"]
    assert listing.read_text("utf-8").splitlines()[1:] == ["a.tsv\t61\tnot UTF-8", "a.tsv\t62\tnot 2 columns"]
    assert "1 left out (not UTF-8)" in (out / "card.md").read_text("utf-8")


def test_the_data_report_is_shown_once_and_kept(tiny: "TinyRuns", tmp_path: Path) -> None:
    pairs = tiny.sentences(60, seed=1)
    files, valid = tiny.write(tmp_path, "a", pairs), tiny.write(tmp_path, "v", pairs[:1])
    out = tmp_path / "model"
    events = tiny(out, files, valid=valid, steps=1)
    note = "validation data: 1 pair also in training (scores on them are too high); the first is v.en:1"
    assert note in notes(events)
    assert read_json(out / "run" / "check.json")["corpora"][0]["pairs"] == 60
    assert note not in notes(tiny(out, files, valid=valid, steps=1))


def test_opposite_directions_are_refused_unless_languages_are_given(tiny: "TinyRuns", tmp_path: Path) -> None:
    files, valid = tiny.files, tiny.write(tmp_path, "v", tiny.sentences(3, seed=2))
    with pytest.raises(DataError, match=r"train\.en \+ train\.fr goes from en to fr, but v\.fr \+ v\.en from fr to en"):
        tiny(tmp_path / "model", files, valid=valid[::-1])
    tiny(tmp_path / "model", files, valid=valid[::-1], languages=("en", "fr"), steps=1)


def test_fine_tuning_reads_a_tmx_in_the_direction_of_the_parent(tiny: "TinyRuns", tmp_path: Path) -> None:
    tiny(tmp_path / "parent", steps=1)
    units = "".join(
        f'<tu><tuv xml:lang="fr"><seg>{t}</seg></tuv><tuv xml:lang="en"><seg>{s}</seg></tuv></tu>'
        for s, t in tiny.sentences(30, seed=3)
    )
    tmx = tmp_path / "a.tmx"
    tmx.write_text(f'<tmx version="1.4"><header srclang="fr"/><body>{units}</body></tmx>', "utf-8")
    out, overrides = tmp_path / "child", ("train.batch_tokens=96",)
    tiny(out, [tmx], parent=tmp_path / "parent", size=None, steps=1, overrides=overrides)
    read = (out / "run" / "texts" / "train" / "source.txt").read_text("utf-8").splitlines()
    assert set(read) < {source for source, _ in tiny.sentences(30, seed=3)}
