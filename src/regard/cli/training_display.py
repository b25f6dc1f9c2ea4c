"""Shows a training run on the screen, and stops it on Ctrl-C or a termination signal."""

import signal
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from regard.console import Screen, say
from regard.render.units import format_count

if TYPE_CHECKING:
    from regard.training.tracking.events import Event
    from regard.training.validation import Validation


def show_training(events: Iterable["Event"]) -> "Event | None":
    """Show the events of a training run as they happen, and return the last event."""
    from regard.progress import Progress
    from regard.training.step import Step
    from regard.training.tracking.events import Finished, Note, Planned, Stopped
    from regard.training.validation import Validation

    screen = Screen()
    last: Event | None = None
    with screen.open():
        for event in events:
            last = event
            match event:
                case Progress():
                    screen.progress(event.stage, event.done, event.total)
                case Note():
                    screen.line(event.text)
                case Planned():
                    screen.planned(event)
                case Step():
                    screen.step(event.step, event.loss, event.learning_rate, event.target_tokens, event.seconds)
                case Validation():
                    screen.line(f"step {event.step:,}: {_scores(event)}")
                    if event.example is not None:
                        source, translation, _ = event.example
                        screen.line(f"    {_short(source)} → {_short(translation)}")
                case Stopped():
                    screen.line(f"stopped after step {event.step:,}; the same command resumes from there")
                case Finished() if event.scores is None:
                    screen.line(f"{event.folder} is already finished; nothing to do")
                case Finished():
                    screen.line(f"kept {event.kept}: {_scores(event.scores)}")
                    screen.line(f"the model is in {event.folder}; its card is {event.folder / 'card.md'}")
    return last


def _scores(validation: "Validation") -> str:
    loss = f"validation loss {validation.loss:.3f}"
    if validation.bleu is None:
        return loss
    sentences = format_count(validation.sentences, "sentence")
    return f"{loss}, BLEU {validation.bleu:.1f}, chrF {validation.chrf:.1f} ({sentences})"


def _short(text: str, limit: int = 70) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


class Stop:
    """A signal handler that stops a training run after the current step.

    If no training steps are being taken, or if this is the second signal, it exits at once.
    """

    def __init__(self) -> None:
        self.signal = 0
        self.training = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._handle)

    def __call__(self) -> bool:
        return self.signal != 0

    def _handle(self, number: int, frame: object) -> None:
        if self.signal or not self.training:
            say("stopped; the same command resumes")
            sys.exit(128 + number)
        self.signal = number
        say("stopping after this step; press Ctrl-C again to stop at once")


def watch(events: "Iterator[Event]", stop: Stop) -> None:
    """Show a training run to its end; if a signal stopped the run, exit with the code of that signal."""
    from regard.training.step import Step
    from regard.training.tracking.events import Planned, Stopped
    from regard.training.validation import Validation

    def tracked() -> "Iterator[Event]":
        for event in events:
            stop.training = isinstance(event, Planned | Step | Validation)
            yield event

    if isinstance(show_training(tracked()), Stopped):
        sys.exit(128 + stop.signal)
