"""A loaded model: it translates, and one can look into what it did.

    model = regard.load("my-model")
    view = model.look("The animal didn't cross the street because it was too tired.")
    view.attention("decoder.3.cross.1")
    model.measure_heads()

Torch is imported when someone looks.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.data.texts import finished
from regard.data.tokenizer import END, START, Tokenizer
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.load import open_folders, translator_of
from regard.decoding.text_translator import DEFAULT, Forced, Sources, TextTranslator
from regard.errors import LookError
from regard.folder import Languages
from regard.inside.beams import Search, watch
from regard.inside.trace import Array, Trace, record
from regard.inside.view import View
from regard.inside.without import changed, headless_model
from regard.inside.words import Tokens, visible
from regard.settings import DecodeSettings

if TYPE_CHECKING:
    from regard.inside.aligning import Aligning
    from regard.inside.itplot import It
    from regard.inside.layerplot import Layers
    from regard.inside.measured import Measured
    from regard.model.transformer import Transformer

Pairs = Iterable[tuple[str, str]]  # a source and its translation
_PICTURED = 64  # rows of the table of positions that make a picture


def load(
    folder: str | Path | None = None, *others: str | Path, fast: str | None = "float32", device: str = "cpu"
) -> "Model":
    """The model in a folder, or several folders as one model, with the mean of their probabilities.

    A folder may be the name of a bundled model, "en-fr" or "fr-en"; without any, it is the first.

    `fast` is how the engine computes: float32, or int8, int16, bfloat16 where the processor can. None takes torch's
    road, and so does any device but the processor, and several models.
    """
    folders = open_folders(folder, *others)
    translator = translator_of(folders, fast=fast, device=device)

    def build() -> "Transformer":
        if others:
            raise LookError(f"{len(folders)} models together cannot be looked into; load one of them")
        return getattr(translator, "model", None) or folders[0].build().to(device)

    name = " + ".join(map(str, (folder or folders[0].path.name, *others)))
    return Model(translator, folders[0].tokenizer, build, name=name, languages=folders[0].languages)


class Model(TextTranslator):
    """A translator, on either road, that can also be looked into."""

    def __init__(
        self,
        translator: TextTranslator,
        tokenizer: Tokenizer,
        build: "Callable[[], Transformer]",
        *,
        name: str,
        languages: Languages = (None, None),
    ) -> None:
        super().__init__(tokenizer, longest=translator.longest, aligning=translator.aligning)
        self.name = name
        self.languages = languages
        self.batch_tokens, self.least_tokens = translator.batch_tokens, translator.least_tokens
        self._translator = translator
        self.pieces = self._tokenizer = tokenizer
        self._build = build
        self._built: Transformer | None = None

    @property
    def torch(self) -> "Transformer":
        """The model itself, a plain torch module."""
        if self._built is None:
            self._built = self._build()
        return self._built

    def look(
        self, text: str, decode: DecodeSettings = DEFAULT, *, target: str | None = None, without: str | None = None
    ) -> View:
        """Every number of one pass over a text and what `translate` makes of it, or a target given instead.

        `without` leaves a part out of that pass, "positions" or "scaling"; what was written stays the same. Without a
        head, such as "encoder.2.self.5", the text is translated without it.
        """
        source = self.source(text)
        written = self._sentence(target, "the target") if target is not None else None
        chosen, searched, whole = None, None, None
        headless = headless_model(self.torch, without)
        if written is None:
            prefix = self._tokenizer.encode([decode.prefix])[0] if decode.prefix else []
            asked = self._source(source.ids[:-1], prefix, decode)
            whole = next(self._begin([[asked]], replace(decode, scores=True)))[0][0]
            searched = watch(headless or self.torch, asked, self._tokenizer.writable, decode)
            chosen = searched.found[0] if headless else whole
            # A text that reached its limit has no end mark.
            written = self._tokens([*chosen.pieces, END] if len(chosen.pieces) < asked.limit else [*chosen.pieces])
        return View(
            model=self.name,
            source=text,
            text=self._text(written),
            score=chosen.score if chosen else None,
            torch_text=self._other(chosen, searched),
            whole_text=self._tokenizer.decode([whole.pieces])[0] if headless and whole else None,
            without=without,
            trace=self.recorded(source, written, without),
            search=searched,
            names=tuple(map(visible, self._tokenizer.pieces(range(self._tokenizer.size)))),
            parameters=sum(tensor.numel() for tensor in self.torch.state_dict().values()),
            positions=self._positions(max(len(source.ids), len(written.ids))),
        )

    def measure_heads(self, pairs: Pairs | None = None, count: int = 500) -> "Measured":
        """What every head does and is worth, on pairs of texts, or, without, on the built-in language."""
        from regard.inside.measuring import heads_measured, sample_for

        return finished(heads_measured(self, sample_for(self, count, pairs=pairs)))

    def measure_it(self, count: int = 500) -> "It":
        """Whether heads follow what "it" stands for, and whether the French pronoun depends on them."""
        from regard.inside.measuring import it_measured

        return finished(it_measured(self, count))

    def measure_layers(self, count: int = 500) -> "Layers":
        """What each layer knows about words and sentences of the built-in language."""
        from regard.inside.measuring import layers_measured, sample_for

        return finished(layers_measured(self, sample_for(self, count)))

    def measure_alignment(self, pairs: Pairs | None = None, count: int = 500) -> "Aligning":
        """Which head aligns words best. Nothing is stored; `regard measure alignment` does that."""
        from regard.inside.measuring import alignment_measured, alignment_sample

        return finished(alignment_measured(self, alignment_sample(self, count, pairs=pairs)))

    def recorded(self, source: Tokens, written: Tokens, without: str | None = None) -> Trace:
        """One pass over a source, forced to write this."""
        model, lens = changed(self.torch, without)
        read = self._tokens([START, *written.ids[:-1]])
        return record(model, source, read, written, writable=self._tokenizer.writable, lens=lens)

    def source(self, text: str) -> Tokens:
        """A text as the encoder reads it."""
        return self._sentence(text, "the text")

    def _sentence(self, text: str, what: str) -> Tokens:
        if not text.strip():
            raise LookError(f"{what} is blank: there is nothing to look at")
        parts = [part for part, _ in self._parts(text)]
        if len(parts) > 1:
            raise LookError(
                f"{what} is translated in {len(parts)} parts, each by itself (its lines, and what fits into "
                f"{self.longest} pieces); look at one of them, such as {parts[0][:60]!r}"
            )
        return self._tokens([*self._tokenizer.encode([text])[0], END])

    def _positions(self, used: int) -> Array:
        """The rows of the table that were used, and at least so many as make a picture."""
        table = self.torch.positions.weight[: max(used, _PICTURED)].detach().cpu().numpy().copy()
        table.flags.writeable = False
        return np.asarray(table)

    def _text(self, tokens: Tokens) -> str:
        return self._tokenizer.decode([[identity for identity in tokens.ids if identity != END]])[0]

    def _tokens(self, ids: list[int]) -> Tokens:
        return Tokens.of(ids, self._tokenizer)

    def _other(self, chosen: Hypothesis | None, searched: Search | None) -> str | None:
        """What torch's road wrote, where that is not what this translator wrote."""
        if chosen is None or searched is None or chosen.pieces == searched.found[0].pieces:
            return None
        return self._tokenizer.decode([searched.found[0].pieces])[0]

    def workers(self, decode: DecodeSettings) -> int:
        return self._translator.workers(decode)

    def _begin(self, batches: Iterable[Sources], decode: DecodeSettings) -> Iterator[list[list[Hypothesis]]]:
        return self._translator._begin(batches, decode)

    def _force(self, pairs: Forced) -> list[tuple[float, ...]]:
        return self._translator._force(pairs)

    def _attend(self, pairs: Forced) -> list[Any]:
        return self._translator._attend(pairs)
