"""Shows how accurately the demo model translates pronouns, after each validation during its training."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from regard.data.synthetic import Pair
from regard.interpret.measure.pronoun_baselines import pronoun_accuracy
from regard.interpret.measure.pronoun_task import PronounTask, contrast
from regard.models.build import build_model
from regard.models.interface import AutoregressiveModel, as_autoregressive
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.training.checkpoints import Checkpoints
from regard.training.tracking.events import Event, Note, Planned
from regard.training.validation import Validation

_BAR = 20  # width of the bar, in characters


def with_pronouns(events: Iterable[Event], out: Path, pairs: Sequence[tuple[Pair, Pair]]) -> Iterator[Event]:
    """Yield the events of the training run in the folder `out`, with a note on pronouns after each validation.

    The note gives the pronoun accuracy, which is measured on `pairs`, the held-out minimal pairs.
    """
    model: AutoregressiveModel | None = None
    for event in events:
        yield event
        if isinstance(event, Planned):
            model = as_autoregressive(build_model(event.plan.settings.model))
        if isinstance(event, Validation) and model is not None:
            weights = Checkpoints(out / "run" / "checkpoints").weights(event.step)
            if weights is not None:
                model.load_state_dict(weights)
                tokenizer = SentencePieceTokenizer.load(out / "run" / "tokenizer" / "tokenizer.model")
                yield Note(pronouns_line(model.eval(), tokenizer, pairs))


def pronouns_line(
    model: AutoregressiveModel, tokenizer: SentencePieceTokenizer, pairs: Sequence[tuple[Pair, Pair]]
) -> str:
    """Return a line of text with the proportion of minimal pairs for which the model gets both pronouns right.

    A pronoun is right if the model finds it more probable than the other pronoun.
    """
    contrasts = [contrast(pair, tokenizer) for members in pairs for pair in members]
    both = pronoun_accuracy("", PronounTask(model, contrasts).preference() > 0, pairs).pair_accuracy.value
    bar = "█" * round(_BAR * both)
    return (
        f"    “it” {bar:·<{_BAR}} the right pronoun in both sentences of {both:.0%} of {len(pairs)} minimal pairs "
        "(always the same noun: 0%; random: 25%)"
    )
