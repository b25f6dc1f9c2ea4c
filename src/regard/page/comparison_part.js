// The start of a comparison: another text, if the provider can compute it, or another saved page, read from a file. A
// file is only read for its data, which is shown as text like all other data.
//
// For a text of which another one differs in a single word that changes the translation, this one is offered.

import { canCompare, showComparison } from "./comparison.js";
import { announce, make, makeButton, makeWord } from "./dom.js";
import { makeEmbeddedProvider } from "./embedded_provider.js";
import { loadInspection } from "./inspection.js";
import { rich, t } from "./strings.js";

const PAIR = ["tired", "wide"];
const PAIR_TEXTS = PAIR.map((word) => `The animal didn't cross the street because it was too ${word}.`);

export function showComparisonPart(add, context) {
  const { inspection, provider } = context;
  const { source } = inspection.facts.texts;
  const host = make("div", { className: "comparison" });
  const problem = make("p", { className: "warning", role: "alert", hidden: true });
  const start = make("div", { className: "comparison-start" });
  const fail = (text) => { problem.textContent = text; problem.hidden = false; };

  async function compare(other) {
    problem.hidden = true;
    const second = await loadInspection(other);
    context.compared = other === provider ? null : second.facts.texts.source;
    if (!canCompare(inspection, second)) return fail(t("compare.unlike"));
    start.hidden = true;
    await showComparison(host, context, second, () => {
      host.replaceChildren();
      context.compared = null;
      start.hidden = false;
      start.querySelector("button, input")?.focus();
    });
    announce(document.getElementById("comparison-finding").textContent);
    host.querySelector("button").focus();
  }

  if (!provider.refuses({ text: source })) {
    const text = make("input", { type: "text", id: "compare-text", value: source, dir: "auto", maxLength: 2000 });
    const submit = makeButton(t("compare.start"), "main", () => {}, { type: "submit" });
    const form = make("form", { className: "compare-form" }, make("label", { htmlFor: "compare-text", textContent: t("compare.text") }), text, submit);
    context.compare = async (other) => {
      text.value = other;
      submit.disabled = true;
      submit.textContent = t("compare.wait");
      try {
        await compare(await provider.look({ text: other, without: null }));
      } catch (error) {
        fail(error.message);
      }
      submit.disabled = false;
      submit.textContent = t("compare.start");
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      context.compare(text.value);
    });
    const at = PAIR_TEXTS.indexOf(source);
    if (at >= 0) {
      const offered = makeButton("", "", () => context.compare(PAIR_TEXTS[1 - at]), { id: "compare-pair" });
      offered.append(...rich("compare.pair", { word: makeWord(PAIR[1 - at]) }));
      start.append(offered);
    }
    start.append(form);
  } else start.append(makeFileChoice());

  function makeFileChoice() {
    const file = make("input", { type: "file", accept: ".html", id: "compare-file" });
    file.addEventListener("change", async () => {
      const data = await readPage(file.files[0]);
      if (data) await compare(makeEmbeddedProvider(data));
      else fail(t("compare.file.bad"));
    });
    return make("label", { htmlFor: "compare-file" }, t("compare.file"), file);
  }
  add(make("section", { id: "compare", ariaLabel: t("compare.title") }, make("div", { className: "comparison-start-box" }, start, problem), host));
}

/** The data of a page file, or null if it is none. */
async function readPage(file) {
  try {
    const page = new DOMParser().parseFromString(await file.text(), "text/html");
    const data = JSON.parse(page.getElementById("data").textContent);
    return data.facts && data.maps ? data : null;
  } catch {
    return null;
  }
}
