"""A loaded model: it translates, and one can look into what it did.

    model = regard.load("my-model")
    view = model.look("The animal didn't cross the street because it was too tired.")
    view.attention("decoder.3.cross.1")
    model.measure_heads()

Torch is imported when someone looks.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import LookError
from regard.inference.search.hypothesis import Hypothesis
from regard.inference.translator import DEFAULT, Sources, TokenPairs, Translator
from regard.inference.translator_loader import make_translator, open_folders
from regard.interpret.look.inspection import Inspector
from regard.interpret.report.view import View
from regard.interpret.tokens import Tokens
from regard.interpret.trace import Trace
from regard.model_folder.folder import Languages
from regard.progress import Work, run_to_end
from regard.render.text import escape_control_characters
from regard.settings.decode import DecodeSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

if TYPE_CHECKING:
    from regard.interpret.annotated_pairs import PairSample
    from regard.interpret.measure.alignment_heads import AlignmentHeadResult
    from regard.interpret.report.head_report import HeadReport
    from regard.interpret.report.probe_report import ProbeReport
    from regard.interpret.report.pronoun_report import PronounReport
    from regard.models.kinds.transformer import Transformer

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
    translator = make_translator(folders, fast=fast, device=device)

    def build() -> "Transformer":
        if others:
            raise LookError(f"{len(folders)} models together cannot be looked into; load one of them")
        return getattr(translator, "model", None) or folders[0].build().to(device)

    name = " + ".join(map(str, (folder or folders[0].path.name, *others)))
    return Model(translator, folders[0].tokenizer, build, name=name, languages=folders[0].languages)


class Model(Translator):
    """A translator, on either road, that can also be looked into."""

    def __init__(
        self,
        translator: Translator,
        tokenizer: SentencePieceTokenizer,
        build: "Callable[[], Transformer]",
        *,
        name: str,
        languages: Languages = (None, None),
    ) -> None:
        super().__init__(tokenizer, max_positions=translator.max_positions, alignment_head=translator.alignment_head)
        self.name = name
        self.languages = languages
        self.batch_tokens, self.min_source_tokens = translator.batch_tokens, translator.min_source_tokens
        self._translator = translator
        self.tokenizer: SentencePieceTokenizer = tokenizer
        self._build = build
        self._built: Transformer | None = None
        self._inspector = Inspector(translator, lambda: self.network, tokenizer, name=name)

    @property
    def network(self) -> "Transformer":
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
        found = self._inspector.inspect(text, decode, target=target, without=without)
        return View(**{one.name: getattr(found, one.name) for one in fields(found)})

    def trace(self, source: Tokens, written: Tokens, without: str | None = None) -> Trace:
        """Record one teacher-forced pass over the tokens of a source and a target."""
        return self._inspector.trace(source, written, without)

    def source(self, text: str) -> Tokens:
        """The tokens of a text as the encoder reads them."""
        return self._inspector.source(text)

    def measure_heads(self, pairs: Pairs | None = None, count: int = 500) -> "HeadReport":
        """What every head attends to, and the effect of removing it, on pairs or on the synthetic language."""
        return run_to_end(self.iter_measure_heads(pairs, count))

    def measure_pronouns(self, count: int = 1000) -> "PronounReport":
        """Whether heads follow the antecedent of "it", and whether the French pronoun depends on them."""
        return run_to_end(self.iter_measure_pronouns(count))

    def measure_probes(self, count: int = 500) -> "ProbeReport":
        """What each layer encodes about words and sentences of the synthetic language."""
        return run_to_end(self.iter_measure_probes(count))

    def measure_alignment(self, pairs: Pairs | None = None, count: int = 500) -> "AlignmentHeadResult":
        """Which head aligns words best. Nothing is stored; `regard measure alignment` does that."""
        return run_to_end(self.iter_measure_alignment(pairs, count))

    def iter_measure_heads(
        self, pairs: Pairs | None = None, count: int = 500, *, files: Sequence[Path] = ()
    ) -> "Work[HeadReport]":
        """As `measure_heads`, and yields its progress; `files` are read instead of `pairs`."""
        from regard.interpret.report.head_report import measure_head_report

        return measure_head_report(
            self.network, self.tokenizer, self._sample(pairs, files, count), name=self._shown_name
        )

    def iter_measure_pronouns(self, count: int = 1000) -> "Work[PronounReport]":
        """As `measure_it`, and yields its progress."""
        from regard.data.synthetic import minimal_pairs
        from regard.interpret.annotated_pairs import SEED, SPLIT, check_languages
        from regard.interpret.measure.pronoun_experiment import run_pronoun_experiment
        from regard.interpret.report.pronoun_report import PronounReport
        from regard.progress import Progress

        check_languages(self.languages)
        pairs = []
        for pair in islice(minimal_pairs(SEED, SPLIT), count):
            pairs.append(pair)
            yield Progress("making pairs", len(pairs), count)
        found = yield from run_pronoun_experiment(
            self.network, self.tokenizer, pairs, lambda texts: (one.text for one in self.translate_iterable(texts))
        )
        return PronounReport(self._shown_name, found)

    def iter_measure_probes(self, count: int = 500) -> "Work[ProbeReport]":
        """As `measure_layers`, and yields its progress."""
        from regard.interpret.measure.probes import measure_probes
        from regard.interpret.report.probe_report import ProbeReport

        sample = self._sample(None, (), count)
        probed = yield from measure_probes(self.network, sample)
        return ProbeReport(self._shown_name, len(sample), sample.name, probed)

    def iter_measure_alignment(
        self, pairs: Pairs | None = None, count: int = 500, *, files: Sequence[Path] = ()
    ) -> "Work[AlignmentHeadResult]":
        """As `measure_alignment`, and yields its progress; `files` are read instead of `pairs`."""
        from regard.interpret.annotated_pairs import reversed_synthetic_sample
        from regard.interpret.measure.alignment_heads import choose_head

        # From French, the synthetic language with its sides exchanged still has known alignments.
        exchanged = not files and pairs is None and self.languages == ("fr", "en")
        sample = reversed_synthetic_sample(self.tokenizer, count) if exchanged else self._sample(pairs, files, count)
        return choose_head(self.network, sample)

    def _sample(self, pairs: Pairs | None, files: Sequence[Path], count: int) -> "PairSample":
        from regard.interpret.annotated_pairs import measurement_sample

        return measurement_sample(self.tokenizer, self.max_positions, self.languages, count, pairs=pairs, files=files)

    @property
    def _shown_name(self) -> str:
        """The name of the folder, without its path: a report may be read by others."""
        folder = Path(self.name)
        return escape_control_characters(folder.absolute().name if folder.is_dir() else self.name)

    def workers(self, decode: DecodeSettings) -> int:
        return self._translator.workers(decode)

    def _generate(self, batches: Iterable[Sources], decode: DecodeSettings) -> Iterator[list[list[Hypothesis]]]:
        return self._translator._generate(batches, decode)

    def _score_tokens(self, pairs: TokenPairs) -> list[tuple[float, ...]]:
        return self._translator._score_tokens(pairs)

    def _attend(self, pairs: TokenPairs) -> list[Any]:
        return self._translator._attend(pairs)
