// One inspection as the drawings need it: its attentions with their tokens, its maps by address, and maps of words.
// Which attentions a model has, and between which tokens, is in the facts: addresses are never taken apart.

import { remembered } from "./provider.js";
import { languageName, t } from "./strings.js";

export async function loadInspection(provider) {
  const facts = await provider.facts();
  const sides = { source: facts.source, read: facts.read, written: facts.written };
  const attentions = facts.attentions.map((attention) => ({
    ...attention,
    rows: sides[attention.queries === "source" ? "source" : "written"],
    columns: sides[attention.keys === "source" ? "source" : "read"],
    read: attention.queries === "source" ? null : sides.read,
  }));
  const kinds = [...new Set(attentions.map(({ kind }) => kind))].map((kind) => attentions.filter((attention) => attention.kind === kind));
  const maps = new Map(kinds.flatMap((layers) => mapsOf(layers, facts.all_layer_reductions)).map((map) => [map.address, map]));
  const weights = remembered((address) => weightsOf(provider, maps.get(address)));
  const tables = remembered(async (key) => {
    const [units, address] = JSON.parse(key);
    return makeTable(maps.get(address), await weights(address), units);
  });
  return {
    provider,
    facts,
    attentions,
    kinds,
    maps,
    mainAttention: attentions.find(({ address }) => address === facts.main_attention),
    /** The map at an address between words or tokens; `units` is "words" or "tokens". */
    table: (address, units) => tables(JSON.stringify([units, address])),
  };
}

/** The maps of one kind of attention, which the layers are given of: each head, and the maps over several heads. */
function mapsOf(layers, reductions) {
  const heads = layers.flatMap((attention) =>
    Array.from({ length: attention.heads }, (_, i) => ({ address: `${attention.address}.${i + 1}`, attention, layer: attention.layer, head: i + 1 })),
  );
  const ofLayer = layers.flatMap((attention) =>
    attention.heads < 2 ? [] : ["mean", "max"].map((reduction) => ({
      address: `${attention.address}.${reduction}`, attention, layer: attention.layer, reduction,
      of: heads.filter((head) => head.attention === attention).map(({ address }) => address),
    })),
  );
  const [first] = layers;
  const ofAll = heads.length < 2 ? [] : reductions.map((reduction) => ({ address: `${first.kind}.${reduction}`, attention: first, layer: null, reduction, layers }));
  return [...heads, ...ofLayer, ...ofAll];
}

async function weightsOf(provider, { address, reduction, of }) {
  if (!of) return provider.map(address);
  const heads = await Promise.all(of.map((head) => provider.map(head)));
  return heads[0].map((_, i) => {
    const values = heads.map((weights) => weights[i]);
    return reduction === "max" ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0) / values.length;
  });
}

/** The words or tokens of a side, with the range of their tokens. Special tokens have names of their own. */
export function unitsOf(side, units) {
  const special = new Set(side.special);
  const names = { "<s>": t("start"), "</s>": t("end") };
  const entries = units === "tokens" ? side.tokens.map((text, i) => [text, i, i + 1]) : side.words;
  return entries.map(([text, begin, end]) => {
    const isSpecial = special.has(begin);
    return { text: isSpecial && units === "words" ? names[text] ?? text : text, begin, end, isSpecial };
  });
}

function makeTable({ attention }, weights, units) {
  const width = attention.columns.tokens.length;
  const columns = unitsOf(attention.columns, units);
  const read = attention.read && unitsOf(attention.read, units);
  const rows = unitsOf(attention.rows, units).map((row) => {
    const input = read && read.find(({ begin, end }) => begin <= row.begin && row.begin < end);
    return {
      ...row,
      input: input ? read.indexOf(input) : null, // the index of the word that the decoder reads there, and its text
      read: input ? input.text : null,
      label: input ? `${input.text} → ${row.text}` : row.text,
      description: input ? t("map.read", { read: input.text, word: row.text }) : row.text,
    };
  });
  const values = new Float32Array(rows.length * columns.length);
  rows.forEach(({ begin, end }, i) => {
    columns.forEach(({ begin: from, end: to }, j) => {
      let sum = 0;
      for (let a = begin; a < end; a++) for (let b = from; b < to; b++) sum += weights[a * width + b];
      values[i * columns.length + j] = sum / (end - begin);
    });
  });
  const at = (i, j) => values[i * columns.length + j];
  const masked = (i, j) => attention.causal && columns[j].begin > rows[i].end - 1;
  const ranked = (i) => columns.map((_, j) => j).filter((j) => !masked(i, j)).sort((a, b) => at(i, b) - at(i, a));
  return { rows, columns, values, at, masked, ranked, isCausal: attention.causal, top: (i) => ranked(i)[0], readsColumns: attention.queries === attention.keys };
}

/** Where a map is, as a reader says it: "layer 4, head 4". */
export function whereOf({ layer, head, reduction, layers, of }) {
  if (head) return t("where.head", { layer, head });
  if (of) return t(`where.${reduction}`, { layer, count: of.length });
  return t(`where.all.${reduction}`, { layers: layers.length, count: layers.reduce((sum, { heads }) => sum + heads, 0) });
}

/** Who looks at whom in a kind of attention: "English → French", or "source → target" if the languages are unknown. */
export function kindName({ languages }, { queries, keys }) {
  const [source, target] = languages.map(languageName);
  const names = source && target && source !== target ? { source, target } : { source: t("source"), target: t("target") };
  return `${capital(names[queries])} → ${capital(names[keys])}`;
}

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
