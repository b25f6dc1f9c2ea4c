"""The attention of a head in the two well-known sentences about the animal and the street."""

from typing import TYPE_CHECKING

from regard.data.synthetic import FAMOUS
from regard.interpret.address import locate_head
from regard.interpret.annotated_pairs import unannotated_pair
from regard.interpret.measure.antecedent_heads import QueryHead
from regard.interpret.measure.pronoun_task import QUERIES
from regard.interpret.teacher_forcing import attention_weights
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.word_spans import WordSpan

if TYPE_CHECKING:
    from regard.models.interface import AutoregressiveModel


def famous_word(query: str, words: tuple[WordSpan, ...]) -> WordSpan:
    """Return the word "it" or the cue ("tired" or "wide") of a famous sentence.

    The returned cue may include the full stop, because one token may contain both.
    """
    texts = ("it",) if query == "it" else ("tired", "wide")
    return next(word for word in words if word.text.rstrip(".") in texts)


def famous_lines(
    model: "AutoregressiveModel", tokenizer: SentencePieceTokenizer, query_head: QueryHead | None
) -> tuple[str, ...]:
    """Describe the attention of a head to the two nouns of the two famous sentences.

    The last line gives the probability that at least one head attends to the animal most if each chooses at random.
    """
    if query_head is None:
        return ()
    query, address = query_head
    attention, head = locate_head(address)
    lines = []
    pairs = [unannotated_pair(*pair, tokenizer) for pair in FAMOUS[:2]]
    for number, weights in sorted(attention_weights(model, pairs)):
        words = {word.text: word for word in pairs[number].source_words}
        word = famous_word(query, pairs[number].source_words)
        row_M = weights[attention][head, word.begin : word.end].mean(axis=0)
        nouns = [f"{noun} {row_M[words[noun].begin : words[noun].end].sum():.2f}" for noun in ("animal", "street")]
        lines.append(f"{pairs[number].source} {address}: {word.text} → {', '.join(nouns)}")
    heads = sum(one.heads for one in model.anatomy().attentions if (one.queries, one.keys) == QUERIES[query])
    probability = 1 - (1 - 1 / len(words)) ** heads
    return (
        *lines,
        f"If each of {heads} heads attended most to a random word, at least one would attend most to the animal with "
        f"probability {probability:.2f}.",
    )
