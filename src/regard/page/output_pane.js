// The pane with the translation. Its words can be pointed at, and chosen; those of low probability are underlined.
// Sentences that have not changed stay as they are, and those that will change are pale until their translation is there.

import { announce, make, makeButton } from "./dom.js";
import { makeIcon } from "./icons.js";
import { langOf, number, t } from "./strings.js";

const UNLIKELY = 0.3; // words of a lower probability are underlined
const QUIET = 300; // milliseconds before the pane says that it waits

/** Make the pane. `hovered(place)` and `chosen(place, element)` get { sentence, word }, or null. */
export function makeOutputPane({ hovered, chosen }) {
  const output = make("div", { id: "output", className: "language output", dir: "auto" });
  const bar = make("div", { className: "progress", hidden: true }, make("i"));
  const note = make("span", { id: "output-note", className: "end" });
  const copyButton = makeButton("", "plain", () => copy(copyButton), { id: "copy", hidden: true });
  copyButton.append(makeIcon("copy"), make("span", { textContent: t("target.copy") }));
  const region = make("div", { className: "field", role: "region", ariaLabel: t("target.label") }, output, make("p", { id: "word-keys", hidden: true, textContent: t("target.keys") }));
  const element = make("div", { className: "pane" }, bar, region, make("div", { className: "foot" }, copyButton, note));
  const hint = () => output.replaceChildren(make("span", { className: "hint", textContent: t("target.hint") }));
  let timer = 0;
  let shown = []; // [{ sentence, element, words }]

  const placeOf = (target) => (target.dataset?.word ? { sentence: Number(target.parentElement.dataset.sentence), word: Number(target.dataset.word) } : null);
  const all = () => [...output.querySelectorAll(".w")];
  output.addEventListener("pointerover", (event) => hovered(placeOf(event.target)));
  output.addEventListener("pointerleave", () => hovered(null));
  output.addEventListener("focusin", (event) => hovered(placeOf(event.target)));
  output.addEventListener("focusout", () => hovered(null));
  output.addEventListener("click", (event) => {
    const place = placeOf(event.target);
    if (!place || !getSelection().isCollapsed) return;
    setCurrent(event.target);
    chosen(place, event.target, event.detail === 0);
  });
  output.addEventListener("keydown", (event) => {
    const place = placeOf(event.target);
    if (!place) return;
    if (event.key === "Enter" || event.key === " ") chosen(place, event.target, true);
    else if (!moveFocus(event)) return;
    event.preventDefault();
  });

  /** Of all words, one is a button that the tabulator key reaches; the others are plain text for screen readers. */
  function setCurrent(word) {
    for (const each of output.querySelectorAll(".w[role]")) ["role", "tabindex", "aria-describedby", "aria-haspopup"].forEach((name) => each.removeAttribute(name));
    if (!word) return;
    word.setAttribute("role", "button");
    word.setAttribute("aria-haspopup", "dialog");
    word.setAttribute("aria-describedby", "word-keys");
    word.tabIndex = 0;
  }

  function moveFocus(event) {
    const words = all();
    const at = words.indexOf(event.target);
    const forwards = getComputedStyle(event.target.parentElement).direction === "rtl" ? -1 : 1;
    const to = { ArrowRight: at + forwards, ArrowLeft: at - forwards, ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: words.length - 1 }[event.key];
    if (to === undefined) return false;
    const next = words[Math.min(Math.max(to, 0), words.length - 1)];
    setCurrent(next);
    next.focus();
    return true;
  }

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
    if (!output.querySelector(".w[role]")) setCurrent(output.querySelector(".w"));
    if (all().length) region.removeAttribute("tabindex");
    else region.tabIndex = 0; // so that the keyboard can scroll a text without words to choose
    output.lang = "";
    Object.assign(output, langOf(target));
    setPending(false);
    copyButton.hidden = !output.textContent.trim();
    showNote();
  }

  /** Say what can be done with the words, and what the underlined ones are. */
  function showNote() {
    const hasUnlikely = output.querySelector(".unsure") !== null;
    const key = hasUnlikely ? [make("span", { className: "legend" }, make("span", { className: "key", ariaHidden: "true" }), t("target.unlikely", { limit: number(UNLIKELY) }))] : [];
    note.replaceChildren(...(all().length ? [make("span", { className: "choose", textContent: t(matchMedia("(hover: hover)").matches ? "target.choose" : "target.choose.touch") })] : []), ...key);
  }

  function setPending(isPending) {
    clearTimeout(timer);
    output.setAttribute("aria-busy", String(isPending));
    if (!isPending) bar.hidden = true;
    else timer = setTimeout(() => { bar.hidden = false; note.textContent = t("target.pending"); }, QUIET);
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
    copyButton.hidden = true;
  }

  /** The element of a word. */
  const wordAt = ({ sentence, word }) => shown[sentence]?.words[word];

  function mark(places) {
    output.querySelectorAll(".lit").forEach((each) => each.classList.remove("lit"));
    places.forEach((place) => wordAt(place)?.classList.add("lit"));
  }

  const text = () => (shown.length ? output.textContent : "");

  /** Copy the translation, and say so on the button. */
  async function copy(button) {
    await copyOf(text(), output);
    const label = button.querySelector("span");
    label.textContent = t("target.copied");
    announce(t("target.copied"));
    setTimeout(() => { label.textContent = t("target.copy"); }, 2000);
  }

  clear();
  return { element, output, show, fade, keep, clear, mark, wordAt, setPending, text, copy };
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
