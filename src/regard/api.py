"""The public Python interface: `load`, `Model`, `train`, `score` and `average`.

    model = regard.load("my-model")
    model.translate("I am a student.").text
    view = model.look("The animal didn't cross the street because it was too tired.")
    view.attention("decoder.3.cross.1")
    model.measure_heads()

Slow imports are inside functions, so a program that only translates does not import torch.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Self, overload

from regard.data.formats.corpus import Paths
from regard.data.formats.records import LanguagePair
from regard.errors import LookError
from regard.evaluation.evaluator import check_loaded, score_references
from regard.inference.result import Translation
from regard.inference.translator import WINDOW, Translator
from regard.inference.translator_loader import make_translator, open_folders
from regard.interpret.look.inspection import Inspector
from regard.interpret.measure import sample_sizes
from regard.interpret.report.view import View
from regard.interpret.tokens import Tokens
from regard.interpret.trace import Trace
from regard.language_id import Identification
from regard.model_folder.folder import AlignmentHead
from regard.progress import Work, run_to_end
from regard.render.text import escape_control_characters
from regard.settings.decode import DecodeSettings
from regard.spans.glossary import Glossary
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

if TYPE_CHECKING:
    from regard.interpret.annotated_pairs import PairSample
    from regard.interpret.measure.alignment_heads import AlignmentHeadResult
    from regard.interpret.report.head_report import HeadReport
    from regard.interpret.report.probe_report import ProbeReport
    from regard.interpret.report.pronoun_report import PronounReport
    from regard.models.interface import AutoregressiveModel

Pairs = Iterable[tuple[str, str]]  # sentence pairs, each as (source, translation)


def load(
    folder: str | Path | None = None,
    *others: str | Path,
    compute_type: str = "float32",
    backend: str = "auto",
    device: str = "cpu",
) -> "Model":
    """Load a model folder or a bundled model ("en-fr", "fr-en"); several folders are loaded as one ensemble.

    Without a folder, the bundled model en-fr is loaded. `compute_type` is the number format of CTranslate2: float32,
    or int8, int16 or bfloat16 where the CPU supports it. `backend` is "ctranslate2", "torch", or "auto". "auto" uses
    CTranslate2 for one model on the CPU, unless the decode settings need torch, and torch for everything else.
    """
    folders = open_folders(folder, *others)
    translator = make_translator(folders, compute_type=compute_type, backend=backend, device=device)

    def build() -> "AutoregressiveModel":
        from regard.models.interface import as_autoregressive

        if others:
            raise LookError(f"an ensemble of {len(folders)} models cannot be inspected; load one of the models")
        return getattr(translator.backend, "model", None) or as_autoregressive(folders[0].build()).to(device)

    name = " + ".join(map(str, (folder or folders[0].path.name, *others)))
    return Model(
        translator,
        folders[0].tokenizer,
        build,
        name=name,
        languages=folders[0].languages,
    )


def train(
    paths: Paths,
    *,
    out: str | Path,
    valid: Paths = (),
    kind: str | None = None,
    size: str | None = None,
    budget: float | None = None,
    steps: int | None = None,
    parent: str | Path | None = None,
    languages: tuple[str, str] | None = None,
    overrides: Sequence[str] = (),
    config: str | Path | None = None,
) -> "Model":
    """Train a model on files of sentence pairs (docs/how-to/data.md), write it to the folder `out`, and return it.

    `budget` is in seconds, `parent` is a model to fine-tune, and `overrides` are settings such as "train.dropout=0.2".
    Calling the function again with the same arguments resumes an interrupted run. `regard.iter_train` trains in the
    same way, and also yields the progress.
    """
    from regard.training.run import iter_train

    for _ in iter_train(
        paths,
        out=out,
        valid=valid,
        kind=kind,
        size=size,
        budget=budget,
        steps=steps,
        parent=parent,
        languages=languages,
        overrides=overrides,
        config=config,
    ):
        pass
    return load(out)


def score(model: "Model", paths: Paths, decode: DecodeSettings | None = None) -> list[Translation]:
    """Return each reference of a test set with its log-probability, in the order of the files.

    `paths` is a TSV (source, tab, one or more references), or a source file and one or more reference files.
    """
    check_loaded(model)
    return list(score_references(model._translator, paths, decode))


def average(folders: Sequence[str | Path], *, out: str | Path) -> "Model":
    """Average the parameters of several models, write the average to the folder `out`, and return it as a model."""
    from regard.training.weight_average import average_models

    average_models(folders, out=out)
    return load(out)


class Model:
    """A loaded model, which can translate, score translations, and be inspected."""

    def __init__(
        self,
        translator: Translator,
        tokenizer: SentencePieceTokenizer,
        build: "Callable[[], AutoregressiveModel]",
        *,
        name: str,
        languages: LanguagePair = (None, None),
    ) -> None:
        self.name = name
        self.languages = languages
        self.tokenizer = tokenizer
        self._translator = translator
        self._build = build
        self._network: AutoregressiveModel | None = None
        self._inspector = Inspector(
            translator, lambda: self.network, tokenizer, name=self._shown_name, languages=languages
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the memory and the threads of the model, which cannot translate afterwards."""
        self._translator.close()
        self._network = None

    def __repr__(self) -> str:
        return f"Model({self.name!r}, languages={self.languages!r})"

    @property
    def network(self) -> "AutoregressiveModel":
        """The neural network, a `torch.nn.Module`; it is built when it is first used."""
        self._translator.check_open()
        if self._network is None:
            self._network = self._build()
        return self._network

    @property
    def max_positions(self) -> int:
        """The maximum number of tokens in a source or target, including EOS."""
        return self._translator.max_positions

    @property
    def decode(self) -> DecodeSettings:
        """The decode settings that are stored with the model. They are used by calls that give no others."""
        return self._translator.decode

    @property
    def alignment_head(self) -> AlignmentHead | None:
        """The attention head that aligns words best, or None if it has not been measured."""
        return self._translator.alignment_head

    @overload
    def translate(  # type: ignore[overload-overlap]
        self, texts: str, decode: DecodeSettings | None = None, *, glossary: Glossary | None = None
    ) -> Translation: ...

    @overload
    def translate(
        self, texts: Sequence[str], decode: DecodeSettings | None = None, *, glossary: Glossary | None = None
    ) -> list[Translation]: ...

    def translate(
        self, texts: str | Sequence[str], decode: DecodeSettings | None = None, *, glossary: Glossary | None = None
    ) -> Translation | list[Translation]:
        """Translate one text, or a list of texts. A text may have any length and any number of lines.

        `glossary` has terms with the translations that they must get.
        """
        return self._translator.translate(texts, decode, glossary=glossary)

    def translate_iterable(
        self,
        lines: Iterable[str],
        decode: DecodeSettings | None = None,
        *,
        window: int = WINDOW,
        glossary: Glossary | None = None,
    ) -> Iterator[Translation]:
        """Translate lines and yield the translations in the same order, while the lines are still being read.

        `window` lines are read and translated at a time, so memory use does not grow with the number of lines.
        """
        return self._translator.translate_iterable(lines, decode, window=window, glossary=glossary)

    def identify(self, text: str) -> Identification:
        """Return in which of the two languages of the model a text is, or an unknown language.

        The language is always unknown if the model folder has no language profiles (docs/how-to/translating.md).
        """
        return self._translator.identifier.identify(text)

    def score(self, pairs: Pairs, decode: DecodeSettings | None = None) -> Iterator[Translation]:
        """Yield the given translation of each pair with its log-probability under the model."""
        return self._translator.score(pairs, decode)

    def look(
        self,
        text: str,
        decode: DecodeSettings | None = None,
        *,
        target: str | None = None,
        without: str | None = None,
        instead: str | None = None,
    ) -> View:
        """Translate a text, and return a view of all numbers that the model computes for it.

        If `target` is given, it is used instead of the model's own translation. `without` removes "positions",
        "scaling" or an attention head such as "encoder.2.self.5" from the model. If a head is removed, the model
        translates without it; if positions or scaling are removed, the translation is still that of the full model.
        `instead` replaces the attention weights of a head: with "uniform" they become equal, and with a pair of tokens
        such as "8:2", counted from 1, the first attends only to the second.
        """
        self._translator.check_open()
        inspection = self._inspector.inspect(
            text, decode or self.decode, target=target, without=without, instead=instead
        )
        return View(**{field.name: getattr(inspection, field.name) for field in fields(inspection)})

    def trace(self, source: Tokens, written: Tokens, without: str | None = None) -> Trace:
        """Run the model on a source and a given target (`written`), and return all numbers that it computes."""
        return self._inspector.trace(source, written, without)

    def source(self, text: str) -> Tokens:
        """Return the tokens of a text as the encoder gets them."""
        return self._inspector.source(text)

    def measure_heads(self, pairs: Pairs | None = None, count: int = sample_sizes.HEADS) -> "HeadReport":
        """Measure what every attention head attends to, and the effect of removing it.

        At most `count` of the `pairs` are used; if none are given, pairs of the synthetic language are used.
        """
        return run_to_end(self.iter_measure_heads(pairs, count))

    def measure_pronouns(self, count: int = sample_sizes.PRONOUNS) -> "PronounReport":
        """Measure whether heads attend from "it" to its antecedent, and whether the French pronoun depends on them."""
        return run_to_end(self.iter_measure_pronouns(count))

    def measure_probes(self, pairs: Pairs | None = None, count: int = sample_sizes.PROBES) -> "ProbeReport":
        """Train linear probes, which show the properties of words and sentences that each layer encodes.

        At most `count` of the `pairs` are used, for the tasks that need no annotations; if none are given, pairs of the
        synthetic language are used, for all tasks.
        """
        return run_to_end(self.iter_measure_probes(pairs, count))

    def measure_alignment(
        self, pairs: Pairs | None = None, count: int = sample_sizes.ALIGNMENT
    ) -> "AlignmentHeadResult":
        """Find the attention head that aligns words best.

        The head is not stored; the command `regard measure alignment` stores it in the model folder.
        """
        return run_to_end(self.iter_measure_alignment(pairs, count))

    def iter_measure_heads(
        self, pairs: Pairs | None = None, count: int = sample_sizes.HEADS, *, files: Sequence[Path] = ()
    ) -> "Work[HeadReport]":
        """Measure heads as `measure_heads` does, and also yield the progress.

        If `files` are given, their sentence pairs are used instead of `pairs`.
        """
        from regard.interpret.measure.head_ablation import measure_heads
        from regard.interpret.report.head_report import HeadReport

        measured = yield from measure_heads(self.network, self.tokenizer, self._sample(pairs, files, count))
        return HeadReport(self._shown_name, measured)

    def iter_measure_pronouns(self, count: int = sample_sizes.PRONOUNS) -> "Work[PronounReport]":
        """Measure pronouns as `measure_pronouns` does, and also yield the progress."""
        from regard.data.synthetic.generator import balanced_minimal_pairs
        from regard.interpret.annotated_pairs import SEED, SPLIT, check_languages
        from regard.interpret.measure.pronoun_experiment import run_pronoun_experiment
        from regard.interpret.report.pronoun_report import PronounReport
        from regard.progress import Progress

        check_languages(self.languages, "pronouns")
        pairs = []
        for pair in islice(balanced_minimal_pairs(SEED, SPLIT), count):
            pairs.append(pair)
            yield Progress("making pairs", len(pairs), count)
        found = yield from run_pronoun_experiment(
            self.network, self.tokenizer, pairs, lambda texts: (one.text for one in self.translate_iterable(texts))
        )
        return PronounReport(self._shown_name, found)

    def iter_measure_probes(
        self, pairs: Pairs | None = None, count: int = sample_sizes.PROBES, *, files: Sequence[Path] = ()
    ) -> "Work[ProbeReport]":
        """Train probes as `measure_probes` does, and also yield the progress.

        If `files` are given, their sentence pairs are used instead of `pairs`.
        """
        from regard.interpret.measure.probes import measure_probes
        from regard.interpret.report.probe_report import ProbeReport

        measured = yield from measure_probes(self.network, self._sample(pairs, files, count))
        return ProbeReport(self._shown_name, measured)

    def iter_measure_alignment(
        self, pairs: Pairs | None = None, count: int = sample_sizes.ALIGNMENT, *, files: Sequence[Path] = ()
    ) -> "Work[AlignmentHeadResult]":
        """Measure alignment as `measure_alignment` does, and also yield the progress.

        If `files` are given, their sentence pairs are used instead of `pairs`.
        """
        from regard.interpret.annotated_pairs import reversed_synthetic_sample
        from regard.interpret.measure.alignment_heads import choose_head

        # For a model from French to English, exchange source and target of the synthetic pairs and their alignments.
        exchanged = not files and pairs is None and self.languages == ("fr", "en")
        sample = reversed_synthetic_sample(self.tokenizer, count) if exchanged else self._sample(pairs, files, count)
        return choose_head(self.network, sample)

    def _sample(self, pairs: Pairs | None, files: Sequence[Path], count: int) -> "PairSample":
        from regard.interpret.annotated_pairs import measurement_sample

        return measurement_sample(self.tokenizer, self.max_positions, self.languages, count, pairs=pairs, files=files)

    @property
    def _shown_name(self) -> str:
        """The name of the model folder. The path is left out: users may not want to share it in a report."""
        folder = Path(self.name)
        return escape_control_characters(folder.absolute().name if folder.exists() else self.name)
