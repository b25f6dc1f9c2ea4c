// The text and its translation at the top of a page file, and what to know about them.

import { make } from "./dom.js";
import { langOf, languageName, t } from "./strings.js";
import { capital } from "./inspection.js";

export function makeTexts({ texts, languages, without, intervention, search }) {
  const [source, target] = languages;
  const entries = [["source", texts.source, source], ["target", texts.target, target]];
  if (texts.torch !== null) entries.push(["torch", texts.torch, target]);
  if (texts.full_model !== null) entries.push(["full", texts.full_model, target]);
  const panes = entries.map(([name, text, language]) => {
    const label = (name === "source" || name === "target") && languageName(language);
    return make("div", { className: "pane" },
      make("h2", { className: "small", textContent: label ? capital(label) : t(`texts.${name}`) }),
      make("p", { className: "text", dir: "auto", textContent: text, ...langOf(language) }));
  });
  const notes = [];
  if (texts.torch !== null) notes.push(t("texts.differ"));
  if (texts.full_model !== null) notes.push(t("texts.without", { without }));
  else if (without) notes.push(t("texts.computed", { without, description: intervention.description }), ...(search === null ? [] : [t("texts.kept")]));
  const section = make("section", { className: "card texts", id: "texts" }, make("h1", { className: "visually-hidden", textContent: t("title") }), ...panes);
  if (notes.length) section.append(make("p", { className: "note", id: "notes", textContent: notes.join(" ") }));
  return section;
}
