"""The pairs of a measurement: annotated words are mapped to their tokens, whatever the tokenizer."""

from itertools import islice, pairwise

import pytest

from regard.data.synthetic.generator import pairs
from regard.errors import DataError, LookError
from regard.interpret.annotated_pairs import (
    annotated_pair,
    check_languages,
    files_sample,
    synthetic_sample,
    whitespace_pair,
)
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS
from regard.tokenizers.vocabulary import train_tokenizer


@pytest.fixture(scope="module", params=[("unigram", 300), ("unigram", 900), ("bpe", 700)], ids=str)
def tokenizer(request):
    kind, size = request.param
    texts = [text for pair in islice(pairs(1), 300) for text in (pair.source, pair.target)]
    return SentencePieceTokenizer(train_tokenizer(iter(texts), kind=kind, vocab_size=size))


def test_words_have_the_tokens_that_spell_them(tokenizer):
    shared = exact = 0
    for pair in islice(pairs(2, "test"), 60):
        encoded = annotated_pair(pair, tokenizer)
        assert encoded.source_ids[-1] == encoded.target_ids[-1] == EOS
        for ids, words, annotated in (
            (encoded.source_ids, encoded.source_words, pair.annotations.source),
            (encoded.target_ids, encoded.target_words, pair.annotations.target),
        ):
            assert [word.text for word in words] == [word.text for word in annotated]
            spans = [(word.begin, word.end) for word in words]
            assert all(left[1] <= right[0] for left, right in pairwise(spans))
            for word in words:
                decoded = tokenizer.decode([ids[word.begin : word.end]])[0].strip()
                exact += decoded == word.text
                shared += decoded != word.text
    assert exact > 20 * shared  # a token that spans two words is rare, and leaves one of them without a token


def test_characters_of_several_bytes_are_mapped_to_their_words():
    tokenizer = SentencePieceTokenizer(
        train_tokenizer(iter(["the cat sees a dog and it is red"] * 9), kind="unigram", vocab_size=300)
    )
    pair = whitespace_pair("Élodie a été là", "it's  here", tokenizer)
    for word, text in zip(pair.source_words, ["Élodie", "a", "été", "là"], strict=True):
        assert tokenizer.decode([pair.source_ids[word.begin : word.end]])[0].strip() == text == word.text
    assert [word.text for word in pair.target_words] == ["it's", "here"]


def test_the_synthetic_sample_is_the_same_every_time(tokenizer):
    first, second = synthetic_sample(tokenizer, 5), synthetic_sample(tokenizer, 5)
    assert first == second and len(first) == 5
    assert all(pair.annotations for pair in first.pairs)


def test_a_sample_of_files_has_the_first_usable_pairs(tokenizer, tmp_path):
    path = tmp_path / "some.tsv"
    path.write_text("a cat\tun chat\n" + "dog " * 200 + "\tx\n \ty\nthe dog\tle chien\n", "utf-8")
    sample = files_sample(tokenizer, [path], 10, 64)
    assert [pair.source for pair in sample.pairs] == ["a cat", "the dog"]
    assert len(files_sample(tokenizer, [path], 1, 64)) == 1
    with pytest.raises(DataError, match="none can be used; both sides of a pair must have text and at most 2 tokens"):
        files_sample(tokenizer, [path], 10, 2)


def test_the_synthetic_sample_requires_an_english_french_model():
    check_languages(("en", "fr"))
    check_languages((None, None))
    with pytest.raises(LookError, match="translates from en to de, but the synthetic language is English to French"):
        check_languages(("en", "de"))
    with pytest.raises(LookError, match=r"from fr to en, but pronouns are measured for English to French only, on "):
        check_languages(("fr", "en"), "pronouns")
