// Which words of a text and of its translation belong together, as the word alignment of the server says.

/** The places of all source words: [{ start, end, sentence, word }]. */
export function sourceWords({ sentences }) {
  return sentences.flatMap(({ start, translation }, sentence) =>
    (translation.source_words ?? []).map((each, word) => ({ start: start + each.utf16_start, end: start + each.utf16_end, sentence, word })));
}

/** The places of the source words that a target word, { sentence, word }, is linked to. */
export function linkedSources(state, place) {
  if (!state || !place) return [];
  const linked = state.sentences[place.sentence]?.translation.words?.[place.word]?.source ?? [];
  return sourceWords(state).filter((each) => each.sentence === place.sentence && linked.includes(each.word));
}

/** The target words that are linked to a source word, as places { sentence, word }. */
export function linkedTargets(state, place) {
  if (!state || !place) return [];
  const words = state.sentences[place.sentence]?.translation.words ?? [];
  return words.flatMap((each, word) => (each.source.includes(place.word) ? [{ sentence: place.sentence, word }] : []));
}
