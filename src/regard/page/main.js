// The page: the text and its translation at the top, and below them tabs that show how the translation was computed.

import { showArithmetic } from "./arithmetic.js";
import { showAttention } from "./attention_view.js";
import { data, mainAttention } from "./provider.js";
import { byId, make } from "./dom.js";
import { showPositions } from "./positional_encoding.js";
import { showStates } from "./recurrent_states.js";
import { showGeneration } from "./generation.js";

const hasStates = data.recurrences.length > 0;

function showTexts() {
  const entries = [["source", data.texts.source], ["target", data.texts.target]];
  if (data.texts.torch !== null) entries.push(["torch", data.texts.torch]);
  byId("texts").append(...entries.flatMap(([name, text]) => [make("dt", { textContent: name }), make("dd", { textContent: text, dir: "auto" })]));
  // A long text scrolls, so it must be reachable by keyboard.
  for (const text of document.querySelectorAll("dd")) if (text.scrollHeight > text.clientHeight) text.tabIndex = 0;
  const notes = [`Model ${data.model}.`];
  if (!mainAttention) notes.push("This model has no attention.");
  if (data.texts.torch !== null) notes.push("CTranslate2 and torch gave different translations. The target is CTranslate2’s.");
  if (data.texts.full_model !== null) notes.push(`Translated without ${data.without}. Translation of the full model: ${data.texts.full_model}`);
  else if (data.without) notes.push(`Computed without ${data.without}: ${data.intervention.description}.${data.search === null ? "" : " The target is the translation of the full model."}`);
  byId("notes").textContent = notes.join(" ");
  byId("model-text").textContent = `${data.architecture} ${data.parameters.toLocaleString("en")} parameters. This text: ${data.source.tokens.length} source tokens, ${data.written.tokens.length} target tokens.`;
}

function showTabs() {
  const missing = [
    ...(mainAttention ? [] : ["tab-attention", "tab-arithmetic"]),
    ...(hasStates ? [] : ["tab-states"]),
    ...(data.positions ? [] : ["tab-positions"]),
  ];
  for (const name of missing) byId(name).hidden = true;
  const tabs = [...document.querySelectorAll('[role="tab"]')].filter((tab) => !tab.hidden);
  const select = (selected) => {
    for (const tab of tabs) {
      const isSelected = tab === selected;
      tab.setAttribute("aria-selected", isSelected);
      tab.tabIndex = isSelected ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = !isSelected;
    }
  };
  for (const tab of tabs) tab.addEventListener("click", () => select(tab));
  if (missing.includes("tab-attention")) {
    byId("attention").hidden = true;
    select(tabs[0]);
  }
  byId("tabs").addEventListener("keydown", (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!move) return;
    const next = tabs[(tabs.indexOf(document.activeElement) + move + tabs.length) % tabs.length];
    next.focus();
    select(next);
  });
}

showTexts();
showTabs();
// A model without attention, recurrent layers or positional encoding has no such tab.
await Promise.all([
  ...(mainAttention ? [showAttention(), showArithmetic()] : []),
  showGeneration(),
  ...(hasStates ? [showStates()] : []),
  ...(data.positions ? [showPositions()] : []),
]);
document.body.dataset.ready = "yes";
