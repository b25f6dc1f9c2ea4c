"""Head roles on planted heads, on attention weights made by hand, and against plain counting."""

from math import log

import numpy as np
import pytest
from tests.interpret.planted import planted_model

from regard.interpret.annotated_pairs import AnnotatedPair, PairSample, synthetic_sample, unannotated_pair
from regard.interpret.measure.head_roles import HeadProfile, RoleScore, concentration, measure_roles
from regard.interpret.measure.role_criteria import (
    FREQUENT_SUBWORDS,
    WordRelation,
    diagonal,
    positional_hits,
    rare_token_hits,
    relation_hits,
    rule_hits,
    word_relations,
)
from regard.interpret.selftest.planted_model import planted_sample
from regard.interpret.teacher_forcing import attention_weights
from regard.models.build import build_untrained
from regard.progress import run_to_end
from regard.settings.kinds.transformer import TransformerSettings
from regard.statistics.estimate import Estimate
from regard.statistics.intervals import proportion
from regard.tokenizers.special_ids import FIRST_SUBWORD
from regard.tokenizers.word_spans import WordSpan


@pytest.fixture(scope="module")
def planted():
    model = planted_model()
    sample = planted_sample(model.tokenizer)
    return model, sample, {profile.address: profile for profile in run_to_end(measure_roles(model.network, sample))}


def uniform(rows: int, columns: int, causal: bool = False) -> np.ndarray:
    allowed = np.tril(np.ones((rows, columns))) if causal else np.ones((rows, columns))
    return np.asarray((allowed / allowed.sum(axis=1, keepdims=True))[None])


def test_a_uniform_head_has_the_maximum_entropy(planted):
    _, sample, profiles = planted
    assert {len(pair.source_ids) for pair in sample.pairs} == {9}
    assert profiles["encoder.1.self.4"].entropy == pytest.approx(log(9), abs=1e-6)
    assert profiles["encoder.1.self.4"].normalised_entropy == pytest.approx(1)
    assert profiles["encoder.1.self.4"].confidence == pytest.approx(1 / 9)
    assert profiles["encoder.1.self.4"].special_token_weight == pytest.approx(1 / 9)
    causal = np.mean([log(row) for row in range(1, 10)])
    assert profiles["decoder.1.self.4"].entropy == pytest.approx(causal, abs=1e-6)
    assert profiles["decoder.1.self.4"].normalised_entropy == pytest.approx(1)


def test_a_planted_head_is_confident_and_above_its_baselines(planted):
    _, sample, profiles = planted
    previous = profiles["encoder.1.self.1"]
    assert previous.role == "previous"
    assert previous.confidence > 0.9 and previous.entropy < 0.25  # row 0 has no previous token
    score = previous.role_scores["previous"]
    assert score.accuracy.value == 1 and score.accuracy.count == 6 * len(sample)  # rows 2 to 7 of eight words
    assert score.baseline == pytest.approx(1 / 9) and score.untrained < 0.5
    tests = sum(len(profile.role_scores) for profile in profiles.values())  # corrected for all roles of all heads
    cases = np.full(len(sample), 6)
    assert score.accuracy == proportion(cases, cases, tests=tests) and score.accuracy.low > 0.7
    written = profiles["decoder.1.cross.1"].role_scores["align, written"]
    assert written.accuracy.value == 1 and written.baseline == 0.5  # half of the words move right, half left
    assert profiles["decoder.1.cross.1"].role_scores["align, read"].accuracy.value == 0
    assert profiles["decoder.1.cross.3"].special_token_weight > 0.99


ATTENTIONS = {attention.kind: attention for attention in TransformerSettings().anatomy().attentions}


def test_concentration_equals_a_calculation_by_hand():
    weights = np.array([[[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]]])
    confidence, entropy, normalised_entropy, special_token_weight = concentration(weights, ATTENTIONS["encoder.self"])[
        0
    ]
    assert confidence == pytest.approx(0.5 + 0.0)
    assert entropy == pytest.approx(0.5 * log(2) + 0.5 * log(4))
    assert normalised_entropy == pytest.approx((0.5 * log(2) + 0.5 * log(4)) / log(3))
    assert special_token_weight == pytest.approx(1.25)
    assert concentration(uniform(4, 4, causal=True), ATTENTIONS["decoder.self"])[0][2] == pytest.approx(4)


@pytest.mark.parametrize("kind", ["encoder.self", "decoder.self", "decoder.cross"])
def test_positional_hits_equal_plain_counting(kind):
    generator = np.random.default_rng(1)
    weights = generator.random((3, 7, 7))
    if kind == "decoder.self":
        weights = np.tril(weights)
    top = weights.argmax(axis=-1)
    last = 6 if kind == "encoder.self" else 7
    offsets = {"previous": -1, "next": 1, "self": 0}
    for role, hits, cases, _ in positional_hits(weights, ATTENTIONS[kind]):
        for head in range(3):
            if role in offsets:
                start = {"previous": 2, "next": 0, "self": 1}[role]
                rows = range(start, last - (role == "next"))
                expected = sum(top[head, row] == row + offsets[role] for row in rows)
            else:
                rows = range(2 if role == "first" and kind != "decoder.cross" else 0, last)
                expected = sum(top[head, row] == (0 if role == "first" else 6) for row in rows)
            assert (hits[head], cases) == (expected, len(rows)), role


def test_random_attention_has_the_expected_number_of_hits():
    generator = np.random.default_rng(2)
    surplus: dict[str, float] = {}
    for _ in range(3000):
        weights = np.tril(generator.random((1, 6, 6)))
        for role, hits, _, expected in positional_hits(weights, ATTENTIONS["decoder.self"]):
            surplus[role] = surplus.get(role, 0) + hits[0] - expected
    assert all(abs(total) / 3000 < 0.1 for total in surplus.values())


def pair_of(ids: list[int]) -> AnnotatedPair:
    return AnnotatedPair("", "", (*ids, 3), (3,), (), ())


def test_the_rarest_token_is_a_byte_or_the_subword_with_the_largest_id():
    rare = FIRST_SUBWORD + FREQUENT_SUBWORDS + 5
    weights = np.zeros((1, 4, 4))
    weights[0, :, 1] = 1
    hits, cases, expected = rare_token_hits(weights, pair_of([270, rare, 271]))
    assert [hits.tolist(), cases, expected] == [[2], 2, 0.5]
    assert rare_token_hits(weights, pair_of([rare, 7, 271]))[0].tolist() == [2]  # a byte
    assert rare_token_hits(weights, pair_of([270, 272, 271]))[1] == 0  # all are frequent
    assert rare_token_hits(weights, pair_of([rare, rare, 271]))[0].tolist() == [1]  # both count, but not for each other


def test_a_word_gets_the_weight_of_its_tokens_and_eos_does_not_count():
    words = (WordSpan("a", 0, 1), WordSpan("bc", 1, 3))
    weights = np.array([[[0.3, 0.2, 0.2, 0.3], [0.1, 0.0, 0.0, 0.9], [0.5, 0.1, 0.1, 0.3], [1.0, 0, 0, 0]]])
    second, first = frozenset({1}), frozenset({0})
    relations = [
        WordRelation(0, range(1), second),
        WordRelation(0, range(1, 2), first),
        WordRelation(1, range(1, 3), first),
    ]
    assert relation_hits(weights, words, relations).tolist() == [[True], [True], [True]]
    tied = [WordRelation(0, range(2), second)]  # 0.2 and 0.2
    assert relation_hits(weights, words, tied).tolist() == [[False]]


def test_the_rules_without_words_equal_plain_counting(planted):
    relations = [
        WordRelation(0, range(1), frozenset({1})),
        WordRelation(2, range(1), frozenset({3})),
        WordRelation(3, range(1), frozenset({0}), (0, 2)),
    ]
    pair = unannotated_pair("ant bee cow dog", "ant bee cow dog", planted[0].tokenizer)
    total = rule_hits(relations, pair, planted[0].network.anatomy().attentions[0])
    assert total.max() == 2 and total[13] == 2  # an offset of one word
    assert total[-5] == 1 and total[-4] == 1  # the first, the last
    assert total[-3] == 0  # the diagonal of a square is an offset of zero
    assert total[-2] == 1 and total[-1] == 0  # the first and the last candidate, which only the third relation has


def test_always_the_same_noun_is_a_baseline_of_the_antecedent(model_of):
    model = model_of("pre")
    sample = synthetic_sample(model.tokenizer, 300)
    relations = [relation for pair in sample.pairs for relation in word_relations(pair)["it → antecedent"]]
    expected = [sum(one.candidates[end] in one.correct for one in relations) for end in (0, -1)]
    attention = model.network.anatomy().attentions[0]
    hits = [rule_hits(word_relations(pair)["it → antecedent"], pair, attention) for pair in sample.pairs]
    total = np.sum(hits, axis=0)
    assert total[-2:].tolist() == expected and min(expected) > 0.4 * len(relations)
    assert max(expected) > max(total[:-2])  # no rule about positions is as good


def test_the_diagonal_connects_the_corners():
    assert [diagonal(row, 4, 8) for row in range(4)] == [1, 3, 5, 7]
    assert [diagonal(row, 6, 3) for row in range(6)] == [0, 0, 1, 1, 2, 2]
    assert [diagonal(row, 5, 5) for row in range(5)] == [0, 1, 2, 3, 4]


def test_words_that_occur_once_on_both_sides_are_linked(planted):
    model, _, _ = planted
    relations = word_relations(unannotated_pair("ant bee ant cow", "cow Bee dog ant", model.tokenizer))
    assert set(relations) == {"align, read", "align, written"}
    assert [(each.word, set(each.correct)) for each in relations["align, written"]] == [(0, {3}), (1, {1})]
    rows = relations["align, read"][0].rows, relations["align, written"][0].rows
    assert rows == (range(1, 2), range(1))


def profile_of(**scores: RoleScore) -> HeadProfile:
    by_role = {name.replace("_", " → "): score for name, score in scores.items()}
    return HeadProfile("encoder.1.self.1", 0.5, 1.0, 0.4, 0.1, 100, by_role)


def score_of(value: float, low: float, baseline: float = 0.3, untrained: float = 0.2, count: int = 100) -> RoleScore:
    return RoleScore(Estimate(value, low, 1.0, count), baseline, untrained)


def test_a_role_requires_its_criterion():
    assert profile_of(previous=score_of(0.91, 0.85)).role == "previous"
    assert profile_of(previous=score_of(0.89, 0.85)).role is None
    assert profile_of(previous=score_of(0.95, 0.9, count=29)).role is None
    assert profile_of(verb_subject=score_of(0.5, 0.35)).role == "verb → subject"
    assert profile_of(verb_subject=score_of(0.39, 0.35)).role is None  # only nine points above
    assert profile_of(verb_subject=score_of(0.5, 0.29)).role is None  # the lower bound is below a baseline
    assert profile_of(verb_subject=score_of(0.5, 0.35, untrained=0.45)).role is None
    assert profile_of(verb_subject=score_of(0.5, 0.35), verb_object=score_of(0.6, 0.5)).role == "verb → object"


def test_attention_weights_are_the_same_alone_and_in_a_batch(model):
    texts = ["the cat sees a tree.", "a dog.", "two old cats and three dogs paint the red house with it."]
    pairs = [unannotated_pair(text, text, model.tokenizer) for text in texts]
    batched = dict(attention_weights(model.network, pairs))
    for index, pair in enumerate(pairs):
        ((_, alone),) = attention_weights(model.network, [pair])
        assert batched[index].keys() == alone.keys()
        for name, weights in alone.items():
            np.testing.assert_allclose(batched[index][name], weights, atol=1e-5)
            np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)


def test_the_untrained_model_is_always_the_same_and_leaves_the_random_state_alone(model):
    import torch

    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first, second = build_untrained(model.network), build_untrained(model.network)
    assert torch.equal(before, torch.random.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_every_head_of_any_architecture_has_a_profile(model):
    pair = unannotated_pair("the cat sees it.", "it sees the cat.", model.tokenizer)
    profiles = run_to_end(measure_roles(model.network, PairSample("texts", (pair, pair, pair))))
    settings = model.network.settings
    assert len(profiles) == settings.heads * (settings.encoder_layers + 2 * settings.decoder_layers)
    assert len({profile.address for profile in profiles}) == len(profiles)
