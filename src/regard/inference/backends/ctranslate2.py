"""The CTranslate2 backend, which does not need torch. It gives the same text as torch, only faster.

CTranslate2 searches by the same rule as torch if it is asked for K hypotheses without a length penalty; this module
then ranks them with the paper's length penalty. CTranslate2 has one length limit for a whole batch. If a translation
exceeds the limit of its own source, the source is searched again with that limit, or the translation is truncated where
this gives the same result.

Threads that share a batch wait for each other thousands of times per sentence. If a process has more of them than
cores, OpenMP puts waiting threads to sleep almost at once, and a sentence takes many times as long. Therefore only one
model of a process has such threads, the first that is loaded. Every other model computes each batch with one thread,
so a sentence takes longer with it if the model is wide. The models cannot take turns: OpenMP also counts the threads of
a model that is idle.
"""

import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import islice, repeat
from pathlib import Path
from threading import Lock
from typing import Any

import ctranslate2
import numpy as np

from regard.errors import SettingsError
from regard.inference.backends.core_allocation import CoreAllocation, CoreAllocations, is_small
from regard.inference.backends.interface import Backend, Batching, Sources, TokenPairs, with_attention
from regard.inference.length_buckets import length_buckets
from regard.inference.search.hypothesis import Hypothesis, length_penalty
from regard.interchange.ctranslate2.support import supports_decode
from regard.settings.decode import DecodeSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS

# Any length raised to this power is 1, so CTranslate2 applies no length penalty. With exactly 0, CTranslate2 would also
# end a search at a different step.
_NO_LENGTH_PENALTY = 1e-30

_BATCH_TOKENS = 4096  # larger batches are not faster (measured on two cores)

# Even the shortest source needs memory for the logits of the whole vocabulary, so it counts as 7 tokens and EOS.
_MIN_SOURCE_TOKENS = 7

_SCORED_TOKENS = 2048  # CTranslate2 keeps the logits of a whole scored batch in memory, so such batches are smaller

_BATCHES_AHEAD = 3  # the number of batches submitted per worker

# Held by the model whose threads share batches. All models of a process run on the same cores, so there is one lock.
_SHARED_THREADS = Lock()

_Found = list[tuple[list[str], float]]  # the tokens of each hypothesis, including EOS, and its log-probability


class CTranslate2Backend(Backend):
    """Exported model files that run with CTranslate2 on the CPU."""

    def __init__(
        self,
        files: Path,
        tokenizer: SentencePieceTokenizer,
        *,
        max_positions: int,
        cores: CoreAllocations,
        compute_type: str = "float32",
    ) -> None:
        """Load exported model files. The cores are used as `cores` says, but see above for a second model."""
        self._files, self._compute_type, self._max_positions = str(files), compute_type, max_positions
        self._names = tokenizer.tokens(range(tokenizer.size))
        self._ids = {name: token_id for token_id, name in enumerate(self._names)}
        self._release = _nothing
        if cores.small.threads > 1:
            if _SHARED_THREADS.acquire(blocking=False):
                self._release = weakref.finalize(self, _SHARED_THREADS.release)
            else:
                cores = replace(cores, small=cores.large)
        self.cores = cores
        self._opening = Lock()
        self._engines: dict[CoreAllocation, ctranslate2.Translator] = {}
        self._engine(cores.small)  # reports a file that cannot be loaded
        # Twice as many threads as workers: while the results of a batch are read, its worker computes the next batch.
        self._executor = ThreadPoolExecutor(2 * cores.large.workers, thread_name_prefix="ctranslate2")

    def batching(self, decode: DecodeSettings) -> Batching:
        _check_supported(decode)
        workers = self.cores.large.workers
        return Batching(_BATCH_TOKENS, _MIN_SOURCE_TOKENS, workers, _BATCHES_AHEAD * workers)

    def generate(
        self, batch: Sources, decode: DecodeSettings, *, sentences: int | None = None
    ) -> Future[list[list[Hypothesis]]]:
        _check_supported(decode)
        engine = self.engine(len(batch) if sentences is None else sentences, decode.beam_size)
        return self._executor.submit(self._generate, batch, decode, engine)

    def score(self, pairs: TokenPairs) -> list[tuple[float, ...]]:
        return self._score_all(pairs, self.engine(len(pairs), 1), self._executor.map)

    def attend(self, pairs: TokenPairs) -> list[Any]:
        return self._attend(pairs, self.engine(len(pairs), 1))

    def _attend(self, pairs: TokenPairs, engine: ctranslate2.Translator) -> list[Any]:
        # The attention weights that a search returns do not always belong to the hypothesis. They do if the whole
        # target is given as a prefix.
        sources, targets = (self._to_tokens([pair[side] for pair in pairs]) for side in (0, 1))
        results = engine.translate_batch(
            sources,
            target_prefix=targets,
            beam_size=1,
            max_decoding_length=min(max(map(len, targets)) + 1, self._max_positions),
            max_input_length=0,
            return_end_token=True,
            return_attention=True,
        )
        # As arrays, because lists of numbers take eight times the memory, and a batch may wait for those before it.
        return [
            np.array(result.attention[0][: len(target) + 1], np.float32)
            for result, target in zip(results, targets, strict=True)
        ]

    def close(self) -> None:
        self._executor.shutdown(cancel_futures=True)
        self._engines.clear()
        self._release()

    def engine(self, sentences: int, beam_size: int) -> ctranslate2.Translator:
        """Return the CTranslate2 translator for this many sentences that are translated at the same time."""
        return self._engine(self.cores.small if is_small(sentences, beam_size) else self.cores.large)

    def _engine(self, cores: CoreAllocation) -> ctranslate2.Translator:
        """Return the CTranslate2 translator with this allocation, which is loaded when it is first needed."""
        with self._opening:
            if cores not in self._engines:
                self._engines[cores] = ctranslate2.Translator(
                    self._files,
                    device="cpu",
                    compute_type=self._compute_type,
                    inter_threads=cores.workers,
                    intra_threads=cores.threads,
                    max_queued_batches=-1,
                )
            return self._engines[cores]

    def _to_tokens(self, sources: Sequence[Sequence[int]]) -> list[list[str]]:
        return [[self._names[token_id] for token_id in source] for source in sources]

    def _generate(
        self, batch: Sources, decode: DecodeSettings, engine: ctranslate2.Translator
    ) -> list[list[Hypothesis]]:
        """Return the best hypotheses of each source, with log-probabilities of tokens and attention if requested."""
        found = self._search(batch, decode, engine)
        for indices in _too_long(batch, found, decode):
            again = self._search([batch[index] for index in indices], decode, engine)
            for index, hypotheses in zip(indices, again, strict=True):
                found[index] = hypotheses
        best = [self._best_of(results, source.limit, decode) for source, results in zip(batch, found, strict=True)]
        if decode.log_probabilities:
            best = self._with_log_probabilities(batch, best, decode, engine)
        return with_attention(batch, best, lambda pairs: self._attend(pairs, engine)) if decode.alignment else best

    def _with_log_probabilities(
        self, batch: Sources, best: list[list[Hypothesis]], decode: DecodeSettings, engine: ctranslate2.Translator
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses with the log-probability of each token."""
        pairs = [(source, each) for source, hypotheses in zip(batch, best, strict=True) for each in hypotheses]
        ids = [(source.ids, each.token_ids) for source, each in pairs]
        # One after the other: this is a thread of the executor, which must not wait for other threads of the executor.
        scored = self._score_all(ids, engine, map)
        # A hypothesis that reached its length limit does not end with EOS, so the log-probability of EOS is dropped.
        rescored = (
            replace(
                Hypothesis.of(each.token_ids, _complete(values[: source.limit], each), decode.length_penalty),
                tokens=each.tokens,
            )
            for values, (source, each) in zip(scored, pairs, strict=True)
        )
        return [list(islice(rescored, len(hypotheses))) for hypotheses in best]

    def _search(self, batch: Sources, decode: DecodeSettings, engine: ctranslate2.Translator) -> list[_Found]:
        """Return the hypotheses of each source, the most probable first."""
        results = engine.translate_batch(
            self._to_tokens([source.ids for source in batch]),
            beam_size=decode.beam_size,
            num_hypotheses=decode.beam_size,
            length_penalty=_NO_LENGTH_PENALTY,
            max_decoding_length=max(source.limit for source in batch),
            min_decoding_length=decode.min_length,
            no_repeat_ngram_size=decode.no_repeat_ngram_size,
            max_input_length=0,
            # Beam search needs scores to rank the hypotheses, and `_complete` needs them too.
            return_scores=decode.scores or decode.log_probabilities or decode.beam_size > 1,
            return_end_token=True,
        )
        return [list(zip(result.hypotheses, result.scores or [math.nan], strict=True)) for result in results]

    def _best_of(self, found: _Found, limit: int, decode: DecodeSettings) -> list[Hypothesis]:
        """Rank the hypotheses of one source with the paper's length penalty and return the `n_best` best."""
        scored = [
            (log / length_penalty(len(tokens), decode.length_penalty), log, tokens[:limit]) for tokens, log in found
        ]
        best = sorted(scored, key=lambda hypothesis: -hypothesis[0])[: decode.n_best]
        return [self._hypothesis(tokens, log, score) for score, log, tokens in best]

    def _hypothesis(self, tokens: list[str], log_probability: float, score: float) -> Hypothesis:
        if tokens[-1:] == [self._names[EOS]]:
            tokens = tokens[:-1]
        ids = tuple(self._ids[token] for token in tokens)
        return Hypothesis(ids, log_probability, score, (), tuple(tokens))

    def _score_all(
        self, pairs: TokenPairs, engine: ctranslate2.Translator, map_batches: Callable[..., Iterator[Any]]
    ) -> list[tuple[float, ...]]:
        """Score pairs in batches of similar length. `map_batches` is `map`, or the parallel `map` of an executor.

        The last token of a target that fills all positions is not scored, because CTranslate2 always adds EOS.
        """
        buckets = list(length_buckets([max(map(len, pair)) for pair in pairs], _SCORED_TOKENS))
        scored: dict[int, tuple[float, ...]] = {}
        batches = ([pairs[index] for index in bucket] for bucket in buckets)
        for bucket, log_probabilities in zip(buckets, map_batches(self._score, batches, repeat(engine)), strict=True):
            scored.update(zip(bucket, log_probabilities, strict=True))
        return [scored[index] for index in range(len(pairs))]

    def _score(self, pairs: TokenPairs, engine: ctranslate2.Translator) -> list[tuple[float, ...]]:
        sources, targets = (self._to_tokens([pair[side] for pair in pairs]) for side in (0, 1))
        most = self._max_positions - 1
        results = engine.score_batch(sources, [target[:most] for target in targets], max_input_length=0)
        return [
            tuple(result.log_probs[: most if len(target) > most else None])
            for result, target in zip(results, targets, strict=True)
        ]


def _complete(log_probabilities: tuple[float, ...], hypothesis: Hypothesis) -> tuple[float, ...]:
    """Add the log-probability of the last token of a hypothesis that fills all positions."""
    if len(log_probabilities) >= len(hypothesis.token_ids):
        return log_probabilities
    return (*log_probabilities, hypothesis.log_probability - math.fsum(log_probabilities))


def _check_supported(decode: DecodeSettings) -> None:
    if not supports_decode(decode):
        raise SettingsError(
            "CTranslate2 does not support decode.temperature, decode.prefix, or decode.log_probabilities with "
            "decode.min_length or decode.no_repeat_ngram_size; torch does: leave --backend and --compute-type out"
        )


def _too_long(batch: Sources, found: list[_Found], decode: DecodeSettings) -> list[list[int]]:
    """Return the indices of the sources to be searched again with their own length limit, grouped by that limit.

    If a translation stayed below the limit of its own source, the larger limit of the batch made no difference. A
    greedy search needs no second search unless its score is needed: its result can simply be truncated.
    """
    if decode.beam_size == 1 and not decode.scores:
        return []
    largest = max(source.limit for source in batch)
    by_limit: dict[int, list[int]] = {}
    for index, (source, hypotheses) in enumerate(zip(batch, found, strict=True)):
        if max(len(tokens) for tokens, _ in hypotheses) >= source.limit < largest:
            by_limit.setdefault(source.limit, []).append(index)
    return list(by_limit.values())


def _nothing() -> None:
    """Do nothing: the backend has no threads to release."""
