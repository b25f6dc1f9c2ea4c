// What a reader should know about a translation: the language of the text is uncertain, or the translation may be wrong.

import { make, makeButton, makeWord } from "./dom.js";
import { makeIcon } from "./icons.js";
import { rich, t } from "./strings.js";

const SURE = 60; // percent; below it, the page asks for the language
const SHOWN = 4; // warnings
const KINDS = ["length limit", "same as source", "repetition", "missing number", "lost span", "unknown characters", "language"];

/** Make the list. `chooseSource(code)` is called when the reader says which language the text is in. */
export function makeNotices(languages, chooseSource) {
  const element = make("ul", { id: "notices", className: "notices", hidden: true });

  function show(state) {
    const notices = state ? [...unsure(state), ...empty(state), ...warnings(state)] : [];
    element.replaceChildren(...notices);
    element.hidden = !notices.length;
  }

  function unsure({ isDetected, detections, source }) {
    if (!isDetected || detections[0]?.confidence >= SURE) return [];
    const codes = [...new Set([...detections.map((each) => each.language), ...languages.sources])].filter((code) => code !== source).slice(0, 4);
    if (!codes.length) return [];
    const buttons = codes.map((code) => makeButton(languages.nameOf(code), "small-button", () => chooseSource(code)));
    return [makeNotice("ask", t("notice.unsure", { language: languages.nameOf(source) }), ...buttons)];
  }

  function warnings({ sentences }) {
    const all = sentences.flatMap(({ text, translation }) => (translation.warnings ?? []).map((each) => ({ text, ...each })));
    return all.slice(0, SHOWN).map(({ text, kind, message }) => {
      const said = KINDS.includes(kind) ? t(`warning.${kind}`) : message;
      const where = sentences.length > 1 ? rich("notice.where", { text: makeWord(shortened(text)) }) : [];
      return makeNotice("alert", ...where, said);
    });
  }

  const empty = ({ sentences }) => (sentences.some(({ translation }) => !translation.text.trim()) ? [makeNotice("alert", t("notice.empty"))] : []);

  return { element, show };
}

const makeNotice = (icon, ...content) => make("li", {}, makeIcon(icon), make("span", {}, ...content));

const shortened = (text) => (text.length > 42 ? `${text.slice(0, 40)}…` : text);
