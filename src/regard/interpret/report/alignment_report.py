"""What the "it" laboratory found, and which head aligns words, in words."""

import json
from collections.abc import Iterator, Sequence

from regard.decoding.linking import Link
from regard.evaluation.alignment import pharaoh
from regard.inside.aligning import Aligning
from regard.inside.laboratory import CHANCE, SAID, Intervention, Laboratory, Mover
from regard.inside.sample import Item
from regard.inside.terminal import Paper

UNSHOWN = "whether this model trained again would do the same, and what else a head is there for."


def laboratory_lines(found: Laboratory, paper: Paper) -> Iterator[str]:
    """The pronouns, the heads, what meddling with these does, and what may be said."""
    yield paper.strong(f"The “it” laboratory: {found.pairs} pairs of sentences that differ in the deciding word alone")
    yield ""
    yield f"Pronouns: both translations of a pair have the right one in {found.follows:.3f} of pairs."
    yield ""
    yield from guess_lines(found)
    yield ""
    least, half = found.threshold
    yield (
        f"Heads: {found.tests} were tried, counted at each place. By chance a head moves in {CHANCE:.0%} of pairs, and "
        f"not one of {found.tests} in {least} of {half}, 19 times of 20. Of the same architecture untrained, the best "
        f"moves in {found.untrained:.3f}."
    )
    yield "Beyond that threshold:" if found.beyond else "None is beyond that threshold. The best is:"
    yield from (f"  {_mover(one)}" for one in found.movers)
    yield "(chosen on one half of the pairs; these figures are of the other)"
    yield ""
    yield f"Meddling with {', '.join(found.interventions[0].heads)}; the share of right pronouns:"
    yield from (f"  {_intervention(one)}" for one in found.interventions)
    if found.famous:
        yield ""
        yield from found.famous
    yield ""
    yield paper.strong(found.verdict)
    yield f"Not shown: {UNSHOWN}"


def guess_lines(found: Laboratory) -> Iterator[str]:
    """The pronouns of the model, beside those who know less."""
    yield f"{'Forced up to the pronoun, is the right one likelier?':<54}{'in both of a pair':<24}in a sentence"
    yield from (f"  {one.name:<52}{f'{one.both:.3f}':<24}{one.right:.3f}" for one in found.guesses)
    yield f"  {'a coin':<52}{'0.250':<24}0.500"


def _mover(one: Mover) -> str:
    return (
        f"{one.head} {SAID[one.place]}: moves in {one.moves:.3f} of pairs, the wrong way in {one.reversed:.3f}; "
        f"prefers the right noun in {one.right:.3f} of sentences; mean weight on it {one.antecedent:.2f}, on the other "
        f"{one.other:.2f}"
    )


def _intervention(one: Intervention) -> str:
    which = f" ({', '.join(one.heads)})" if one.name.startswith("as many") else ""
    return f"{one.name}{which}: {one.right:.3f}, a change of {one.change:+.3f}"


def alignment_lines(found: Aligning) -> Iterator[str]:
    """The chosen head with its error and others', and the next best."""
    where = {"written": "about to write it", "read": "having just read it"}[found.chosen.row]
    yield (
        f"{found.chosen.head} aligns a target word best, {where}: alignment error {found.error:.3f} on "
        f"{found.error.count} sentences it was not chosen on"
    )
    yield f"the best fixed offset: {found.offset:.3f}; the best head untrained: {found.untrained:.3f}"
    best = sorted(found.each, key=lambda name: found.each[name])[1:4]
    yield "next, on the others: " + "; ".join(f"{name} {found.each[name]:.3f}" for name in best)


def link_line(item: Item, links: Sequence[Link], *, as_json: bool) -> str:
    """The links of a pair as Pharaoh has them, or with the words."""
    if not as_json:
        return pharaoh(links)
    sides = {"source": item.source_words, "target": item.target_words}
    return json.dumps(
        {**{name: [word.text for word in words] for name, words in sides.items()}, "links": sorted(links)},
        ensure_ascii=False,
    )
