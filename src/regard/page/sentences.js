// Divides a text into sentences, because a model translates sentence by sentence: after a key, only the sentence that
// has changed must be translated again.

// Words that end with a full stop and do not end a sentence.
const TITLE = /(?:^|[\s("'«“])(?:Mr|Mrs|Ms|Dr|Prof|St|No|vs|etc|e\.g|i\.e|cf|p|pp|M|MM|Mme|Mlle|Me|av|env|[A-Z])\.\s*$/u;

const CODE = /^\s*(?:`{3}|~{3})/mu; // the server must see a block of code as a whole, because it copies it

/** The sentences of a text in order: [{ text, start, end }]. Between them is only white space. */
export function divide(text) {
  if (CODE.test(text)) return text.trim() ? [trimmed(text, 0)] : [];
  const sentences = [];
  let start = 0;
  for (const line of text.split("\n")) {
    sentences.push(...divideLine(line, start));
    start += line.length + 1;
  }
  return sentences;
}

function divideLine(line, offset) {
  const found = [];
  let pending = "";
  let start = 0;
  const end = (at) => {
    if (pending.trim()) found.push(trimmed(pending, offset + start));
    pending = "";
    start = at;
  };
  for (const { segment, index } of segments(line)) {
    pending += segment;
    const isWhole = /\p{L}/u.test(pending) && !TITLE.test(pending); // a number such as "1." belongs to what follows
    if (isWhole) end(index + segment.length);
  }
  end(line.length);
  return found;
}

function segments(line) {
  if (!Intl.Segmenter) return [{ segment: line, index: 0 }];
  return new Intl.Segmenter(undefined, { granularity: "sentence" }).segment(line);
}

function trimmed(text, start) {
  const lead = text.length - text.trimStart().length;
  const plain = text.trim();
  return { text: plain, start: start + lead, end: start + lead + plain.length };
}
