"""Scores equal those of sacrebleu, whatever the number of references."""

from collections.abc import Sequence
from typing import Any

import pytest
import sacrebleu

from regard.errors import UserError
from regard.evaluation.scores import Scorer, Scores

TRANSLATIONS = ["The cat sat on the mat.", "He is reading a good book today.", "It rains in the north of the country."]
FIRST = ["The cat sat on a mat.", "He reads a good book today.", "It is raining in the north of the country."]
SECOND = [
    "A cat was sitting on the mat.",
    "Today he is reading a good book.",
    "Rain falls in the north of the country.",
]


def score(translations: Sequence[str], references: Sequence[Sequence[str]], tokenize: str = "13a") -> Scores:
    scorer = Scorer(references, tokenize=tokenize)
    return scorer.scores(list(scorer.statistics(translations)))


def test_scores_with_one_reference_equal_those_of_sacrebleu() -> None:
    scores = score(TRANSLATIONS, [[reference] for reference in FIRST])
    assert scores.bleu == sacrebleu.corpus_bleu(TRANSLATIONS, [FIRST]).score
    assert scores.chrf == sacrebleu.corpus_chrf(TRANSLATIONS, [FIRST]).score
    assert scores.ter == sacrebleu.corpus_ter(TRANSLATIONS, [FIRST]).score
    assert 0 < scores.bleu < 100
    assert 0 < scores.ter < 100
    assert (scores.sentences, scores.references) == (3, 1)
    assert scores.bleu_signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert scores.chrf_signature.startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:")
    assert scores.ter_signature.startswith("nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:")


def test_scores_with_several_references_equal_those_of_sacrebleu() -> None:
    scores = score(TRANSLATIONS, list(zip(FIRST, SECOND, strict=True)))
    assert scores.bleu == sacrebleu.corpus_bleu(TRANSLATIONS, [FIRST, SECOND]).score
    assert scores.chrf == sacrebleu.corpus_chrf(TRANSLATIONS, [FIRST, SECOND]).score
    assert scores.ter == sacrebleu.corpus_ter(TRANSLATIONS, [FIRST, SECOND]).score
    assert scores.references == 2
    assert scores.bleu_signature.startswith("nrefs:2|")


def test_the_number_of_references_may_vary() -> None:
    varying = [[FIRST[0]], [FIRST[1], SECOND[1]], [FIRST[2]]]
    scores = score(TRANSLATIONS, varying)
    # A duplicate reference changes nothing, so repeating a reference is the same as leaving it out.
    repeated = score(TRANSLATIONS, [(each * 2)[:2] for each in varying])
    assert (scores.bleu, scores.chrf) == (repeated.bleu, repeated.chrf)
    streams: list[Any] = [[each[0] for each in varying], [each[1] if len(each) > 1 else None for each in varying]]
    assert scores.ter == sacrebleu.corpus_ter(TRANSLATIONS, streams).score
    assert scores.bleu > score(TRANSLATIONS, [[reference] for reference in FIRST]).bleu
    assert scores.references == 2
    assert scores.bleu_signature.startswith("nrefs:var|")


def test_the_first_sentence_may_have_fewer_references() -> None:
    varying = [[FIRST[0]], [FIRST[1], SECOND[1]], [FIRST[2], SECOND[2]]]
    assert score(TRANSLATIONS, varying).bleu == score(TRANSLATIONS[::-1], varying[::-1]).bleu


def test_a_subset_of_sentences_is_scored_like_a_corpus() -> None:
    scorer = Scorer([[reference] for reference in FIRST])
    statistics = list(scorer.statistics(TRANSLATIONS))
    own = score(TRANSLATIONS[1:], [[reference] for reference in FIRST[1:]])
    assert scorer.metric_scores(statistics[1:]) == {"bleu": own.bleu, "chrf": own.chrf, "ter": own.ter}
    for text, reference, sentence in zip(TRANSLATIONS, FIRST, statistics, strict=True):
        assert scorer.metric_scores([sentence])["chrf"] == sacrebleu.sentence_chrf(text, [reference]).score


def test_only_the_requested_metrics_are_computed() -> None:
    scorer = Scorer([[reference] for reference in FIRST], names=("chrf",))
    assert scorer.metric_scores(list(scorer.statistics(TRANSLATIONS))) == {
        "chrf": sacrebleu.corpus_chrf(TRANSLATIONS, [FIRST]).score
    }


def test_scores_are_case_sensitive() -> None:
    assert score(["THE CAT SAT ON A MAT."], [["the cat sat on a mat."]]).bleu < 50


def test_the_tokenizer_affects_only_bleu() -> None:
    untokenized = score(["A b c d e ."], [["A b c d e."]], tokenize="none")
    assert untokenized.bleu < score(["A b c d e ."], [["A b c d e."]]).bleu == pytest.approx(100)
    assert "|tok:none|" in untokenized.bleu_signature
    assert untokenized.chrf == pytest.approx(100)
    assert "|tok:zh|" in score(["今天很好。"], [["今天很好。"]], tokenize="zh").bleu_signature


def test_empty_translations_score_0() -> None:
    assert score(["", ""], [["A cat."], ["A dog."]]).bleu == 0


def test_an_unknown_tokenizer_is_refused() -> None:
    with pytest.raises(UserError, match=r"unknown tokenizer '13b' for BLEU; choose one of 13a, char, .*ja-mecab"):
        score(TRANSLATIONS, [[reference] for reference in FIRST], tokenize="13b")


def test_a_tokenizer_that_is_not_installed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(self: object, **options: object) -> None:
        raise RuntimeError("Japanese needs more.\n\n    pip install sacrebleu[ja]\n")

    monkeypatch.setattr("regard.evaluation.scores.BLEU.__init__", missing)
    with pytest.raises(UserError, match=r"'ja-mecab' cannot be used: Japanese needs more. pip install sacrebleu\[ja\]"):
        score(["a"], [["a"]], tokenize="ja-mecab")


def test_an_empty_test_set_is_an_error() -> None:
    with pytest.raises(UserError, match="nothing to score"):
        score([], [])


def test_a_different_number_of_translations_and_references_is_an_error() -> None:
    with pytest.raises(UserError, match="3 translations but references for 2 sentences"):
        score(TRANSLATIONS, [["a"], ["b"]])


def test_a_sentence_without_reference_is_an_error() -> None:
    with pytest.raises(UserError, match="sentence 2 has no reference"):
        score(TRANSLATIONS, [["a"], [], ["c"]])


def test_a_reference_that_is_not_in_a_list_is_an_error() -> None:
    with pytest.raises(UserError, match="sentence 1: its references must be a list"):
        score(TRANSLATIONS, FIRST)
