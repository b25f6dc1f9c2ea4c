"""Tokenised text for other systems, which then train on the same tokens as Regard."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS


def write_tokenized(folder: Path, texts: Mapping[str, Sequence[str]], tokenizer_data: bytes) -> None:
    """Write each text raw and, in `tokens/`, with spaces between its tokens; also the tokenizer and the vocabulary."""
    tokenizer = SentencePieceTokenizer(tokenizer_data)
    (folder / "tokens").mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.model").write_bytes(tokenizer_data)
    write_lines(folder / "tokens" / "vocabulary", tokenizer.tokens(range(EOS + 1, tokenizer.size)))
    for name, lines in texts.items():
        write_lines(folder / name, lines)
        write_lines(folder / "tokens" / name, [" ".join(tokenizer.tokens(ids)) for ids in tokenizer.encode(lines)])


def write_lines(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
