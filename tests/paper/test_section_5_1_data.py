"""Section 5.1: training data and batching."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from tests.paper.paper_sizes import BASE, BIG, PAPER_VOCAB_SIZE

from regard.data.batching.batches import batches
from regard.data.prepare.token_store import EncodedPairs
from regard.errors import SettingsError
from regard.settings.parser import user_overrides
from regard.settings.sections import assemble
from regard.settings.sizes import size_overrides
from regard.tokenizers.special_ids import EOS, PAD
from regard.tokenizers.vocabulary import choose_vocab_size
from regard.training.step import micro_batches_per_step


def test_the_vocabulary_is_byte_pairs_shared_by_both_languages():
    """Section 5.1: byte-pair encoding, with one vocabulary for source and target."""
    assert (BASE.tokenizer.kind, BIG.tokenizer.kind) == ("bpe", "bpe")
    shared = BASE.model.with_vocab_size(PAPER_VOCAB_SIZE)
    assert shared.source_vocab_size == shared.target_vocab_size == PAPER_VOCAB_SIZE
    with pytest.raises(SettingsError, match="must be equal, because source and target share one embedding matrix"):
        replace(shared, source_vocab_size=32_000)


def test_a_corpus_like_the_papers_gets_a_vocabulary_of_37_000():
    """Section 5.1: 4.5 million pairs and about 37,000 tokens; 32,000 for English-French."""
    assert BASE.tokenizer.vocab_size == 0  # chosen by the size of the corpus
    assert choose_vocab_size(words=2 * 4_500_000 * 25) == PAPER_VOCAB_SIZE
    assert (
        assemble(size_overrides("big"), user_overrides(["tokenizer.vocab_size=32000"])).tokenizer.vocab_size == 32_000
    )


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> EncodedPairs:
    """Pairs with the lengths of news sentences: 4 to 80 tokens, with similar lengths on both sides."""
    folder: Path = tmp_path_factory.mktemp("corpus")
    random = np.random.default_rng(1)
    source = np.clip(random.gamma(3, 9, 20_000), 4, 80).astype(np.int64)
    target = np.clip(source * random.normal(1.05, 0.15, len(source)), 4, 80).astype(np.int64)
    for side, lengths in (("source", source), ("target", target)):
        starts = np.concatenate([[0], np.cumsum(lengths)])
        np.full(starts[-1], EOS, dtype=np.uint16).tofile(folder / f"{side}.values")
        starts.astype(np.int64).tofile(folder / f"{side}.starts")
    np.zeros((len(source), 2), dtype=np.int64).tofile(folder / "lines")
    return EncodedPairs(folder, "uint16")


@pytest.mark.parametrize("size", [BASE, BIG], ids=["base", "big"])
def test_a_step_has_about_25_000_source_and_25_000_target_tokens(size, corpus):
    """Section 5.1: a batch has pairs with about 25,000 tokens on each side."""
    assert size.train.batch_tokens == 25_000
    stream = batches(corpus, tokens=size.train.micro_batch_tokens, seed=1)
    source, target = [], []
    for _ in range(8):
        step = [batch for batch, _ in islice(stream, micro_batches_per_step(size.train))]
        source.append(sum(int((batch.source.values != PAD).sum()) for batch in step))
        target.append(sum(batch.target_tokens for batch in step))
    assert np.mean(target) == pytest.approx(25_000, rel=0.1)
    assert np.mean(source) == pytest.approx(25_000, rel=0.1)


def test_pairs_of_similar_length_are_batched_together(corpus):
    """Section 5.1: sentence pairs are batched by approximate length."""
    for batch, _ in islice(batches(corpus, tokens=BASE.train.micro_batch_tokens, seed=1), 40):
        longer = np.maximum((batch.source.values != PAD).sum(axis=1), (batch.target.values != PAD).sum(axis=1))
        assert longer.max() - longer.min() <= 4
