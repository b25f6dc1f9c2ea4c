"""What heads do, measured: on planted heads, on heads made by hand, and by plain counting."""

from math import log

import numpy as np
import pytest
from tests.interpret.planted import planted_model

from regard.interpret.annotated_pairs import AnnotatedPair, PairSample, text_item
from regard.interpret.measure.head_roles import HeadProfile, RoleScore, measure_heads, sharpness
from regard.interpret.measure.role_criteria import COMMON, Cell, hits, offset_hits, positional, rare, relations
from regard.interpret.selftest.planted_model import planted_sample
from regard.interpret.teacher_forcing import attention_weights
from regard.models.build import build_untrained
from regard.progress import run_to_end
from regard.statistics.intervals import Estimate
from regard.tokenizers.special_ids import FIRST_SUBWORD
from regard.tokenizers.word_spans import WordSpan


@pytest.fixture(scope="module")
def planted():
    model = planted_model()
    sample = planted_sample(model.tokenizer)
    return model, sample, {card.address: card for card in run_to_end(measure_heads(model.network, sample))}


def uniform(rows: int, columns: int, causal: bool = False) -> np.ndarray:
    allowed = np.tril(np.ones((rows, columns))) if causal else np.ones((rows, columns))
    return np.asarray((allowed / allowed.sum(axis=1, keepdims=True))[None])


def test_a_uniform_head_has_the_entropy_of_its_keys(planted):
    _, sample, cards = planted
    assert {len(item.source_ids) for item in sample.pairs} == {9}
    assert cards["encoder.1.self.4"].entropy == pytest.approx(log(9), abs=1e-6)
    assert cards["encoder.1.self.4"].evenness == pytest.approx(1)
    assert cards["encoder.1.self.4"].confidence == pytest.approx(1 / 9)
    assert cards["encoder.1.self.4"].mark == pytest.approx(1 / 9)
    back = np.mean([log(row) for row in range(1, 10)])
    assert cards["decoder.1.self.4"].entropy == pytest.approx(back, abs=1e-6)
    assert cards["decoder.1.self.4"].evenness == pytest.approx(1)


def test_a_planted_head_is_sure_and_beside_its_baselines(planted):
    _, sample, cards = planted
    previous = cards["encoder.1.self.1"]
    assert (
        previous.role == "previous" and previous.confidence > 0.9 and previous.entropy < 0.25
    )  # row 0 has none before it
    answer = previous.answers["previous"]
    assert answer.found.value == 1 and answer.found.count == 6 * len(sample)  # rows 2 to 7 of eight words
    assert answer.baseline == pytest.approx(1 / 9) and answer.untrained < 0.5
    assert answer.found.low > 0.7
    written = cards["decoder.1.cross.1"].answers["align, written"]
    assert written.found.value == 1 and written.baseline == 0.5  # half of the words go one ahead, half one back
    assert cards["decoder.1.cross.1"].answers["align, read"].found.value == 0
    assert cards["decoder.1.cross.3"].mark > 0.99


def test_sharpness_by_hand():
    weights = np.array([[[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]]])
    confidence, entropy, evenness, mark = sharpness(weights, "encoder.self")[0]
    assert confidence == pytest.approx(0.5 + 0.0)
    assert entropy == pytest.approx(0.5 * log(2) + 0.5 * log(4))
    assert evenness == pytest.approx((0.5 * log(2) + 0.5 * log(4)) / log(3))
    assert mark == pytest.approx(1.25)
    assert sharpness(uniform(4, 4, causal=True), "decoder.self")[0][2] == pytest.approx(4)


@pytest.mark.parametrize("kind", ["encoder.self", "decoder.self", "decoder.cross"])
def test_places_are_counted_as_one_would(kind):
    chance = np.random.default_rng(1)
    weights = chance.random((3, 7, 7))
    if kind == "decoder.self":
        weights = np.tril(weights)
    top = weights.argmax(axis=-1)
    last = 6 if kind == "encoder.self" else 7
    offsets = {"previous": -1, "next": 1, "self": 0}
    for name, found, cases, _ in positional(weights, kind):
        for head in range(3):
            if name in offsets:
                start = {"previous": 2, "next": 0, "self": 1}[name]
                rows = range(start, last - (name == "next"))
                expected = sum(top[head, row] == row + offsets[name] for row in rows)
            else:
                rows = range(2 if name == "first" and kind != "decoder.cross" else 0, last)
                expected = sum(top[head, row] == (0 if name == "first" else 6) for row in rows)
            assert (found[head], cases) == (expected, len(rows)), name


def test_a_look_anywhere_hits_as_often_as_is_said():
    chance = np.random.default_rng(2)
    found: dict[str, float] = {}
    for _ in range(3000):
        scores = chance.random((1, 6, 6))
        for name, hit, _, expected in positional(np.tril(scores), "decoder.self"):
            found[name] = found.get(name, 0) + hit[0] - expected
    assert all(abs(total) / 3000 < 0.1 for total in found.values())


def item(ids: list[int]) -> AnnotatedPair:
    return AnnotatedPair("", "", (*ids, 3), (3,), (), ())


def test_the_rarest_piece_is_the_last_in_the_list_and_bytes_are_rarer():
    far = FIRST_SUBWORD + COMMON + 5
    weights = np.zeros((1, 4, 4))
    weights[0, :, 1] = 1
    assert [one.tolist() if isinstance(one, np.ndarray) else one for one in rare(weights, item([270, far, 271]))] == [
        [2],
        2,
        0.5,
    ]
    assert rare(weights, item([far, 7, 271]))[0].tolist() == [2]  # a byte
    assert rare(weights, item([270, 272, 271]))[1] == 0  # all are frequent
    assert rare(weights, item([far, far, 271]))[0].tolist() == [1]  # both places count, and neither looks for itself


def test_a_word_gets_what_its_pieces_get_and_the_end_mark_nothing():
    words = (WordSpan("a", 0, 1), WordSpan("bc", 1, 3))
    weights = np.array([[[0.3, 0.2, 0.2, 0.3], [0.1, 0.0, 0.0, 0.9], [0.5, 0.1, 0.1, 0.3], [1.0, 0, 0, 0]]])
    to_second, to_first = frozenset({1}), frozenset({0})
    cells = [Cell(0, range(1), to_second), Cell(0, range(1, 2), to_first), Cell(1, range(1, 3), to_first)]
    assert hits(weights, words, cells).tolist() == [[True], [True], [True]]
    assert hits(weights, words, [Cell(0, range(2), to_second)]).tolist() == [[False]]  # equal: 0.2 and 0.2 is no hit


def test_rules_that_know_no_head():
    cells = [Cell(0, range(1), frozenset({1})), Cell(2, range(1), frozenset({3})), Cell(3, range(1), frozenset({0}))]
    total = offset_hits(cells, 4)
    assert total.max() == 2 and total[13] == 2  # one ahead
    assert total[-2] == 1 and total[-1] == 1  # the first, the last


def test_words_that_stand_once_on_both_sides_are_linked(planted):
    model, _, _ = planted
    found = relations(text_item("ant bee ant cow", "cow Bee dog ant", model.tokenizer))
    assert set(found) == {"align, read", "align, written"}
    assert [(cell.at, set(cell.right)) for cell in found["align, written"]] == [(0, {3}), (1, {1})]
    first = found["align, read"][0].rows, found["align, written"][0].rows
    assert first == (range(1, 2), range(1))


def card(**answers: RoleScore) -> HeadProfile:
    return HeadProfile(
        "encoder.1.self.1", 0.5, 1.0, 0.4, 0.1, {name.replace("_", " → "): one for name, one in answers.items()}
    )


def answer(value: float, low: float, baseline: float = 0.3, untrained: float = 0.2, count: int = 100) -> RoleScore:
    return RoleScore(Estimate(value, low, 1.0, count), baseline, untrained)


def test_a_role_needs_its_criterion():
    assert card(previous=answer(0.91, 0.85)).role == "previous"
    assert card(previous=answer(0.89, 0.85)).role is None
    assert card(previous=answer(0.95, 0.9, count=29)).role is None
    assert card(verb_subject=answer(0.5, 0.35)).role == "verb → subject"
    assert card(verb_subject=answer(0.39, 0.35)).role is None  # nine points
    assert card(verb_subject=answer(0.5, 0.29)).role is None  # perhaps chance
    assert card(verb_subject=answer(0.5, 0.35, untrained=0.45)).role is None
    assert card(verb_subject=answer(0.5, 0.35), verb_object=answer(0.6, 0.5)).role == "verb → object"


def test_in_a_batch_as_alone(model):
    texts = ["the cat sees a tree.", "a dog.", "two old cats and three dogs paint the red house with it."]
    items = [text_item(text, text, model.tokenizer) for text in texts]
    together = dict(attention_weights(model.network, items))
    for at, one in enumerate(items):
        ((_, alone),) = attention_weights(model.network, [one])
        assert together[at].keys() == alone.keys()
        for name, weights in alone.items():
            np.testing.assert_allclose(together[at][name], weights, atol=1e-5)
            np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)


def test_the_untrained_model_is_always_the_same_and_leaves_chance_alone(model):
    import torch

    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    one, two = build_untrained(model.network), build_untrained(model.network)
    assert torch.equal(before, torch.random.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))


def test_cards_come_for_every_head_of_any_shape(model):
    sample = PairSample(
        "texts", tuple(text_item("the cat sees it.", "it sees the cat.", model.tokenizer) for _ in range(3))
    )
    cards = run_to_end(measure_heads(model.network, sample))
    settings = model.network.settings
    assert len(cards) == settings.heads * (settings.encoder_layers + 2 * settings.decoder_layers)
    assert len({one.address for one in cards}) == len(cards)
