// The current selection, and the functions to call when it changes.

import { mainAttention } from "./provider.js";

const listeners = [];

export const state = {
  kind: mainAttention?.kind,
  layer: String(mainAttention?.layer), // the number of a layer, or "all"
  head: "mean", // the number of a head, "mean", "max" or, if all layers are selected, "rollout"
  form: "map",
  units: "words",
  row: 0, // index of the selected word or token, as is column
  column: 0,
  arithmeticHead: null,
  arithmeticRow: 0, // index of a token, as is arithmeticKey
  arithmeticKey: 0,
  stateLayer: null, // the address of a recurrent layer
  statePosition: 0,
  step: 0,
};

export function listen(listener) {
  listeners.push(listener);
}

export function change(changes) {
  Object.assign(state, changes);
  for (const listener of listeners) listener(Object.keys(changes));
}
