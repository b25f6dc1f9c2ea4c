"""The tests are sacrebleu's, number by number; who is compared with himself does not differ."""

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from regard.errors import UserError
from regard.evaluation import comparison as comparison_module
from regard.evaluation.comparison import Comparison, MetricComparison
from regard.evaluation.evaluator import Evaluation, evaluate
from regard.evaluation.scores import METRICS
from regard.evaluation.significance import SignificanceTest
from regard.evaluation.summary import evaluation_lines, facts, names_of
from regard.inference.result import Translation
from regard.settings.decode import DecodeSettings

WORDS = "a bo cat dog elf fig gnu hat ink jam kit log".split()  # noqa: SIM905
COUNT = 40


@dataclass(frozen=True)
class Spoiling:
    """Writes what it is given, with a share of the words replaced."""

    share: float
    seed: int = 1

    def translate_iterable(self, lines: Iterable[str], decode: DecodeSettings) -> Iterator[Translation]:
        chance = random.Random(self.seed)
        for line in lines:
            text = " ".join("zzz" if chance.random() < self.share else word for word in line.split())
            yield Translation(line, text, 0.0, 0.0, ())


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chance = random.Random(5)
    path = tmp_path_factory.mktemp("set") / "test.tsv"
    texts = [" ".join(chance.choices(WORDS, k=chance.randint(4, 12))) + "." for _ in range(COUNT)]
    path.write_text("".join(f"{text}\t{text}\n" for text in texts), "utf-8")
    return path


@pytest.fixture(scope="module")
def compared(corpus: Path) -> Evaluation:
    return evaluate(Spoiling(0.15, seed=2), [corpus], against=Spoiling(0.2))


def comparison(evaluation: Evaluation) -> Comparison:
    assert evaluation.against is not None
    return evaluation.against


def sacrebleus_own(folder: Path, test: str, evaluation: Evaluation) -> dict[str, float]:
    """p by metric, as `sacrebleu` prints it for files."""
    other = [found.text for found in Spoiling(0.2).translate_iterable(evaluation.sources, DecodeSettings())]
    texts = {"reference": [each[0] for each in evaluation.references], "other": other, "ours": evaluation.translations}
    for name, lines in texts.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    command = ["reference", "-i", "other", "ours", "-m", "bleu", "chrf", "ter", f"--paired-{test}", "-f", "text"]
    done = subprocess.run([sys.executable, "-m", "sacrebleu", *command], cwd=folder, capture_output=True, check=True)
    return dict(zip(METRICS, map(float, re.findall(rb"p = (\d\.\d{4})", done.stdout)), strict=True))


@pytest.mark.parametrize(("test", "name"), [("bs", "bootstrap"), ("ar", "randomisation")])
def test_the_same_p_as_the_command_of_sacrebleu(compared: Evaluation, tmp_path: Path, test: str, name: str) -> None:
    found = {one.metric: getattr(one, name).p for one in comparison(compared).metrics}
    # It prints four digits.
    assert {metric: round(p, 4) for metric, p in found.items()} == sacrebleus_own(tmp_path, test, compared)
    assert all(0 < p < 1 for p in found.values())


def test_the_signatures_tell_the_seed(compared: Evaluation) -> None:
    for one in comparison(compared).metrics:
        assert "|bs:1000|seed:12345|" in one.bootstrap.signature
        assert "|ar:10000|seed:12345|" in one.randomisation.signature


def test_both_are_scored_as_each_alone(compared: Evaluation, corpus: Path) -> None:
    alone = [evaluate(Spoiling(*how), [corpus]) for how in ((0.15, 2), (0.2, 1))]
    assert compared.scores == alone[0].scores
    assert comparison(compared).scores == alone[1].scores
    for one in comparison(compared).metrics:
        assert (one.score, one.against) == tuple(getattr(each.scores, one.metric) for each in alone)
    for table in ("by_length", "by_rarity"):
        both, *each = (getattr(evaluation, table).groups for evaluation in (compared, *alone))
        assert [group.scores for group in both] == [group.scores for group in each[0]]
        assert [group.against for group in both] == [group.scores for group in each[1]]


def test_again_gives_the_same(compared: Evaluation, corpus: Path) -> None:
    assert evaluate(Spoiling(0.15, seed=2), [corpus], against=Spoiling(0.2)) == compared


def test_a_translator_against_itself_does_not_differ(corpus: Path) -> None:
    found = comparison(evaluate(Spoiling(0.2), [corpus], against=Spoiling(0.2)))
    for one in found.metrics:
        assert (one.difference, one.bootstrap.p, one.randomisation.p, one.better) == (0, 1, 1, None)
    assert (found.alike, found.differences) == (COUNT, ())
    assert found.verdict("a", "b") == "a and b wrote the same text for every sentence: there is no difference."


def test_exchanged_they_differ_the_other_way(compared: Evaluation, corpus: Path) -> None:
    there, back = comparison(compared), comparison(evaluate(Spoiling(0.2), [corpus], against=Spoiling(0.15, seed=2)))
    assert [one.difference for one in there.metrics] == [-one.difference for one in back.metrics]
    assert [one.randomisation.p for one in there.metrics] == [one.randomisation.p for one in back.metrics]
    swapped = {True: False, False: True, None: None}
    assert [one.better for one in there.metrics] == [swapped[one.better] for one in back.metrics]


def test_what_is_clearly_worse_is_worse_by_every_metric(corpus: Path) -> None:
    found = comparison(evaluate(Spoiling(0.6), [corpus], against=Spoiling(0.05, seed=2)))
    assert [one.better for one in found.metrics] == [False, False, False]
    assert found.metrics[2].difference > 0  # fewer edits are better
    assert found.verdict("new", "old") == "new is worse than old by BLEU, chrF and TER."


def made(*better: bool | None) -> Comparison:
    """A comparison that found this, by BLEU, chrF and TER."""
    metrics = []
    for name, one in zip(METRICS, better, strict=True):
        tested = SignificanceTest(0.2 if one is None else 0.01, "")
        up = one is not (name == "ter")
        metrics.append(MetricComparison(name, 2.0 if up else 1.0, 1.0 if up else 2.0, tested, tested))
    difference = comparison_module.Difference(1, "", ("",), "a", "b", 1.0, 2.0)
    return Comparison(None, tuple(metrics), 0, (difference,))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("better", "verdict"),
    [
        ((True, True, True), "a is better than b by BLEU, chrF and TER."),
        ((True, True, None), "a is better than b by BLEU and chrF; by TER there is no clear difference."),
        (
            (False, None, True),
            "a is better than b by TER; a is worse than b by BLEU; by chrF there is no clear difference.",
        ),
        ((None, None, None), "No clear difference: whatever a and b differ by may be chance."),
    ],
)
def test_the_verdict_is_in_plain_words(better: tuple[bool | None, ...], verdict: str) -> None:
    assert [one.better for one in made(*better).metrics] == list(better)
    assert made(*better).verdict("a", "b") == verdict


def test_one_test_alone_is_not_enough() -> None:
    sure, unsure = SignificanceTest(0.01, ""), SignificanceTest(0.05, "")
    assert MetricComparison("bleu", 2.0, 1.0, sure, unsure).better is None
    assert MetricComparison("bleu", 2.0, 1.0, unsure, sure).better is None


def test_sentences_that_differ_most_come_first(compared: Evaluation) -> None:
    found = comparison(compared)
    sizes = [abs(one.chrf - one.against_chrf) for one in found.differences]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) + found.alike == COUNT
    for one in found.differences:
        place = one.sentence - 1
        assert (one.source, one.references) == (compared.sources[place], compared.references[place])
        assert one.translation == compared.translations[place] != one.against


def test_the_terminal_and_json_say_the_same(compared: Evaluation) -> None:
    told = json.loads(json.dumps(facts(compared, "new", "old")))
    lines = list(evaluation_lines(compared, "new", "old"))
    assert lines[0] == f"{COUNT} sentences"
    assert f"TER  {told['ter']:.2f}   {told['ter_signature']}" in lines
    assert told["against"]["verdict"] in lines
    assert "signatures go on: bs:1000|seed:12345 (bootstrap), ar:10000|seed:12345 (randomisation)" in lines
    for group in (*told["by_length"]["groups"], *told["by_rarity"]["groups"]):
        assert any(line.startswith(f"{group['name']:12}{group['sentences']:10,}") for line in lines)
    first = told["against"]["differences"][0]
    at = lines.index(f"{first['chrf'] - first['against_chrf']:+.1f}  sentence {first['sentence']}")
    shown = [line.split(maxsplit=1) for line in lines[at + 1 : at + 5]]
    assert [words[0] for words in shown] == ["source", "reference", "new", "old"]
    assert shown[2][1] == f"{first['chrf']:.1f}  {first['translation']}"
    assert len(told["against"]["differences"]) > 10 == sum("  sentence " in line for line in lines)
    assert [one["better"] for one in told["against"]["metrics"]] == [one.better for one in comparison(compared).metrics]


def test_models_are_called_by_their_folders(tmp_path: Path) -> None:
    assert names_of([tmp_path / "a"], tmp_path / "b") == ("a", "b")
    assert names_of([Path("x/a")], Path("y/a")) == ("x/a", "y/a")
    assert names_of([Path("x/a"), Path("x/b")], Path("x/a")) == ("a + b", "a")


def test_text_that_was_cut_is_noticed(corpus: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.tsv"
    cut.write_text(corpus.read_text("utf-8").replace(".", " ."), "utf-8")
    note = f"{COUNT} translations end in ' .', as cut text does; scores compare with others' on raw text only"
    assert note in evaluation_lines(evaluate(Spoiling(0), [cut]), "", "")
    assert note not in evaluation_lines(evaluate(Spoiling(0), [cut], tokenize="none"), "", "")
    assert note not in evaluation_lines(evaluate(Spoiling(0), [corpus]), "", "")


def test_too_many_sentences_are_refused_before_any_work(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison_module, "MOST", COUNT - 1)
    with pytest.raises(UserError) as caught:
        evaluate(None, [corpus], against=Spoiling(0))  # type: ignore[arg-type]
    assert str(caught.value) == (
        "40 sentences are too many to compare two models on: the tests hold some 0.1 MB of memory for each; "
        "give at most 39"
    )
