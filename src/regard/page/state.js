// What is chosen, and who wants to know when that changes.

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
  walkHead: null,
  walkRow: 0, // these two are pieces
  walkKey: 0,
  step: 0,
};

export function listen(changed) {
  listeners.push(changed);
}

export function change(changes) {
  Object.assign(state, changes);
  for (const changed of listeners) changed(Object.keys(changes));
}
