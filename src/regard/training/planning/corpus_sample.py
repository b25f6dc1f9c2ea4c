"""A small sample of the training data, tokenized as a run would tokenize it."""

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

SAMPLE = 20_000  # pairs: pieces found in them are close to those found in all


@dataclass(frozen=True)
class Sample:
    """Some of the training data, prepared; `long` are all pairs that may be too long, `tokens` a whole epoch's."""

    texts: TextStore
    tokenizer: SentencePieceTokenizer
    shards: EncodedCorpus
    long: Corpus
    tokens: int


def take_sample(folder: Path, train: Sequence[Corpus], report: CorpusReport, settings: Settings) -> Work[Sample]:
    """Prepare a sample of the training data in a folder, as `train` would prepare all of it."""
    pairs = training_pairs(report)
    some, long = yield from _sample(folder, train, pairs, settings.model.max_positions)
    texts = yield from build_text_store(folder / "texts", [some], [some], seed=1)
    yield Progress("finding pieces", 0, 1)
    data = train_tokenizer(
        texts.train.sentences(),
        kind=settings.tokenizer.kind,
        vocab_size=settings.tokenizer.vocab_size or choose_vocab_size(texts.words * pairs // len(texts.train)),
    )
    tokenizer = SentencePieceTokenizer(data)
    shards = yield from build_token_store(folder / "ids", texts, tokenizer, longest=settings.model.max_positions)
    drawn = sum(corpus.weight * corpus.pairs for corpus in report.corpora if corpus.split == "training")
    tokens = math.ceil(len(shards.train.target_ids) * drawn / len(shards.train))
    return Sample(texts, tokenizer, shards, long, tokens)


def training_pairs(report: CorpusReport) -> int:
    return next(part.pairs for part in report.splits if part.name == "training")


def _sample(folder: Path, train: Sequence[Corpus], pairs: int, longest: int) -> Work[tuple[Corpus, Corpus]]:
    """Evenly spread pairs with text on both sides, and beside them all that may be too long, as two corpora on disk."""
    every = max(1, pairs // SAMPLE)
    names = [tuple(folder / f"{name}.{side}" for side in SIDES) for name in ("sample", "long")]
    with ExitStack() as stack:
        sample, long = (
            [stack.enter_context(path.open("w", encoding="utf-8", newline="\n")) for path in paths] for paths in names
        )
        count = 0
        for _, record, progress in read_all("taking a sample", train):
            if progress is not None:
                yield progress
            if isinstance(record, InvalidRecord) or not record.source.strip() or not record.target.strip():
                continue
            for chosen, files in ((count % every == 0, sample), (_may_exceed(record, longest), long)):
                if chosen:
                    files[0].write(record.source + "\n")
                    files[1].write(record.target + "\n")
            count += 1
    return Corpus(names[0]), Corpus(names[1])


def _may_exceed(pair: Pair, longest: int) -> bool:
    """Whether a side could have more pieces than allowed: one for each byte at worst, and a few for its escapes."""
    return any(
        4 * len(text.encode()) // 3 + 3 > longest for text in (pair.source, pair.target) if 8 * len(text) > longest
    )
