"""What a text became, also when it was translated in parts: those of a text too long, or of several lines.

A plan says which parts those are and what stands between them, so that their translations are joined as they were.
"""

from dataclasses import replace
from itertools import chain

from regard.inference.alignment import Link, WordCount, shift_links
from regard.inference.result import Translation

Part = tuple[str, bool]  # a text, and whether what it becomes begins with the prefix

Known = dict[Part, list["Translation"]]

Plan = list[tuple[Part, str]]  # what is translated by itself, and what stands between it and the next


def plan_parts(parts: list[tuple[str, str]], *, prefixed: bool) -> Plan:
    """Mark the first part that says something, if a prefix is asked for."""
    plan = []
    for text, space in parts:
        begins = prefixed and not is_blank(text)
        plan.append(((text, begins), space))
        prefixed = prefixed and not begins
    return plan


def is_blank(text: str) -> bool:
    return not text or text.isspace()


def join_parts(text: str, plan: Plan, translated: Known) -> Translation:
    """The best of every part is the translation, the second best of every part the first alternative, and so on."""
    part, space = plan[0]
    if len(plan) == 1 and not space and part in translated:
        best, *others = translated[part]  # what the rest comes to where a text is one part, as most are
        return replace(best, alternatives=tuple(others)) if others else best
    ranks = max((len(translated[part]) for part, _ in plan if part in translated), default=1)
    best, *others = (_joined_at(text, plan, translated, rank) for rank in range(ranks))
    return replace(best, alternatives=tuple(others))


def _joined_at(text: str, plan: Plan, translated: Known, rank: int) -> Translation:
    written: list[str] = []
    parts: list[Translation] = []
    links: list[Link] = []
    words = WordCount(), WordCount()
    for part, space in plan:
        text_here = part[0]
        if part in translated:
            choices = translated[part]
            parts.append(choices[min(rank, len(choices) - 1)])  # a part may have fewer
            text_here = parts[-1].text
            links += shift_links(parts[-1].alignment or (), words[0].before(part[0]), words[1].before(text_here))
        words[0].add(part[0] + space)
        words[1].add(text_here + space)
        written += [text_here, space]
    return Translation(
        text,
        "".join(written),
        sum(part.score for part in parts) + 0.0,
        sum(part.log_probability for part in parts) + 0.0,
        tuple(chain.from_iterable(part.tokens for part in parts)),
        tuple(chain.from_iterable(part.log_probabilities for part in parts)),
        # Where a word was cut, both its parts may link it.
        alignment=tuple(dict.fromkeys(links)) if parts and all(part.alignment is not None for part in parts) else None,
    )
