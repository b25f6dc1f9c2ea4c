// "Inside" under a translation: what the model computes for one sentence.

import { mount } from "./inside.js";

/** Show the inspection of a provider in `container`; a later call with the same container replaces it. */
export async function mountInside(container, provider, { text, source, target, languages }) {
  await mount(container, provider, { ask: 40 });
}
