"""Translation of documents, and of texts with tags: their texts are translated together.

Scanning a document and placing its tags takes time, so it happens in a thread, and other requests do not wait for it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from regard.documents.document import Document, Steps, TranslatedDocument
from regard.documents.elements import MarkupOptions
from regard.documents.markup import Markup
from regard.inference.result import Translation
from regard.server.service import Service, Work


async def translate_markup(service: Service, work: Work, options: MarkupOptions) -> list[TranslatedDocument]:
    """Translate the texts of the work, which have tags."""
    documents = await asyncio.to_thread(lambda: [Markup(text, options) for text in work.texts])
    return await translate_documents(service, work, documents)


async def translate_documents(service: Service, work: Work, documents: Sequence[Document]) -> list[TranslatedDocument]:
    """Translate documents; of the work, everything but its texts is used."""
    work = replace(work, decode={**work.decode, "alignment": True, "protect": True})
    steps = [document.steps() for document in documents]
    translated: dict[int, TranslatedDocument] = {}
    answers: dict[int, Sequence[Translation] | None] = dict.fromkeys(range(len(steps)))
    while answers:
        wanted = await asyncio.to_thread(_advance, steps, answers, translated)
        texts = tuple(text for texts in wanted.values() for text in texts)
        translations = iter(await service.translate(replace(work, texts=texts)))
        answers = {number: [next(translations) for _ in texts] for number, texts in wanted.items()}
    return [translated[number] for number in range(len(steps))]


def _advance(
    steps: Sequence[Steps],
    answers: dict[int, Sequence[Translation] | None],
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
