"""The pairs of a measurement: the truth's words are found among the pieces, whatever these are."""

from itertools import islice, pairwise

import pytest

from regard.data.synthetic.generator import pairs
from regard.errors import DataError, LookError
from regard.interpret.annotated_pairs import check_languages, files_sample, item_of, spaced_item, synthetic_sample
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS
from regard.tokenizers.vocabulary import train_tokenizer


@pytest.fixture(scope="module", params=[("unigram", 300), ("unigram", 900), ("bpe", 700)], ids=str)
def tokenizer(request):
    kind, size = request.param
    texts = [text for pair in islice(pairs(1), 300) for text in (pair.source, pair.target)]
    return SentencePieceTokenizer(train_tokenizer(iter(texts), kind=kind, vocab_size=size))


def test_words_have_the_pieces_that_spell_them(tokenizer):
    shared = exact = 0
    for pair in islice(pairs(2, "test"), 60):
        item = item_of(pair, tokenizer)
        assert item.source_ids[-1] == item.written_ids[-1] == EOS
        for ids, words, known in (
            (item.source_ids, item.source_words, pair.truth.source),
            (item.written_ids, item.target_words, pair.truth.target),
        ):
            assert [word.text for word in words] == [word.text for word in known]
            ends = [(word.begin, word.end) for word in words]
            assert all(one[1] <= other[0] for one, other in pairwise(ends))
            for word in words:
                spelt = tokenizer.decode([ids[word.begin : word.end]])[0].strip()
                exact += spelt == word.text
                shared += spelt != word.text
    assert exact > 20 * shared  # a piece over two words is rare, and then one of them is without


def test_accents_spelt_in_bytes_are_counted_in_bytes():
    plain = SentencePieceTokenizer(
        train_tokenizer(iter(["the cat sees a dog and it is red"] * 9), kind="unigram", vocab_size=300)
    )
    item = spaced_item("Élodie a été là", "it's  here", plain)
    for word, text in zip(item.source_words, ["Élodie", "a", "été", "là"], strict=True):
        assert plain.decode([item.source_ids[word.begin : word.end]])[0].strip() == text == word.text
    assert [word.text for word in item.target_words] == ["it's", "here"]


def test_the_language_is_the_same_every_time(tokenizer):
    one, two = synthetic_sample(tokenizer, 5), synthetic_sample(tokenizer, 5)
    assert one == two and len(one) == 5
    assert all(item.annotations for item in one.pairs)


def test_files_are_read_as_far_as_needed(tokenizer, tmp_path):
    path = tmp_path / "some.tsv"
    path.write_text("a cat\tun chat\n" + "dog " * 200 + "\tx\n \ty\nthe dog\tle chien\n", "utf-8")
    found = files_sample(tokenizer, [path], 10, 64)
    assert [item.source for item in found.pairs] == ["a cat", "the dog"]
    assert len(files_sample(tokenizer, [path], 1, 64)) == 1
    with pytest.raises(DataError, match=r"there is none that this model could read \(at most 2 pieces\)"):
        files_sample(tokenizer, [path], 10, 2)


def test_a_model_of_other_languages_needs_pairs_of_its_own():
    check_languages(("en", "fr"))
    check_languages((None, None))
    with pytest.raises(LookError, match="translates from en to de, and the built-in language is English and French"):
        check_languages(("en", "de"))
