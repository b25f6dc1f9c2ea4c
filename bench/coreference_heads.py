"""Do heads of the encoder follow pronouns to their antecedents in real English?

Uses GAP (Webster et al., 2018): texts from Wikipedia with a pronoun and two names, A and B, one of which may be its
antecedent. A head answers with the name that gets more of its attention from the pronoun. The head is chosen on one
half of the texts, and reported on the other half, beside rules and untrained models of the same architecture. F1 counts
both names of every text, as GAP does; a head always names one, so texts in which neither is right cost precision.

    python bench/coreference_heads.py MODEL...
"""

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from backports import zstd
from common.corpora import DATA

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

_CLAUSE_START = re.compile(
    r"(?:^|[.;:,!?\"'(]\s*|\b(?:and|but|that|when|while|because|as|if|where)\s+)$", re.IGNORECASE
)

Answers = npt.NDArray[np.int64]  # for each text: 0 for A, 1 for B


@dataclass(frozen=True)
class Text:
    """A text with the character spans of a pronoun and of two names; `gold` is A, B or N for neither."""

    text: str
    pronoun: tuple[int, int]
    names: tuple[tuple[int, int], tuple[int, int]]
    gold: str


def gap(split: str = "development") -> list[Text]:
    """Return the texts of GAP."""
    with zstd.open(DATA / "coref" / "pronouns.tsv.zst", "rt", encoding="utf-8", newline="\n") as file:
        return list(parse(file, split))


def parse(lines: Iterable[str], split: str) -> Iterator[Text]:
    """Yield the texts of one split of GAP from the lines of a file."""
    for line in lines:
        name, part, _, text, pronoun, at, a, a_at, b, b_at, gold, _ = line.rstrip("\n").split("\t")
        if (name, part) == ("gap", split):
            spans = [(int(start), int(start) + len(word)) for word, start in ((pronoun, at), (a, a_at), (b, b_at))]
            yield Text(text, spans[0], (spans[1], spans[2]), gold)


def nearest(text: Text) -> int:
    """Answer with the name whose end or start is nearest to the pronoun."""
    distances = [min(abs(text.pronoun[0] - end), abs(start - text.pronoun[1])) for start, end in text.names]
    return int(np.argmin(distances))


def subject_rule(text: Text) -> int:
    """For "he" and "she", answer with the only name that begins a clause; otherwise with the nearest name.

    It is a substitute for parallelism (a subject refers to a subject), which needs a parser.
    """
    starts = [bool(_CLAUSE_START.search(text.text[:start])) for start, _ in text.names]
    if text.text[slice(*text.pronoun)].lower() in ("he", "she") and sum(starts) == 1:
        return starts.index(True)
    return nearest(text)


def encode(text: Text, tokenizer: SentencePieceTokenizer) -> tuple[list[int], list[list[int]]]:
    """Return the token ids of a text, and the token positions of the pronoun, of A and of B."""
    ids = tokenizer.encode([text.text])[0]
    each = token_bytes(ids, tokenizer)
    spans = byte_spans(each, len(text.text.encode()) - sum(map(len, each)))
    positions = []
    for start, end in (text.pronoun, *text.names):
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
        ids, (pronoun, *names) = encode(text, tokenizer)
        lens = AttentionRecorder()
        with torch.inference_mode():
            model.encode(Inputs(torch.tensor([ids], device=model.device)), lens)
        for one in attentions:
            rows_HM = lens.recorded[one.address][0][:, pronoun].mean(dim=1)
            weights = np.stack([rows_HM[:, name].sum(dim=1).cpu().numpy() for name in names])
            for head, answer in zip(one.head_addresses, weights.argmax(axis=0).tolist(), strict=True):
                answers[head].append(answer)
    return {head: np.array(each) for head, each in answers.items()}


def f1(answers: Answers, texts: Sequence[Text]) -> float:
    """Return GAP's F1 over all pairs of a pronoun and a name."""
    right = sum("AB"[answer] == text.gold for answer, text in zip(answers, texts, strict=True))
    named = sum(text.gold != "N" for text in texts)
    return 2 * right / (len(texts) + named)


def accuracy(answers: Answers, texts: Sequence[Text], tests: int = 1) -> Estimate:
    """Return how often the answer is right, in texts in which one of the names is."""
    right = ["AB"[answer] == text.gold for answer, text in zip(answers, texts, strict=True) if text.gold != "N"]
    estimate = proportion(right, np.ones(len(right)), tests=tests)
    assert estimate is not None
    return estimate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["en-fr"])
    parser.add_argument("--count", type=int, default=2000)
    arguments = parser.parse_args()
    every = gap()[: arguments.count]
    for name in arguments.models:
        model = regard.load(name, backend="torch")
        texts = [text for text in every if len(model.tokenizer.encode([text.text])[0]) < model.max_positions]
        chosen_on, reported = texts[::2], texts[1::2]
        print(f"{name}: {len(reported)} texts of GAP ({len(every) - len(texts)} of {len(every)} are too long)")

        def show(title: str, answers: Answers, of: Sequence[Text] = reported) -> None:
            print(f"  {title}: accuracy {accuracy(answers, of):.3f}, F1 {100 * f1(answers, of):.1f}", flush=True)

        rules: dict[str, Callable[[Text], int]] = {"nearest name": nearest, "subject rule": subject_rule}
        for title, rule in rules.items():
            show(title, np.array([rule(text) for text in reported]))
        show("random", np.random.default_rng(1).integers(2, size=len(reported)))
        networks = {"best head": model.network}
        networks |= {
            f"best head of an untrained model, seed {seed}": build_untrained(model.network, seed=seed)
            for seed in range(UNTRAINED_MODELS)
        }
        for title, network in networks.items():
            answers = head_answers(network, model.tokenizer, texts)
            best = max(answers, key=lambda head: accuracy(answers[head][::2], chosen_on).value)
            show(f"{title} ({best}, chosen on the other half)", answers[best][1::2])


if __name__ == "__main__":
    main()
