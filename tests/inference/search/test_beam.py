"""Search compared with brute force, with a greedy loop, and with the search of each sentence alone."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.inference.search.beam import search
from regard.inference.search.hypothesis import Hypothesis
from regard.inference.search.sampler import uniform_numbers
from regard.settings.decode import DecodeSettings

torch.set_num_threads(1)

BOS, EOS = 0, 1


@dataclass(frozen=True)
class Prefixes:
    """A state that stores the tokens so far as one number, and records the shape of every batch."""

    table_B: Tensor  # the index of the table of each sentence
    code_BK: Tensor
    batches: list[tuple[int, int]] = field(default_factory=list)

    def select(self, beams_BK: Tensor) -> "Prefixes":
        return Prefixes(self.table_B, self.code_BK.gather(1, beams_BK), self.batches)

    def keep(self, sentences: Tensor) -> "Prefixes":
        return Prefixes(self.table_B[sentences], self.code_BK[sentences], self.batches)


@dataclass(frozen=True)
class Tables:
    """Random logits for every prefix: row `code` of `logits_BPV`; the empty prefix is BOS alone."""

    logits_BPV: Tensor

    @classmethod
    def random(cls, sentences: int, vocabulary: int, max_length: int, seed: int) -> "Tables":
        generator = torch.Generator().manual_seed(seed)
        prefixes = (vocabulary + 1) ** max_length
        return cls(2 * torch.randn(sentences, prefixes, vocabulary, generator=generator))

    def state(self, sentences: list[int] | None = None) -> Prefixes:
        table_B = torch.arange(len(self.logits_BPV)) if sentences is None else torch.tensor(sentences)
        return Prefixes(table_B, torch.zeros(len(table_B), 1, dtype=torch.long))

    def step(self, tokens_N1: Tensor, state: Prefixes) -> tuple[Tensor, Prefixes]:
        base = self.logits_BPV.size(2) + 1
        tokens_BK = tokens_N1.view(state.code_BK.shape)
        # BOS occurs once, at the start: it leaves the code at zero.
        code_BK = torch.where(tokens_BK == BOS, state.code_BK, state.code_BK * base + tokens_BK + 1)
        state.batches.append(tuple(code_BK.shape))  # type: ignore[arg-type]
        logits_BKV = self.logits_BPV[state.table_B[:, None], code_BK]
        return logits_BKV.flatten(0, 1), Prefixes(state.table_B, code_BK, state.batches)

    def code(self, tokens: tuple[int, ...]) -> int:
        code = 0
        for token in tokens:
            code = code * (self.logits_BPV.size(2) + 1) + token + 1
        return code


def generable(vocabulary: int, *forbidden: int) -> Tensor:
    mask = torch.ones(vocabulary, dtype=torch.bool)
    mask[[BOS, *forbidden]] = False
    return mask


def run(
    tables: Tables,
    limits: list[int],
    beams: int,
    alpha: float = 0.6,
    *,
    sentences: list[int] | None = None,
    generable_V: Tensor | None = None,
    prefixes: Sequence[Sequence[int]] = (),
    **decode: Any,
) -> list[list[Hypothesis]]:
    return search(
        tables.step,
        tables.state(sentences),
        limits_B=torch.tensor(limits, dtype=torch.long),
        decode=DecodeSettings(beam_size=beams, length_penalty=alpha, **decode),
        generable_V=generable(tables.logits_BPV.size(2)) if generable_V is None else generable_V,
        bos=BOS,
        eos=EOS,
        prefixes=prefixes,
    )


def log_softmax(tables: Tables, sentence: int, tokens: tuple[int, ...]) -> list[float]:
    logits = tables.logits_BPV[sentence, tables.code(tokens)].clone()
    logits[BOS] = -math.inf
    return logits.log_softmax(0).tolist()


Text = tuple[int, ...]


def every_text(
    tables: Tables,
    sentence: int,
    limit: int,
    alpha: float,
    *,
    min_length: int = 0,
    no_repeat_ngram_size: int = 0,
    prefix: Text = (),
) -> dict[Text, tuple[float, float]]:
    """Return the log-probability and the score of every text, by its tokens; texts of the full length have no EOS."""
    texts: dict[Text, tuple[float, float]] = {}
    others = range(EOS + 1, tables.logits_BPV.size(2))

    def extend(tokens: Text, total: float) -> None:
        forced = prefix[len(tokens)] if len(tokens) < len(prefix) else None
        forbidden = {BOS} | ({EOS} if len(tokens) < min_length else set())
        if no_repeat_ngram_size and forced is None:
            forbidden |= {token for token in others if repeats((*tokens, token), no_repeat_ngram_size)}
        logits = tables.logits_BPV[sentence, tables.code(tokens)].clone()
        logits[list(forbidden)] = -math.inf
        for token, log_probability in enumerate(logits.log_softmax(0).tolist()):
            if token in forbidden or forced not in (None, token):
                continue
            extended = tokens if token == EOS else (*tokens, token)
            if token == EOS or len(extended) == limit:
                final = total + log_probability
                texts[extended] = (final, final / ((5 + len(tokens) + 1) / 6) ** alpha)
            else:
                extend(extended, total + log_probability)

    extend((), 0.0)
    return texts


def repeats(tokens: Text, size: int) -> bool:
    """Return whether the last n-gram of this size occurs before."""
    ngrams = [tokens[at : at + size] for at in range(len(tokens) - size + 1)]
    return bool(ngrams) and ngrams[-1] in ngrams[:-1]


def assert_exhaustive(tables: Tables, limit: int, alpha: float, prefix: Text = (), **constraints: Any) -> None:
    """Check that a beam wide enough for all texts finds every text with its log-probability and score."""
    count, _, vocabulary = tables.logits_BPV.shape
    beams = sum((vocabulary - 2) ** length for length in range(limit + 1))
    prefixes = [prefix] * count
    results = run(tables, [limit] * count, beams=beams, alpha=alpha, prefixes=prefixes, **constraints)
    assert len(results) == count
    for sentence, hypotheses in enumerate(results):
        texts = every_text(tables, sentence, limit, alpha, prefix=prefix, **constraints)
        assert {hypothesis.token_ids for hypothesis in hypotheses} == set(texts)
        for hypothesis in hypotheses:
            assert hypothesis.log_probability == pytest.approx(texts[hypothesis.token_ids][0], abs=1e-4)
            assert hypothesis.score == pytest.approx(texts[hypothesis.token_ids][1], abs=1e-4)
            assert math.fsum(hypothesis.token_log_probabilities) == hypothesis.log_probability
        assert hypotheses[0].score == pytest.approx(max(score for _, score in texts.values()), abs=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 0.6])
@pytest.mark.parametrize(("vocabulary", "limit", "count"), [(3, 5, 400), (4, 3, 400), (5, 3, 150), (6, 2, 50)])
def test_a_wide_beam_equals_exhaustive_search(vocabulary: int, limit: int, count: int, alpha: float) -> None:
    """Runs on a thousand tables without a length penalty and a thousand with one."""
    assert_exhaustive(Tables.random(count, vocabulary, limit, seed=vocabulary + round(100 * alpha)), limit, alpha)


@pytest.mark.parametrize("alpha", [0.0, 0.6])
@pytest.mark.parametrize(
    "constraints",
    [
        {"min_length": 2},
        {"min_length": 4},
        {"no_repeat_ngram_size": 1},
        {"no_repeat_ngram_size": 2},
        {"no_repeat_ngram_size": 3},
        {"min_length": 3, "no_repeat_ngram_size": 2},
        {"prefix": (3,)},
        {"prefix": (2, 2, 2), "no_repeat_ngram_size": 2},
        {"prefix": (3, 2), "min_length": 3},
    ],
    ids=str,
)
def test_a_wide_beam_equals_exhaustive_search_under_every_constraint(constraints: dict[str, Any], alpha: float) -> None:
    assert_exhaustive(Tables.random(40, 4, 4, seed=round(100 * alpha)), 4, alpha, **constraints)


def test_a_prefix_applies_only_to_its_sentence() -> None:
    tables = Tables.random(30, 5, 4, seed=20)
    prefixes = [(), (3, 4), (2,)] * 10
    together = run(tables, [4] * 30, beams=3, prefixes=prefixes)
    assert together == [run(tables, [4], 3, sentences=[at], prefixes=[prefixes[at]])[0] for at in range(30)]
    assert together[::3] == run(tables, [4] * 10, beams=3, sentences=list(range(0, 30, 3)))
    for prefix, hypotheses in zip(prefixes, together, strict=True):
        assert all(hypothesis.token_ids[: len(prefix)] == prefix for hypothesis in hypotheses)


def test_a_prefix_of_the_best_text_leads_to_the_best_text() -> None:
    tables = Tables.random(50, 5, 4, seed=21)
    for sentence, (best, *_) in enumerate(run(tables, [4] * 50, beams=200)):
        for length in range(min(len(best.token_ids), 3) + 1):
            again = run(tables, [4], 200, sentences=[sentence], prefixes=[best.token_ids[:length]])[0][0]
            assert again.token_ids == best.token_ids
            assert again.score == pytest.approx(best.score, abs=1e-5)


@pytest.mark.parametrize("beams", [1, 3])
def test_constraints_hold_in_narrow_beams(beams: int) -> None:
    tables = Tables.random(60, 5, 6, seed=22)
    tables.logits_BPV[..., EOS] += 1.0
    for hypotheses in run(tables, [6] * 60, beams, min_length=3, no_repeat_ngram_size=2):
        for hypothesis in hypotheses:
            assert len(hypothesis.token_ids) >= 3
            assert not any(repeats(hypothesis.token_ids[:end], 2) for end in range(7))


def greedy(tables: Tables, sentence: int, limit: int) -> tuple[int, ...]:
    tokens: tuple[int, ...] = ()
    while len(tokens) < limit:
        logits = log_softmax(tables, sentence, tokens)
        best = logits.index(max(logits))
        if best == EOS:
            break
        tokens = (*tokens, best)
    return tokens


def test_one_beam_equals_the_greedy_loop() -> None:
    tables = Tables.random(100, 5, 4, seed=7)
    limits = [1 + sentence % 4 for sentence in range(100)]
    for sentence, hypotheses in enumerate(run(tables, limits, beams=1)):
        assert [hypothesis.token_ids for hypothesis in hypotheses] == [greedy(tables, sentence, limits[sentence])]


def test_one_beam_never_reorders_the_state() -> None:
    class Fixed(Prefixes):
        def select(self, beams_BK: Tensor) -> Prefixes:
            raise AssertionError("one beam always continues itself")

    tables = Tables.random(1, 5, 4, seed=1)
    tables.logits_BPV[..., EOS] = -50.0

    def step(tokens_N1: Tensor, state: Prefixes) -> tuple[Tensor, Prefixes]:
        logits_NV, after = tables.step(tokens_N1, state)
        return logits_NV, Fixed(after.table_B, after.code_BK, after.batches)

    results = search(
        step,
        tables.state(),
        limits_B=torch.tensor([4]),
        decode=DecodeSettings(beam_size=1),
        generable_V=generable(5),
        bos=BOS,
        eos=EOS,
    )
    assert len(results[0][0].token_ids) == 4


def reference_search(tables: Tables, sentence: int, limit: int, beams: int) -> list[tuple[tuple[int, ...], float]]:
    """Follow the rule of the module docstring one candidate at a time; return the best log-probability first."""
    unfinished: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    finished: list[tuple[tuple[int, ...], float]] = []
    for length in range(1, limit + 1):
        candidates = [
            ((*tokens, token), total + log_probability)
            for tokens, total in unfinished
            for token, log_probability in enumerate(log_softmax(tables, sentence, tokens))
            if log_probability > -math.inf
        ]
        candidates = sorted(candidates, key=lambda candidate: -candidate[1])[: 2 * beams]
        finished += [c for c in candidates[:beams] if c[0][-1] == EOS or length == limit]
        if len(finished) >= beams:
            break
        unfinished = [c for c in candidates if c[0][-1] != EOS][:beams]
        if not unfinished:
            break
    return sorted(finished, key=lambda candidate: -candidate[1])[:beams]


@pytest.mark.parametrize("beams", [1, 2, 3, 4])
def test_search_follows_its_rule(beams: int) -> None:
    tables = Tables.random(60, 5, 5, seed=beams)
    tables.logits_BPV[..., EOS] += 1.0
    for sentence, hypotheses in enumerate(run(tables, [5] * 60, beams, alpha=0.0)):
        expected = reference_search(tables, sentence, 5, beams)
        assert [h.token_ids for h in hypotheses] == [tuple(t for t in tokens if t != EOS) for tokens, _ in expected]
        assert [h.log_probability for h in hypotheses] == pytest.approx([total for _, total in expected], abs=1e-4)


@pytest.mark.parametrize("beams", [1, 3, 4])
def test_a_sentence_gets_the_same_result_alone_and_in_a_batch(beams: int) -> None:
    tables = Tables.random(24, 6, 5, seed=3)
    limits = [1 + sentence % 5 for sentence in range(24)]
    together = run(tables, limits, beams)
    alone = [run(tables, [limits[i]], beams, sentences=[i])[0] for i in range(24)]
    assert together == alone


def test_finished_sentences_leave_the_batch() -> None:
    tables = Tables.random(3, 5, 5, seed=2)
    tables.logits_BPV[..., EOS] = -50.0
    state = tables.state()
    limits_B = torch.tensor([4, 2, 1])
    decode = DecodeSettings(beam_size=2)
    search(tables.step, state, limits_B=limits_B, decode=decode, generable_V=generable(5), bos=BOS, eos=EOS)
    assert state.batches == [(3, 1), (2, 2), (1, 2), (1, 2)]


def test_an_empty_batch_has_no_results() -> None:
    assert run(Tables.random(1, 4, 1, seed=0), [], beams=2, sentences=[]) == []


@pytest.mark.parametrize("beams", [1, 4])
def test_a_text_without_eos_has_exactly_its_limit_of_tokens(beams: int) -> None:
    tables = Tables.random(5, 6, 5, seed=4)
    tables.logits_BPV[..., EOS] = -50.0
    limits = [5, 1, 3, 2, 4]
    for limit, hypotheses in zip(limits, run(tables, limits, beams), strict=True):
        assert {len(hypothesis.token_ids) for hypothesis in hypotheses} == {limit}
        assert all(len(hypothesis.token_log_probabilities) == limit for hypothesis in hypotheses)


def test_a_limit_of_one_token_gives_every_text_of_at_most_one() -> None:
    tables = Tables.random(20, 5, 1, seed=5)
    for sentence, hypotheses in enumerate(run(tables, [1] * 20, beams=4)):
        assert {hypothesis.token_ids for hypothesis in hypotheses} == {(), (2,), (3,), (4,)}
        assert hypotheses[0].log_probability == pytest.approx(max(log_softmax(tables, sentence, ())), abs=1e-5)


def test_a_limit_below_one_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        run(Tables.random(1, 4, 1, seed=0), [0], beams=1)


@pytest.mark.parametrize("beams", [1, 3])
def test_forbidden_tokens_are_never_generated(beams: int) -> None:
    tables = Tables.random(20, 6, 4, seed=6)
    tables.logits_BPV[..., BOS] = 30.0
    tables.logits_BPV[..., 4] = 40.0
    for hypotheses in run(tables, [4] * 20, beams, generable_V=generable(6, 4)):
        for hypothesis in hypotheses:
            assert not {BOS, 4} & set(hypothesis.token_ids)
            # The other tokens share all of the probability.
            assert hypothesis.log_probability > -15


@pytest.mark.parametrize("beams", [2, 4, 7])
def test_hypotheses_are_sorted_distinct_and_sum_up(beams: int) -> None:
    tables = Tables.random(50, 5, 5, seed=8)
    for hypotheses in run(tables, [5] * 50, beams):
        assert len(hypotheses) == beams
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert len({hypothesis.token_ids for hypothesis in hypotheses}) == beams
        for hypothesis in hypotheses:
            assert sum(hypothesis.token_log_probabilities) == pytest.approx(hypothesis.log_probability)
            length = len(hypothesis.token_log_probabilities)
            assert length == len(hypothesis.token_ids) + (length < 5 or len(hypothesis.token_ids) == 4)
            assert hypothesis.score == pytest.approx(hypothesis.log_probability / ((5 + length) / 6) ** 0.6)


@pytest.mark.parametrize("beams", [1, 2, 8])
def test_a_vocabulary_of_eos_alone_gives_the_empty_text(beams: int) -> None:
    tables = Tables.random(2, 2, 3, seed=9)
    assert run(tables, [3, 3], beams) == [[Hypothesis((), 0.0, 0.0, (0.0,))]] * 2


def test_impossible_texts_are_left_out() -> None:
    tables = Tables.random(1, 4, 3, seed=10)
    tables.logits_BPV[..., 3] = -math.inf
    hypotheses = run(tables, [3], beams=8)[0]
    assert {hypothesis.token_ids for hypothesis in hypotheses} == {(), (2,), (2, 2), (2, 2, 2)}
    assert all(hypothesis.log_probability > -math.inf for hypothesis in hypotheses)


@pytest.mark.parametrize("beams", [1, 3])
def test_the_result_is_empty_if_no_text_is_possible(beams: int) -> None:
    tables = Tables(torch.full((1, 25, 4), -math.inf))
    assert run(tables, [2], beams) == [[Hypothesis((), -math.inf, -math.inf, (-math.inf,))]]


def test_logits_that_are_not_finite_are_an_error() -> None:
    tables = Tables.random(1, 4, 2, seed=11)
    tables.logits_BPV[0, 0, 2] = math.nan
    with pytest.raises(ValueError, match="not finite"):
        run(tables, [2], beams=2)


def test_ties_are_broken_the_same_way_every_time() -> None:
    tables = Tables(torch.zeros(6, 6**3, 5))
    first = run(tables, [3] * 6, beams=3)
    assert first == run(tables, [3] * 6, beams=3)
    assert all(hypotheses == first[0] for hypotheses in first)


def test_logits_in_half_precision_are_summed_in_single_precision() -> None:
    tables = Tables.random(4, 5, 3, seed=12)
    half = Tables(tables.logits_BPV.bfloat16())
    full = Tables(half.logits_BPV.float())
    assert run(half, [3] * 4, beams=2) == run(full, [3] * 4, beams=2)


# Sampling


def sampled(
    tables: Tables, limits: list[int], sentences: list[int] | None = None, **decode: Any
) -> list[list[Hypothesis]]:
    """Return `n_best` samples of each sentence; the index of its table stands for its source."""
    settings = DecodeSettings(**{"temperature": 1.0, **decode})
    state = tables.state(sentences)
    return search(
        tables.step,
        state,
        limits_B=torch.tensor(limits),
        decode=settings,
        generable_V=generable(tables.logits_BPV.size(2)),
        bos=BOS,
        eos=EOS,
        uniform_BTK=uniform_numbers([[number] for number in state.table_B.tolist()], max(limits), settings),
    )


@pytest.mark.parametrize("decode", [{"top_k": 1}, {"temperature": 1e-9}, {"top_p": 1e-9}], ids=str)
def test_sampling_from_one_token_equals_the_greedy_loop(decode: dict[str, Any]) -> None:
    tables = Tables.random(100, 5, 4, seed=30)
    limits = [1 + sentence % 4 for sentence in range(100)]
    assert sampled(tables, limits, **decode) == run(tables, limits, beams=1)
    assert [several[1:] for several in sampled(tables, limits, n_best=3, **decode)] == [
        several * 2 for several in run(tables, limits, beams=1)
    ]


def test_texts_are_sampled_with_their_probability() -> None:
    tables = Tables.random(1, 4, 3, seed=31)
    (samples,) = sampled(tables, [3], n_best=20_000)
    assert len(samples) == 20_000
    texts = every_text(tables, 0, 3, 0.6)
    counts = Counter(hypothesis.token_ids for hypothesis in samples)
    for tokens, (log_probability, _) in texts.items():
        probability = math.exp(log_probability)
        assert counts[tokens] / 20_000 == pytest.approx(probability, abs=4 * math.sqrt(probability / 20_000) + 1e-4)


def test_a_sample_has_the_log_probability_of_its_text() -> None:
    tables = Tables.random(20, 5, 4, seed=32)
    for sentence, hypotheses in enumerate(
        sampled(tables, [4] * 20, n_best=5, temperature=2.0, min_length=1, no_repeat_ngram_size=1)
    ):
        texts = every_text(tables, sentence, 4, 0.6, min_length=1, no_repeat_ngram_size=1)
        assert len(hypotheses) == 5
        for hypothesis in hypotheses:
            assert hypothesis.log_probability == pytest.approx(texts[hypothesis.token_ids][0], abs=1e-4)
            assert hypothesis.score == pytest.approx(texts[hypothesis.token_ids][1], abs=1e-4)
        assert hypotheses == sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)


@pytest.mark.parametrize("n_best", [1, 4])
def test_a_sentence_gets_the_same_samples_alone_and_in_any_batch(n_best: int) -> None:
    tables = Tables.random(24, 6, 5, seed=33)
    limits = [1 + sentence % 5 for sentence in range(24)]
    together = sampled(tables, limits, n_best=n_best)
    assert together == [sampled(tables, [limits[at]], [at], n_best=n_best)[0] for at in range(24)]
    assert together != sampled(tables, limits, n_best=n_best, seed=2)
    assert together == sampled(tables, limits, n_best=n_best)
