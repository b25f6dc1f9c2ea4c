"""Section 6.1: checkpoint averaging and beam search."""

import itertools
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.paper.paper_sizes import BASE, BIG
from tests.paper.small_model import (
    StepCounter,
    tiny,
)
from torch import Tensor

from regard.inference.backends.interface import Backend, Batching, Sources, TokenPairs
from regard.inference.search.beam import search
from regard.inference.search.hypothesis import Hypothesis, length_penalty, rank
from regard.inference.translator import Translator
from regard.settings.decode import DecodeSettings
from regard.settings.sections import Settings
from regard.tokenizers.special_ids import BOS, EOS
from regard.training.checkpoints import Checkpoints, RunState
from regard.training.optimizers.adam import make_optimizer
from regard.training.planning.plan import Plan


def make_plan(size: Settings, every: int) -> Plan:
    return Plan(
        request={},
        settings=size,
        validate_every=every,
        seconds_per_step=0.4,
        threads=1,
        device="cpu",
        versions={},
        reasons=(),
    )


@pytest.mark.parametrize(("size", "count"), [(BASE, 5), (BIG, 20)], ids=["base", "big"])
def test_the_last_checkpoints_are_averaged(size, count):
    """Section 6.1: the last 5 checkpoints of a base model, the last 20 of a big one."""
    last = size.train.steps
    assert make_plan(size, every=1000).averaged_steps(last) == list(range(last - 1000 * (count - 1), last + 1, 1000))


def test_the_average_is_the_mean_of_the_parameters(tmp_path):
    """Section 6.1: a single model is obtained by averaging the checkpoints."""
    checkpoints, models = Checkpoints(tmp_path), [tiny() for _ in range(3)]
    for number, model in enumerate(models, start=1):
        checkpoints.save(model, make_optimizer(model, BASE.train), RunState(step=number))
    for name, mean in checkpoints.average([1, 2, 3]).weights.items():
        stacked = torch.stack([model.state_dict()[name] for model in models])
        torch.testing.assert_close(mean, stacked.mean(dim=0), atol=1e-7, rtol=0)


@pytest.mark.parametrize(
    ("size", "seconds_per_step"), [(BASE, 0.4), (BIG, 1.0)], ids=["base, 12 hours", "big, 3.5 days"]
)
def test_averaged_checkpoints_are_about_ten_minutes_apart(size, seconds_per_step):
    """Section 6.1: they were written every 10 minutes (with the steps of section 5.2, of 0.4 and 1.0 seconds)."""
    assert size.train.validate_every * seconds_per_step == pytest.approx(600)


def test_translation_uses_four_beams_and_alpha_0_6():
    """Section 6.1: beam search, beam size 4, length penalty alpha = 0.6."""
    assert (DecodeSettings().beam_size, DecodeSettings().length_penalty) == (4, 0.6)
    assert BASE.decode == BIG.decode == DecodeSettings()


class WordTokenizer:
    """A tokenizer with one token per word."""

    placeholders: tuple[str, ...] = ()

    def encode_masked(self, texts: Sequence[str]) -> list[list[int]]:
        return self.encode(texts)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [[EOS + 1] * len(text.split()) for text in texts]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        return ["" for _ in ids]

    def tokens(self, ids: Sequence[int]) -> list[str]:
        return ["" for _ in ids]

    @property
    def generable(self) -> list[bool]:
        return [token_id >= EOS for token_id in range(EOS + 2)]


class LimitRecorder(Backend):
    """A backend that generates nothing, but records the length limit of each source."""

    def __init__(self) -> None:
        self.limits: dict[int, int] = {}

    def batching(self, decode: DecodeSettings) -> Batching:
        return Batching(tokens=1000)

    def generate(
        self, batch: Sources, decode: DecodeSettings, *, sentences: int | None = None
    ) -> Future[list[list[Hypothesis]]]:
        self.limits |= {len(source.ids): source.limit for source in batch}
        future: Future[list[list[Hypothesis]]] = Future()
        future.set_result([[Hypothesis.of((), (-1.0,), decode.length_penalty)] for _ in batch])
        return future

    def score(self, pairs: TokenPairs) -> list[tuple[float, ...]]:
        raise AssertionError("it cannot score")

    def attend(self, pairs: TokenPairs) -> list[Any]:
        raise AssertionError("it has no alignment head")

    def close(self) -> None:
        pass


def test_a_translation_may_be_50_tokens_longer_than_its_source():
    """Section 6.1: the maximum output length is the input length + 50, for each sentence separately."""
    backend = LimitRecorder()
    translator = Translator(backend, WordTokenizer(), max_positions=BASE.model.max_positions)
    translator.translate(["one", "one two three", "one two three four five"])
    assert backend.limits == {1: 51, 3: 53, 5: 55}


def test_search_terminates_early():
    """Section 6.1: the output may grow to the limit, but the search terminates early when possible."""
    state = StepCounter()

    def step(tokens_N1: Tensor, state: StepCounter) -> tuple[Tensor, StepCounter]:
        state.count += 1
        logits = torch.zeros(tokens_N1.size(0), 8)
        logits[:, EOS] = 5 if state.count > 2 else -5  # from the third token on, EOS is the most probable
        return logits, state

    search(
        step,
        state,
        limits_B=torch.tensor([50]),
        decode=DecodeSettings(beam_size=4),
        generable_V=torch.ones(8, dtype=torch.bool),
        bos=BOS,
        eos=EOS,
    )
    assert state.count == 3


def test_the_length_penalty_is_that_of_wu_et_al():
    """Section 6.1, reference 38: a log-probability is divided by (5 + length)^alpha / (5 + 1)^alpha."""
    for length, alpha in itertools.product((1, 7, 40), (0.0, 0.6, 1.0)):
        assert length_penalty(length, alpha) == pytest.approx((5 + length) ** alpha / (5 + 1) ** alpha)
    hypothesis = Hypothesis.of((7, 8), (-0.5, -0.25, -0.25), alpha=0.6)
    assert hypothesis.score == pytest.approx(-1 / ((5 + 3) / 6) ** 0.6)


def test_translations_are_ranked_by_their_penalised_score():
    """Section 6.1: a longer translation can rank above a more probable one."""
    short, long = Hypothesis.of((7,), (-1.0, -1.0), 0.6), Hypothesis.of((7,) * 19, (-0.105,) * 20, 0.6)
    assert short.log_probability > long.log_probability
    assert rank([short, long], 2) == [long, short]
    plain = [replace(each, score=each.log_probability) for each in (long, short)]  # alpha = 0
    assert [each.token_ids for each in rank(plain, 2)] == [short.token_ids, long.token_ids]
