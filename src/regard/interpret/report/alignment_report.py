"""What the "it" laboratory found, and which head aligns words, in words."""

import json
from collections.abc import Iterator, Sequence

from regard.evaluation.alignment_error import pharaoh
from regard.inference.alignment import Link
from regard.interpret.annotated_pairs import AnnotatedPair
from regard.interpret.measure.alignment_heads import AlignmentHeadResult
from regard.interpret.measure.pronoun_experiment import SAID, AntecedentHead


def _mover_line(one: AntecedentHead) -> str:
    return (
        f"{one.head} {SAID[one.place]}: moves in {one.moves:.3f} of pairs, the wrong way in {one.reversed:.3f}; "
        f"prefers the right noun in {one.right:.3f} of sentences; mean weight on it {one.antecedent:.2f}, on the other "
        f"{one.distractor:.2f}"
    )


def alignment_lines(found: AlignmentHeadResult) -> Iterator[str]:
    """The chosen head with its error and others', and the next best."""
    where = {"written": "about to write it", "read": "having just read it"}[found.chosen.row]
    yield (
        f"{found.chosen.head} aligns a target word best, {where}: alignment error {found.error:.3f} on "
        f"{found.error.count} sentences it was not chosen on"
    )
    yield f"the best fixed offset: {found.offset:.3f}; the best head untrained: {found.untrained:.3f}"
    best = sorted(found.each, key=lambda name: found.each[name])[1:4]
    yield "next, on the others: " + "; ".join(f"{name} {found.each[name]:.3f}" for name in best)


def link_line(item: AnnotatedPair, links: Sequence[Link], *, as_json: bool) -> str:
    """The links of a pair as Pharaoh has them, or with the words."""
    if not as_json:
        return pharaoh(links)
    sides = {"source": item.source_words, "target": item.target_words}
    return json.dumps(
        {**{name: [word.text for word in words] for name, words in sides.items()}, "links": sorted(links)},
        ensure_ascii=False,
    )
