"""Takes a small sample of the training data and tokenizes it as a training run would."""

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from regard.data.check.corpus_report import CorpusReport
from regard.data.formats.corpus import Corpus
from regard.data.formats.pairs import read_all
from regard.data.formats.records import SIDES, InvalidRecord, Pair
from regard.data.prepare.text_store import TextStore, build_text_store
from regard.data.prepare.token_store import EncodedCorpus, build_token_store
from regard.progress import Progress, Work
from regard.settings.sections import Settings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.vocabulary import choose_vocab_size, train_tokenizer

SAMPLE_PAIRS = 20_000  # size of the sample; a tokenizer trained on it is close to one trained on all the data


@dataclass(frozen=True)
class CorpusSample:
    """A sample of the training data, as texts and as token ids, with a tokenizer trained on it.

    Two fields describe all the training data instead of the sample: `long_pairs` are the pairs that may be too long,
    and `epoch_tokens` is the estimated number of target tokens.
    """

    texts: TextStore
    tokenizer: SentencePieceTokenizer
    corpus: EncodedCorpus
    long_pairs: Corpus
    epoch_tokens: int


def take_sample(folder: Path, train: Sequence[Corpus], report: CorpusReport, settings: Settings) -> Work[CorpusSample]:
    """Take a sample of the training data and prepare it in a folder, as a run would prepare all the data."""
    pairs = training_pairs(report)
    sample, long_pairs = yield from _write_sample(folder, train, pairs, settings.model.max_positions)
    texts = yield from build_text_store(folder / "texts", [sample], [sample], seed=1)
    yield Progress("training the tokenizer", 0, 1)
    data = train_tokenizer(
        texts.train.sample_texts(),
        kind=settings.tokenizer.kind,
        vocab_size=settings.tokenizer.vocab_size or choose_vocab_size(texts.words * pairs // len(texts.train)),
        placeholders=settings.tokenizer.placeholders,
    )
    tokenizer = SentencePieceTokenizer(data)
    corpus = yield from build_token_store(folder / "ids", texts, tokenizer, max_positions=settings.model.max_positions)
    epoch_pairs = sum(entry.weight * entry.pairs for entry in report.corpora if entry.split == "training")
    epoch_tokens = math.ceil(len(corpus.train.target.values) * epoch_pairs / len(corpus.train))
    return CorpusSample(texts, tokenizer, corpus, long_pairs, epoch_tokens)


def training_pairs(report: CorpusReport) -> int:
    """Return the number of training pairs that a corpus report counted."""
    return next(split.pairs for split in report.splits if split.name == "training")


def _write_sample(folder: Path, train: Sequence[Corpus], pairs: int, max_positions: int) -> Work[tuple[Corpus, Corpus]]:
    """Write and return two corpora: a sample of evenly spaced pairs, and all pairs that may be too long.

    Unreadable pairs and pairs with an empty side are left out.
    """
    interval = max(1, pairs // SAMPLE_PAIRS)
    names = [tuple(folder / f"{name}.{side}" for side in SIDES) for name in ("sample", "long")]
    with ExitStack() as stack:
        sample, long_pairs = (
            [stack.enter_context(path.open("w", encoding="utf-8", newline="\n")) for path in paths] for paths in names
        )
        count = 0
        for _, record, progress in read_all("taking a sample", train):
            if progress is not None:
                yield progress
            if isinstance(record, InvalidRecord) or not record.source.strip() or not record.target.strip():
                continue
            for is_chosen, files in ((count % interval == 0, sample), (_may_exceed(record, max_positions), long_pairs)):
                if is_chosen:
                    files[0].write(record.source + "\n")
                    files[1].write(record.target + "\n")
            count += 1
    return Corpus(names[0]), Corpus(names[1])


def _may_exceed(pair: Pair, max_positions: int) -> bool:
    """Return whether the source or the target may have more than `max_positions` tokens.

    In the worst case, a text has one token per byte, and a few more for escaped characters.
    """
    return any(
        4 * len(text.encode()) // 3 + 3 > max_positions
        for text in (pair.source, pair.target)
        if 8 * len(text) > max_positions
    )
