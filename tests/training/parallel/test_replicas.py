"""Many hands find the gradient that one finds, the same every time, and a run that is resumed takes the same steps."""

import gc
import itertools
import os
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.training.conftest import Result, TinyRuns
from tests.training.test_out_of_memory import gradients, make_batch, make_model
from torch import Tensor

from regard.data.batching.batches import StreamPosition
from regard.models.kinds.transformer import Transformer
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.train import TrainSettings
from regard.training import loss
from regard.training import step as step_module
from regard.training.optimizers.adam import make_optimizer
from regard.training.out_of_memory import split_batches
from regard.training.parallel import replicas
from regard.training.parallel.replicas import make_replicas, replica_count, run_replicas
from regard.training.step import accumulate_gradients, gradient_with_retry, training_steps

PLAIN, DROPPING = TrainSettings(dropout=0.0), TrainSettings(dropout=0.3)


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def dropping() -> Transformer:
    torch.manual_seed(1)
    shape = TransformerSettings(vocab_size=24, width=16, heads=2, feedforward=24, encoder_layers=1, decoder_layers=1)
    return Transformer(shape, 0.3)


@pytest.mark.parametrize("count", [2, 3, 20])
def test_hands_find_the_gradient_of_one(count: int) -> None:
    model, batches = make_model(), [make_batch(7), make_batch(5, seed=2, weighed=True)]
    total, tokens = accumulate_gradients([model], batches, PLAIN, 1)
    wanted = gradients(model)
    models = make_replicas(model, count)
    found, counted = accumulate_gradients(models, split_batches(batches, count), PLAIN, 1)
    assert found == pytest.approx(total, rel=1e-6)
    assert counted == tokens
    for name, tensor in gradients(model).items():
        assert (tensor - wanted[name]).abs().max() <= 1e-6, name
    assert all(parameter.grad is None for other in models[1:] for parameter in other.parameters())


def test_dropout_follows_from_the_part_and_not_from_the_hand_that_takes_it() -> None:
    parts = split_batches([make_batch(40)], 8)
    found: dict[int, dict[str, Tensor]] = {}
    for count in (1, 2, 4, 8):
        model = dropping()
        accumulate_gradients(make_replicas(model, count), parts, DROPPING, 1)
        found[count] = gradients(model)
    for count, name in itertools.product((2, 4, 8), found[1]):
        assert (found[count][name] - found[1][name]).abs().max() <= 1e-6, (count, name)
    other = dropping()
    accumulate_gradients(make_replicas(other, 2), parts, DROPPING, 2)
    assert any((tensor - found[1][name]).abs().max() > 1e-3 for name, tensor in gradients(other).items())


def test_the_same_bits_every_time() -> None:
    parts = split_batches([make_batch(60)], 4)
    model = dropping()
    models = make_replicas(model, 4)
    first, _ = accumulate_gradients(models, parts, DROPPING, 1)
    wanted = gradients(model)
    for _ in range(20):
        assert accumulate_gradients(models, parts, DROPPING, 1)[0] == first
        assert all(torch.equal(tensor, wanted[name]) for name, tensor in gradients(model).items())


def test_the_random_numbers_of_others_are_not_touched() -> None:
    model = dropping()
    before = torch.random.get_rng_state()
    accumulate_gradients(make_replicas(model, 2), split_batches([make_batch(6)], 2), DROPPING, 1)
    accumulate_gradients([model], [make_batch(6)], DROPPING, 1)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_copies_share_weights_and_see_each_update() -> None:
    model = make_model()
    optimizer = make_optimizer(model, PLAIN)
    models = make_replicas(model, 2)
    accumulate_gradients(models, split_batches([make_batch(6)], 2), PLAIN, 1)
    before = [parameter.clone() for parameter in models[1].parameters()]
    for group in optimizer.param_groups:
        group["lr"] = 0.1
    optimizer.step()
    pairs = list(zip(model.parameters(), models[1].parameters(), strict=True))
    assert all(own.data_ptr() == other.data_ptr() and own is not other for own, other in pairs)
    assert not all(torch.equal(old, new) for old, new in zip(before, models[1].parameters(), strict=True))


def test_resumed_is_uninterrupted_with_hands() -> None:
    # Wide enough in tokens that two threads are two hands.
    settings = TrainSettings(
        steps=4, dropout=0.3, batch_tokens=1024, micro_batch_tokens=1024, warmup_steps=1, optimizer="muon"
    )
    assert replica_count(16, settings.micro_batch_tokens, "cpu") == 2
    stream = [(make_batch(60, seed=step), StreamPosition(batch=step)) for step in range(4)]
    whole = dropping()
    steps = list(training_steps(whole, make_optimizer(whole, settings), iter(stream), settings, width=16))
    parted = dropping()
    optimizer = make_optimizer(parted, settings)
    first = list(itertools.islice(training_steps(parted, optimizer, iter(stream), settings, width=16), 2))
    rest = list(training_steps(parted, optimizer, iter(stream[2:]), settings, width=16, first=3))
    assert [step.loss for step in (*first, *rest)] == [step.loss for step in steps]
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), parted.parameters(), strict=True))


def test_a_run_with_hands_is_resumed_as_if_never_stopped(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: set[int] = set()

    def counted(work: Callable[[int], float], count: int) -> list[float]:
        counts.add(count)
        return run_replicas(work, count)

    monkeypatch.setattr(replicas, "LEAST_TOKENS", 16)
    monkeypatch.setattr(step_module, "run_replicas", counted)
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    tiny(whole, steps=6)
    assert counts == {2}
    tiny.stopped(parted, 3, steps=6)
    tiny(parted, steps=6)
    assert Result.of(parted) == Result.of(whole)


@pytest.mark.parametrize(
    ("width", "tokens", "threads", "device", "count"),
    [
        (128, 2048, 2, "cpu", 2),
        (128, 2048, 64, "cpu", 4),
        (256, 4096, 3, "cpu", 3),
        (128, 2048, 1, "cpu", 1),
        (128, 256, 2, "cpu", 1),
        (512, 4096, 2, "cpu", 1),
        (128, 2048, 2, "cuda", 1),
    ],
)
def test_as_many_as_have_enough_to_do(width: int, tokens: int, threads: int, device: str, count: int) -> None:
    torch.set_num_threads(threads)
    assert replica_count(width, tokens, device) == count


def test_each_hand_has_its_share_of_the_threads() -> None:
    torch.set_num_threads(6)
    assert run_replicas(lambda hand: (hand, torch.get_num_threads()), 2) == [(0, 3), (1, 3)]
    assert torch.get_num_threads() == 6
    with ThreadPoolExecutor(1) as pool:  # a thread to come
        assert pool.submit(torch.get_num_threads).result() == 6
    assert run_replicas(lambda hand: (hand, torch.get_num_threads()), 1) == [(0, 6)]


def test_a_hand_that_fails_is_heard_when_all_are_done() -> None:
    done: list[int] = []

    def fail(hand: int) -> None:
        if hand == 0:
            raise ValueError("no")
        time.sleep(0.1)
        done.append(hand)

    with pytest.raises(ValueError, match="no"):
        run_replicas(fail, 3)
    assert sorted(done) == [1, 2]


def test_the_same_threads_serve_every_step() -> None:
    def who(together: threading.Barrier) -> set[threading.Thread]:
        return set(run_replicas(lambda _: (together.wait(), threading.current_thread())[1], 3))

    first = who(threading.Barrier(3))
    assert len(first) == 3 and who(threading.Barrier(3)) == first


def test_a_hand_that_failed_holds_nothing() -> None:
    class Large: ...

    made: list[weakref.ref[Large]] = []

    def fail(hand: int) -> None:
        large = Large()
        made.append(weakref.ref(large))
        raise MemoryError

    gc.disable()  # which would find a cycle sooner or later
    try:
        with pytest.raises(MemoryError):
            run_replicas(fail, 2)
        assert [one() for one in made] == [None, None]
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_forked_off_has_threads_of_its_own() -> None:
    run_replicas(lambda hand: hand, 2)
    child = os.fork()
    if child == 0:
        try:
            os._exit(run_replicas(lambda hand: hand + 1, 2) != [1, 2])
        finally:
            os._exit(2)
    for _ in range(100):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert status == 0
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the forked process waits for threads that it does not have")


def test_hands_that_run_out_of_memory_cut_finer(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batches = make_model(), [make_batch(12)]
    total, _ = accumulate_gradients([model], batches, PLAIN, 1)
    wanted, real = gradients(model), loss.backward_in_chunks

    def small(model: Transformer, source_BS: Tensor, *rest: Any, **options: Any) -> float:
        if len(source_BS) > 2:
            raise MemoryError
        return real(model, source_BS, *rest, **options)

    monkeypatch.setattr(step_module, "backward_in_chunks", small)
    found, _, parts = gradient_with_retry(make_replicas(model, 2), batches, PLAIN, 1, 1)
    assert found == pytest.approx(total, rel=1e-6)
    assert parts == 4
    for name, tensor in gradients(model).items():
        assert (tensor - wanted[name]).abs().max() <= 1e-6, name
