"""The figures are sacrebleu's, however many references a sentence has."""

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
    judge = Scorer(references, tokenize=tokenize)
    return judge.scores(list(judge.count(translations)))


def test_one_reference() -> None:
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


def test_several_references() -> None:
    scores = score(TRANSLATIONS, list(zip(FIRST, SECOND, strict=True)))
    assert scores.bleu == sacrebleu.corpus_bleu(TRANSLATIONS, [FIRST, SECOND]).score
    assert scores.chrf == sacrebleu.corpus_chrf(TRANSLATIONS, [FIRST, SECOND]).score
    assert scores.ter == sacrebleu.corpus_ter(TRANSLATIONS, [FIRST, SECOND]).score
    assert scores.references == 2
    assert scores.bleu_signature.startswith("nrefs:2|")


def test_a_varying_number_of_references() -> None:
    varying = [[FIRST[0]], [FIRST[1], SECOND[1]], [FIRST[2]]]
    scores = score(TRANSLATIONS, varying)
    # A reference given twice counts once, so repeating is the same as leaving out.
    repeated = score(TRANSLATIONS, [(each * 2)[:2] for each in varying])
    assert (scores.bleu, scores.chrf) == (repeated.bleu, repeated.chrf)
    streams: list[Any] = [[each[0] for each in varying], [each[1] if len(each) > 1 else None for each in varying]]
    assert scores.ter == sacrebleu.corpus_ter(TRANSLATIONS, streams).score
    assert scores.bleu > score(TRANSLATIONS, [[reference] for reference in FIRST]).bleu
    assert scores.references == 2
    assert scores.bleu_signature.startswith("nrefs:var|")


def test_the_first_sentence_may_be_the_one_with_fewer() -> None:
    varying = [[FIRST[0]], [FIRST[1], SECOND[1]], [FIRST[2], SECOND[2]]]
    assert score(TRANSLATIONS, varying).bleu == score(TRANSLATIONS[::-1], varying[::-1]).bleu


def test_some_sentences_score_as_a_corpus_of_their_own() -> None:
    judge = Scorer([[reference] for reference in FIRST])
    counts = list(judge.count(TRANSLATIONS))
    own = score(TRANSLATIONS[1:], [[reference] for reference in FIRST[1:]])
    assert judge.figures(counts[1:]) == {"bleu": own.bleu, "chrf": own.chrf, "ter": own.ter}
    for text, reference, one in zip(TRANSLATIONS, FIRST, counts, strict=True):
        assert judge.figures([one])["chrf"] == sacrebleu.sentence_chrf(text, [reference]).score


def test_only_what_is_asked_for_is_computed() -> None:
    judge = Scorer([[reference] for reference in FIRST], names=("chrf",))
    assert judge.figures(list(judge.count(TRANSLATIONS))) == {
        "chrf": sacrebleu.corpus_chrf(TRANSLATIONS, [FIRST]).score
    }


def test_case_counts() -> None:
    assert score(["THE CAT SAT ON A MAT."], [["the cat sat on a mat."]]).bleu < 50


def test_tokenisation_is_for_bleu_alone() -> None:
    cut = score(["A b c d e ."], [["A b c d e."]], tokenize="none")
    assert cut.bleu < score(["A b c d e ."], [["A b c d e."]]).bleu == pytest.approx(100)
    assert "|tok:none|" in cut.bleu_signature
    assert cut.chrf == pytest.approx(100)
    assert "|tok:zh|" in score(["今天很好。"], [["今天很好。"]], tokenize="zh").bleu_signature


def test_an_empty_translation_counts_as_nothing() -> None:
    assert score(["", ""], [["A cat."], ["A dog."]]).bleu == 0


def test_unknown_tokenisation() -> None:
    with pytest.raises(UserError, match=r"unknown tokenisation '13b' for BLEU; choose one of 13a, char, .*ja-mecab"):
        score(TRANSLATIONS, [[reference] for reference in FIRST], tokenize="13b")


def test_a_tokenisation_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(self: object, **options: object) -> None:
        raise RuntimeError("Japanese needs more.\n\n    pip install sacrebleu[ja]\n")

    monkeypatch.setattr("regard.evaluation.scores.BLEU.__init__", missing)
    with pytest.raises(UserError, match=r"'ja-mecab' here: Japanese needs more. pip install sacrebleu\[ja\]"):
        score(["a"], [["a"]], tokenize="ja-mecab")


def test_nothing_to_score() -> None:
    with pytest.raises(UserError, match="nothing to score"):
        score([], [])


def test_unequal_counts() -> None:
    with pytest.raises(UserError, match="3 translations but references for 2 sentences"):
        score(TRANSLATIONS, [["a"], ["b"]])


def test_a_sentence_without_reference() -> None:
    with pytest.raises(UserError, match="sentence 2 has no reference"):
        score(TRANSLATIONS, [["a"], [], ["c"]])


def test_a_text_where_a_list_belongs() -> None:
    with pytest.raises(UserError, match="sentence 1: its references must be a list"):
        score(TRANSLATIONS, FIRST)
