"""Engine processes that are really killed: texts are tried again alone, then refused, and processes come back."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from regard.inference.translator_loader import load_translator
from regard.server.engine_pool import EngineOptions, EnginePool
from regard.server.errors import NoEngine, PoisonedRequest, ServeError
from regard.server.metrics import Metrics
from regard.server.queue import Lane, Queue

LANE = Lane("tiny")
TEXTS = ["the cat sees a house", "a red house", "the cat"]


@pytest.fixture(scope="module")
def model(make_model: Callable[..., Path]) -> Path:
    folder = make_model()
    load_translator(folder).close()  # exports it
    return folder


def run(model: Path, work: Callable[[EnginePool, Queue], Coroutine[Any, Any, None]], engines: int = 1) -> None:
    async def running() -> None:
        queue = Queue(requests=100, seconds=1000.0, documents=8, engines=engines)
        pool = EnginePool(EngineOptions({"tiny": str(model)}, 1 << 20, engines), queue, Metrics())
        await pool.start()
        try:
            await asyncio.wait_for(work(pool, queue), 120)
        finally:
            await pool.end()

    asyncio.run(running())


async def kill_busy(pool: EnginePool) -> None:
    """Kill the next engine that has a batch."""
    while not (busy := [each for each in pool.engines if each._answers]):
        await asyncio.sleep(0)
    os.kill(busy[0].process.pid, signal.SIGKILL)
    await busy[0].died.wait()


async def ask(queue: Queue, texts: list[str]) -> list[str]:
    results, _ = await queue.submit(LANE, texts, "one", asyncio.get_running_loop().time() + 100)
    return [each.text for each in results]


def test_texts_of_a_killed_engine_are_translated_by_the_next(model: Path) -> None:
    expected = [each.text for each in load_translator(model).translate(TEXTS)]

    async def work(pool: EnginePool, queue: Queue) -> None:
        for _ in range(2):
            asked = asyncio.create_task(ask(queue, TEXTS))
            await kill_busy(pool)
            assert await asked == expected
        async with asyncio.timeout(100):  # an engine may answer just before it is killed, so the next is not ready yet
            while not pool.is_ready():
                await asyncio.sleep(0.01)

    run(model, work)


def test_a_text_that_ends_two_engines_is_refused_and_others_are_translated(model: Path) -> None:
    async def work(pool: EnginePool, queue: Queue) -> None:
        asked = [asyncio.create_task(ask(queue, [text])) for text in TEXTS]
        await kill_busy(pool)  # has the batch of all three
        await kill_busy(pool)  # has the first of them, alone
        results = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(each) for each in results] == [NoEngine, list, list]
        assert isinstance(results[0], NoEngine) and results[0].retry_after == 1
        with pytest.raises(PoisonedRequest):
            pool.check(LANE, (TEXTS[1], TEXTS[0]))
        pool.check(LANE, (TEXTS[1], TEXTS[2]))

    run(model, work)


def test_other_engines_continue(model: Path) -> None:
    async def work(pool: EnginePool, queue: Queue) -> None:
        asked = asyncio.create_task(ask(queue, TEXTS))
        await kill_busy(pool)
        assert len(pool.engines) == 1
        assert len(await asked) == 3

    run(model, work, engines=2)


def test_an_idle_engine_that_is_killed_comes_back(model: Path) -> None:
    async def work(pool: EnginePool, queue: Queue) -> None:
        [before] = pool.engines
        os.kill(before.process.pid, signal.SIGKILL)
        await before.died.wait()
        assert not pool.is_ready()
        assert len(await ask(queue, TEXTS)) == 3
        assert pool.engines != [before]

    run(model, work)


def test_engines_end_with_the_pool(model: Path) -> None:
    pids: list[int] = []

    async def work(pool: EnginePool, queue: Queue) -> None:
        pids.extend(each.process.pid for each in pool.engines)

    run(model, work, engines=2)
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_an_engine_that_cannot_load_its_model_says_why(tmp_path: Path) -> None:
    async def nothing(pool: EnginePool, queue: Queue) -> None:
        raise AssertionError

    with pytest.raises(ServeError, match="none"):
        run(tmp_path / "none", nothing)


def test_other_models_can_be_loaded_while_texts_are_waiting(model: Path, make_model: Callable[..., Path]) -> None:
    other = make_model(seed=2)
    expected = [each.text for each in load_translator(other).translate(TEXTS)]

    async def work(pool: EnginePool, queue: Queue) -> None:
        waiting = [asyncio.create_task(ask(queue, TEXTS)) for _ in range(5)]
        await pool.reload(EngineOptions({"tiny": str(other)}, 1 << 20))
        assert all(len(texts) == 3 for texts in await asyncio.gather(*waiting))
        assert await ask(queue, TEXTS) == expected
        assert len(pool.engines) == 1

    run(model, work)


def test_models_that_cannot_be_loaded_leave_the_present_ones(model: Path, tmp_path: Path) -> None:
    async def work(pool: EnginePool, queue: Queue) -> None:
        before, present = await ask(queue, TEXTS), pool.engines
        with pytest.raises(ServeError, match="none"):
            await pool.reload(EngineOptions({"tiny": str(tmp_path / "none")}, 1 << 20))
        assert pool.engines == present
        os.kill(present[0].process.pid, signal.SIGKILL)
        assert await ask(queue, TEXTS) == before

    run(model, work)
