"""Translating with CTranslate2, without torch. The text is the one the torch road writes; only the time differs.

The engine searches by the same rule if asked the right way: K hypotheses without its own length penalty, ranked here
by the paper's. Its one limit of length is for a whole batch, so a text that reaches its own is searched again with it,
or cut where that comes to the same. What it does otherwise than torch's road is left to that road: it draws pieces by
chance of its own, and after a prefix it passes over texts that end at once. It also tells each piece's log-probability
as if none were forbidden.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import ctranslate2

from regard.errors import SettingsError
from regard.inference.joiner import is_blank
from regard.inference.length_buckets import length_buckets
from regard.inference.search.hypothesis import Hypothesis, length_penalty
from regard.inference.translator import UNKNOWN, Sources, TokenPairs, Translator
from regard.machine.cpu import cpu_count
from regard.machine.malloc import limit_trimming
from regard.model_folder.folder import AlignmentHead
from regard.settings.decode import DecodeSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS

# Exactly zero would also change when the engine stops; n to this power is 1.
_NO_PENALTY = 1e-30

# Batches begun for each worker: enough that it never waits for us, and soon done when nobody wants them any more.
_AHEAD = 3

_TRIED_WINDOWS = 8  # at most, to find batches to try on

_T = TypeVar("_T")

_UnderWay = list[Any]  # the engine's promises, one for each source

_Found = list[tuple[list[str], float]]  # the pieces of each hypothesis, its end mark among them; its log-probability


class CTranslate2Backend(Translator):
    """Raw text in, raw text out, by the engine's files in a folder."""

    batch_tokens = 4096  # as quick as more on two cores
    min_source_tokens = 7  # with the end mark 8: the scores of all pieces are held for each source, however short

    def __init__(
        self,
        files: Path,
        tokenizer: SentencePieceTokenizer,
        *,
        max_positions: int,
        fallback: Callable[[], Translator],
        compute_type: str = "float32",
        alignment_head: AlignmentHead | None = None,
    ) -> None:
        super().__init__(tokenizer, max_positions=max_positions, alignment_head=alignment_head)
        limit_trimming()  # the engine copies what it has written for every piece, and gives the old copy back
        self._fallback = cache(fallback)
        self._files, self._compute_type = str(files), compute_type
        self._cores = cpu_count()
        self._engines = {1: self._open(workers=1)}  # by the number of workers
        self._trying = Lock()
        self._best: dict[int, int] = {}  # workers, for each number of beams that was tried
        self._names = tokenizer.tokens(range(tokenizer.size))
        self._ids = {name: number for number, name in enumerate(self._names)}

    def _open(self, workers: int) -> ctranslate2.Translator:
        """The engine, its cores divided among workers that each take a batch."""
        return ctranslate2.Translator(
            self._files,
            device="cpu",
            compute_type=self._compute_type,
            inter_threads=workers,
            intra_threads=self._cores // workers,
            max_queued_batches=-1,
        )

    def workers(self, decode: DecodeSettings) -> int:
        return self._best.get(decode.beam_size, UNKNOWN) if self._cores > 1 and supports(decode) else 1

    def translate_bare(self, texts: Sequence[str], decode: DecodeSettings) -> None:
        """What the engine does of translating, and nothing else: to know what the rest costs."""
        parts = [part for text in texts for part, _ in self._parts(text) if not is_blank(part)]
        sources = self._in_pieces(self.tokenizer.encode(parts))
        self._engines[self._best.get(decode.beam_size, 1)].translate_batch(
            sources,
            beam_size=decode.beam_size,
            max_batch_size=max(1, self.batch_tokens // decode.beam_size),
            batch_type="tokens",
            max_input_length=0,
            max_decoding_length=min(256, self.max_positions),  # its own, or what the model can write
        )

    def _generate(self, batches: Iterable[Sources], decode: DecodeSettings) -> Iterator[list[list[Hypothesis]]]:
        if not supports(decode):
            if self._compute_type != "float32":
                raise SettingsError(
                    "decode.temperature, decode.prefix, and decode.log_probabilities with decode.min_length or "
                    f"decode.no_repeat_ngram_size are computed in float32, not in {self._compute_type}; "
                    "leave --fast out"
                )
            return self._fallback()._generate(batches, decode)
        return self._write(iter(batches), decode)

    def _write(self, batches: Iterator[Sources], decode: DecodeSettings) -> Iterator[list[list[Hypothesis]]]:
        first = self._try(batches, decode) if self.workers(decode) == UNKNOWN else []
        more = list(islice(batches, 3))
        first += ((batch, []) for batch in more)
        alone = len(more) < 3 and sum(bool(batch) for batch, _ in first) < 2  # one, the end of its window, no more
        workers = 1 if alone else self._best.get(decode.beam_size, 1)
        engine = self._engines[workers]
        all_batches = chain(first, ((batch, []) for batch in batches))
        begun = ((batch, promises or self._search(engine, batch, decode)) for batch, promises in all_batches)
        # A second search is the last in the queue; what came meanwhile is kept.
        kept: deque[tuple[Sources, list[_Found], dict[int, Any]]] = deque()
        for batch, promises in _ahead(begun, _AHEAD * workers):
            found = [_found(promise) for promise in promises]
            kept.append((batch, found, self._search_again(engine, batch, found, decode)))
            while kept and all(promise.done() for promise in kept[0][2].values()):
                yield self._told(*kept.popleft(), decode)
        yield from (self._told(*its, decode) for its in kept)

    def _try(self, batches: Iterator[Sources], decode: DecodeSettings) -> list[tuple[Sources, _UnderWay]]:
        """The first batches, with what was found of some while trying how to divide the cores."""
        if not self._trying.acquire(blocking=False):
            return []  # two threads that try at once would measure each other
        try:
            ways = [self._cores >> halvings for halvings in range(self._cores.bit_length())]
            first: list[Sources] = []
            ends = 0
            for batch in islice(batches, len(ways) * 4 * self._cores):
                first.append(batch)
                ends += not batch
                # A window may have too few, or none at all.
                if not batch and (len(first) - ends >= len(ways) * self._cores or ends == _TRIED_WINDOWS):
                    break
            found = self._choose(ways, {place: batch for place, batch in enumerate(first) if batch}, decode)
        finally:
            self._trying.release()
        return [(batch, found.get(place, [])) for place, batch in enumerate(first)]

    def _choose(self, ways: list[int], batches: dict[int, Sources], decode: DecodeSettings) -> dict[int, _UnderWay]:
        """Find the quickest way to divide the cores, by translating some batches each way; return what came of them.

        A small model is quickest with a core for each batch, a large one with all of them at the same; between the two
        it depends on the beams.
        """
        found: dict[int, _UnderWay] = {}
        each = len(batches) // len(ways)
        if each < self._cores:
            return found
        # Two turns where there is enough for them; in each all workers have equally many batches.
        count = 2 if each >= 2 * self._cores else 1
        each = each // (count * self._cores) * count * self._cores
        places = list(batches)[: each * len(ways)]
        best, chosen = 0.0, (1, self._engines[1])
        for way, workers in enumerate(ways):
            engine = self._engines.get(workers) or self._open(workers)
            self._time(engine, [batches[places[-1]]] * workers, decode)  # a first time is slower
            # Every way gets some of the long and some of the short.
            its = places[way :: len(ways)]
            speeds = []
            for turn in (its[first::count] for first in range(count)):
                speed, promises = self._time(engine, [batches[place] for place in turn], decode)
                speeds.append(speed)
                found.update(zip(turn, promises, strict=True))
            # Fewer workers must be clearly quicker in every turn: a moment's disturbance makes any way look slow.
            if min(speeds) < 1.15 * best:
                break
            best, chosen = max(speeds), (workers, engine)
        self._engines[chosen[0]] = chosen[1]
        self._best[decode.beam_size] = chosen[0]
        return found

    def _time(
        self, engine: ctranslate2.Translator, batches: list[Sources], decode: DecodeSettings
    ) -> tuple[float, list[_UnderWay]]:
        """Pieces a second, and what was found."""
        began = time.perf_counter()
        promises = [self._search(engine, batch, decode) for batch in batches]
        pieces = sum(len(promise.result().hypotheses[0]) for its in promises for promise in its)
        return pieces / (time.perf_counter() - began), promises

    def _search(self, engine: ctranslate2.Translator, batch: Sources, decode: DecodeSettings) -> _UnderWay:
        if not batch:
            return []
        promises: _UnderWay = engine.translate_batch(
            self._in_pieces([source.ids for source in batch]),
            beam_size=decode.beam_size,
            num_hypotheses=decode.beam_size,
            length_penalty=_NO_PENALTY,
            max_decoding_length=max(source.limit for source in batch),
            min_decoding_length=decode.min_length,
            no_repeat_ngram_size=decode.no_repeat_ngram_size,
            max_input_length=0,
            return_scores=decode.scores or decode.beam_size > 1,  # of several, they tell which is best
            return_end_token=True,
            asynchronous=True,
        )
        return promises

    def _in_pieces(self, sources: Sequence[Sequence[int]]) -> list[list[str]]:
        return [[self._names[number] for number in source] for source in sources]

    def _search_again(
        self, engine: ctranslate2.Translator, batch: Sources, found: list[_Found], decode: DecodeSettings
    ) -> dict[int, Any]:
        """Begin a second search of the texts that grew beyond their own limit; the promises, by the place in the batch.

        Where a search did not get to its own limit, a larger one changed nothing. A greedy one wrote the same up to
        there, and is cut, unless its score is wanted.
        """
        if decode.beam_size == 1 and not decode.scores:
            return {}
        largest = max((source.limit for source in batch), default=0)
        again: dict[int, list[int]] = {}
        for index, (source, its) in enumerate(zip(batch, found, strict=True)):
            if max(len(names) for names, _ in its) >= source.limit < largest:
                again.setdefault(source.limit, []).append(index)
        begun: dict[int, Any] = {}
        for indices in again.values():
            promises = self._search(engine, [batch[index] for index in indices], decode)
            begun.update(zip(indices, promises, strict=True))
        return begun

    def _told(
        self, batch: Sources, found: list[_Found], again: dict[int, Any], decode: DecodeSettings
    ) -> list[list[Hypothesis]]:
        """The best hypotheses; with the log-probability of each piece, if that is asked for."""
        for index, promise in again.items():
            found[index] = _found(promise)
        told = [self._best_of(its, source.limit, decode) for source, its in zip(batch, found, strict=True)]
        if not decode.log_probabilities:
            return told
        best = [(source, one) for source, its in zip(batch, told, strict=True) for one in its]
        forced = zip(best, self._score_tokens([(source.ids, one.token_ids) for source, one in best]), strict=True)
        # What reached its limit has no end mark.
        each = (
            Hypothesis.of(one.token_ids, logs[: source.limit], decode.length_penalty) for (source, one), logs in forced
        )
        return [list(islice(each, len(its))) for its in told]

    def _best_of(self, found: _Found, limit: int, decode: DecodeSettings) -> list[Hypothesis]:
        """The best by the paper's rule; the others were only needed to know which those are."""
        scored = [(log / length_penalty(len(names), decode.length_penalty), log, names[:limit]) for names, log in found]
        best = sorted(scored, key=lambda one: -one[0])[: decode.n_best]
        return [Hypothesis(self._numbers(names), log, score, ()) for score, log, names in best]

    def _numbers(self, names: list[str]) -> tuple[int, ...]:
        """Of pieces as the engine gives them, without the end mark."""
        pieces = [self._ids[name] for name in names]
        return tuple(pieces[:-1] if pieces[-1:] == [EOS] else pieces)

    def _score_tokens(self, pairs: TokenPairs) -> list[tuple[float, ...]]:
        found: dict[int, tuple[float, ...]] = {}
        # All logits of what is scored at once are held, for every piece there is.
        for batch in length_buckets([max(map(len, pair)) for pair in pairs], 2048):
            sources, targets = (self._in_pieces([pairs[index][side] for index in batch]) for side in (0, 1))
            scored = self._engines[1].score_batch(sources, targets, max_input_length=0)
            found.update((index, tuple(one.log_probs)) for index, one in zip(batch, scored, strict=True))
        return [found[index] for index in range(len(pairs))]

    def _attend(self, pairs: TokenPairs) -> list[Any]:
        # While it searches, what the engine gives is not always that of the hypothesis. Forced, it is.
        sources, targets = (self._in_pieces([pair[side] for pair in pairs]) for side in (0, 1))
        forced = self._engines[1].translate_batch(
            sources,
            target_prefix=targets,
            beam_size=1,
            max_decoding_length=min(max(map(len, targets)) + 1, self.max_positions),
            max_input_length=0,
            return_end_token=True,
            return_attention=True,
        )
        return [one.attention[0][: len(target) + 1] for one, target in zip(forced, targets, strict=True)]


def _ahead(items: Iterable[_T], count: int) -> Iterator[_T]:
    """The same, when as many more are begun."""
    begun: deque[_T] = deque()
    for item in items:
        begun.append(item)
        if len(begun) > count:
            yield begun.popleft()
    yield from begun


def _found(promise: Any) -> _Found:
    """Wait for what the engine finds, the likeliest first."""
    result = promise.result()
    return list(zip(result.hypotheses, result.scores or [math.nan], strict=True))


def supports(decode: DecodeSettings) -> bool:
    """Whether the engine writes the text of torch's road, and tells the same numbers."""
    forbids = decode.min_length > 0 or decode.no_repeat_ngram_size > 0
    return not (decode.temperature or decode.prefix or (decode.log_probabilities and forbids))
