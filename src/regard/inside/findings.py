"""What the "it" laboratory found, in words."""

from collections.abc import Iterator

from regard.inside.laboratory import CHANCE, SAID, Intervention, Laboratory, Mover
from regard.inside.terminal import Paper


def laboratory_lines(found: Laboratory, paper: Paper) -> Iterator[str]:
    """The pronouns, the heads, what meddling with these does, and what may be said."""
    yield paper.strong(f"The “it” laboratory: {found.pairs} pairs of sentences that differ in the deciding word alone")
    yield ""
    yield f"Pronouns: both translations of a pair have the right one in {found.follows:.3f} of pairs."
    yield (
        f"Forced up to the pronoun, the right one is the likelier in {found.right:.3f} of sentences (guessing: 0.500), "
        f"in both of a pair in {found.both:.3f} (the nearest noun, or always the same: 0.000)."
    )
    yield ""
    least, half = found.threshold
    yield (
        f"Heads: {found.tests} were tried, each at each place. By chance a head moves in {CHANCE:.0%} of pairs, and not "
        f"one of {found.tests} in {least} of {half}, 19 times of 20. Of the same architecture untrained, the best moves "
        f"in {found.untrained:.3f}."
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
    yield "Not shown: whether this model trained again would do the same, and what else a head is there for."


def _mover(one: Mover) -> str:
    return (
        f"{one.head} {SAID[one.place]}: moves in {one.moves:.3f} of pairs, the wrong way in {one.reversed:.3f}; "
        f"prefers the right noun in {one.right:.3f} of sentences; mean weight on it {one.antecedent:.2f}, on the other "
        f"{one.other:.2f}"
    )


def _intervention(one: Intervention) -> str:
    which = f" ({', '.join(one.heads)})" if one.name.startswith("as many") else ""
    return f"{one.name}{which}: {one.right:.3f}, a change of {one.change:+.3f}"
