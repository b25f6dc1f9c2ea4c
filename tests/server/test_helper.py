"""The helper process: looks, continuations and sampling; it starts when needed, ends when idle, and may be killed."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.errors import UserError
from regard.interpret.report.look_data import look_effects, look_facts, look_map, look_vectors, map_addresses
from regard.server.child_process import ChildProcess
from regard.server.errors import BadRequest, DeadlinePassed, NoEngine, QueueFull, TooLarge
from regard.server.helper import Helper
from regard.server.service import Client, Service, Work
from regard.settings.serve import ServeSettings

TEXT = "the cat sees a red house"


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 600))


def soon(seconds: float) -> float:
    """Return a time of the event loop."""
    return asyncio.get_running_loop().time() + seconds


def plain(value: Any) -> Any:
    """Return a value as JSON gives it back."""
    import json

    return json.loads(json.dumps(value))


def test_what_the_service_gets_is_what_the_library_computes(tiny: Path) -> None:
    name = tiny.name
    work = Work((TEXT,), "en", "xx", {}, Client())

    async def asking() -> None:
        service = Service(ServeSettings(models=(str(tiny),), alternatives_limit=5, deadline=600.0))
        await service.start()
        try:
            assert service.helper_state == ("stopped", 0)
            model = regard.load(tiny, backend="torch")
            view = model.look(TEXT)
            found = await service.look(work)
            assert service.helper_state == ("running", 0)
            facts = plain(look_facts(view))
            assert {**found["facts"], "model": "", "command": ""} == {**facts, "model": "", "command": ""}
            assert found["facts"]["model"] == name and str(tiny.parent) not in str(found)
            assert found["maps"] == {each: look_map(view.trace, each) for each in map_addresses(view.trace)}
            head = view.heads[0]
            more = await service.look(work, parts=("effects",), vectors=(head, "positions"))
            assert more["vectors"][head] == look_vectors(view, head) and more["vectors"]["positions"]
            effects = view.head_effects()
            assert effects and more["effects"] == plain(look_effects(view, effects)) and "facts" not in more
            without = await service.look(work, without=head)
            assert without["facts"]["without"] == head and without["original"]["facts"]["without"] is None
            given = await service.look(work, target="the cat")
            assert given["facts"]["texts"]["target"] == "the cat"

            sampled: dict[str, Any] = {"temperature": 1.0, "seed": 3, "n_best": 2}
            [translation] = await service.translate(Work((TEXT,), "en", "xx", sampled, Client()))
            [other] = model.translate([TEXT], regard.DecodeSettings(**sampled))
            assert (translation.text, len(translation.alternatives)) == (other.text, 1)

            alternatives = await service.alternatives(work, 0, 3)
            assert all(each["translation"]["text"].split()[:1] == [each["word"]] for each in alternatives)

            for refused, kind in (
                (service.look(Work(("two\nlines",), "en", "xx", {}, Client())), BadRequest),
                (service.look(work, without="encoder.9.self.1"), BadRequest),
                (service.look(Work((TEXT, TEXT), "en", "xx", {}, Client())), BadRequest),
                (service.look(Work(("a" * 1001,), "en", "xx", {}, Client())), TooLarge),
                (service.alternatives(work, 999, 3), BadRequest),
                (service.alternatives(work, 0, 6), TooLarge),
            ):
                with pytest.raises(kind):
                    await refused
        finally:
            await service.end()

    run(asking)


def test_a_process_that_was_killed_comes_back_and_ends_when_it_is_idle(tiny: Path) -> None:
    message = {"action": "translate", "model": "tiny", "decode": {}, "texts": [TEXT]}

    async def asking() -> None:
        helper = Helper({"tiny": str(tiny)}, idle_seconds=1.0)
        with pytest.raises(DeadlinePassed):
            await helper.ask(message, soon(0.05))
        while not helper.is_running:  # what the first request has begun continues
            await asyncio.sleep(0.01)
        assert helper._process
        started = helper._process.process.pid
        assert await helper.ask(message, soon(300))
        assert helper._process.process.pid == started
        os.kill(started, signal.SIGKILL)
        await helper._process.died.wait()
        waiting = [asyncio.create_task(helper.ask(message, soon(300))) for _ in range(8)]
        while not helper.is_running:
            await asyncio.sleep(0)
        with pytest.raises(QueueFull):
            await helper.ask(message, soon(300))
        assert helper._process
        os.kill(helper._process.process.pid, signal.SIGKILL)
        first, *others = await asyncio.gather(*waiting, return_exceptions=True)
        assert isinstance(first, NoEngine) and all(each == others[0] and each for each in others)
        process = helper._process
        assert process and helper.is_running
        await process.process.wait()
        assert not helper.is_running
        await helper.end()

    run(asking)


def test_requests_that_wait_for_a_client_that_is_gone_are_dropped(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    message = {"action": "translate", "model": "tiny", "decode": {}, "texts": [TEXT]}
    asked: list[str] = []

    async def counted(process: ChildProcess, message: dict[str, Any]) -> Any:
        asked.append(message["action"])
        return await ask(process, message)

    ask = ChildProcess.ask
    monkeypatch.setattr(ChildProcess, "ask", counted)

    async def asking() -> None:
        helper = Helper({"tiny": str(tiny)})
        first, *others = [asyncio.create_task(helper.ask(message, soon(300))) for _ in range(8)]
        while "translate" not in asked:
            await asyncio.sleep(0)
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        last = asyncio.create_task(helper.ask(message, soon(300)))  # there is room again
        assert await first == await last
        assert asked == ["load", "translate", "translate"]
        await helper.end()

    run(asking)


def test_a_reload_lets_the_requests_to_the_process_finish(tiny: Path) -> None:
    work = Work((TEXT,), "en", "xx", {"temperature": 1.0, "seed": 3}, Client())

    async def asking() -> None:
        service = Service(ServeSettings(models=(str(tiny),), deadline=300))
        await service.start()
        before = [asyncio.create_task(service.translate(work)) for _ in range(3)]
        await asyncio.sleep(0)
        helper = service._helper
        reloading = asyncio.create_task(service.reload())
        while service._helper is helper:
            await asyncio.sleep(0)
        during = await service.translate(work)  # in a new process
        assert [await each for each in before] == [during] * 3
        await reloading
        assert not helper.is_running and service._helper.is_running
        waiting = asyncio.create_task(service.translate(work))
        await asyncio.sleep(0)
        await service.end()
        with pytest.raises(NoEngine):
            await waiting

    run(asking)


def test_a_model_that_is_not_served_is_refused(tiny: Path) -> None:
    from regard.server.helper_process import Helper as HelperProcess

    helper = HelperProcess({"models": {"tiny": str(tiny)}})
    with pytest.raises(UserError, match="no longer served"):
        helper.answer({"action": "translate", "model": "other", "decode": {}, "texts": []})
