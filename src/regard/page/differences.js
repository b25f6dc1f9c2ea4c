// Which words differ between two texts: those that are not in the longest sequence of words that both have.

import { make } from "./dom.js";

/** Return the longest common sequence of two lists as pairs of indices. */
export function commonPairs(first, second) {
  const lengths = Array.from({ length: first.length + 1 }, () => new Uint16Array(second.length + 1));
  for (let i = first.length - 1; i >= 0; i--) {
    for (let j = second.length - 1; j >= 0; j--) {
      lengths[i][j] = first[i] === second[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const pairs = [];
  for (let i = 0, j = 0; i < first.length && j < second.length; ) {
    if (first[i] === second[j]) pairs.push([i++, j++]);
    else if (lengths[i + 1][j] >= lengths[i][j + 1]) i++;
    else j++;
  }
  return pairs;
}

/** Return the words and signs of two texts, each with the white space before it and with whether it differs. */
export function wordDifferences(first, second) {
  const [words, others] = [wordsOf(first), wordsOf(second)];
  const pairs = commonPairs(words.map(({ text }) => text), others.map(({ text }) => text));
  const [same, sameOthers] = [new Set(pairs.map(([i]) => i)), new Set(pairs.map(([, j]) => j))];
  return {
    first: words.map((word, i) => ({ ...word, differs: !same.has(i) })),
    second: others.map((word, j) => ({ ...word, differs: !sameOthers.has(j) })),
    /** What stands in the place of what: pairs of texts, of which one may be empty. */
    changes: [...pairs, [words.length, others.length]].map(([i, j], at) => {
      const [begin, from] = at ? [pairs[at - 1][0] + 1, pairs[at - 1][1] + 1] : [0, 0];
      return [textOf(words.slice(begin, i)), textOf(others.slice(from, j))];
    }).filter(([one, two]) => one || two),
  };
}

const wordsOf = (text) => Array.from(text.matchAll(/(\s*)([\p{L}\p{N}\p{M}]+|[^\s\p{L}\p{N}\p{M}])/gu), ([, space, word]) => ({ space, text: word }));
const textOf = (words) => words.map(({ space, text }) => space + text).join("").trim();

/** Show the words of a text; those that differ are marked. */
export const markDifferences = (words, style) => words.flatMap(({ space, text, differs }) => [space, differs ? make("mark", { className: style, textContent: text }) : text]);
