"""Text cut into pieces, for programs that are to learn from the very pieces Regard learns from."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS


def cut(folder: Path, texts: Mapping[str, Sequence[str]], tokenizer_data: bytes) -> None:
    """Write each text as it is and, in `pieces/`, with spaces between its pieces; tokenizer and vocabulary too."""
    tokenizer = SentencePieceTokenizer(tokenizer_data)
    (folder / "pieces").mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.model").write_bytes(tokenizer_data)
    write_lines(folder / "pieces" / "vocabulary", tokenizer.tokens(range(EOS + 1, tokenizer.size)))
    for name, lines in texts.items():
        write_lines(folder / name, lines)
        write_lines(folder / "pieces" / name, [" ".join(tokenizer.tokens(ids)) for ids in tokenizer.encode(lines)])


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """One text a line."""
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
