"""Inspects one translation: runs it once more under a recorder and keeps every number.

`Inspection` holds the data. `regard.interpret.report.view` draws it.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import LookError
from regard.inference.search.hypothesis import Hypothesis
from regard.inference.translator import Translator
from regard.interpret.interventions import intervene, without_head
from regard.interpret.look.arithmetic import HeadArithmetic, find_token, head_arithmetic
from regard.interpret.look.attention_map import AttentionMap, attention_map
from regard.interpret.look.search_trace import SearchTrace, trace_search
from regard.interpret.tokens import Tokens
from regard.interpret.trace import HEADED, Array, Trace, all_heads, record, split_address
from regard.render.text import escape_control_characters
from regard.settings.decode import DecodeSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import BOS, EOS

if TYPE_CHECKING:
    from regard.models.kinds.transformer import Transformer

ALTERNATIVES = 5
_PICTURED = 64  # rows of the table of positions that make a picture


@dataclass(frozen=True)
class DecodingStep:
    """One step of writing: what was read and written, how probable that was, and what else was."""

    read: str
    token: str
    probability: float
    alternatives: tuple[tuple[str, float], ...]  # the most probable pieces, the written one among them if it is one


@dataclass(frozen=True, repr=False)
class Inspection:
    """A text, what it became, and every number in between."""

    model: str  # the folder
    source: str
    text: str  # what `translate` returned, or the target given
    score: float | None  # None for a target given
    torch_text: str | None  # what torch's road wrote, where that differs from `text`
    whole_text: str | None  # what the whole model writes, where this is translated without a head
    without: str | None  # the part left out, if any
    trace: Trace
    search: SearchTrace | None  # none for a target given
    names: tuple[str, ...]  # of all pieces
    parameters: int  # of the model
    positions: Array  # the first rows of its table

    def __repr__(self) -> str:
        return f"<view of {self.source!r} → {self.text!r}; .attention(), .arithmetic(), .steps(), .trace, .save()>"

    @property
    def heads(self) -> tuple[str, ...]:
        """The address of every head."""
        return tuple(all_heads(self.trace))

    def attention(self, address: str, *, pieces: bool = False) -> AttentionMap:
        """The map of a head, or one over several: `decoder.3.cross.1`, `encoder.self.mean`, `encoder.self.rollout`."""
        return attention_map(self.trace, address, pieces=pieces)

    def arithmetic(self, address: str, word: str, *, pieces: bool = False) -> HeadArithmetic:
        """The arithmetic of a head for a word, its first piece if it has several."""
        return head_arithmetic(self.trace, address, find_token(self.trace, address, word, pieces=pieces)[1].begin)

    def steps(self) -> tuple[DecodingStep, ...]:
        """What was written, piece by piece."""
        probability = self.trace["probability"]
        return tuple(
            DecodingStep(read, piece, float(row[identity]), self._likeliest(row))
            for read, piece, identity, row in zip(
                self.trace.read.texts, self.trace.written.texts, self.trace.written.ids, probability, strict=True
            )
        )

    def json(self, heads: Sequence[str] = ()) -> str:
        """The weights of every head and, for `heads`, all their numbers."""
        self.check(heads)
        numbers = {f"{head}.weight": self.trace[f"{head}.weight"] for head in self.heads}
        numbers |= {f"{head}.{name}": self.trace[f"{head}.{name}"] for head in heads for name in HEADED}
        facts: dict[str, Any] = {
            "model": self.model,
            "source": self.source,
            "text": self.text,
            "torch_text": self.torch_text,
            "whole_text": self.whole_text,
            "without": self.without,
            "pieces": {
                "source": self.trace.source.texts,
                "read": self.trace.read.texts,
                "written": self.trace.written.texts,
            },
            "steps": [vars(step) for step in self.steps()],
            "numbers": {name: _plain(array) for name, array in numbers.items()},
        }
        return json.dumps(facts, ensure_ascii=False) + "\n"

    def check(self, heads: Sequence[str]) -> None:
        """Whether all of these are heads."""
        for head in heads:
            if split_address(self.trace, head) is None:
                raise LookError(f"{head} is not one head; heads are called as {self.heads[0]}")

    def _likeliest(self, row: Any) -> tuple[tuple[str, float], ...]:
        best = np.argsort(-row, kind="stable")[:ALTERNATIVES]
        return tuple((self.names[identity], float(row[identity])) for identity in best if row[identity] > 0)


def _plain(array: Any) -> Any:
    """Numbers as JSON has them: the shortest decimal that gives the same float32."""
    if array.dtype == bool:
        return array.tolist()
    return np.vectorize(lambda number: float(str(number)), otypes=[object])(array).tolist()


class Inspector:
    """Inspects translations of one model."""

    def __init__(
        self,
        translator: Translator,
        network: "Callable[[], Transformer]",
        tokenizer: SentencePieceTokenizer,
        *,
        name: str,
    ) -> None:
        """`network` builds the model, or returns the one already built; it is called only when it is needed."""
        self._translator, self._network, self._tokenizer, self._name = translator, network, tokenizer, name

    def inspect(self, text: str, decode: DecodeSettings, *, target: str | None, without: str | None) -> Inspection:
        """Record the pass over a text and its translation, or over a given target."""
        source = self.source(text)
        written = self._sentence(target, "the target") if target is not None else None
        chosen, searched, whole = None, None, None
        headless = without_head(self._network(), without)
        if written is None:
            prefix = self._tokenizer.encode([decode.prefix])[0] if decode.prefix else []
            asked = self._translator._source(source.ids[:-1], prefix, decode)
            whole = next(self._translator._generate([[asked]], replace(decode, scores=True)))[0][0]
            searched = trace_search(headless or self._network(), asked, self._tokenizer.generable, decode)
            chosen = searched.found[0] if headless else whole
            # A translation that reached its length limit has no EOS.
            written = self._tokens(
                [*chosen.token_ids, EOS] if len(chosen.token_ids) < asked.limit else [*chosen.token_ids]
            )
        return Inspection(
            model=self._name,
            source=text,
            text=self._text(written),
            score=chosen.score if chosen else None,
            torch_text=self._other(chosen, searched),
            whole_text=self._tokenizer.decode([whole.token_ids])[0] if headless and whole else None,
            without=without,
            trace=self.trace(source, written, without),
            search=searched,
            names=tuple(map(escape_control_characters, self._tokenizer.tokens(range(self._tokenizer.size)))),
            parameters=sum(tensor.numel() for tensor in self._network().state_dict().values()),
            positions=self._positions(max(len(source.ids), len(written.ids))),
        )

    def trace(self, source: Tokens, written: Tokens, without: str | None = None) -> Trace:
        """Record one teacher-forced pass over a source and a target."""
        model, lens = intervene(self._network(), without)
        read = self._tokens([BOS, *written.ids[:-1]])
        return record(model, source, read, written, writable=self._tokenizer.generable, lens=lens)

    def source(self, text: str) -> Tokens:
        """The tokens of a text as the encoder reads them."""
        return self._sentence(text, "the text")

    def _sentence(self, text: str, what: str) -> Tokens:
        if not text.strip():
            raise LookError(f"{what} is blank: there is nothing to look at")
        parts = [part for part, _ in self._translator._parts(text)]
        if len(parts) > 1:
            raise LookError(
                f"{what} is translated in {len(parts)} parts, each by itself (its lines, and what fits into "
                f"{self._translator.max_positions} pieces); look at one of them, such as {parts[0][:60]!r}"
            )
        return self._tokens([*self._tokenizer.encode([text])[0], EOS])

    def _positions(self, used: int) -> Array:
        """The rows of the table that were used, and at least so many as make a picture."""
        table = self._network().positions.weight[: max(used, _PICTURED)].detach().cpu().numpy().copy()
        table.flags.writeable = False
        return np.asarray(table)

    def _text(self, tokens: Tokens) -> str:
        return self._tokenizer.decode([[identity for identity in tokens.ids if identity != EOS]])[0]

    def _tokens(self, ids: list[int]) -> Tokens:
        return Tokens.of(ids, self._tokenizer)

    def _other(self, chosen: Hypothesis | None, searched: SearchTrace | None) -> str | None:
        """What torch's road wrote, where that is not what this translator wrote."""
        if chosen is None or searched is None or chosen.token_ids == searched.found[0].token_ids:
            return None
        return self._tokenizer.decode([searched.found[0].token_ids])[0]
