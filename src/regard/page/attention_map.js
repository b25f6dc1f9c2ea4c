// The selected attention map: the weights of one head or of several heads combined, between words or between tokens.

import { KINDS, attentionAddress, attentions, headNumbers, ofKind, weightsOf } from "./provider.js";
import { state } from "./state.js";

export function titleOf({ kind, layer, head }) {
  const { heads } = ofKind(kind);
  const layers = attentions.filter((attention) => attention.kind === kind).length;
  const address = attentionAddress(kind, layer);
  const reduction = { mean: "Mean", max: "Maximum" }[head];
  if (head === "rollout") return `Rollout through ${layers} layers (mean of heads, half for the residual): ${KINDS[kind]}`;
  if (layer === "all") return `${reduction} of ${heads} heads in each of ${layers} layers: ${KINDS[kind]}`;
  if (reduction) return `${reduction} of the ${heads} heads of ${address}: ${KINDS[kind]}`;
  return `${address}.${head}: ${KINDS[kind]}`;
}

/** The attention weights between tokens, from 0 to 1. */
async function tokenWeights({ kind, layer, head }) {
  const address = attentionAddress(kind, layer);
  if (layer === "all" || (head !== "mean" && head !== "max")) {
    const weights = await weightsOf(`${address}.${head}`);
    return Float32Array.from(weights, (weight) => weight / 255);
  }
  const heads = await Promise.all(headNumbers(ofKind(kind)).map((number) => weightsOf(`${address}.${number}`)));
  const reduced = new Float32Array(heads[0].length);
  for (const weights of heads) {
    for (let i = 0; i < reduced.length; i++) reduced[i] = head === "max" ? Math.max(reduced[i], weights[i] / 255) : reduced[i] + weights[i] / 255 / heads.length;
  }
  return reduced;
}

/** The selected map: its title, the labels of rows and columns, the weights, and which cells are masked. */
export async function selectedMap(selection = state) {
  const { rows, columns, read, causal } = ofKind(selection.kind);
  const weights = await tokenWeights(selection);
  const isMasked = (row, column) => causal && column > row;
  const unitsOf = (side) => (selection.units === "tokens" ? side.tokens.map((text, i) => [text, i, i + 1]) : side.words);
  const rowUnits = unitsOf(rows);
  const columnUnits = unitsOf(columns);
  const values = new Float32Array(rowUnits.length * columnUnits.length);
  rowUnits.forEach(([, begin, end], i) => {
    columnUnits.forEach(([, from, to], j) => {
      let sum = 0;
      for (let a = begin; a < end; a++) for (let b = from; b < to; b++) sum += weights[a * columns.tokens.length + b];
      values[i * columnUnits.length + j] = sum / (end - begin);
    });
  });
  const readUnits = read && unitsOf(read);
  return {
    title: titleOf(selection),
    rows: rowUnits.map(([text, begin]) => ({ text, begin, read: readUnits && readUnits.find(([, from, to]) => from <= begin && begin < to)[0] })),
    columns: columnUnits.map(([text, begin]) => ({ text, begin })),
    values,
    masked: (i, j) => isMasked(rowUnits[i][2] - 1, columnUnits[j][1]),
    at: (i, j) => values[i * columnUnits.length + j],
  };
}

export const labelOf = (row) => (row.read ? `${row.read} → ${row.text}` : row.text);
export const descriptionOf = (row) => (row.read ? `after ${row.read}, predicting ${row.text}` : row.text);

/** The keys that the query at index `row` may attend to, largest weight first. */
export function rankedRow(map, row) {
  return map.columns
    .map((column, j) => ({ name: column.text, value: map.at(row, j), column: j }))
    .filter(({ column }) => !map.masked(row, column))
    .sort((a, b) => b.value - a.value);
}
