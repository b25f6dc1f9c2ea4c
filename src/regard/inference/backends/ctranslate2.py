"""The CTranslate2 backend, which does not need torch. It gives the same text as torch, only faster.

CTranslate2 searches by the same rule as torch if it is asked for K hypotheses without a length penalty; this module
then ranks them with the paper's length penalty. CTranslate2 has one length limit for a whole batch. If a translation
exceeds the limit of its own source, the source is searched again with that limit, or the translation is truncated where
this gives the same result.

Settings that CTranslate2 treats differently are left to torch: the samples of CTranslate2 depend on the batch, it never
ends a translation directly after a prefix, and its token log-probabilities ignore which tokens are forbidden.
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
from regard.model_folder.folder import AlignmentHead
from regard.settings.decode import DecodeSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS

# Any length raised to this power is 1, so CTranslate2 applies no length penalty. With exactly 0, CTranslate2 would also
# end a search at a different step.
_NO_LENGTH_PENALTY = 1e-30

# The number of batches submitted per worker before the first result is needed: enough that no worker waits, and few
# enough that little work is wasted if the caller stops early.
_BATCHES_AHEAD = 3

# Maximum number of windows (groups of lines) whose batches are used to measure the fastest number of workers.
_MAX_TRIAL_WINDOWS = 8

_T = TypeVar("_T")

_Pending = list[Any]  # the asynchronous results of a batch, one for each source sentence

_Found = list[tuple[list[str], float]]  # the tokens of each hypothesis, including EOS, and its log-probability


class CTranslate2Backend(Translator):
    """A translator that runs exported model files with CTranslate2 on the CPU."""

    batch_tokens = 4096  # larger batches are not faster (measured on two cores)
    # Even the shortest source needs memory for the logits of the whole vocabulary, so it counts as 7 tokens and EOS.
    min_source_tokens = 7

    def __init__(
        self,
        files: Path,
        tokenizer: SentencePieceTokenizer,
        *,
        max_positions: int,
        fallback: Callable[[], Translator] | None,
        compute_type: str = "float32",
        alignment_head: AlignmentHead | None = None,
    ) -> None:
        """Load exported model files. `fallback` returns a translator for settings that CTranslate2 does not support."""
        super().__init__(tokenizer, max_positions=max_positions, alignment_head=alignment_head)
        self._fallback = cache(fallback) if fallback is not None else None
        self._files, self._compute_type = str(files), compute_type
        self._cores = cpu_count()
        self._engines = {1: self._open(workers=1)}  # CTranslate2 translators, by their number of workers
        self._measuring = Lock()
        self._best: dict[int, int] = {}  # the fastest number of workers, by beam size, once measured
        self._names = tokenizer.tokens(range(tokenizer.size))
        self._ids = {name: token_id for token_id, name in enumerate(self._names)}

    def _open(self, workers: int) -> ctranslate2.Translator:
        """Return a CTranslate2 translator with this many workers. Each worker computes one batch at a time."""
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
        """Translate texts with CTranslate2 only and discard the result, to measure how much time Regard adds."""
        parts = [part for text in texts for part, _ in self._parts(text) if not is_blank(part)]
        sources = self._to_tokens(self.tokenizer.encode(parts))
        self._engines[self._best.get(decode.beam_size, 1)].translate_batch(
            sources,
            beam_size=decode.beam_size,
            max_batch_size=max(1, self.batch_tokens // decode.beam_size),
            batch_type="tokens",
            max_input_length=0,
            max_decoding_length=min(256, self.max_positions),  # CTranslate2's default is 256
        )

    def _generate(self, batches: Iterable[Sources], decode: DecodeSettings) -> Iterator[list[list[Hypothesis]]]:
        if supports(decode):
            return self._generate_ahead(iter(batches), decode)
        if self._fallback is None or self._compute_type != "float32":
            raise SettingsError(
                "CTranslate2 does not support decode.temperature, decode.prefix, or decode.log_probabilities with "
                "decode.min_length or decode.no_repeat_ngram_size; torch does: leave --backend and --compute-type out"
            )
        return self._fallback()._generate(batches, decode)

    def _generate_ahead(self, batches: Iterator[Sources], decode: DecodeSettings) -> Iterator[list[list[Hypothesis]]]:
        """Yield the hypotheses of each batch. Meanwhile, CTranslate2 already computes the next batches."""
        first = self._measure_workers(batches, decode) if self.workers(decode) == UNKNOWN else []
        more = list(islice(batches, 3))
        first += ((batch, []) for batch in more)
        # Whether there is only one batch, apart from the empty batch that marks the end of a window.
        is_single = len(more) < 3 and sum(bool(batch) for batch, _ in first) < 2
        workers = 1 if is_single else self._best.get(decode.beam_size, 1)
        engine = self._engines[workers]
        all_batches = chain(first, ((batch, []) for batch in batches))
        submitted = ((batch, pending or self._search(engine, batch, decode)) for batch, pending in all_batches)
        # If a batch needs a second search, CTranslate2 first computes the batches that are already submitted. Their
        # results are kept here until the second search ends, so that results are yielded in the order of the batches.
        kept: deque[tuple[Sources, list[_Found], dict[int, Any]]] = deque()
        for batch, pending in _keep_in_flight(submitted, _BATCHES_AHEAD * workers):
            found = [_wait(result) for result in pending]
            kept.append((batch, found, self._search_again(engine, batch, found, decode)))
            while kept and all(result.done() for result in kept[0][2].values()):
                yield self._hypotheses(*kept.popleft(), decode)
        yield from (self._hypotheses(*results, decode) for results in kept)

    def _measure_workers(self, batches: Iterator[Sources], decode: DecodeSettings) -> list[tuple[Sources, _Pending]]:
        """Translate some of the first batches with different numbers of workers and store the fastest number.

        Return all batches that were taken from `batches`. A batch that was translated comes with its results.
        """
        if not self._measuring.acquire(blocking=False):
            return []  # another thread is measuring, and two measurements would disturb each other
        try:
            worker_counts = [self._cores >> halvings for halvings in range(self._cores.bit_length())]
            first: list[Sources] = []
            ends = 0
            for batch in islice(batches, len(worker_counts) * 4 * self._cores):
                first.append(batch)
                ends += not batch
                enough = len(first) - ends >= len(worker_counts) * self._cores
                # Stop at the end of a window if there are enough batches. One window may have too few batches, or none.
                if not batch and (enough or ends == _MAX_TRIAL_WINDOWS):
                    break
            nonempty = {index: batch for index, batch in enumerate(first) if batch}
            results = self._choose_workers(worker_counts, nonempty, decode)
        finally:
            self._measuring.release()
        return [(batch, results.get(index, [])) for index, batch in enumerate(first)]

    def _choose_workers(
        self, worker_counts: list[int], batches: dict[int, Sources], decode: DecodeSettings
    ) -> dict[int, _Pending]:
        """Translate some batches with each number of workers, store the fastest number, and return the results.

        A small model is fastest if each core computes its own batch, and a large model if all cores share one batch.
        For models in between, it depends on the beam size.
        """
        results: dict[int, _Pending] = {}
        share = len(batches) // len(worker_counts)
        if share < self._cores:
            return results
        # Measure in two rounds if there are enough batches. In each round, all workers get the same number of batches.
        rounds = 2 if share >= 2 * self._cores else 1
        share = share // (rounds * self._cores) * rounds * self._cores
        indices = list(batches)[: share * len(worker_counts)]
        best, chosen = 0.0, (1, self._engines[1])
        for number, workers in enumerate(worker_counts):
            engine = self._engines.get(workers) or self._open(workers)
            self._time(engine, [batches[indices[-1]]] * workers, decode)  # warm-up
            # Batches are sorted by length; taking every n-th one gives each number of workers long and short batches.
            own_indices = indices[number :: len(worker_counts)]
            speeds = []
            for round_indices in (own_indices[first::rounds] for first in range(rounds)):
                speed, pending = self._time(engine, [batches[index] for index in round_indices], decode)
                speeds.append(speed)
                results.update(zip(round_indices, pending, strict=True))
            # The largest number of workers is tried first. A smaller number must be 15 % faster in every round to
            # replace it, because a short disturbance can make any number look slow.
            if min(speeds) < 1.15 * best:
                break
            best, chosen = max(speeds), (workers, engine)
        self._engines[chosen[0]] = chosen[1]
        self._best[decode.beam_size] = chosen[0]
        return results

    def _time(
        self, engine: ctranslate2.Translator, batches: list[Sources], decode: DecodeSettings
    ) -> tuple[float, list[_Pending]]:
        """Translate batches; return the speed in generated tokens per second, and the results."""
        started = time.perf_counter()
        pending = [self._search(engine, batch, decode) for batch in batches]
        tokens = sum(len(result.result().hypotheses[0]) for batch_results in pending for result in batch_results)
        return tokens / (time.perf_counter() - started), pending

    def _search(self, engine: ctranslate2.Translator, batch: Sources, decode: DecodeSettings) -> _Pending:
        if not batch:
            return []
        pending: _Pending = engine.translate_batch(
            self._to_tokens([source.ids for source in batch]),
            beam_size=decode.beam_size,
            num_hypotheses=decode.beam_size,
            length_penalty=_NO_LENGTH_PENALTY,
            max_decoding_length=max(source.limit for source in batch),
            min_decoding_length=decode.min_length,
            no_repeat_ngram_size=decode.no_repeat_ngram_size,
            max_input_length=0,
            return_scores=decode.scores or decode.beam_size > 1,  # beam search needs scores to rank the hypotheses
            return_end_token=True,
            asynchronous=True,
        )
        return pending

    def _to_tokens(self, sources: Sequence[Sequence[int]]) -> list[list[str]]:
        return [[self._names[token_id] for token_id in source] for source in sources]

    def _search_again(
        self, engine: ctranslate2.Translator, batch: Sources, found: list[_Found], decode: DecodeSettings
    ) -> dict[int, Any]:
        """Search again for the sources whose translation exceeded their own length limit; return the results by index.

        If a translation stayed below the limit of its own source, the larger limit of the batch made no difference. A
        greedy search needs no second search unless its score is needed: its result can simply be truncated.
        """
        if decode.beam_size == 1 and not decode.scores:
            return {}
        largest = max((source.limit for source in batch), default=0)
        by_limit: dict[int, list[int]] = {}
        for index, (source, hypotheses) in enumerate(zip(batch, found, strict=True)):
            if max(len(tokens) for tokens, _ in hypotheses) >= source.limit < largest:
                by_limit.setdefault(source.limit, []).append(index)
        again: dict[int, Any] = {}
        for indices in by_limit.values():
            pending = self._search(engine, [batch[index] for index in indices], decode)
            again.update(zip(indices, pending, strict=True))
        return again

    def _hypotheses(
        self, batch: Sources, found: list[_Found], again: dict[int, Any], decode: DecodeSettings
    ) -> list[list[Hypothesis]]:
        """Return the best hypotheses of each source, with the log-probability of each token if requested."""
        for index, result in again.items():
            found[index] = _wait(result)
        best = [self._best_of(results, source.limit, decode) for source, results in zip(batch, found, strict=True)]
        if not decode.log_probabilities:
            return best
        pairs = [(source, each) for source, hypotheses in zip(batch, best, strict=True) for each in hypotheses]
        scored = zip(pairs, self._score_tokens([(source.ids, each.token_ids) for source, each in pairs]), strict=True)
        # A hypothesis that reached its length limit does not end with EOS, so the log-probability of EOS is dropped.
        rescored = (
            Hypothesis.of(each.token_ids, logs[: source.limit], decode.length_penalty)
            for (source, each), logs in scored
        )
        return [list(islice(rescored, len(hypotheses))) for hypotheses in best]

    def _best_of(self, found: _Found, limit: int, decode: DecodeSettings) -> list[Hypothesis]:
        """Rank the hypotheses of one source with the paper's length penalty and return the `n_best` best."""
        scored = [
            (log / length_penalty(len(tokens), decode.length_penalty), log, tokens[:limit]) for tokens, log in found
        ]
        best = sorted(scored, key=lambda hypothesis: -hypothesis[0])[: decode.n_best]
        return [Hypothesis(self._to_ids(tokens), log, score, ()) for score, log, tokens in best]

    def _to_ids(self, tokens: list[str]) -> tuple[int, ...]:
        """Return the ids of tokens, without the id of a final EOS."""
        ids = [self._ids[token] for token in tokens]
        return tuple(ids[:-1] if ids[-1:] == [EOS] else ids)

    def _score_tokens(self, pairs: TokenPairs) -> list[tuple[float, ...]]:
        scored: dict[int, tuple[float, ...]] = {}
        # CTranslate2 keeps the logits of a whole batch in memory, so batches must be small.
        for batch in length_buckets([max(map(len, pair)) for pair in pairs], 2048):
            sources, targets = (self._to_tokens([pairs[index][side] for index in batch]) for side in (0, 1))
            results = self._engines[1].score_batch(sources, targets, max_input_length=0)
            scored.update((index, tuple(result.log_probs)) for index, result in zip(batch, results, strict=True))
        return [scored[index] for index in range(len(pairs))]

    def _attend(self, pairs: TokenPairs) -> list[Any]:
        # The attention weights that a search returns do not always belong to the hypothesis. They do if the whole
        # target is given as a prefix.
        sources, targets = (self._to_tokens([pair[side] for pair in pairs]) for side in (0, 1))
        results = self._engines[1].translate_batch(
            sources,
            target_prefix=targets,
            beam_size=1,
            max_decoding_length=min(max(map(len, targets)) + 1, self.max_positions),
            max_input_length=0,
            return_end_token=True,
            return_attention=True,
        )
        return [result.attention[0][: len(target) + 1] for result, target in zip(results, targets, strict=True)]


def _keep_in_flight(items: Iterable[_T], count: int) -> Iterator[_T]:
    """Yield items in order. The next `count` items are taken before an item is yielded, so that they start early."""
    in_flight: deque[_T] = deque()
    for item in items:
        in_flight.append(item)
        if len(in_flight) > count:
            yield in_flight.popleft()
    yield from in_flight


def _wait(result: Any) -> _Found:
    """Wait for the search of one source to end; return its hypotheses, the most probable first."""
    done = result.result()
    return list(zip(done.hypotheses, done.scores or [math.nan], strict=True))


def supports(decode: DecodeSettings) -> bool:
    """Return whether CTranslate2 gives the same text and the same scores as torch with these settings."""
    forbids_tokens = decode.min_length > 0 or decode.no_repeat_ngram_size > 0
    return not (decode.temperature or decode.prefix or (decode.log_probabilities and forbids_tokens))
