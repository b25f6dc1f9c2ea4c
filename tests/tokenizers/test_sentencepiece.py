"""The tokenizer: decoding an encoded text returns the text unchanged."""

import time
from pathlib import Path
from typing import Literal

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import DataError, FolderError
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import BOS, BYTES, EOS, FIRST_SUBWORD, PAD, UNK
from regard.tokenizers.vocabulary import choose_vocab_size, train_tokenizer

Kind = Literal["unigram", "bpe"]
KINDS: tuple[Kind, ...] = ("unigram", "bpe")

SENTENCES = [
    "A man in a blue shirt is standing on a ladder cleaning a window.",
    "Un homme en chemise bleue nettoie une fenêtre, debout sur une échelle.",
    "Two young, white males are outside near many bushes.",
    "Deux jeunes hommes blancs sont dehors près de buissons.",
    "A little girl climbing into a wooden playhouse  with two spaces.",
    "Une petite fille grimpe dans une maisonnette en bois.",
] * 5

AWKWARD = [
    "",
    " ",
    "   ",
    "a  double  space",
    " leading and trailing ",
    "no\u00a0break \u202f thin",
    "½ ﬁ Å Å e\u0301",
    "\ttab\tinside",
    "\0",
    "a\0b",
    "carriage\rreturn\r\n",
    "line\nbreak\u2028\u2029\u0085",
    "▁",
    "▁▁ ▁a▁",
    "\uf8fe",
    "\uf8fe0\uf8fe1\uf8fe\uf8fe▁1",
    "▅⁇ ⁇",
    "<s></s><unk><pad><0x41> <0xE2><0x96><0x81>",
    "👩‍👩‍👧‍👦 🇫🇷",
    "\ufeffmark \ufffd \ufffe \U0010ffff",
    "漢字かな 한국어 ไทย עברית",
]


def train(kind: Kind = "unigram", vocab_size: int = 400, sentences: list[str] = SENTENCES) -> SentencePieceTokenizer:
    return SentencePieceTokenizer(train_tokenizer(iter(sentences), kind=kind, vocab_size=vocab_size))


UNIGRAM, BPE = (train(kind) for kind in KINDS)


def assert_unchanged(tokenizer: SentencePieceTokenizer, text: str) -> None:
    ids = tokenizer.encode([text])
    assert tokenizer.decode(ids) == [text]
    assert all(EOS < token_id < tokenizer.size for token_id in ids[0])


@pytest.mark.parametrize("tokenizer", [UNIGRAM, BPE], ids=KINDS)
@pytest.mark.parametrize("text", AWKWARD)
def test_awkward_text_is_decoded_unchanged(tokenizer: SentencePieceTokenizer, text: str) -> None:
    assert_unchanged(tokenizer, text)


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_decoded_unchanged(text: str) -> None:
    for tokenizer in (UNIGRAM, BPE):
        assert_unchanged(tokenizer, text)


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from(" ▁\uf8fe01▅\0\n\tae<s>/é")))
def test_any_text_of_awkward_characters_is_decoded_unchanged(text: str) -> None:
    for tokenizer in (UNIGRAM, BPE):
        assert_unchanged(tokenizer, text)


@pytest.mark.parametrize("tokenizer", [UNIGRAM, BPE], ids=KINDS)
def test_the_work_for_a_long_line_grows_less_than_with_its_square(tokenizer: SentencePieceTokenizer) -> None:
    def processor_seconds(length: int) -> float:
        start = time.process_time()
        for text in ("a man ", "x", " ", "▁", "\0é"):
            assert_unchanged(tokenizer, text * (length // len(text)))
        return time.process_time() - start

    short = min(processor_seconds(10_000) for _ in range(3))
    assert processor_seconds(100_000) < 40 * short  # 10 times as much work if linear, 100 times if quadratic


def test_many_texts_are_encoded_as_one_by_one() -> None:
    texts = AWKWARD * 5
    assert UNIGRAM.encode(texts) == [UNIGRAM.encode([text])[0] for text in texts]
    assert UNIGRAM.decode(UNIGRAM.encode(texts)) == texts
    assert UNIGRAM.encode([]) == []
    assert UNIGRAM.decode([]) == []


@pytest.mark.parametrize("count", [1, 100])
def test_half_a_surrogate_pair_is_refused(count: int) -> None:
    message = (
        r"character 4 of the text \(U\+DC80\) is half of a surrogate pair, .* as UTF-8; the text is 'ab\\u2581\\udc80'"
    )
    with pytest.raises(DataError, match=message):
        UNIGRAM.encode(["fine"] * (count - 1) + ["ab▁\udc80"])


@settings(deadline=None)
@given(st.lists(st.integers(0, UNIGRAM.size - 1)))
def test_any_ids_decode_to_text(ids: list[int]) -> None:
    (text,) = UNIGRAM.decode([ids])
    text.encode()


@pytest.mark.parametrize("tokenizer", [UNIGRAM, BPE], ids=KINDS)
def test_special_tokens_and_bytes_have_fixed_ids(tokenizer: SentencePieceTokenizer) -> None:
    assert (PAD, UNK, BOS, EOS, FIRST_SUBWORD) == (0, 1, 2, 3, 260)
    assert tokenizer.tokens(range(4)) == ["<pad>", "<unk>", "<s>", "</s>"]
    assert tokenizer.tokens(range(4, 260)) == [f"<0x{byte:02X}>" for byte in range(BYTES)]
    assert tokenizer.size > FIRST_SUBWORD


def test_tokens_are_readable_strings() -> None:
    assert "".join(BPE.tokens(BPE.encode(["A man"])[0])) == "▁A▁man"
    assert UNIGRAM.tokens(UNIGRAM.encode(["\x07"])[0])[-1] == "<0x07>"


def test_embedding_rows_are_a_multiple_of_eight_and_padding_rows_are_not_generable() -> None:
    for tokenizer in (UNIGRAM, BPE):
        assert tokenizer.embedding_rows % 8 == 0
        assert 0 <= tokenizer.embedding_rows - tokenizer.size < 8
        padding = tokenizer.embedding_rows - tokenizer.size
        assert tokenizer.generable == [False] * 3 + [True] * (tokenizer.size - 3) + [False] * padding


@pytest.mark.parametrize("kind", KINDS)
def test_training_is_deterministic_and_stores_no_path(kind: Kind) -> None:
    one, other = (train_tokenizer(iter(SENTENCES), kind=kind, vocab_size=400) for _ in range(2))
    assert one == other
    assert str(Path.cwd()).encode() not in one


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "sentences",
    [
        [],
        [""],
        [" "],
        ["a"],
        ["Hi.", "Yo!"],
        ["a\0b\x01\x1b", "\0"],
        ["▅ block", "▅"],
        ["▁ low line", "\uf8fe"],
        ["\n", "a\nb\r\n"],
        ["<s> </s> <unk> <pad> <0x41>"],
        ["x" * 300_000, "y z"],
        ["".join(map(chr, range(0x4E00, 0x5200)))] * 2,
    ],
    ids=lambda sentences: ascii(sentences)[:30],
)
@pytest.mark.parametrize("vocab_size", [300, 2000])
def test_any_corpus_gives_a_tokenizer(kind: Kind, sentences: list[str], vocab_size: int) -> None:
    tokenizer = train(kind, vocab_size, sentences)
    assert tokenizer.size <= vocab_size
    for text in (*AWKWARD, *(sentence[:1000] for sentence in sentences)):
        assert_unchanged(tokenizer, text)


def test_rare_characters_are_encoded_as_bytes() -> None:
    tokenizer = train("bpe", 400, [*SENTENCES * 20, "ŵ"])
    assert tokenizer.tokens(tokenizer.encode(["ŵ"])[0])[-2:] == ["<0xC5>", "<0xB5>"]
    assert len(tokenizer.encode(["é"])[0]) == 2


@pytest.mark.parametrize(("words", "vocab_size"), [(0, 500 + 4), (10_000, 1000), (667_403, 8160), (10**9, 37_000)])
def test_the_vocabulary_size_grows_with_the_corpus(words: int, vocab_size: int) -> None:
    assert choose_vocab_size(words) == vocab_size
    assert choose_vocab_size(words) % 8 == 0


def test_a_loaded_tokenizer_equals_the_saved_one(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(UNIGRAM.data)
    loaded = SentencePieceTokenizer.load(tmp_path / "tokenizer.model")
    assert loaded.data == UNIGRAM.data
    assert loaded.encode(SENTENCES) == UNIGRAM.encode(SENTENCES)


def test_the_file_of_a_missing_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match=r"tokenizer\.model: cannot be read \(No such file or directory\)"):
        SentencePieceTokenizer.load(tmp_path / "tokenizer.model")


@pytest.mark.parametrize("data", [b"", b"nonsense", UNIGRAM.data[:100], b"\xff" * 1000])
def test_damaged_tokenizers_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "tokenizer.model").write_bytes(data)
    with pytest.raises(FolderError, match=r"tokenizer\.model: the tokenizer is (not )?a SentencePiece model"):
        SentencePieceTokenizer.load(tmp_path / "tokenizer.model")


def test_a_token_that_is_not_utf_8_is_refused() -> None:
    token = next(
        token for token in UNIGRAM.tokens(range(FIRST_SUBWORD, UNIGRAM.size)) if len(token) == 1 and token.isascii()
    )
    before, after = bytes([len(token)]) + token.encode(), bytes([len(token)]) + b"\xff" * len(token)
    assert before in UNIGRAM.data
    with pytest.raises(FolderError, match="the tokenizer is not a SentencePiece model"):
        SentencePieceTokenizer(UNIGRAM.data.replace(before, after))


def test_a_foreign_tokenizer_is_refused(tmp_path: Path) -> None:
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES), model_prefix=str(tmp_path / "foreign"), vocab_size=60, minloglevel=2
    )
    with pytest.raises(
        FolderError, match=r"foreign\.model: .* of another program .* use the tokenizer that was saved with"
    ):
        SentencePieceTokenizer.load(tmp_path / "foreign.model")
