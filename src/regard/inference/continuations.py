"""Other continuations of a translation at one of its words.

The words before it stay. The model says which tokens are the most probable ones there; each of them is completed to a
translation by the usual search.
"""

import re
from dataclasses import dataclass, replace

from regard.errors import UserError
from regard.inference.backends.interface import SourceTokens
from regard.inference.backends.torch import TorchBackend
from regard.inference.reader import Reader
from regard.inference.result import Translation
from regard.inference.token_probability import calibrated_probability
from regard.inference.writer import Writer
from regard.model_folder.folder import UNCALIBRATED
from regard.settings.decode import DecodeSettings
from regard.tokenizers.protocol import Tokenizer
from regard.tokenizers.special_ids import EOS
from regard.tokenizers.word_spans import whitespace_words

_TOKENS_PER_WORD = 3  # tokens that are tried for each continuation, because several may begin the same word


@dataclass(frozen=True)
class Continuation:
    """A translation with another word at a place."""

    word: str
    probability: float  # calibrated, of the word after the words before it
    translation: Translation


def find_continuations(
    backend: TorchBackend,
    reader: Reader,
    writer: Writer,
    tokenizer: Tokenizer,
    text: str,
    target: str,
    *,
    at: int,
    count: int,
    decode: DecodeSettings,
    temperature: float = UNCALIBRATED,
) -> list[Continuation]:
    """Return up to `count` translations that have the first `at` words of `target`, and then differ from each other.

    Words are separated by white space. The most probable word is first; it may be that of `target`. Protected spans are
    translated like other text.
    """
    parts = [part for part, _ in reader.parts(text, protect=False)]
    if len(parts) != 1 or "\n" in target:
        raise UserError("continuations need a text that is translated in one part: a single line that is not too long")
    words = list(re.finditer(r"\S+", target))
    if not 0 <= at <= len(words):
        raise UserError(f"the translation has {len(words)} words, so there is no word {at}")
    kept = target[: words[at - 1].end()] if at else ""
    decode = replace(decode, scores=True, log_probabilities=True, n_best=1, prefix="")
    [source] = reader.sources([(parts[0], False)], decode)
    prefix = tuple(tokenizer.encode([kept])[0]) if kept else ()
    tokens = [each for each in backend.next_tokens(source.ids, prefix, _TOKENS_PER_WORD * count + 1) if each != EOS]
    sources = [
        SourceTokens(source.ids, max(source.limit, len(prefix) + 2), (*prefix, token))
        for token in tokens
        if len(prefix) + 2 <= reader.max_positions
    ]
    found: dict[str, Continuation] = {}
    for hypothesis, *_ in backend.generate(sources, decode).result() if sources else []:
        spans = whitespace_words(hypothesis.token_ids, tokenizer)
        if len(spans) <= at or [span.text for span in spans[:at]] != kept.split():
            continue  # the token belongs to the word before it
        word = spans[at]
        probability = calibrated_probability(hypothesis.token_log_probabilities[word.begin : word.end], temperature)
        links = None
        if hypothesis.attention is not None:
            links = writer.alignment(source.ids, hypothesis.token_ids, hypothesis.attention)
        whole = tokenizer.decode([hypothesis.token_ids])[0]
        other = Continuation(word.text, probability, writer.translation(text, whole, hypothesis, decode, links))
        if word.text not in found or _score(found[word.text]) < _score(other):
            found[word.text] = other
    return sorted(found.values(), key=lambda each: -each.probability)[:count]


def _score(continuation: Continuation) -> float:
    assert continuation.translation.score is not None
    return continuation.translation.score
