"""Data made ready as `regard train` does it, from a file of pairs to ids on disk: python -m growth.preparing COUNT."""

import sys
import tempfile
import time
from pathlib import Path

from growth import corpus
from growth.child import tell

from regard.data.check import check
from regard.data.pairs import corpora
from regard.data.shards import prepare_ids
from regard.data.texts import finished, prepare_texts
from regard.data.tokenizer import Tokenizer, choose_size, train_tokenizer
from regard.settings import SIZES, assemble


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
        report = finished(check(train))
        done("check", repeated=sum(one.count for one in report.findings if one.kind == "duplicates"))
        texts = finished(prepare_texts(folder / "texts", train, [], seed=1))
        done("texts")
        kind, pieces = settings.tokenizer.kind, choose_size(texts.words)
        tokenizer = Tokenizer(train_tokenizer(texts.train.sentences(), kind=kind, pieces=pieces))
        done("pieces", pieces=tokenizer.size)
        shards = finished(prepare_ids(folder / "shards", texts, tokenizer, longest=settings.model.longest))
        done("ids", pairs=len(shards.train) + len(shards.valid))


if __name__ == "__main__":
    main(int(sys.argv[1]))
