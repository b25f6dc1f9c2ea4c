"""Comparisons give the p-values of sacrebleu, and no difference of a translator from itself."""

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
from regard.evaluation.summary import evaluation_lines, facts, system_names
from regard.inference.result import Translation
from regard.settings.decode import DecodeSettings

WORDS = "a bo cat dog elf fig gnu hat ink jam kit log".split()  # noqa: SIM905
COUNT = 40


@dataclass(frozen=True)
class NoisyCopy:
    """A translator that copies its input with a proportion of the words replaced."""

    noise: float
    seed: int = 1

    def translate_iterable(self, lines: Iterable[str], decode: DecodeSettings) -> Iterator[Translation]:
        generator = random.Random(self.seed)
        for line in lines:
            text = " ".join("zzz" if generator.random() < self.noise else word for word in line.split())
            yield Translation(line, text, 0.0, 0.0, ())


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    generator = random.Random(5)
    path = tmp_path_factory.mktemp("set") / "test.tsv"
    texts = [" ".join(generator.choices(WORDS, k=generator.randint(4, 12))) + "." for _ in range(COUNT)]
    path.write_text("".join(f"{text}\t{text}\n" for text in texts), "utf-8")
    return path


@pytest.fixture(scope="module")
def compared(corpus: Path) -> Evaluation:
    return evaluate(NoisyCopy(0.15, seed=2), [corpus], against=NoisyCopy(0.2))


def comparison(evaluation: Evaluation) -> Comparison:
    assert evaluation.against is not None
    return evaluation.against


def p_values_of_sacrebleu(folder: Path, test: str, evaluation: Evaluation) -> dict[str, float]:
    """Return p by metric, as the `sacrebleu` command prints it for files."""
    other = [
        translation.text for translation in NoisyCopy(0.2).translate_iterable(evaluation.sources, DecodeSettings())
    ]
    texts = {"reference": [each[0] for each in evaluation.references], "other": other, "ours": evaluation.translations}
    for name, lines in texts.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    command = ["reference", "-i", "other", "ours", "-m", "bleu", "chrf", "ter", f"--paired-{test}", "-f", "text"]
    process = subprocess.run([sys.executable, "-m", "sacrebleu", *command], cwd=folder, capture_output=True, check=True)
    return dict(zip(METRICS, map(float, re.findall(rb"p = (\d\.\d{4})", process.stdout)), strict=True))


@pytest.mark.parametrize(("test", "name"), [("bs", "bootstrap"), ("ar", "randomisation")])
def test_p_values_equal_those_of_the_sacrebleu_command(
    compared: Evaluation, tmp_path: Path, test: str, name: str
) -> None:
    p_values = {metric.metric: getattr(metric, name).p for metric in comparison(compared).metrics}
    # sacrebleu prints four digits.
    assert {metric: round(p, 4) for metric, p in p_values.items()} == p_values_of_sacrebleu(tmp_path, test, compared)
    assert all(0 < p < 1 for p in p_values.values())


def test_signatures_have_the_seed(compared: Evaluation) -> None:
    for metric in comparison(compared).metrics:
        assert "|bs:1000|seed:12345|" in metric.bootstrap.signature
        assert "|ar:10000|seed:12345|" in metric.randomisation.signature


def test_each_translator_is_scored_as_if_alone(compared: Evaluation, corpus: Path) -> None:
    alone = [evaluate(NoisyCopy(*arguments), [corpus]) for arguments in ((0.15, 2), (0.2, 1))]
    assert compared.scores == alone[0].scores
    assert comparison(compared).scores == alone[1].scores
    for metric in comparison(compared).metrics:
        assert (metric.score, metric.against) == tuple(getattr(each.scores, metric.metric) for each in alone)
    for table in ("by_length", "by_rarity"):
        both, *each = (getattr(evaluation, table).groups for evaluation in (compared, *alone))
        assert [group.scores for group in both] == [group.scores for group in each[0]]
        assert [group.against for group in both] == [group.scores for group in each[1]]


def test_a_repeated_comparison_is_equal(compared: Evaluation, corpus: Path) -> None:
    assert evaluate(NoisyCopy(0.15, seed=2), [corpus], against=NoisyCopy(0.2)) == compared


def test_two_sentences_that_differ_are_no_evidence(corpus: Path) -> None:
    """Of the four exchanges of two sentences, which are equally probable, two give the measured difference."""

    class TwoErrors(NoisyCopy):
        def translate_iterable(self, lines: Iterable[str], decode: DecodeSettings) -> Iterator[Translation]:
            for number, line in enumerate(lines):
                yield Translation(line, f"zzz {line}" if number < 2 else line, 0.0, 0.0, ())

    result = comparison(evaluate(TwoErrors(0), [corpus], against=NoisyCopy(0)))
    for metric in result.metrics:
        assert metric.difference < 0 or metric.metric == "ter"
        assert metric.randomisation.p >= 0.5 and metric.better is None


def test_a_translator_against_itself_does_not_differ(corpus: Path) -> None:
    result = comparison(evaluate(NoisyCopy(0.2), [corpus], against=NoisyCopy(0.2)))
    for metric in result.metrics:
        assert (metric.difference, metric.bootstrap.p, metric.randomisation.p, metric.better) == (0, 1, 1, None)
    assert (result.alike, result.differences) == (COUNT, ())
    assert result.verdict("a", "b") == "a and b give the same translation for every sentence: there is no difference."


def test_exchanging_the_translators_reverses_the_differences(compared: Evaluation, corpus: Path) -> None:
    forward, reverse = (
        comparison(compared),
        comparison(evaluate(NoisyCopy(0.2), [corpus], against=NoisyCopy(0.15, seed=2))),
    )
    assert [one.difference for one in forward.metrics] == [-one.difference for one in reverse.metrics]
    assert [one.randomisation.p for one in forward.metrics] == [one.randomisation.p for one in reverse.metrics]
    swapped = {True: False, False: True, None: None}
    assert [one.better for one in forward.metrics] == [swapped[one.better] for one in reverse.metrics]


def test_a_much_worse_translator_is_worse_by_every_metric(corpus: Path) -> None:
    result = comparison(evaluate(NoisyCopy(0.6), [corpus], against=NoisyCopy(0.05, seed=2)))
    assert [one.better for one in result.metrics] == [False, False, False]
    assert result.metrics[2].difference > 0  # a lower TER is better
    assert result.verdict("new", "old") == "new is worse than old by BLEU, chrF and TER."


def make_comparison(*better: bool | None) -> Comparison:
    """Return a comparison with these results by BLEU, chrF and TER."""
    metrics = []
    for name, is_better in zip(METRICS, better, strict=True):
        test = SignificanceTest(0.2 if is_better is None else 0.01, "")
        is_higher = is_better is not (name == "ter")
        metrics.append(MetricComparison(name, 2.0 if is_higher else 1.0, 1.0 if is_higher else 2.0, test, test))
    difference = comparison_module.Difference(1, "", ("",), "a", "b", 1.0, 2.0)
    return Comparison(None, tuple(metrics), 0, (difference,))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("better", "verdict"),
    [
        ((True, True, True), "a is better than b by BLEU, chrF and TER."),
        ((True, True, None), "a is better than b by BLEU and chrF; by TER there is no significant difference."),
        (
            (False, None, True),
            "a is better than b by TER; a is worse than b by BLEU; by chrF there is no significant difference.",
        ),
        ((None, None, None), "No significant difference between a and b."),
    ],
)
def test_the_verdict_lists_the_metrics(better: tuple[bool | None, ...], verdict: str) -> None:
    assert [one.better for one in make_comparison(*better).metrics] == list(better)
    assert make_comparison(*better).verdict("a", "b") == verdict


def test_both_tests_must_be_significant() -> None:
    significant, insignificant = SignificanceTest(0.01, ""), SignificanceTest(0.05, "")
    assert MetricComparison("bleu", 2.0, 1.0, significant, insignificant).better is None
    assert MetricComparison("bleu", 2.0, 1.0, insignificant, significant).better is None


def test_differences_are_sorted_by_size(compared: Evaluation) -> None:
    result = comparison(compared)
    sizes = [abs(difference.chrf - difference.against_chrf) for difference in result.differences]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) + result.alike == COUNT
    for difference in result.differences:
        index = difference.sentence - 1
        assert (difference.source, difference.references) == (compared.sources[index], compared.references[index])
        assert difference.translation == compared.translations[index] != difference.against


def test_text_and_json_agree(compared: Evaluation) -> None:
    values = json.loads(json.dumps(facts(compared, "new", "old")))
    lines = list(evaluation_lines(compared, "new", "old"))
    assert lines[0] == f"{COUNT} sentences"
    assert f"TER  {values['ter']:6.2f}   {values['ter_signature']}" in lines
    assert values["against"]["verdict"] in lines
    assert "added to the signatures: bs:1000|seed:12345 (bootstrap), ar:10000|seed:12345 (randomisation)" in lines
    for group in (*values["by_length"]["groups"], *values["by_rarity"]["groups"]):
        assert any(line.startswith(f"{group['name']:12}{group['sentences']:10,}") for line in lines)
    first = values["against"]["differences"][0]
    at = lines.index(f"{first['chrf'] - first['against_chrf']:+.1f}  sentence {first['sentence']}")
    shown = [line.split(maxsplit=1) for line in lines[at + 1 : at + 5]]
    assert [words[0] for words in shown] == ["source", "reference", "new", "old"]
    assert shown[2][1] == f"{first['chrf']:.1f}  {first['translation']}"
    assert len(values["against"]["differences"]) > 10 == sum("  sentence " in line for line in lines)
    assert [one["better"] for one in values["against"]["metrics"]] == [
        one.better for one in comparison(compared).metrics
    ]


def test_models_are_named_by_their_folders(tmp_path: Path) -> None:
    assert system_names([tmp_path / "a"], tmp_path / "b") == ("a", "b")
    assert system_names([Path("x/a")], Path("y/a")) == ("x/a", "y/a")
    assert system_names([Path("x/a"), Path("x/b")], Path("x/a")) == ("a + b", "a")


def test_tokenized_text_is_detected(corpus: Path, tmp_path: Path) -> None:
    tokenized = tmp_path / "tokenized.tsv"
    tokenized.write_text(corpus.read_text("utf-8").replace(".", " ."), "utf-8")
    note = (
        f"{COUNT} translations end in ' .', as tokenized text does; scores are comparable with other systems only on "
        "raw text"
    )
    assert note in evaluation_lines(evaluate(NoisyCopy(0), [tokenized]), "", "")
    assert note not in evaluation_lines(evaluate(NoisyCopy(0), [tokenized], tokenize="none"), "", "")
    assert note not in evaluation_lines(evaluate(NoisyCopy(0), [corpus]), "", "")


def test_too_many_sentences_are_refused_before_translating(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison_module, "MAX_SENTENCES", COUNT - 1)
    with pytest.raises(UserError) as caught:
        evaluate(None, [corpus], against=NoisyCopy(0))  # type: ignore[arg-type]
    assert str(caught.value) == (
        "40 sentences are too many for a comparison of two models: the significance tests need about 0.1 MB of memory "
        "for each; give at most 39"
    )
