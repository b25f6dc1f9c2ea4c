// A provider gives the page the data of one inspection. No other module knows where the data comes from.
//
//   provider.facts()           everything but maps and vectors: texts, tokens, attentions, steps, stacks (look_data.py)
//   provider.map(address)      the attention weights of a head, or of a kind over all layers, between tokens, as a
//                              Float32Array in row-major order
//   provider.vectors(address)  the recorded vectors of a head ("encoder.2.self.5": query, key, value, score, scaled,
//                              weight), of a recurrent layer ("encoder.1.forwards"), of the stages of a stack ("encoder"),
//                              or of "positions" (table), as an object of arrays; null if the provider has none
//   provider.holds(address)    whether `vectors` will find something there
//   provider.opening()         the head and the word to show first: { address, row, rule }, or null without attention
//   provider.effects()         what removing each head alone does to the translation of the full model; null if unknown
//   provider.page(address)     the page file of the inspection, with the vectors of a head, as text; null if there is none
//   provider.state()           whether the server has started what answers; only a provider with a server has this
//   provider.look(request)     a provider for another inspection; a request has text, target, without or instead, and
//                              what it leaves out stays as it is; { without: null } is the full model
//   provider.refuses(request)  null if `look` will try, or a key of strings.js that says why it will not; a control
//                              whose request is refused is not shown
//
// All but `holds` and `refuses` return promises. This module has what providers share.

/** Decompress an array that look_data.py packed, as a Float32Array. */
export async function unpack(packed) {
  const [form, text] = packed.split(" ");
  const compressed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  if (form === "float32") return new Float32Array(buffer);
  if (form === "weights") return Float32Array.from(new Uint16Array(buffer), (number) => number / 65535);
  const [scale] = new Float32Array(buffer, 0, 1);
  return Float32Array.from(new Int8Array(buffer, 4), (number) => (number / 127) * scale);
}

/** Decompress all vectors at an address. */
export async function unpackAll(vectors) {
  const entries = Object.entries(vectors).map(async ([name, packed]) => [name, await unpack(packed)]);
  return Object.fromEntries(await Promise.all(entries));
}

/** Return a function that computes each result once; `compute` gets a key, and returns a promise. */
export function remembered(compute) {
  const results = new Map();
  return (key) => {
    if (!results.has(key)) {
      const result = compute(key);
      results.set(key, result);
      result.catch(() => results.delete(key)); // so that it can be tried again
    }
    return results.get(key);
  };
}

const changeOf = ([step, token, after, before]) => ({ step, token, after, before });

/** What one intervention does to a translation, as look_facts gives it. */
export const effectOf = ({ probabilities, changes }) => ({ probabilities, changes: changes.map(changeOf) });

/** Decompress what `look_effects` made: for each head, the probability of each target token without it. */
export async function unpackEffects({ heads, probabilities, changes }) {
  const numbers = await unpack(probabilities);
  const steps = numbers.length / heads.length;
  return new Map(
    heads.map((head, i) => [head, {
      probabilities: numbers.subarray(i * steps, (i + 1) * steps),
      changes: changes.filter(([at]) => at === i).map(([, ...change]) => changeOf(change)),
    }]),
  );
}
