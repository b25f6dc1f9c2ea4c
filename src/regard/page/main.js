// The page: what was read and written at the top, and five views of how.

import { showArithmetic } from "./arithmetic.js";
import { showAttention } from "./attention_view.js";
import { data } from "./provider.js";
import { byId, make } from "./dom.js";
import { showPositions } from "./positional_encoding.js";
import { showWriting } from "./generation.js";

function showTexts() {
  const entries = [["source", data.texts.source], ["target", data.texts.target]];
  if (data.texts.torch !== null) entries.push(["torch’s road", data.texts.torch]);
  byId("texts").append(...entries.flatMap(([name, text]) => [make("dt", { textContent: name }), make("dd", { textContent: text, dir: "auto" })]));
  // A long text scrolls, and so must be reachable by keyboard.
  for (const text of document.querySelectorAll("dd")) if (text.scrollHeight > text.clientHeight) text.tabIndex = 0;
  const notes = [`Model ${data.model}.`];
  if (data.texts.torch !== null) notes.push("CTranslate2 and torch gave different translations; the first target is shown.");
  if (data.texts.whole !== null) notes.push(`Translated without ${data.without}. The whole model writes: ${data.texts.whole}`);
  else if (data.without) notes.push(`Computed without ${data.without}; the target is the one of the whole model.`);
  byId("notes").textContent = notes.join(" ");
  const s = data.settings;
  byId("model-said").textContent = `${data.parameters.toLocaleString("en")} parameters; ${s.positions === "sinusoid" ? "sinusoid" : "learned"} positions; layer norm ${s.norm === "pre" ? "before each part" : "after each sum"}; this text: ${data.source.pieces.length} source pieces, ${data.written.pieces.length} target pieces.`;
}

function showTabs() {
  const tabs = [...document.querySelectorAll('[role="tab"]')];
  const choose = (chosen) => {
    for (const tab of tabs) {
      const isChosen = tab === chosen;
      tab.setAttribute("aria-selected", isChosen);
      tab.tabIndex = isChosen ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = !isChosen;
    }
  };
  for (const tab of tabs) tab.addEventListener("click", () => choose(tab));
  byId("tabs").addEventListener("keydown", (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!move) return;
    const next = tabs[(tabs.indexOf(document.activeElement) + move + tabs.length) % tabs.length];
    next.focus();
    choose(next);
  });
}

showTexts();
showTabs();
await Promise.all([showAttention(), showArithmetic(), showWriting(), showPositions()]);
document.body.dataset.ready = "yes";
