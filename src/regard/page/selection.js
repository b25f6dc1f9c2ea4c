// What the reader has selected, as text that a link or a saved file keeps.

const NUMBERS = ["row", "column", "step"];
const WORDS = ["address", "units", "mode"];
const EXTRA = ["without", "instead", "compare"]; // what is removed, what replaces it, and the text that is compared

/** The text of a selection; `extra` are what is removed and what is compared. */
export function selectionText(state, extra = {}) {
  const values = new URLSearchParams();
  for (const name of [...WORDS, ...NUMBERS]) if (state[name] !== null && state[name] !== undefined) values.set(name, state[name]);
  for (const name of EXTRA) if (extra[name]) values.set(name, extra[name]);
  return values.toString();
}

/** The selection that a text stands for: its part of the state, and the extra values. What makes no sense is left out. */
export function readSelection(text) {
  const values = new URLSearchParams(text ?? "");
  const state = {};
  for (const name of WORDS) if (values.get(name)) state[name] = values.get(name);
  if (!["words", "tokens"].includes(state.units)) delete state.units;
  for (const name of NUMBERS) if (/^\d{1,4}$/.test(values.get(name) ?? "")) state[name] = Number(values.get(name));
  return { state, extra: Object.fromEntries(EXTRA.map((name) => [name, values.get(name)])) };
}
