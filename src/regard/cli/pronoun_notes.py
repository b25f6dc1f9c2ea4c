"""What a model in training knows of "it": after each validation, its pronouns on flips it does not learn from."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from regard.data.synthetic import Pair
from regard.interpret.measure.pronoun_baselines import pronoun_accuracy
from regard.interpret.measure.pronoun_task import PronounTask, contrast
from regard.models.kinds.transformer import Transformer
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.training.checkpoints import Checkpoints
from regard.training.tracking.events import Event, Note, Planned
from regard.training.validation import Validation

_BAR = 20


def with_pronouns(events: Iterable[Event], out: Path, flips: Sequence[tuple[Pair, Pair]]) -> Iterator[Event]:
    """The events of the run in `out`, and after each validation a note on the pronouns of the weights it was of."""
    model: Transformer | None = None
    for event in events:
        yield event
        if isinstance(event, Planned):
            model = Transformer(event.plan.settings.model)
        if isinstance(event, Validation) and model is not None:
            weights = Checkpoints(out / "run" / "checkpoints").weights(event.step)
            if weights is not None:
                model.load_state_dict(weights)
                tokenizer = SentencePieceTokenizer.load(out / "run" / "tokenizer" / "tokenizer.model")
                yield Note(pronouns_line(model.eval(), tokenizer, flips))


def pronouns_line(model: Transformer, tokenizer: SentencePieceTokenizer, flips: Sequence[tuple[Pair, Pair]]) -> str:
    """How often the right pronoun is the likelier one in both sentences of a flip, beside who does not read them."""
    contrasts = [contrast(pair, tokenizer) for both in flips for pair in both]
    both = pronoun_accuracy("", PronounTask(model, contrasts).preference() > 0).both.value
    bar = "█" * round(_BAR * both)
    return (
        f"    “it” {bar:·<{_BAR}} the right pronoun in both sentences of {both:.0%} of {len(flips)} flips "
        "(always one noun: 0%; a coin: 25%)"
    )
