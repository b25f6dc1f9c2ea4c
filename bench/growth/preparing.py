"""Data made ready as `regard train` does it, from a file of pairs to ids on disk: python -m growth.preparing COUNT."""

import sys
import tempfile
import time
from pathlib import Path

from growth import corpus
from growth.child import tell

from regard.data.check.corpus_report import check_corpora
from regard.data.formats.corpus import corpora
from regard.data.prepare.text_store import build_text_store
from regard.data.prepare.token_store import build_token_store
from regard.progress import run_to_end
from regard.settings.sections import assemble
from regard.settings.sizes import SIZES
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.vocabulary import choose_vocab_size, train_tokenizer


def main(count: int) -> None:
    settings = assemble(SIZES["tiny"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus.write(folder / "pairs.tsv", count)
        began = time.perf_counter()

        def done(stage: str, **facts: int) -> None:
            nonlocal began
            tell(stage=stage, seconds=round(time.perf_counter() - began, 3), **facts)
            began = time.perf_counter()

        train = corpora([folder / "pairs.tsv"])
        report = run_to_end(check_corpora(train))
        done("check", repeated=sum(one.count for one in report.findings if one.kind == "duplicates"))
        texts = run_to_end(build_text_store(folder / "texts", train, [], seed=1))
        done("texts")
        kind, pieces = settings.tokenizer.kind, choose_vocab_size(texts.words)
        tokenizer = SentencePieceTokenizer(train_tokenizer(texts.train.sentences(), kind=kind, vocab_size=pieces))
        done("pieces", pieces=tokenizer.size)
        shards = run_to_end(
            build_token_store(folder / "shards", texts, tokenizer, longest=settings.model.max_positions)
        )
        done("ids", pairs=len(shards.train) + len(shards.valid))


if __name__ == "__main__":
    main(int(sys.argv[1]))
