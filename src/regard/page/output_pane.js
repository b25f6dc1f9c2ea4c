// The pane with the translation. Its words can be pointed at, and chosen; those of low probability are underlined.
// Sentences that have not changed stay as they are, and those that will change are pale until their translation is there.

import { make, makeButton } from "./dom.js";
import { makeIcon } from "./icons.js";
import { langOf, number, t } from "./strings.js";

export const UNLIKELY = 0.3; // words of a lower probability are underlined

/** Make the pane. `hovered(place)` and `chosen(place, element)` get { sentence, word }, or null. */
export function makeOutputPane({ hovered, chosen }) {
  const output = make("div", { id: "output", className: "language output", dir: "auto" });
  const bar = make("div", { className: "progress", hidden: true }, make("i"));
  const note = make("span", { id: "output-note", className: "end" });
  const copy = makeButton("", "plain", copyText, { id: "copy", hidden: true });
  copy.append(makeIcon("copy"), t("target.copy"));
  const element = make("div", { className: "pane" }, bar,
    make("div", { className: "field", role: "region", ariaLabel: t("target.label") }, output),
    make("div", { className: "foot" }, copy, note));
  const hint = () => output.replaceChildren(make("span", { className: "hint", textContent: t("target.hint") }));
  let shown = []; // [{ sentence, element, words }]

  const placeOf = (target) => (target.dataset?.word ? { sentence: Number(target.parentElement.dataset.sentence), word: Number(target.dataset.word) } : null);
  output.addEventListener("pointerover", (event) => hovered(placeOf(event.target)));
  output.addEventListener("pointerleave", () => hovered(null));
  output.addEventListener("click", (event) => {
    const place = placeOf(event.target);
    if (place && getSelection().isCollapsed) chosen(place, event.target);
  });

  /** Show the sentences of a translation, with what stands between them in the text. */
  function show({ text, target, sentences }) {
    const reusable = new Map(shown.map((each) => [each.translation, each]));
    const parts = [];
    let at = 0;
    shown = sentences.map(({ start, end, translation }, i) => {
      const entry = reusable.get(translation) ?? makeSentence(translation);
      reusable.delete(translation); // the same sentence may come twice
      entry.element.dataset.sentence = String(i);
      entry.element.classList.remove("stale");
      parts.push(text.slice(at, start), entry.element);
      at = end;
      return entry;
    });
    output.replaceChildren(...parts, text.slice(at));
    output.lang = "";
    Object.assign(output, langOf(target));
    setPending(false);
    copy.hidden = !shown.length;
    const hasUnlikely = output.querySelector(".unsure") !== null;
    note.replaceChildren(...(hasUnlikely ? [make("span", { className: "key", ariaHidden: "true" }), t("target.unlikely", { limit: number(UNLIKELY) })] : []));
  }

  function setPending(isPending, text = t("target.pending")) {
    bar.hidden = !isPending;
    output.setAttribute("aria-busy", String(isPending));
    if (isPending) note.textContent = text;
  }

  /** Make pale what an edited text will change: all but the first and last sentences that are still the same. */
  function fade(sources, old) {
    const isSame = (i, j) => sources[i] !== undefined && sources[i] === old[j];
    let first = 0;
    while (first < shown.length && isSame(first, first)) first += 1;
    let last = 0;
    while (last < shown.length - first && isSame(sources.length - 1 - last, shown.length - 1 - last)) last += 1;
    shown.forEach(({ element }, i) => element.classList.toggle("stale", i >= first && i < shown.length - last));
  }

  /** Keep the last translation, and say so. */
  function keep() {
    setPending(false);
    note.textContent = shown.length ? t("target.kept") : "";
  }

  function clear() {
    shown = [];
    hint();
    setPending(false);
    note.textContent = "";
    copy.hidden = true;
  }

  function mark(places) {
    output.querySelectorAll(".lit").forEach((each) => each.classList.remove("lit"));
    for (const { sentence, word } of places) shown[sentence]?.words[word]?.classList.add("lit");
  }

  const text = () => (shown.length ? output.textContent : "");

  async function copyText() {
    await copyOf(text(), output);
    copy.lastChild.textContent = t("target.copied");
    setTimeout(() => { copy.lastChild.textContent = t("target.copy"); }, 2000);
  }

  clear();
  return { element, output, show, fade, keep, clear, mark, setPending, text };
}

function makeSentence(translation) {
  const words = (translation.words ?? []).map((word, i) =>
    make("span", { className: `w${word.probability !== null && word.probability < UNLIKELY ? " unsure" : ""}`, "data-word": String(i), textContent: word.text }));
  const element = make("span", { className: "output-sentence" });
  let at = 0;
  (translation.words ?? []).forEach(({ utf16_start: start, utf16_end: end }, i) => {
    element.append(translation.text.slice(at, start), words[i]);
    at = end;
  });
  element.append(translation.text.slice(at));
  return { translation, element, words };
}

/** Copy a text. Without https, browsers have no clipboard for scripts, so it is selected and copied. */
async function copyOf(text, element) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  getSelection().selectAllChildren(element);
  document.execCommand("copy");
  return getSelection().removeAllRanges();
}
