// Other translations of one sentence, best first, with what differs from the present one and their probabilities.

import { commonPairs } from "./differences.js";
import { announce, make } from "./dom.js";
import { langOf, number, t } from "./strings.js";

const COUNT = 4;
const DELAY = 500; // milliseconds in which the sentence may still change

/** Make the list. `ask(body, signal)` asks for a translation; `chosen(sentence, translation)` gets the reader's choice. */
export function makeWordings(ask, limit, { chosen }) {
  const heading = make("h2", { id: "wordings-title" });
  const list = make("ol", { className: "wordings" });
  const note = make("p", { className: "small" });
  const element = make("section", { id: "wordings", hidden: true }, heading, list, note);
  element.setAttribute("aria-labelledby", "wordings-title");
  let shown = null; // { key, translations }
  let asking = null;
  let timer = 0;

  /** Show other translations of a sentence { text, translation, source, target, isOnly }. */
  function show(sentence) {
    clearTimeout(timer);
    asking?.abort();
    if (!sentence || limit < 2) {
      shown = null;
      element.hidden = true;
      return;
    }
    const key = `${sentence.source}>${sentence.target}:${sentence.text}`;
    if (shown?.key === key) {
      draw(sentence);
      return;
    }
    list.classList.add("stale");
    timer = setTimeout(() => load(sentence, key), DELAY);
  }

  async function load(sentence, key) {
    asking = new AbortController();
    const { text, source, target } = sentence;
    try {
      const { translations: [first] } = await ask({ text, source, target, n_best: Math.min(COUNT, limit), words: true }, asking.signal);
      shown = { key, translations: [first, ...first.alternatives] };
      draw(sentence);
    } catch {
      element.hidden = true; // the list is an offer; what is wrong is shown where the translation is
    }
  }

  function draw(sentence) {
    const present = sentence.translation;
    const all = shown.translations.some((each) => each.text === present.text) ? shown.translations : [present, ...shown.translations];
    element.hidden = all.length < 2;
    heading.textContent = t(sentence.isOnly ? "wordings.title" : "wordings.title.one");
    const largest = Math.max(...all.map(probabilityOf));
    list.classList.remove("stale");
    list.replaceChildren(...all.map((each) => make("li", {}, makeItem(each, sentence, largest))));
    note.replaceChildren(t("wordings.note"), " ", make("u", { className: "differs", textContent: t("wordings.marked") }), t("wordings.marked.rest"));
  }

  function makeItem(each, sentence, largest) {
    const isPresent = each.text === sentence.translation.text;
    const bar = make("span", { className: "bar", ariaHidden: "true" });
    bar.style.width = `${Math.max(1, (100 * probabilityOf(each)) / largest).toFixed(1)}%`;
    const item = make("button", { type: "button", className: "wording" },
      make("span", { className: "wording-text", dir: "auto", ...langOf(sentence.target) }, ...textOf(each, isPresent, sentence)),
      make("span", { className: "wording-number" }, make("span", { className: "track" }, bar), make("span", { className: "number", textContent: formatted(probabilityOf(each)) })));
    item.setAttribute("aria-pressed", String(isPresent));
    item.addEventListener("click", () => {
      if (isPresent) return;
      chosen(sentence, each);
      announce(t("wordings.chosen"));
    });
    return item;
  }

  return { element, show };
}

function textOf({ text }, isPresent, { translation }) {
  if (!text.trim()) return [make("span", { className: "small", textContent: t("wordings.empty") })];
  return isPresent || !translation.text.trim() ? [text] : wordsThatDiffer(text, translation.text);
}

const probabilityOf = ({ log_probability: value }) => (value === null || value === undefined ? 0 : Math.exp(value));

/** Four decimals, or a power of ten for what would be zero. */
const formatted = (value) => (value >= 0.00005 || value === 0 ? number(value, 4) : `10${superscript(Math.round(Math.log10(value)))}`);

const superscript = (exponent) => String(exponent).replace(/[-\d]/g, (sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign]));

/** A text as a list of strings and of marked words, which another text does not have at their place. */
export function wordsThatDiffer(text, other) {
  const words = text.split(/(\s+)/);
  const common = new Set(commonPairs(words, other.split(/(\s+)/)).map(([i]) => i));
  return words.map((word, i) => (common.has(i) || !word.trim() ? word : make("u", { className: "differs", textContent: word })));
}
