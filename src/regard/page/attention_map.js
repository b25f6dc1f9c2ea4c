// One map as it is shown: of a head or over several, of words or of pieces.

import { KINDS, attentions, data, sides, weightsOf } from "./provider.js";
import { state } from "./state.js";

/** The address of the chosen map. */
export function addressOf({ kind, layer, head }) {
  const [stack, part] = kind.split(".");
  return layer === "all" ? `${kind}.${head}` : `${stack}.${layer}.${part}.${head}`;
}

export function titleOf({ kind, layer, head }) {
  const who = KINDS[kind];
  const heads = data.settings.heads;
  const layers = attentions.filter((one) => one.kind === kind).length;
  const address = addressOf({ kind, layer, head });
  if (head === "rollout") return `Rollout through ${layers} layers, mean of heads, half for the residual: ${who}`;
  if (layer === "all") return `${head === "mean" ? "Mean" : "Maximum"} of ${heads} heads in each of ${layers} layers: ${who}`;
  if (head === "mean" || head === "max") {
    return `${head === "mean" ? "Mean" : "Maximum"} of the ${heads} heads of ${address.slice(0, address.lastIndexOf("."))}: ${who}`;
  }
  return `${address}: ${who}`;
}

/** Weights of pieces, from 0 to 1. */
async function piecesOf({ kind, layer, head }) {
  const [stack, part] = kind.split(".");
  if (layer === "all" || (head !== "mean" && head !== "max")) {
    const whole = await weightsOf(addressOf({ kind, layer, head }));
    return Float32Array.from(whole, (number) => number / 255);
  }
  const heads = await Promise.all(
    Array.from({ length: data.settings.heads }, (_, i) => weightsOf(`${stack}.${layer}.${part}.${i + 1}`)),
  );
  const over = new Float32Array(heads[0].length);
  for (const one of heads) {
    for (let i = 0; i < over.length; i++) over[i] = head === "max" ? Math.max(over[i], one[i] / 255) : over[i] + one[i] / 255 / heads.length;
  }
  return over;
}

/** The chosen map: labels, numbers, and which cells no one may look at. */
export async function chosenMap(choice = state) {
  const { rows, columns, read } = sides(choice.kind);
  const numbers = await piecesOf(choice);
  const masked = (i, j) => choice.kind === "decoder.self" && j > i;
  const byPieces = choice.units === "pieces";
  const units = (side) => (byPieces ? side.pieces.map((text, i) => [text, i, i + 1]) : side.words);
  const rowUnits = units(rows);
  const columnUnits = units(columns);
  const values = new Float32Array(rowUnits.length * columnUnits.length);
  rowUnits.forEach(([, begin, end], i) => {
    columnUnits.forEach(([, from, to], j) => {
      let sum = 0;
      for (let a = begin; a < end; a++) for (let b = from; b < to; b++) sum += numbers[a * columns.pieces.length + b];
      values[i * columnUnits.length + j] = sum / (end - begin);
    });
  });
  const before = read && units(read);
  return {
    title: titleOf(choice),
    rows: rowUnits.map(([text, begin]) => ({ text, begin, read: before && before.find(([, from, to]) => from <= begin && begin < to)[0] })),
    columns: columnUnits.map(([text, begin]) => ({ text, begin })),
    values,
    masked: (i, j) => masked(rowUnits[i][2] - 1, columnUnits[j][1]),
    at: (i, j) => values[i * columnUnits.length + j],
  };
}

export const labelOf = (row) => (row.read ? `${row.read} → ${row.text}` : row.text);
export const sentenceOf = (row) => (row.read ? `after reading ${row.read}, about to write ${row.text}` : row.text);

/** What a row looks at, most first. */
export function rankedRow(map, row) {
  return map.columns
    .map((column, j) => ({ name: column.text, value: map.at(row, j), column: j }))
    .filter(({ column }) => !map.masked(row, column))
    .sort((a, b) => b.value - a.value);
}
