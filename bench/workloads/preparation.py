"""Prepare data as `regard train` does, from a file of pairs to token ids: python -m workloads.preparation COUNT."""

import sys
import tempfile
import time
from pathlib import Path

from common.child_process import report
from common.corpora import write_distinct_pairs

from regard.data.check.corpus_report import check_corpora
from regard.data.formats.corpus import corpora
from regard.data.prepare.text_store import build_text_store
from regard.data.prepare.token_store import build_token_store
from regard.progress import run_to_end
from regard.settings.kinds.transformer import SIZES
from regard.settings.sections import assemble
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.vocabulary import choose_vocab_size, train_tokenizer


def main(count: int) -> None:
    settings = assemble(SIZES["tiny"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_distinct_pairs(folder / "pairs.tsv", count)
        began = time.perf_counter()

        def done(stage: str, **facts: int) -> None:
            nonlocal began
            report(stage=stage, seconds=round(time.perf_counter() - began, 3), **facts)
            began = time.perf_counter()

        train = corpora([folder / "pairs.tsv"])
        checked = run_to_end(check_corpora(train))
        done("check", repeated=sum(each.count for each in checked.findings if each.kind == "duplicates"))
        texts = run_to_end(build_text_store(folder / "texts", train, [], seed=1))
        done("texts")
        kind, vocab_size = settings.tokenizer.kind, choose_vocab_size(texts.words)
        tokenizer = SentencePieceTokenizer(
            train_tokenizer(texts.train.sample_texts(), kind=kind, vocab_size=vocab_size)
        )
        done("pieces", pieces=tokenizer.size)
        encoded = run_to_end(
            build_token_store(folder / "tokens", texts, tokenizer, max_positions=settings.model.max_positions)
        )
        done("ids", pairs=len(encoded.train) + len(encoded.valid))


if __name__ == "__main__":
    main(int(sys.argv[1]))
