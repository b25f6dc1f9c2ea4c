"""The helper process, which uses torch: it looks inside models, continues translations at a word, and samples."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import UserError
from regard.server.wire import Message
from regard.server.worker_loop import run_worker

if TYPE_CHECKING:
    from regard.api import Model
    from regard.interpret.look.head_effects import HeadEffects
    from regard.interpret.report.view import View

_VIEWS = 4  # inspections that are kept, because their maps and vectors are asked for one after the other


class Helper:
    """The models of the helper process, which are loaded when they are first used."""

    def __init__(self, options: Message) -> None:
        self._folders = {name: Path(path) for name, path in options["models"].items()}
        self._models: dict[str, Model] = {}
        self._views: OrderedDict[tuple[Any, ...], View] = OrderedDict()
        self._known_effects: OrderedDict[tuple[Any, ...], HeadEffects | None] = OrderedDict()

    def answer(self, message: Message) -> Message:
        """Answer one message; it names what to do."""
        actions: dict[str, Callable[[Message], Any]] = {
            "load": self._load,
            "look": self._look,
            "continue": self._continue,
            "translate": self._translate,
        }
        return {"result": actions[message["action"]](message)}

    def _model(self, name: str) -> "Model":
        from regard.api import load

        if name not in self._folders:
            raise UserError("this model is no longer served")
        if name not in self._models:
            self._models[name] = load(self._folders[name], backend="torch")
        return self._models[name]

    def _load(self, message: Message) -> None:
        self._model(message["model"])

    def _translate(self, message: Message) -> list[dict[str, Any]]:
        model = self._model(message["model"])
        decode = replace(model.decode, **message["decode"])
        return [each.to_dict() for each in model.translate_iterable(message["texts"], decode)]

    def _continue(self, message: Message) -> list[dict[str, Any]]:
        from regard.inference.backends.torch import TorchBackend
        from regard.inference.continuations import find_continuations

        model = self._model(message["model"])
        translator = model._translator
        assert isinstance(translator.backend, TorchBackend)
        found = find_continuations(
            translator.backend,
            translator.reader,
            translator.writer,
            model.tokenizer,
            message["text"],
            message["target"],
            at=message["at"],
            count=message["count"],
            decode=replace(model.decode, **message["decode"], alignment=True),
            temperature=translator.calibration_temperature,
        )
        return [
            {"word": each.word, "probability": each.probability, "translation": each.translation.to_dict()}
            for each in found
        ]

    def _look(self, message: Message) -> dict[str, Any]:
        from regard.interpret.report import look_data

        view, parts, addresses = self._view(message), message["parts"], message["vectors"]
        effects = self._effects(message["model"], view) if "effects" in parts else None
        answer: dict[str, Any] = {}
        for name, each in (("", view), ("original", view.original)):
            if each is None:
                continue
            found: dict[str, Any] = {}
            if "facts" in parts:
                found["facts"] = look_data.look_facts(each, effects)
            if "maps" in parts:
                heads = look_data.map_addresses(each.trace)
                found["maps"] = {address: look_data.look_map(each.trace, address) for address in heads}
            answer |= {name: found} if name else found
        if "effects" in parts:
            answer["effects"] = look_data.look_effects(view, effects) if effects else None
        if "opening" in parts:
            opening = look_data.opening_of_few(view)
            answer["opening"] = opening and asdict(opening)
        if "page" in parts:
            fitting = look_data.heads_that_fit(view.trace), look_data.recurrences_that_fit(view.trace)
            answer["page"] = view.html([*addresses, *fitting[0], *(each.address for each in fitting[1])])
        if addresses:
            answer["vectors"] = {address: look_data.look_vectors(view, address) for address in addresses}
        return answer

    def _effects(self, model: str, view: "View") -> "HeadEffects | None":
        """Return the effects of removing each head; they are the same for all interventions on a translation."""
        trace = (view.original or view).trace
        key = (model, trace.source.ids, trace.written.ids)
        if key not in self._known_effects:
            self._known_effects[key] = view.head_effects()
            _limit(self._known_effects)
        return self._known_effects[key]

    def _view(self, message: Message) -> "View":
        names = ("model", "text", "target", "without", "instead")
        key = *(message[name] for name in names), *sorted(message["decode"].items())
        if key not in self._views:
            model = self._model(message["model"])
            decode = replace(model.decode, **message["decode"])
            view = model.look(message["text"], decode, **{name: message[name] for name in names[2:]})
            named = {"model": message["model"]}
            original = replace(view.original, **named) if view.original else None
            self._views[key] = replace(view, original=original, **named)
            _limit(self._views)
        self._views.move_to_end(key)
        return self._views[key]


def _limit(kept: OrderedDict[tuple[Any, ...], Any]) -> None:
    """Drop the oldest of what is kept."""
    while len(kept) > _VIEWS:
        kept.popitem(last=False)


if __name__ == "__main__":
    run_worker(lambda options: Helper(options).answer)
