"""The length penalty chosen on validation: one search says what each strength of it would have found."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import sacrebleu
from tests.training.conftest import TinyRuns

import regard
from regard.folder import open_folder
from regard.settings import DecodeSettings
from regard.training.events import Finished
from regard.training.validation import ALPHAS, Validation, best_by

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
    assert (translator.decode.alpha, chosen.scores.alpha) == (best, best)
    assert chosen.scores.bleu == pytest.approx(figures[best])
    assert f"| {best:g} |" in (chosen.folder / "card.md").read_text("utf-8")


@pytest.mark.parametrize("change", ["train.choose_alpha=false", "decode.temperature=1.0"])
def test_nothing_is_chosen_where_nothing_is_to_be(tiny: TinyRuns, tmp_path: Path, change: str) -> None:
    valid = tiny.write(tmp_path, "valid", tiny.sentences(210, seed=2))
    tiny(tmp_path / "out", valid=valid, steps=1, overrides=(*tiny.overrides, "decode.alpha=1.2", change))
    assert open_folder(tmp_path / "out").alpha == 1.2
