"""Replicas compute the gradient of a single model, the same every time, and a resumed run takes the same steps."""

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
from typing import Any, Literal

import pytest
import torch
from tests.training.conftest import Result, TinyRuns
from tests.training.test_out_of_memory import gradients, make_batch, make_model
from torch import Tensor

from regard.data.batching.batches import Batch, StreamPosition
from regard.models.kinds.transformer import Transformer
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.train import TrainSettings
from regard.training import loss
from regard.training import step as step_module
from regard.training.optimizers.adam import make_optimizer
from regard.training.out_of_memory import slice_batches
from regard.training.parallel import replicas
from regard.training.parallel.replicas import make_replicas, optimizer_shares, replica_count, run_replicas
from regard.training.step import accumulate_gradients, gradient_with_retry, training_steps, update_parameters

PLAIN, DROPOUT = TrainSettings(dropout=0.0), TrainSettings(dropout=0.3)


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def make_dropout_model() -> Transformer:
    torch.manual_seed(1)
    shape = TransformerSettings(
        source_vocab_size=24,
        target_vocab_size=24,
        width=16,
        heads=2,
        feedforward=24,
        encoder_layers=1,
        decoder_layers=1,
    )
    return Transformer(shape, 0.3)


@pytest.mark.parametrize("count", [2, 3, 20])
def test_replicas_compute_the_gradient_of_one_model(count: int) -> None:
    model, batches = make_model(), [make_batch(7), make_batch(5, seed=2, weighted=True)]
    total, tokens = accumulate_gradients([model], batches, PLAIN, 1)
    expected = gradients(model)
    replicas = make_replicas(model, count)
    loss_sum, counted = accumulate_gradients(replicas, slice_batches(batches, count), PLAIN, 1)
    assert loss_sum == pytest.approx(total, rel=1e-6)
    assert counted == tokens
    for name, tensor in gradients(model).items():
        assert (tensor - expected[name]).abs().max() <= 1e-6, name
    assert all(parameter.grad is None for replica in replicas[1:] for parameter in replica.parameters())


def test_dropout_depends_on_the_micro_batch_and_not_on_the_replica() -> None:
    batches = slice_batches([make_batch(40)], 8)
    by_count: dict[int, dict[str, Tensor]] = {}
    for count in (1, 2, 4, 8):
        model = make_dropout_model()
        accumulate_gradients(make_replicas(model, count), batches, DROPOUT, 1)
        by_count[count] = gradients(model)
    for count, name in itertools.product((2, 4, 8), by_count[1]):
        assert (by_count[count][name] - by_count[1][name]).abs().max() <= 1e-6, (count, name)
    next_step = make_dropout_model()
    accumulate_gradients(make_replicas(next_step, 2), batches, DROPOUT, 2)
    assert any((tensor - by_count[1][name]).abs().max() > 1e-3 for name, tensor in gradients(next_step).items())


def test_the_result_is_the_same_every_time_bit_for_bit() -> None:
    batches = slice_batches([make_batch(60)], 4)
    model = make_dropout_model()
    replicas = make_replicas(model, 4)
    first, _ = accumulate_gradients(replicas, batches, DROPOUT, 1)
    expected = gradients(model)
    for _ in range(20):
        assert accumulate_gradients(replicas, batches, DROPOUT, 1)[0] == first
        assert all(torch.equal(tensor, expected[name]) for name, tensor in gradients(model).items())


def test_the_global_random_state_is_not_changed() -> None:
    model = make_dropout_model()
    before = torch.random.get_rng_state()
    accumulate_gradients(make_replicas(model, 2), slice_batches([make_batch(6)], 2), DROPOUT, 1)
    accumulate_gradients([model], [make_batch(6)], DROPOUT, 1)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_replicas_share_parameters_and_see_each_update() -> None:
    model = make_model()
    optimizer = make_optimizer(model, PLAIN)
    _, replica = make_replicas(model, 2)
    accumulate_gradients([model, replica], slice_batches([make_batch(6)], 2), PLAIN, 1)
    before = [parameter.clone() for parameter in replica.parameters()]
    for group in optimizer.param_groups:
        group["lr"] = 0.1
    optimizer.step()
    pairs = list(zip(model.parameters(), replica.parameters(), strict=True))
    assert all(own.data_ptr() == copy.data_ptr() and own is not copy for own, copy in pairs)
    assert not all(torch.equal(old, new) for old, new in zip(before, replica.parameters(), strict=True))


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
@pytest.mark.parametrize("count", [2, 3, 40])
def test_shares_of_the_optimizer_update_as_one_optimizer_does(optimizer: Literal["adam", "muon"], count: int) -> None:
    settings = TrainSettings(optimizer=optimizer, max_grad_norm=0.5, weight_decay=0.1)
    models = [make_model(), make_model()]
    optimizers = [make_optimizer(model, settings) for model in models]
    for step in range(3):
        for model, whole, shares in zip(models, optimizers, (1, count), strict=True):
            accumulate_gradients([model], [make_batch(6, seed=step)], PLAIN, step)
            update_parameters(optimizer_shares(whole, shares), settings, 0.1, torch.tensor(2.0))
    assert all(torch.equal(one, other) for one, other in zip(*(model.parameters() for model in models), strict=True))
    for one, other in zip(*(model.parameters() for model in models), strict=True):
        states = [whole.state[parameter] for whole, parameter in zip(optimizers, (one, other), strict=True)]
        assert states[0].keys() == states[1].keys() != set()
        assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_an_update_does_not_use_torch_threads_that_wait_for_each_other() -> None:
    settings = TrainSettings(steps=1, batch_tokens=1024, micro_batch_tokens=1024)
    threads: list[int] = []

    class Optimizer(torch.optim.SGD):
        def step(self, closure: Any = None) -> None:  # type: ignore[override]
            threads.append(torch.get_num_threads())

    model = make_model()
    stream = iter([(make_batch(60), StreamPosition())])
    list(training_steps(model, Optimizer(model.parameters()), stream, settings))
    assert threads == [1, 1]


def test_resumed_steps_with_replicas_equal_uninterrupted_ones() -> None:
    # Enough tokens that two threads make two replicas.
    settings = TrainSettings(
        steps=4, dropout=0.3, batch_tokens=1024, micro_batch_tokens=1024, warmup_steps=1, optimizer="muon"
    )
    assert replica_count(16, settings.micro_batch_tokens, "cpu") == 2
    stream = [(make_batch(60, seed=step), StreamPosition(batch=step)) for step in range(4)]
    uninterrupted = make_dropout_model()
    steps = list(training_steps(uninterrupted, make_optimizer(uninterrupted, settings), iter(stream), settings))
    resumed = make_dropout_model()
    optimizer = make_optimizer(resumed, settings)
    first = list(itertools.islice(training_steps(resumed, optimizer, iter(stream), settings), 2))
    rest = list(training_steps(resumed, optimizer, iter(stream[2:]), settings, first=3))
    assert [step.loss for step in (*first, *rest)] == [step.loss for step in steps]
    assert all(torch.equal(a, b) for a, b in zip(uninterrupted.parameters(), resumed.parameters(), strict=True))


def test_a_resumed_run_with_replicas_equals_an_uninterrupted_one(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: set[int] = set()

    def counted(work: Callable[[int], float], count: int) -> list[float]:
        counts.add(count)
        return run_replicas(work, count)

    monkeypatch.setattr(replicas, "MIN_REPLICA_TOKENS", 16)
    monkeypatch.setattr(step_module, "run_replicas", counted)
    uninterrupted, resumed = tmp_path / "uninterrupted", tmp_path / "resumed"
    tiny(uninterrupted, steps=6)
    assert counts == {2}
    tiny.stopped(resumed, 3, steps=6)
    tiny(resumed, steps=6)
    assert Result.of(resumed) == Result.of(uninterrupted)


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
def test_the_replica_count_depends_on_width_tokens_threads_and_device(
    width: int, tokens: int, threads: int, device: str, count: int
) -> None:
    torch.set_num_threads(threads)
    assert replica_count(width, tokens, device) == count


def test_each_replica_has_its_share_of_the_threads() -> None:
    torch.set_num_threads(6)
    assert run_replicas(lambda replica: (replica, torch.get_num_threads()), 2) == [(0, 3), (1, 3)]
    assert torch.get_num_threads() == 6
    with ThreadPoolExecutor(1) as pool:  # a new thread
        assert pool.submit(torch.get_num_threads).result() == 6
    assert run_replicas(lambda replica: (replica, torch.get_num_threads()), 1) == [(0, 6)]


def test_the_error_of_a_replica_is_raised_after_all_are_done() -> None:
    done: list[int] = []

    def fail(replica: int) -> None:
        if replica == 0:
            raise ValueError("no")
        time.sleep(0.1)
        done.append(replica)

    with pytest.raises(ValueError, match="no"):
        run_replicas(fail, 3)
    assert sorted(done) == [1, 2]


def test_the_same_threads_run_every_step() -> None:
    def used_threads(barrier: threading.Barrier) -> set[threading.Thread]:
        return set(run_replicas(lambda _: (barrier.wait(), threading.current_thread())[1], 3))

    first = used_threads(threading.Barrier(3))
    assert len(first) == 3 and used_threads(threading.Barrier(3)) == first


def test_a_failed_replica_keeps_no_memory() -> None:
    class Large: ...

    references: list[weakref.ref[Large]] = []

    def fail(replica: int) -> None:
        large = Large()
        references.append(weakref.ref(large))
        raise MemoryError

    gc.disable()  # the collector would hide a reference cycle
    try:
        with pytest.raises(MemoryError):
            run_replicas(fail, 2)
        assert [reference() for reference in references] == [None, None]
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_starts_its_own_threads() -> None:
    run_replicas(lambda replica: replica, 2)
    child = os.fork()
    if child == 0:
        try:
            os._exit(run_replicas(lambda replica: replica + 1, 2) != [1, 2])
        finally:
            os._exit(2)
    for _ in range(3000):  # five minutes, because the machine may be busy
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert status == 0
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the forked process waits for threads that do not exist in it")


def test_replicas_that_run_out_of_memory_use_smaller_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batches = make_model(), [make_batch(12)]
    total, _ = accumulate_gradients([model], batches, PLAIN, 1)
    expected, original = gradients(model), loss.backward_in_chunks

    def backward(model: Transformer, batch: Batch, **options: Any) -> float:
        if len(batch) > 2:
            raise MemoryError
        return original(model, batch, **options)

    monkeypatch.setattr(step_module, "backward_in_chunks", backward)
    loss_sum, _, slices = gradient_with_retry(make_replicas(model, 2), batches, PLAIN, 1, 1)
    assert loss_sum == pytest.approx(total, rel=1e-6)
    assert slices == 4
    for name, tensor in gradients(model).items():
        assert (tensor - expected[name]).abs().max() <= 1e-6, name
