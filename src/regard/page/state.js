// The current selection, and the functions to call when it changes.

import { data } from "./provider.js";

const listeners = [];

export const state = {
  kind: "decoder.cross",
  layer: String(data.settings.decoder_layers), // or "all"
  head: "mean", // a number, "mean", "max" or, over all layers, "rollout"
  form: "map",
  units: "words",
  row: 0, // of the map as it is shown
  column: 0,
  arithmeticHead: null,
  arithmeticRow: 0, // a token, as is arithmeticKey
  arithmeticKey: 0,
  step: 0,
};

export function listen(listener) {
  listeners.push(listener);
}

export function change(changes) {
  Object.assign(state, changes);
  for (const listener of listeners) listener(Object.keys(changes));
}
