// The page that `regard look --html` writes: one file with the data in it, which works without a network.

import { makeEmbeddedProvider } from "./embedded_provider.js";
import { showHeader } from "./header.js";
import { mount } from "./inside.js";
import { makeTexts } from "./texts.js";
import { readSelection } from "./selection.js";
import { setLanguage, uiLanguage } from "./strings.js";

const data = JSON.parse(document.getElementById("data").textContent);

async function show() {
  const root = document.getElementById("main");
  const provider = makeEmbeddedProvider(data);
  showHeader(document.getElementById("header"), (language) => {
    setLanguage(language);
    show();
  });
  const inside = document.createElement("section");
  inside.className = "inside";
  root.replaceChildren(makeTexts(await provider.facts()), inside);
  const { later } = await mount(inside, provider, { selection: readSelection(document.body.dataset.selection).state });
  await Promise.all(later);
  document.body.dataset.ready = "yes";
}

setLanguage(uiLanguage());
show();
