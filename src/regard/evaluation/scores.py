"""How close translations come to references: corpus BLEU and chrF, by sacrebleu, with their signatures."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from regard.errors import UserError


@dataclass(frozen=True)
class Scores:
    """Both figures, from 0 to 100, and what one must know to compare them with others'."""

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str
    sentences: int
    references: int  # of the sentence that has most


def score(translations: Sequence[str], references: Sequence[Sequence[str]], *, tokenize: str = "13a") -> Scores:
    """Score each translation against its own references, of which each may have another number.

    `tokenize` is how BLEU cuts text into words: "13a" is the standard, "none" is for text that is already cut.
    """
    _check(translations, references)
    most = max(len(each) for each in references)
    # sacrebleu wants the first, second, … references of all sentences, and None where a sentence has fewer.
    streams = [[each[rank] if rank < len(each) else None for each in references] for rank in range(most)]
    bleu, chrf = _bleu(tokenize), CHRF()
    bleu_score = bleu.corpus_score(translations, streams)  # type: ignore[arg-type]
    chrf_score = chrf.corpus_score(translations, streams)  # type: ignore[arg-type]
    return Scores(
        bleu=bleu_score.score,
        chrf=chrf_score.score,
        bleu_signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
        sentences=len(translations),
        references=most,
    )


def check_tokenize(tokenize: str) -> None:
    """Whether BLEU can be computed so here, before the work of translating."""
    _bleu(tokenize)


def _bleu(tokenize: str) -> BLEU:
    if tokenize not in BLEU.TOKENIZERS:
        known = ", ".join(sorted(BLEU.TOKENIZERS))
        raise UserError(f"unknown tokenisation {tokenize!r} for BLEU; choose one of {known}")
    try:
        # Forced, because text that was cut on purpose would be warned about.
        return BLEU(tokenize=tokenize, force=tokenize == "none")
    except (RuntimeError, OSError) as error:  # some need another package, some a download
        reason = " ".join(str(error).split())
        raise UserError(f"sacrebleu cannot tokenise by {tokenize!r} here: {reason}") from error


def _check(translations: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    if not translations:
        raise UserError("there is nothing to score: no translations were given")
    if len(translations) != len(references):
        raise UserError(
            f"{len(translations)} translations but references for {len(references)} sentences; "
            "give each translation its own references, in the same order"
        )
    for number, each in enumerate(references, start=1):
        if isinstance(each, str):
            raise UserError(f"sentence {number}: its references must be a list of texts, even if there is only one")
        if not each:
            raise UserError(f"sentence {number} has no reference; give it one, or leave the sentence out")
