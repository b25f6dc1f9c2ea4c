"""A training run on the screen, and the signals that stop it."""

import signal
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from regard.console import Screen, say

if TYPE_CHECKING:
    from regard.training.tracking.events import Event


def show_training(events: Iterable["Event"]) -> "Event | None":
    """Show a run as it happens; return its last event."""
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
                    source, translation, _ = event.example
                    screen.line(
                        f"step {event.step:,}: validation loss {event.loss:.3f}, BLEU {event.bleu:.1f}, "
                        f"chrF {event.chrf:.1f} ({event.sentences} sentences)"
                    )
                    screen.line(f"    {_short(source)} → {_short(translation)}")
                case Stopped():
                    screen.line(f"stopped after step {event.step:,}; the same command goes on from there")
                case Finished() if event.scores is None:
                    screen.line(f"{event.folder} is finished already; nothing to do")
                case Finished():
                    screen.line(
                        f"kept {event.kept}: validation loss {event.scores.loss:.3f}, BLEU {event.scores.bleu:.1f}, "
                        f"chrF {event.scores.chrf:.1f} ({event.scores.sentences:,} sentences)"
                    )
                    screen.line(f"the model is in {event.folder}; its card is {event.folder / 'card.md'}")
    return last


def _short(text: str, most: int = 70) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


class Stop:
    """Asked to stop while learning, finish the step and save; asked twice, or before, go at once: nothing is lost."""

    def __init__(self) -> None:
        self.signal = 0
        self.learning = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._heard)

    def __call__(self) -> bool:
        return self.signal != 0

    def _heard(self, number: int, frame: object) -> None:
        if self.signal or not self.learning:
            say("stopped; the same command goes on with what is done")
            sys.exit(128 + number)
        self.signal = number
        say("stopping after this step; once more stops at once")


def watch(events: "Iterator[Event]", stop: Stop) -> None:
    """Show a run; exit as a signal demands if it was stopped by one."""
    from regard.training.step import Step
    from regard.training.tracking.events import Planned, Stopped
    from regard.training.validation import Validation

    def noting() -> "Iterator[Event]":
        for event in events:
            stop.learning = isinstance(event, Planned | Step | Validation)
            yield event

    if isinstance(show_training(noting()), Stopped):
        sys.exit(128 + stop.signal)
