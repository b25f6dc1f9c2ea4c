"""Inspects one translation: runs the model on it once more and records every number.

`Inspection` holds the data. `regard.interpret.report.view` draws it.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import LookError
from regard.inference.search.hypothesis import Hypothesis
from regard.inference.translator import Translator
from regard.interpret.address import split_last
from regard.interpret.interventions import intervene
from regard.interpret.look.arithmetic import HeadArithmetic, find_token, head_arithmetic
from regard.interpret.look.attention_map import AttentionMap, attention_map
from regard.interpret.look.head_effects import MAX_WORK, HeadEffects, effects_work, measure_head_effects, row_effects
from regard.interpret.look.recurrent_steps import (
    RecurrentStep,
    StateNorms,
    find_recurrence,
    find_recurrences,
    recurrent_step,
    state_norms,
)
from regard.interpret.look.search_trace import SearchTrace, trace_search
from regard.interpret.tokens import Tokens, get_word
from regard.interpret.trace import ATTENTION_QUANTITIES, HEAD_QUANTITIES, Array, Trace, record
from regard.render.text import escape_control_characters
from regard.settings.anatomy import Recurrence
from regard.settings.decode import DecodeSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import BOS, EOS

if TYPE_CHECKING:
    from regard.models.interface import AutoregressiveModel

ALTERNATIVES = 5
# The encoding of at least this many positions is kept, so that its picture is large enough even for a short text.
_MIN_POSITIONS = 64


@dataclass(frozen=True)
class DecodingStep:
    """One decoding step: the input token, the generated token with its probability, and the most probable tokens."""

    read: str
    token: str
    probability: float
    alternatives: tuple[tuple[str, float], ...]  # most probable first; may include the generated token


@dataclass(frozen=True, repr=False)
class Inspection:
    """A text, its translation, and every number computed in between."""

    model: str  # the folder of the model
    source: str
    text: str  # the translation, or the given target
    score: float | None  # the score of the translation; None if the target was given
    torch_text: str | None  # the translation by the torch backend if it differs from `text`, otherwise None
    full_model_text: str | None  # the full model's translation; None if no head is ablated or the target was given
    without: str | None  # the component or head that is removed, if any
    instead: (
        str | None
    )  # what replaces the attention weights of this head: "uniform", or a pair of tokens such as "8:2"
    trace: Trace
    search: SearchTrace | None  # None if the target was given
    vocabulary: tuple[str, ...]  # the text of every token of the vocabulary
    parameters: int  # the number of parameters of the model
    positional_encoding: Array | None  # the encoding of the first positions, one row for each; None without positions
    languages: tuple[str | None, str | None] = (None, None)  # of the source and of the target, if known
    original: "Inspection | None" = None  # what the full model computes, if something is removed
    original_changed: Array | None = None  # (T, V): the probabilities without it, after the words of the original
    _network: "Callable[[], AutoregressiveModel] | None" = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        return f"<view of {self.source!r} → {self.text!r}; .attention(), .arithmetic(), .steps(), .trace, .save()>"

    @property
    def heads(self) -> tuple[str, ...]:
        """The address of every head."""
        return self.trace.anatomy.heads

    def attention(self, address: str, *, tokens: bool = False) -> AttentionMap:
        """Return the map of one head (`decoder.3.cross.1`) or of several heads (`encoder.self.mean`)."""
        return attention_map(self.trace, address, tokens=tokens)

    def arithmetic(self, address: str, word: str, *, tokens: bool = False) -> HeadArithmetic:
        """Return each step of what a head computes for the first token of a word, with the numbers."""
        return head_arithmetic(self.trace, address, find_token(self.trace, address, word, tokens=tokens)[1].begin)

    def recurrent_step(self, address: str, word: str, *, tokens: bool = False) -> RecurrentStep:
        """Return the gates and states of a recurrent layer (`decoder.1`) at the first token of a word."""
        recurrence = find_recurrence(self.trace, address)
        side = self.trace.source if recurrence.side == "source" else self.trace.written
        return recurrent_step(self.trace, recurrence, get_word(word, side.units(tokens=tokens)).begin)

    def head_effects(self, heads: Sequence[str] | None = None) -> HeadEffects | None:
        """Return what removing each attention head alone does to the translation of the full model.

        Without `heads`, these are all heads. Return None if all would take long, or if there are none.
        """
        full = self.original or self
        if not full._network or not self.has_head_effects or heads == []:
            return None
        return measure_head_effects(full._network(), full.trace, heads)

    def most_effective_row(self, head: str) -> int | None:
        """Return the index of the word whose attention in a head changes the translation of the full model most.

        Return None if this would take long, or if there is no word.
        """
        full = self.original or self
        trace = full.trace
        words = trace.attention(split_last(head)[0]).rows.content_words()
        tokens = len(trace.source.ids) + len(trace.written.ids)
        if not full._network or not words or float(len(words)) * full.parameters * tokens > MAX_WORK / 2:
            return None
        queries = [range(word.begin, word.end) for word in words.values()]
        return list(words)[int(row_effects(full._network(), trace, head, queries).argmax())]

    @property
    def has_head_effects(self) -> bool:
        """Whether `head_effects` returns something."""
        full = self.original or self
        return bool(full._network and full.heads) and effects_work(full.trace, full.parameters) <= MAX_WORK

    def norms(self) -> tuple[StateNorms, ...]:
        """Return the norms of the states of all recurrent layers over the positions."""
        return state_norms(self.trace)

    def steps(self) -> tuple[DecodingStep, ...]:
        """Return the decoding steps of the target, one for each token."""
        return tuple(
            DecodingStep(read, token, float(probabilities[token_id]), self._most_probable(probabilities))
            for read, token, token_id, probabilities in zip(
                self.trace.read.texts,
                self.trace.written.texts,
                self.trace.written.ids,
                self.trace["probability"],
                strict=True,
            )
        )

    def to_dict(self, addresses: Sequence[str] = ()) -> dict[str, Any]:
        """Return the inspection as a dictionary for JSON.

        It holds the attention weights of every head, and the norms of the states of every recurrent layer. For the
        heads and recurrent layers at the given `addresses`, it also holds all other quantities, such as keys or gates.
        """
        heads, recurrences = self.heads_and_recurrences(addresses)
        arrays = {f"{head}.weight": self.trace[f"{head}.weight"] for head in self.heads}
        arrays |= {
            f"{head}.{name}": self.trace[f"{head}.{name}"]
            for head in heads
            for name in HEAD_QUANTITIES
            if name == "mask" or f"{split_last(head)[0]}.{name}" in self.trace.recorded
        }
        arrays |= {
            address: self.trace.recorded[address]
            for attention in dict.fromkeys(split_last(head)[0] for head in heads)
            for name in ATTENTION_QUANTITIES
            if (address := f"{attention}.{name}") in self.trace.recorded
        }
        arrays |= {
            f"{recurrence.address}.{step.name}": self.trace[f"{recurrence.address}.{step.name}"]
            for recurrence in recurrences
            for step in recurrence.steps
        }
        norms = {"norms": {state.address: _json_numbers(state.norms) for state in self.norms()}} if self.norms() else {}
        return {
            "model": self.model,
            "source": self.source,
            "text": self.text,
            "torch_text": self.torch_text,
            "full_model_text": self.full_model_text,
            "without": self.without,
            "intervention": asdict(self.trace.intervention) if self.trace.intervention else None,
            "tokens": {
                "source": self.trace.source.texts,
                "read": self.trace.read.texts,
                "written": self.trace.written.texts,
            },
            "steps": [vars(step) for step in self.steps()],
            **norms,
            "numbers": {name: _json_numbers(array) for name, array in arrays.items()},
        }

    def heads_and_recurrences(self, addresses: Sequence[str]) -> tuple[list[str], list[Recurrence]]:
        """Divide addresses into those of single heads and those of recurrent layers, and raise an error for others."""
        heads: list[str] = []
        recurrences: list[Recurrence] = []
        for address in addresses:
            if found := find_recurrences(self.trace, address):
                recurrences += found
            elif self.trace.find_head(address) is None:
                raise LookError(f"{address} is not one head; the address of a head is, for example, {self.heads[0]}")
            else:
                heads.append(address)
        return heads, recurrences

    def _most_probable(self, probabilities: Array) -> tuple[tuple[str, float], ...]:
        best = np.argsort(-probabilities, kind="stable")[:ALTERNATIVES]
        return tuple(
            (self.vocabulary[token_id], float(probabilities[token_id]))
            for token_id in best
            if probabilities[token_id] > 0
        )


def _json_numbers(array: Array) -> Any:
    """Convert an array to nested lists; each number becomes the shortest decimal that gives the same float32."""
    if array.dtype == bool:
        return array.tolist()
    return np.vectorize(lambda number: float(str(number)), otypes=[object])(array).tolist()


class Inspector:
    """Inspects translations of one model."""

    def __init__(
        self,
        translator: Translator,
        network: "Callable[[], AutoregressiveModel]",
        tokenizer: SentencePieceTokenizer,
        *,
        name: str,
        languages: tuple[str | None, str | None] = (None, None),
    ) -> None:
        """`network` returns the torch model. It is called only when needed, because it may have to build the model."""
        self._translator, self._network, self._tokenizer = translator, network, tokenizer
        self._name, self._languages = name, languages

    def inspect(
        self, text: str, decode: DecodeSettings, *, target: str | None, without: str | None, instead: str | None = None
    ) -> Inspection:
        """Translate a text, unless a target is given, and record the forward pass over the text and its target."""
        from regard.interpret.intervened_model import without_head

        source = self.source(text)
        written = self._sentence(target, "the target") if target is not None else None
        chosen, search, full_model, original = None, None, None, None
        headless = without_head(self._network(), without, instead, len(source.ids))
        if written is None:
            (request,) = self._translator.reader.sources([(text, bool(decode.prefix))], decode)
            full_model = self._translator.backend.generate([request], replace(decode, scores=True)).result()[0][0]
            search = trace_search(headless or self._network(), request, self._tokenizer.generable, decode)
            chosen = search.hypotheses[0] if headless else full_model
            written = self._written(chosen, request.limit)
            original = self._written(full_model, request.limit)
        inspection = Inspection(
            model=self._name,
            source=text,
            text=self._text(written),
            score=chosen.score if chosen else None,
            torch_text=self._torch_text(chosen, search),
            full_model_text=self._tokenizer.decode([full_model.token_ids])[0] if headless and full_model else None,
            without=without,
            instead=instead,
            trace=self.trace(source, written, without, instead),
            search=search,
            vocabulary=self._vocabulary,
            parameters=sum(tensor.numel() for tensor in self._network().state_dict().values()),
            positional_encoding=self._positional_encoding(max(len(source.ids), len(written.ids))),
            languages=self._languages,
            _network=self._network,
        )
        if without is None:
            return inspection
        full = replace(inspection, text=self._text(original or written), score=full_model.score if full_model else None,
                       torch_text=None, full_model_text=None, without=None, instead=None, search=None,
                       trace=self.trace(source, original or written))  # fmt: skip
        same_words = self.trace(source, original or written, without, instead)
        return replace(inspection, original=full, original_changed=same_words["probability"])

    @cached_property
    def _vocabulary(self) -> tuple[str, ...]:
        return tuple(map(escape_control_characters, self._tokenizer.tokens(range(self._tokenizer.size))))

    def _written(self, hypothesis: Hypothesis, limit: int) -> Tokens:
        """Return the tokens of a translation. One that reached its length limit has no EOS."""
        return self._tokens([*hypothesis.token_ids, *([EOS] if len(hypothesis.token_ids) < limit else [])])

    def trace(self, source: Tokens, written: Tokens, without: str | None = None, instead: str | None = None) -> Trace:
        """Run the model on a source and a target with teacher forcing, and record every number."""
        model, lens = intervene(self._network(), without, instead)
        read = self._tokens([BOS, *written.ids[:-1]])
        return record(model, source, read, written, generable=self._tokenizer.generable, lens=lens)

    def source(self, text: str) -> Tokens:
        """Return the tokens of a text as the encoder receives them, with EOS at the end."""
        return self._sentence(text, "the text")

    def _sentence(self, text: str, name: str) -> Tokens:
        if not text.strip():
            raise LookError(f"{name} is blank; give a text to look at")
        parts = [part for part, _ in self._translator.reader.parts(text)]
        if len(parts) > 1:
            raise LookError(
                f"{name} would be translated in {len(parts)} separate parts, because it has several lines or more than "
                f"{self._translator.max_positions} tokens; look at one part, such as {parts[0][:60]!r}"
            )
        return self._tokens([*self._tokenizer.encode([text])[0], EOS])

    def _positional_encoding(self, used: int) -> Array | None:
        """Return the encoding of the first `used` positions, or of the first `_MIN_POSITIONS` if that is more."""
        positions = self._network().positions
        if positions is None:
            return None
        table = positions.weight[: max(used, _MIN_POSITIONS)].detach().cpu().numpy().copy()
        table.flags.writeable = False
        return np.asarray(table)

    def _text(self, tokens: Tokens) -> str:
        return self._tokenizer.decode([[token_id for token_id in tokens.ids if token_id != EOS]])[0]

    def _tokens(self, ids: list[int]) -> Tokens:
        return Tokens.from_ids(ids, self._tokenizer)

    def _torch_text(self, chosen: Hypothesis | None, search: SearchTrace | None) -> str | None:
        """Return the translation by the torch backend, or None if it is the same as the chosen translation."""
        if chosen is None or search is None or chosen.token_ids == search.hypotheses[0].token_ids:
            return None
        return self._tokenizer.decode([search.hypotheses[0].token_ids])[0]
