"""What training would come to: the same as what it does, on data small enough to be its own sample."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from regard.data.check.corpus_report import CorpusReport, check_corpora
from regard.data.formats.corpus import Corpus, corpora
from regard.progress import run_to_end
from regard.settings.parser import user_overrides
from regard.settings.sections import assemble
from regard.settings.sizes import SIZES, size_overrides
from regard.training.planning import corpus_sample
from regard.training.planning.choices import SHARE_FOR_STEPS, choose_steps
from regard.training.planning.forecast import Forecast, forecast
from regard.training.planning.step_time import StepTime
from regard.training.tracking.events import Note

if TYPE_CHECKING:
    from tests.training.conftest import TinyRuns


def foretell(found: list[Corpus], *overrides: str) -> tuple[CorpusReport, Forecast]:
    report = run_to_end(check_corpora(found))
    return report, run_to_end(forecast(found, report, user_overrides(overrides)))


def test_what_is_left_out_is_what_train_leaves_out(tiny: "TinyRuns", tmp_path: Path) -> None:
    pairs = tiny.sentences(60, seed=1)
    pairs[4], pairs[9], pairs[20], pairs[21] = ("a", ""), (" ", ""), ("long " * 80, "c"), ("b", "long " * 80)
    path = tmp_path / "a.tsv"
    path.write_bytes("".join(f"{source}\t{target}\n" for source, target in pairs).encode() + b"\xff\tb\n")
    _, found = foretell(corpora([path]), *tiny.overrides, "model.max_positions=50")
    valid = tiny.write(tmp_path, "v", tiny.sentences(3, seed=2))
    overrides = (*tiny.overrides, "model.max_positions=50")
    events = tiny(tmp_path / "model", [path], valid=valid, steps=1, overrides=overrides)
    said = "not UTF-8: 1, source empty: 1, source too long: 1, target empty: 1, target too long: 1"
    assert [event.text for event in events if isinstance(event, Note) and said in event.text]
    assert found.left_out == {
        "source empty": 1,
        "source too long": 1,
        "target empty": 1,
        "target too long": 1,
        "unreadable": 1,
    }
    assert found.kept == 56
    assert f"{found.kept} training pairs, 3 validation pairs" in (tmp_path / "model" / "card.md").read_text("utf-8")


def test_settings_are_judged_together_with_the_size(tiny: "TinyRuns") -> None:
    """Four heads of `tiny` and `small` divide this width, the eight of the paper do not."""
    _, found = foretell(corpora(tiny.files), *tiny.overrides[2:], "model.width=20")
    assert [one.size for one in found.expected] == ["tiny", "small"]


def test_pieces(tiny: "TinyRuns") -> None:
    found = foretell(corpora(tiny.files), *tiny.overrides)[1].tokens
    assert found.vocab_size <= 300
    assert found.pairs == 60
    assert 1 <= found.per_word["source"] < 4
    assert found.maximum.keys() == found.per_word.keys() == {"source", "target"}
    assert 0 <= found.by_bytes < 0.5
    assert "".join(found.example).replace("\u2581", " ").strip() == tiny.sentences(60, seed=1)[0][0]


def test_every_size_has_its_time(tiny: "TinyRuns") -> None:
    # The machine is said to take 0.01 s for a step of 50 pieces.
    sizes = {one.size: one for one in foretell(corpora(tiny.files), "tokenizer.vocab_size=300")[1].expected}
    assert list(sizes) == list(SIZES)
    assert [one.measured for one in sizes.values()] == [True, True, False, False]
    assert sizes["base"].steps == assemble(size_overrides("base")).train.steps
    for size in ("tiny", "small"):
        assert math.isclose(sizes[size].seconds, sizes[size].steps * 0.01 / SHARE_FOR_STEPS)
    per_step = 0.01 / 50 * 25_000 * sizes["big"].parameters / sizes["small"].parameters
    assert math.isclose(sizes["big"].seconds, sizes["big"].steps * per_step / SHARE_FOR_STEPS)


def test_weights_count(tiny: "TinyRuns", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def note(tokens: int, speed: StepTime) -> tuple[int, str]:
        asked.append(tokens)
        return choose_steps(tokens, speed)

    monkeypatch.setattr("regard.training.planning.choices.choose_steps", note)
    source, target = tiny.files
    foretell(corpora([source, target]), "tokenizer.vocab_size=300")
    foretell(corpora([source, Path(f"{target}=3")]), "tokenizer.vocab_size=300")
    assert math.isclose(asked[-1], 3 * asked[0], rel_tol=0.001)


def test_a_sample_stands_for_the_whole(tiny: "TinyRuns", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_sample, "SAMPLE", 20)
    found = foretell(corpora(tiny.files), "tokenizer.vocab_size=300")[1]
    assert found.tokens.pairs == 20
    assert found.kept == 60
