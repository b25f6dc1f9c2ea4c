"""Translation of documents, and of texts with tags: their texts are translated together.

Scanning a document and placing its tags takes time, so it happens in a thread, and other requests do not wait for it.
A text that is longer than a request may send is divided into its sentences, so that it does not occupy an engine.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from regard.documents.document import Document, Steps, TranslatedDocument
from regard.documents.elements import MarkupOptions
from regard.documents.markup import Markup
from regard.inference.joiner import Part, Plan, is_blank, join_parts, plan_parts
from regard.inference.result import Translation
from regard.inference.splitter import split_text
from regard.server.service import Service, Work
from regard.spans.patterns import MARK_CLOSE, MARK_OPEN

_MARKED = re.compile(f"{MARK_OPEN}[^<]*{MARK_CLOSE}")


async def read_markup(texts: Sequence[str], options: MarkupOptions) -> list[Document]:
    """Return the documents of texts with tags."""
    return await asyncio.to_thread(lambda: [Markup(text, options) for text in texts])


async def translate_documents(service: Service, work: Work, documents: Sequence[Document]) -> list[TranslatedDocument]:
    """Translate documents; of the work, everything but its texts is used."""
    work = replace(service.with_deadline(work), decode={**work.decode, "alignment": True, "protect": True})
    steps = [document.steps() for document in documents]
    translated: dict[int, TranslatedDocument] = {}
    answers: Mapping[int, Sequence[Translation] | None] = dict.fromkeys(range(len(steps)))
    while answers:
        wanted = await asyncio.to_thread(_advance, steps, answers, translated)
        answers = await _translate(service, work, wanted)
    return [translated[number] for number in range(len(steps))]


def _advance(
    steps: Sequence[Steps],
    answers: Mapping[int, Sequence[Translation] | None],
    translated: dict[int, TranslatedDocument],
) -> dict[int, list[str]]:
    """Give documents the translations of their texts, and return the texts that they want translated next."""
    wanted = {}
    for number, answer in answers.items():
        try:
            wanted[number] = next(steps[number]) if answer is None else steps[number].send(answer)
        except StopIteration as end:
            translated[number] = end.value
    return wanted


async def _translate(service: Service, work: Work, wanted: Mapping[int, list[str]]) -> dict[int, list[Translation]]:
    """Return the translations of the texts of each document."""
    limit = service.settings.char_limit
    plans = await asyncio.to_thread(
        lambda: {number: [divide(text, limit) for text in texts] for number, texts in wanted.items()}
    )
    parts = [part for each in plans.values() for plan in each for part, _ in plan if not is_blank(part[0])]
    found = iter(await service.translate(replace(work, texts=tuple(text for text, _ in parts))))

    def joined(text: str, plan: Plan) -> Translation:
        translated: dict[Part, list[Translation]] = {part: [next(found)] for part, _ in plan if not is_blank(part[0])}
        return join_parts(text, plan, translated, has_scores=False)

    return await asyncio.to_thread(
        lambda: {number: list(map(joined, texts, plans[number])) for number, texts in wanted.items()}
    )


def divide(text: str, limit: int) -> Plan:
    """Return a text as one part if it has at most `limit` characters, else its sentences."""
    if len(text) <= limit:
        return [((text, False), "")]
    # What is protected is one word for the splitter.
    filled = _MARKED.sub(lambda marked: "x" * len(marked[0]), text)
    parts, begin = [], 0
    for part, space in split_text(filled, lambda part: len(part) <= limit):
        parts.append((text[begin : begin + len(part)], space))
        begin += len(part) + len(space)
    return plan_parts(parts, prefixed=False)
