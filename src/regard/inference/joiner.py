"""Joins the translations of the parts of a text. A text has parts if it is long or has several lines.

A plan lists the parts of a text and the white space after each part, so that the same white space joins the
translations.
"""

from collections.abc import MutableMapping
from dataclasses import replace
from itertools import chain

from regard.inference.alignment import Link, WordCount, shift_links
from regard.inference.result import PlacedSpan, Range, Translation, TranslationWarning

Part = tuple[str, bool]  # the text of a part, and whether its translation must start with `decode.prefix`

PartTranslations = MutableMapping[Part, list["Translation"]]  # by part: its translations, best first

Plan = list[tuple[Part, str]]  # the parts of a text, each with the white space after it


def plan_parts(parts: list[tuple[str, str]], *, prefixed: bool) -> Plan:
    """Return the plan of a text. With `prefixed`, the first part that is not blank is marked to get the prefix."""
    plan = []
    for text, space in parts:
        gets_prefix = prefixed and not is_blank(text)
        plan.append(((text, gets_prefix), space))
        prefixed = prefixed and not gets_prefix
    return plan


def is_blank(text: str) -> bool:
    """Return whether a text has neither letters nor digits, so that there is nothing to translate."""
    return not any(map(str.isalnum, text))


def join_parts(text: str, plan: Plan, translated: PartTranslations, *, has_scores: bool) -> Translation:
    """Join the best translations of all parts. The second-best translations form the first alternative, and so on.

    `has_scores` says whether scores were requested. The translation of a blank text, which has no parts with a score,
    then has the score 0.
    """
    part, space = plan[0]
    if len(plan) == 1 and not space and part in translated:
        # A shortcut for the usual case of a text with one part; the result is the same.
        best, *others = translated[part]
        return replace(best, alternatives=tuple(others)) if others else best
    ranks = max((len(translated[part]) for part, _ in plan if part in translated), default=1)
    best, *others = (_join_rank(text, plan, translated, rank, has_scores=has_scores) for rank in range(ranks))
    return replace(best, alternatives=tuple(others))


def _join_rank(text: str, plan: Plan, translated: PartTranslations, rank: int, *, has_scores: bool) -> Translation:
    texts: list[str] = []
    parts: list[Translation] = []
    links: list[Link] = []
    warnings: list[TranslationWarning] = []
    unknown: set[str] = set()
    spans: list[PlacedSpan] = []
    words = WordCount(), WordCount()
    word_values: list[float | None] = []
    begins = [0, 0]  # of the part, in the source and in the translation
    for part, space in plan:
        target = part[0]
        if part in translated:
            choices = translated[part]
            parts.append(choices[min(rank, len(choices) - 1)])  # a part with fewer than the others repeats its last one
            target = parts[-1].text
            warnings += (
                _shift_warning(one, *begins)
                for one in parts[-1].warnings
                # A character that is unknown in several parts is reported once.
                if one.kind != "unknown characters" or one.message not in unknown
            )
            unknown |= {one.message for one in parts[-1].warnings if one.kind == "unknown characters"}
            spans += (_shift_span(one, *begins) for one in parts[-1].spans)
            links += shift_links(parts[-1].alignment or (), words[0].before(part[0]), words[1].before(target))
            values = parts[-1].word_probabilities
            if values and words[1].before(target) < len(word_values):
                values = values[1:]  # its first word continues that of the part before
                word_values[-1] = None
            word_values += values
        words[0].add(part[0] + space)
        words[1].add(target + space)
        word_values += [None] * (words[1].count - len(word_values))
        texts += [target, space]
        begins = [begins[0] + len(part[0]) + len(space), begins[1] + len(target) + len(space)]
    return Translation(
        text,
        "".join(texts),
        sum((part.score or 0.0 for part in parts), 0.0) if has_scores else None,
        sum((part.log_probability or 0.0 for part in parts), 0.0) if has_scores else None,
        tuple(chain.from_iterable(part.tokens for part in parts)),
        tuple(chain.from_iterable(part.log_probabilities for part in parts)),
        tuple(word_values) if any(part.word_probabilities for part in parts) else (),
        # If a word was split between two parts, both parts may have the same link; duplicates are removed.
        alignment=tuple(dict.fromkeys(links)) if parts and all(part.alignment is not None for part in parts) else None,
        warnings=tuple(warnings),
        spans=tuple(spans),
    )


def _shift_warning(warning: TranslationWarning, source: int, target: int) -> TranslationWarning:
    return replace(
        warning,
        source=_shift(warning.source, source) if warning.source else None,
        target=_shift(warning.target, target) if warning.target else None,
    )


def _shift_span(span: PlacedSpan, source: int, target: int) -> PlacedSpan:
    return replace(span, source=_shift(span.source, source), target=_shift(span.target, target))


def _shift(span: Range, characters: int) -> Range:
    return span[0] + characters, span[1] + characters
