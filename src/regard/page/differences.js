// Which words differ between two texts: those that are not in the longest sequence of words that both have.

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

/** Return the words of two texts, each with whether it differs. */
export function wordDifferences(first, second) {
  const [words, others] = [first.split(" "), second.split(" ")];
  const pairs = commonPairs(words, others);
  const [same, sameOthers] = [new Set(pairs.map(([i]) => i)), new Set(pairs.map(([, j]) => j))];
  return {
    first: words.map((text, i) => ({ text, differs: !same.has(i) })),
    second: others.map((text, j) => ({ text, differs: !sameOthers.has(j) })),
  };
}
