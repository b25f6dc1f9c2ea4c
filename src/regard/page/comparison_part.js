// The start of a comparison: another text, if the provider can compute it, or another saved page, read from a file. A
// file is only read for its data, which is shown as text like all other data.

import { canCompare, showComparison } from "./comparison.js";
import { announce, make, makeButton } from "./dom.js";
import { makeEmbeddedProvider } from "./embedded_provider.js";
import { loadInspection } from "./inspection.js";
import { t } from "./strings.js";

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
    if (!canCompare(inspection, second)) return fail(t("compare.unlike"));
    start.hidden = true;
    await showComparison(host, context, second, () => {
      host.replaceChildren();
      start.hidden = false;
      start.querySelector("button, input")?.focus();
    });
    announce(document.getElementById("comparison-finding").textContent);
    host.querySelector("button").focus();
  }

  if (!provider.refuses({ text: source })) {
    const text = make("input", { type: "text", id: "compare-text", value: source, dir: "auto", maxLength: 2000 });
    const form = make("form", { className: "compare-form" }, make("label", { htmlFor: "compare-text", textContent: t("compare.text") }), text, makeButton(t("compare.start"), "main", () => {}, { type: "submit" }));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        await compare(await provider.look({ text: text.value, without: null }));
      } catch (error) {
        fail(error.message);
      }
    });
    start.append(form);
  }
  const file = make("input", { type: "file", accept: ".html", id: "compare-file" });
  file.addEventListener("change", async () => {
    const data = await readPage(file.files[0]);
    if (data) await compare(makeEmbeddedProvider(data));
    else fail(t("compare.file.bad"));
  });
  start.append(make("label", { htmlFor: "compare-file" }, t("compare.file"), file));
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
