"""Do heads of the encoder follow pronouns to their antecedents in real English?

- GAP (Webster et al., 2018): texts from Wikipedia with a pronoun and two names, one of which may be its antecedent.
- LitBank (Bamman et al., 2020): fiction with all mentions of entities. A third-person pronoun may refer to any earlier
  mention that is no pronoun, in its own sentence or in the one before. It counts if one of them is an antecedent and
  another is not. Pronouns are left out as antecedents, because "he" after "he" shows no more than the same word.

A head answers with the candidate whose head word gets most of its attention from the pronoun. The head is chosen on one
half of the texts (in LitBank, of the books) and reported on the other half, beside rules and untrained models of the
same architecture. F1 counts both names of every text, as GAP does; a head always names one, so texts in which neither
is right cost precision. Every result is appended to bench/results/coreference_heads.jsonl, and
docs/explanation/coreference.md is written from the latest.

    python bench/coreference_heads.py en-fr              # the bundled model, or folders of models
    python bench/coreference_heads.py --models           # only writes the page
"""

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from backports import zstd
from common.corpora import DATA
from common.results import append
from pages.coreference import HEADS, write_page

import regard
from regard.interpret.teacher_forcing import AttentionRecorder
from regard.models.build import build_untrained
from regard.models.inputs import Inputs
from regard.models.interface import AutoregressiveModel
from regard.statistics.estimate import Estimate
from regard.statistics.intervals import proportion
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS
from regard.tokenizers.word_spans import byte_spans, token_bytes

UNTRAINED_MODELS = 3

THIRD_PERSON = {"he", "him", "his", "she", "her", "hers", "it", "its", "they", "them", "their"}
OTHER_PRONOUNS = {
    "i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "you", "your", "yours", "himself", "herself",
    "itself", "themselves",
}  # fmt: skip

_CLAUSE_START = re.compile(
    r"(?:^|[.;:,!?\"'(]\s*|\b(?:and|but|that|when|while|because|as|if|where)\s+)$", re.IGNORECASE
)
_AFTER_HEAD = re.compile(r",| (?:of|in|at|on|from|to|with|for|by|who|which|that)\b")
_NO_SPACE_BEFORE = re.compile(r" (?=[.,;:!?)’”]|'(?:s|ll|ve|m|d|re)\b|n['’]t\b)|(?<=[(“‘]) ")

Span = tuple[int, int]  # of characters
Answers = npt.NDArray[np.int64]  # for each text: the index of a candidate


@dataclass(frozen=True)
class Text:
    """A text with a pronoun and the mentions to which it may refer; `gold` are the indices of the right ones."""

    text: str
    pronoun: Span
    candidates: tuple[Span, ...]
    gold: frozenset[int]
    document: str


def read(name: str) -> list[str]:
    with zstd.open(DATA / "coref" / f"{name}.tsv.zst", "rt", encoding="utf-8", newline="\n") as file:
        return list(file)


def gap(lines: Iterable[str], split: str = "development") -> Iterator[Text]:
    """Yield the texts of one split of GAP."""
    for line in lines:
        name, part, number, text, pronoun, at, a, a_at, b, b_at, gold, _ = line.rstrip("\n").split("\t")
        if (name, part) == ("gap", split):
            spans = [(int(start), int(start) + len(word)) for word, start in ((pronoun, at), (a, a_at), (b, b_at))]
            right = frozenset(index for index, letter in enumerate("AB") if letter == gold)
            yield Text(text, spans[0], (spans[1], spans[2]), right, number)


def litbank(lines: Iterable[str]) -> Iterator[Text]:
    """Yield a text for each third-person pronoun of LitBank that has a right and a wrong candidate."""
    rows = (line.rstrip("\n").split("\t") for line in lines if not line.startswith("doc\t"))
    for document, sentences in groupby(rows, key=lambda row: row[0]):
        previous = Sentence("", [])
        for _, _, tokens, mentions in sentences:
            sentence = parse_sentence(tokens.split(" "), mentions)
            yield from pronouns_of(previous, sentence, document)
            previous = sentence


@dataclass(frozen=True)
class Sentence:
    """A sentence with its mentions: the span of each, and the number of its entity."""

    text: str
    mentions: list[tuple[Span, str]]


def parse_sentence(tokens: Sequence[str], mentions: str) -> Sentence:
    """Join the tokens of a sentence as they are usually written."""
    starts, text = [], ""
    for token in tokens:
        joined = f"{text} {token}" if text else token
        text = _NO_SPACE_BEFORE.sub("", joined)
        starts.append(len(text) - len(token))
    found = []
    for mention in mentions.split():
        ends, _, entity = mention.partition(":")
        first, last = map(int, ends.split("-"))
        found.append(((starts[first], starts[last] + len(tokens[last])), entity))
    return Sentence(text, found)


def pronouns_of(previous: Sentence, sentence: Sentence, document: str) -> Iterator[Text]:
    """Yield the pronouns of a sentence with the earlier names and nouns in this and in the previous sentence."""
    offset = len(previous.text) + 1 if previous.text else 0
    shifted = [((begin + offset, end + offset), entity) for (begin, end), entity in sentence.mentions]
    text = f"{previous.text} {sentence.text}" if previous.text else sentence.text
    for span, entity in shifted:
        before = (mention for mention in (*previous.mentions, *shifted) if mention[0][1] <= span[0])
        earlier = [
            (one, other) for one, other in before if text[slice(*one)].lower() not in THIRD_PERSON | OTHER_PRONOUNS
        ]
        gold = frozenset(index for index, (_, other) in enumerate(earlier) if other == entity)
        if text[slice(*span)].lower() in THIRD_PERSON and 0 < len(gold) < len(earlier):
            yield Text(text, span, tuple(one for one, _ in earlier), gold, document)


def head_word(text: str, span: Span) -> Span:
    """Return the span of the word that usually is the head of a mention: the last before a comma or a preposition."""
    begin, _ = span
    core = _AFTER_HEAD.split(text[slice(*span)])[0]
    return begin + len(core) - len(core.split(" ")[-1]), begin + len(core)


def nearest(text: Text) -> int:
    """Answer with the candidate whose end or start is nearest to the pronoun."""
    distances = [min(abs(text.pronoun[0] - end), abs(start - text.pronoun[1])) for start, end in text.candidates]
    return int(np.argmin(distances))


def subject_rule(text: Text) -> int:
    """For "he", "she", "it" and "they", answer with the last candidate that begins a clause.

    If none or all of them do, or for other pronouns, answer with the nearest. This is a substitute for parallelism (a
    subject refers to a subject), which needs a parser.
    """
    starts = [index for index, (begin, _) in enumerate(text.candidates) if _CLAUSE_START.search(text.text[:begin])]
    is_subject = text.text[slice(*text.pronoun)].lower() in ("he", "she", "it", "they")
    if not is_subject or not starts or len(starts) == len(text.candidates):
        return nearest(text)
    return max(starts, key=lambda index: text.candidates[index][0])


def encode(text: Text, tokenizer: SentencePieceTokenizer) -> tuple[list[int], list[list[int]]]:
    """Return the token ids of a text, and the positions of the tokens of the pronoun and of each head word."""
    ids = tokenizer.encode([text.text])[0]
    each = token_bytes(ids, tokenizer)
    spans = byte_spans(each, len(text.text.encode()) - sum(map(len, each)))
    positions = []
    for start, end in (text.pronoun, *(head_word(text.text, one) for one in text.candidates)):
        first, last = len(text.text[:start].encode()), len(text.text[:end].encode())
        positions.append([at for at, (begin, stop) in enumerate(spans) if begin < last and stop > first])
    return [*ids, EOS], positions


def head_answers(
    model: AutoregressiveModel, tokenizer: SentencePieceTokenizer, texts: Sequence[Text]
) -> dict[str, Answers]:
    """Return the answers of each head whose queries and keys are source positions."""
    attentions = [one for one in model.anatomy().attentions if (one.queries, one.keys) == ("source", "source")]
    answers: dict[str, list[int]] = {head: [] for one in attentions for head in one.head_addresses}
    for text in texts:
        ids, (pronoun, *candidates) = encode(text, tokenizer)
        lens = AttentionRecorder()
        with torch.inference_mode():
            model.encode(Inputs(torch.tensor([ids], device=model.device)), lens)
        for one in attentions:
            rows_HM = lens.recorded[one.address][0][:, pronoun].mean(dim=1)
            weights = np.stack([rows_HM[:, candidate].sum(dim=1).cpu().numpy() for candidate in candidates])
            for head, answer in zip(one.head_addresses, weights.argmax(axis=0).tolist(), strict=True):
                answers[head].append(answer)
    return {head: np.array(each) for head, each in answers.items()}


def f1(answers: Answers, texts: Sequence[Text]) -> float:
    """Return GAP's F1 over all pairs of a pronoun and a name."""
    right = sum(answer in text.gold for answer, text in zip(answers, texts, strict=True))
    named = sum(len(text.gold) for text in texts)
    return 2 * right / (len(texts) + named)


def accuracy(answers: Answers, texts: Sequence[Text]) -> Estimate:
    """Return how often the answer is right, in texts in which one of the candidates is; documents are the clusters."""
    chosen = [(answer in text.gold, text.document) for answer, text in zip(answers, texts, strict=True) if text.gold]
    estimate = proportion([right for right, _ in chosen], np.ones(len(chosen)), clusters=[one for _, one in chosen])
    assert estimate is not None
    return estimate


def divide(texts: Sequence[Text]) -> tuple[list[int], list[int]]:
    """Return the indices of the texts of every second document, and those of the others."""
    documents = list(dict.fromkeys(text.document for text in texts))
    chosen = set(documents[::2])
    halves: tuple[list[int], list[int]] = ([], [])
    for index, text in enumerate(texts):
        halves[text.document not in chosen].append(index)
    return halves


def measure(model: Any, texts: Sequence[Text]) -> Iterator[tuple[str, str | None, Answers, list[Text]]]:
    """Yield the name of each system, its head if it has one, its answers, and the texts of the second half."""
    chosen_on, reported = divide(texts)
    held_out = [texts[index] for index in reported]
    rules: dict[str, Callable[[Text], int]] = {"nearest": nearest, "subject rule": subject_rule}
    rng = np.random.default_rng(1)
    rules["random"] = lambda text: int(rng.integers(len(text.candidates)))
    for name, rule in rules.items():
        yield name, None, np.array([rule(text) for text in held_out]), held_out
    networks = {"best head": model.network} | {
        f"best head, untrained {seed + 1}": build_untrained(model.network, seed=seed)
        for seed in range(UNTRAINED_MODELS)
    }
    for name, network in networks.items():
        answers = head_answers(network, model.tokenizer, texts)
        selection = [texts[index] for index in chosen_on]
        best = max(answers, key=lambda head: accuracy(answers[head][chosen_on], selection).value)
        yield name, best, answers[best][reported], held_out


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--models", nargs="*", default=["en-fr"], help="bundled models or folders")
    parser.add_argument("--count", type=int, default=2000, help="how many texts of each corpus")
    arguments = parser.parse_args()
    for name in arguments.models:
        model = regard.load(name, backend="torch")
        for corpus, every in (("GAP", gap(read("pronouns"))), ("LitBank", litbank(read("litbank")))):
            texts = [text for text in every if len(model.tokenizer.encode([text.text])[0]) < model.max_positions]
            step = -(-len(texts) // arguments.count)  # equally many of all documents
            for system, head, answers, held_out in measure(model, texts[::step]):
                found = accuracy(answers, held_out)
                print(
                    f"{name}, {corpus}, {system}, {head}: {found:.3f}, F1 {100 * f1(answers, held_out):.1f}", flush=True
                )
                scores = {"head": head, "accuracy": asdict(found), "f1": f1(answers, held_out), "texts": len(held_out)}
                append(HEADS, model=Path(name).name, corpus=corpus, system=system, **scores)
    write_page()


if __name__ == "__main__":
    main()
