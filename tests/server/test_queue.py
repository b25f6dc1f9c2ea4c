"""The queue: fair turns, batches of similar length, the share of documents, limits, deadlines and cancellation."""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterable
from typing import Any

import pytest

from regard.server.errors import DeadlinePassed, QueueFull
from regard.server.queue import Batch, Lane, Queue

LANE, DOCUMENTS = Lane("en-fr"), Lane("en-fr", is_document=True)


def queue(**changes: Any) -> Queue:
    return Queue(**{"requests": 100, "seconds": 1000.0, "documents": 100, "engines": 1, **changes})


def ask(queue: Queue, texts: Iterable[str], client: str, lane: Lane = LANE, deadline: float = 60.0) -> asyncio.Task:
    return asyncio.create_task(queue.submit(lane, list(texts), client, asyncio.get_running_loop().time() + deadline))


async def take_all(queue: Queue) -> list[Batch]:
    """Take and answer batches until nothing is waiting."""
    batches = []
    while queue.tokens:
        batch = await queue.take()
        batches.append(batch)
        for item in batch.items:
            item.future.set_result(item.text.upper())
    return batches


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 30))


def test_results_come_in_the_order_of_the_texts():
    async def work() -> None:
        waiting = queue()
        asked = ask(waiting, ["a" * length for length in (90, 3, 40, 3, 70)], "one")
        await asyncio.sleep(0)
        await take_all(waiting)
        results, _ = await asked
        assert results == ["A" * length for length in (90, 3, 40, 3, 70)]

    run(work())


def test_a_batch_has_the_first_text_and_those_nearest_in_length():
    async def work() -> None:
        waiting = queue()
        waiting._rate = 120.0  # so a batch has at most 30 tokens
        tasks = [ask(waiting, ["a" * 3 * tokens], f"client {tokens}") for tokens in (10, 1, 2, 9, 11, 29)]
        await asyncio.sleep(0)
        batches = await take_all(waiting)
        assert [[item.tokens for item in batch.items] for batch in batches] == [[10, 9, 11], [1, 2], [29]]
        await asyncio.gather(*tasks)

    run(work())


def test_a_batch_has_texts_of_one_model_and_its_settings():
    async def work() -> None:
        waiting = queue()
        lanes = [Lane("en-fr"), Lane("fr-en"), Lane("en-fr", (("n_best", 2),))]
        tasks = [ask(waiting, ["text"], "one", lane) for lane in lanes * 3]
        await asyncio.sleep(0)
        assert [(batch.lane, len(batch.items)) for batch in await take_all(waiting)] == [(lane, 3) for lane in lanes]
        await asyncio.gather(*tasks)

    run(work())


def test_a_client_with_few_texts_does_not_wait_for_one_with_many():
    async def work() -> None:
        waiting = queue()
        waiting._rate = 400.0  # so a batch has at most 100 tokens
        many = ask(waiting, ["a" * 30] * 1000, "many")
        await asyncio.sleep(0)
        await waiting.take()
        few = ask(waiting, ["b" * 300] * 3, "few")
        await asyncio.sleep(0)
        clients = [(await waiting.take()).items[0].client for _ in range(6)]
        assert clients == ["few", "many", "few", "many", "few", "many"]
        many.cancel(), few.cancel()

    run(work())


def test_a_client_that_waits_for_each_answer_gets_no_more_work_than_others():
    """What a client has got still counts when it comes back."""

    async def work() -> None:
        waiting = queue()
        waiting._rate = 40.0  # so a batch has at most 10 tokens
        many = ask(waiting, ["b" * 30] * 1000, "many")
        got = Counter[str]()
        single = ask(waiting, ["a" * 90], "single")
        for _ in range(200):
            await asyncio.sleep(0)
            batch = await waiting.take()
            got[batch.items[0].client] += batch.tokens
            for item in batch.items:
                item.future.set_result(item.text)
            if batch.items[0].client == "single":
                await single
                single = ask(waiting, ["a" * 90], "single")
        assert abs(got["single"] - got["many"]) <= 30
        many.cancel(), single.cancel()

    run(work())


def test_documents_get_a_fifth_of_the_work_while_sentences_are_waiting():
    async def work() -> None:
        waiting = queue()
        waiting._rate = 400.0
        tasks = [ask(waiting, ["a" * 30] * 2000, "one"), ask(waiting, ["b" * 30] * 2000, "two", DOCUMENTS)]
        await asyncio.sleep(0)
        kinds = [(await waiting.take()).lane.is_document for _ in range(50)]
        assert sum(kinds) == 10
        assert all(sum(kinds[start : start + 5]) == 1 for start in range(0, 50, 5))
        for task in tasks:
            task.cancel()

    run(work())


def test_documents_get_all_of_the_work_if_nothing_else_is_waiting():
    async def work() -> None:
        waiting = queue()
        asked = ask(waiting, ["text"] * 200, "one", DOCUMENTS)
        await asyncio.sleep(0)
        assert {batch.lane.is_document for batch in await take_all(waiting)} == {True}
        await asked

    run(work())


def test_requests_beyond_the_limit_are_refused():
    async def work() -> None:
        waiting = queue(requests=2, documents=1)
        tasks = [ask(waiting, ["text"], "one") for _ in range(2)] + [ask(waiting, ["text"], "one", DOCUMENTS)]
        await asyncio.sleep(0)
        for lane in (LANE, DOCUMENTS):
            with pytest.raises(QueueFull) as refused:
                await ask(waiting, ["text"], "two", lane)
            assert refused.value.retry_after == 1
        await take_all(waiting)
        await asyncio.gather(*tasks)
        assert waiting.requests == 0

    run(work())


def test_more_work_than_the_limit_is_refused_until_some_is_done():
    async def work() -> None:
        waiting = queue(seconds=5.0)
        waiting._rate = 10.0  # tokens per second: 40 tokens are four seconds
        first = ask(waiting, ["a" * 120], "one")
        await asyncio.sleep(0)
        with pytest.raises(QueueFull) as refused:
            await ask(waiting, ["b" * 60], "two")
        assert refused.value.retry_after == 4
        second = ask(waiting, ["c" * 30], "two")
        await asyncio.sleep(0)
        await take_all(waiting)
        await asyncio.gather(first, second)

    run(work())


def test_of_many_texts_only_the_next_ones_are_in_the_queue():
    """Adding and removing takes time for each text that is in the queue."""

    async def work() -> None:
        waiting = queue()
        texts = [str(number) for number in range(100_000)]
        lane = DOCUMENTS
        asked, gone = ask(waiting, texts, "one", lane), ask(waiting, texts, "two", lane)
        await asyncio.sleep(0)
        assert waiting.tokens == 2 * 512
        gone.cancel()
        await asyncio.sleep(0)
        assert waiting.tokens == 512
        while not asked.done():
            batch = await waiting.take()
            for item in batch.items:
                item.future.set_result(item.text)
            await asyncio.sleep(0)
            assert waiting.tokens <= 2 * 512
        assert (await asked)[0] == texts

    run(work())


def test_a_text_that_is_longer_than_the_limit_is_taken_if_nothing_waits():
    async def work() -> None:
        waiting = queue(seconds=0.001)
        asked = ask(waiting, ["a" * 30_000], "one")
        await asyncio.sleep(0)
        assert [len(batch.items) for batch in await take_all(waiting)] == [1]
        await asked

    run(work())


def test_cancelled_work_leaves_the_queue():
    async def work() -> None:
        waiting = queue()
        gone, stays = ask(waiting, ["a"] * 5, "one"), ask(waiting, ["b"] * 5, "two")
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        assert [item.text for batch in await take_all(waiting) for item in batch.items] == ["b"] * 5
        await stays
        assert waiting.requests == waiting.tokens == 0

    run(work())


def test_late_work_leaves_the_queue():
    async def work() -> None:
        waiting = queue()
        with pytest.raises(DeadlinePassed, match="not finished in time"):
            await ask(waiting, ["a"] * 5, "one", deadline=0.01)
        assert waiting.requests == waiting.tokens == 0

    run(work())


def test_the_rate_is_that_of_batches_with_enough_parts():
    waiting = queue()
    before = waiting.rate
    waiting.measured(30_000, 1.0, parts=2)
    assert waiting.rate == before
    for _ in range(60):
        waiting.measured(30_000, 1.0, parts=64)
    assert round(waiting.rate) == 10_000
