"""The length penalty chosen on validation: one search says what each strength of it would have found."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from tests.training.conftest import TinyRuns

import regard
from regard.data.shards import Shards
from regard.data.texts import Texts
from regard.folder import open_folder, save_folder
from regard.settings import DecodeSettings, assemble
from regard.training import validation
from regard.training.events import Finished
from regard.training.run import train
from regard.training.validation import ALPHAS, Validation, Validator, best_by

DECODE = DecodeSettings(beams=4, extra=6)


@dataclass(frozen=True)
class Chosen:
    """A run that chose its alpha, and what it chose by."""

    folder: Path
    sources: list[str]
    targets: list[str]
    scores: Validation


@pytest.fixture(scope="module")
def chosen(tiny: TinyRuns, tmp_path_factory: pytest.TempPathFactory) -> Chosen:
    folder = tmp_path_factory.mktemp("chosen")
    pairs = tiny.sentences(210, seed=2)
    overrides = (*tiny.overrides, "decode.beams=4", "decode.extra=6", "train.learning_rate=0.02")
    *_, last = tiny(folder / "out", valid=tiny.write(folder, "valid", pairs), overrides=overrides)
    assert isinstance(last, Finished) and last.scores is not None
    return Chosen(folder / "out", [source for source, _ in pairs], [target for _, target in pairs], last.scores)


@pytest.mark.parametrize("extra", [6, 1])  # with 1, texts reach their limits, and have no end mark
def test_one_search_tells_what_each_would_find(chosen: Chosen, extra: int) -> None:
    translator = regard.load(chosen.folder, fast=None)
    decode = replace(DECODE, extra=extra)
    found = translator.translate_all(chosen.sources, replace(decode, best=4, log_probabilities=True))
    written = set()
    for alpha in (0.0, 0.6, *ALPHAS):
        alone = [one.text for one in translator.translate_all(chosen.sources, replace(decode, alpha=alpha))]
        assert [best_by(alpha, one).text for one in found] == alone
        written.add(tuple(alone))
    assert len(written) > 1


def test_a_run_keeps_the_best(chosen: Chosen) -> None:
    translator = regard.load(chosen.folder)

    def bleu(alpha: float) -> float:
        found = translator.translate_all(chosen.sources, replace(DECODE, alpha=alpha))
        return sacrebleu.corpus_bleu([one.text for one in found], [chosen.targets]).score

    figures = {alpha: bleu(alpha) for alpha in (0.6, *ALPHAS)}
    best = max(figures, key=lambda alpha: figures[alpha])
    assert best != 0.6
    assert (translator.alpha, chosen.scores.alpha) == (best, best)
    assert chosen.scores.bleu == pytest.approx(figures[best])
    assert f"| {best:g} |" in (chosen.folder / "card.md").read_text("utf-8")


def test_quick_and_full_agree_where_nothing_is_chosen(tiny: TinyRuns, tmp_path: Path, chosen: Chosen) -> None:
    """Also when a run asks for several translations: the best of them is the one that counts."""
    opened = open_folder(chosen.folder)
    texts, shards = Texts(chosen.folder / "run" / "texts"), Shards(chosen.folder / "run" / "shards")

    def validator(**decode: Any) -> Validator:
        asked = {"model": asdict(opened.settings), "train": {"choose_alpha": False}, "decode": {"extra": 6, **decode}}
        return Validator(texts, shards, opened.tokenizer, assemble(asked), alpha=3.0)

    plain, several = (validator(best=best).full(opened.build(), 50) for best in (1, 4))
    assert plain == several
    assert plain.alpha == 3.0
    assert plain.bleu != validator(alpha=0.0).full(opened.build(), 50).bleu


# Every alpha is better than those before it


@pytest.mark.parametrize(
    ("count", "change", "kept"),
    [
        (200, "decode.beams=2", ALPHAS[-1]),
        (199, "decode.beams=2", 0.6),
        (200, "decode.beams=1", 0.6),
        (200, "decode.alpha=1.2", 1.2),
        (200, "decode.temperature=1.0", 0.6),
        (200, "train.choose_alpha=false", 0.6),
    ],
)
def test_when_alpha_is_chosen(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, change: str, kept: float
) -> None:
    monkeypatch.setattr(validation, "_choose", lambda found, targets, alphas: (alphas[-1], [one.text for one in found]))
    valid = tiny.write(tmp_path, "valid", tiny.sentences(count, seed=2))
    tiny(tmp_path / "out", valid=valid, steps=1, overrides=(*tiny.overrides, change))
    assert open_folder(tmp_path / "out").alpha == kept


@pytest.mark.parametrize(("count", "kept"), [(20, 1.7), (200, 1.7)])
def test_a_fine_tune_begins_with_the_alpha_of_its_parent(
    chosen: Chosen, tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, kept: float
) -> None:
    """And keeps it where no other is better, or where there is too little to tell."""
    monkeypatch.setattr(validation, "_choose", lambda found, targets, alphas: (alphas[0], [one.text for one in found]))
    opened = open_folder(chosen.folder)
    weights = opened.build().state_dict()
    kinds: dict[str, Any] = {"settings": opened.settings, "tokenizer": opened.tokenizer, "languages": opened.languages}
    save_folder(tmp_path / "parent", weights=weights, card="", alpha=1.7, **kinds)
    valid = tiny.write(tmp_path, "valid", tiny.sentences(count, seed=2))
    few = ("train.micro_tokens=48", "train.batch_tokens=96", "decode.beams=2", "decode.extra=2")
    events = train(tiny.files, valid=valid, out=tmp_path / "out", parent=tmp_path / "parent", steps=1, overrides=few)
    list(events)
    assert open_folder(tmp_path / "out").alpha == kept
