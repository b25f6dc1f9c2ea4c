"""Text output for word alignment: the report of the chosen head, and the alignment of one sentence pair."""

import json
from collections.abc import Iterator, Sequence

from regard.evaluation.alignment_error import format_pharaoh
from regard.inference.alignment import Link
from regard.interpret.annotated_pairs import AnnotatedPair
from regard.interpret.measure.alignment_heads import AlignmentHeadResult

_ROWS = {"written": "at the position that predicts it", "read": "at the position whose input it is"}


def alignment_lines(result: AlignmentHeadResult) -> Iterator[str]:
    """Yield the chosen head and its alignment error, the errors of the baselines, and the next best heads."""
    yield (
        f"{result.chosen.head} aligns a target word best, {_ROWS[result.chosen.row]}: alignment error "
        f"{result.error:.3f}, where n counts the held-out sentences"
    )
    for name, error in result.baselines.items():
        yield f"  {name}: {error:.3f}"
    yield f"  the smallest possible error with one link for each target word: {result.floor:.3f}"
    if result.identical_words_only:
        yield "Only words that occur once on both sides, such as names and numbers, are compared."
    errors = result.selection_errors
    next_best = sorted(errors, key=lambda name: errors[name])[1:4]
    yield "next best, on the sentences used to choose: " + "; ".join(f"{name} {errors[name]:.3f}" for name in next_best)


def alignment_line(pair: AnnotatedPair, links: Sequence[Link], *, as_json: bool) -> str:
    """Return the alignment of a pair in Pharaoh format, or as JSON together with the words of the pair."""
    if not as_json:
        return format_pharaoh(links)
    words = {"source": pair.source_words, "target": pair.target_words}
    return json.dumps(
        {**{side: [word.text for word in words[side]] for side in words}, "alignment": sorted(links)},
        ensure_ascii=False,
    )
