// The box that opens at a word of the translation: other words there with their probabilities. The translation continues
// from the chosen word as the model then writes it. On phones the box is a sheet at the foot of the screen.

import { make, makeButton, makeWord } from "./dom.js";
import { makeIcon } from "./icons.js";
import { wordsThatDiffer } from "./wordings.js";
import { langOf, number, probability, rich, t } from "./strings.js";

const COUNT = 6;
const PATIENT = 1500; // milliseconds before the box says why it takes long

/** Make the box. `ask(body, signal)` asks for alternatives; `chosen(sentence, alternative)` gets the reader's choice. */
export function makeOtherWords(ask, { chosen, closed }) {
  const element = make("div", { id: "other-words", className: "other-words", role: "dialog", tabIndex: -1, hidden: true });
  let word = null; // the element at which the box is open
  let asking = null;
  let hasKeyboard = false; // whether the reader opened the box with the keyboard, and so needs the focus in it

  function close({ isFocused = element.contains(document.activeElement) } = {}) {
    if (element.hidden) return;
    asking?.abort();
    element.hidden = true;
    word?.removeAttribute("aria-expanded");
    word?.classList.remove("open");
    closed(word, isFocused);
    word = null;
  }

  document.addEventListener("pointerdown", (event) => !element.contains(event.target) && event.target !== word && close({ isFocused: false }));
  element.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    const options = [...element.querySelectorAll(".option")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !options.length) return;
    event.preventDefault();
    const at = options.indexOf(document.activeElement);
    options[(at + step + options.length) % options.length].focus();
  });

  /** Open the box at a word of the sentence { text, translation, source, target }; `at` is its number. */
  async function open(newWord, sentence, at, isKeyboard) {
    const isSame = word === newWord;
    hasKeyboard = isKeyboard;
    close({ isFocused: false });
    if (isSame) return;
    word = newWord;
    word.setAttribute("aria-expanded", "true");
    word.classList.add("open");
    element.setAttribute("aria-label", t("others.title", { word: word.textContent }));
    element.hidden = false;
    await fill(sentence, at);
  }

  async function fill(sentence, at) {
    const waiting = make("p", { className: "note", role: "status", textContent: t("others.waiting") });
    draw(waiting);
    element.focus({ preventScroll: true });
    const opened = (asking = new AbortController());
    const timer = setTimeout(() => { waiting.textContent = t("others.starting"); }, PATIENT);
    try {
      const { text, translation, source, target } = sentence;
      const found = await ask({ text, translation: translation.text, source, target, word: at, count: COUNT }, opened.signal);
      if (!opened.signal.aborted) showOptions(found.alternatives, sentence, at);
    } catch (error) {
      if (opened.signal.aborted) return;
      const kind = [413, 422].includes(error.status) ? "others.refused" : "others.failed";
      draw(make("p", { className: "note", role: "alert", textContent: t(kind) }), ...(kind === "others.failed" ? [makeButton(t("problem.again"), "", () => fill(sentence, at))] : []));
    } finally {
      clearTimeout(timer);
    }
  }

  function showOptions(alternatives, sentence, at) {
    const present = sentence.translation.words[at].text;
    if (!alternatives.some((each) => each.word === present)) {
      const { text, words } = sentence.translation;
      alternatives = [...alternatives, { word: present, text, words, probability: words[at].probability }];
    }
    const options = alternatives.map((each) => makeOption(each, each.word === present, sentence));
    const why = explain(alternatives, sentence, present);
    draw(make("p", { className: "small others-lead", textContent: t("others.lead") }), make("ul", {}, ...options.map((each) => make("li", {}, each))), ...why);
    if (hasKeyboard) (options.find((each) => each.getAttribute("aria-current")) ?? options[0])?.focus({ preventScroll: true });
  }

  function makeOption(each, isPresent, sentence) {
    const bar = make("span", { className: "bar", ariaHidden: "true" });
    bar.style.width = `${Math.max(1, 100 * (each.probability ?? 0)).toFixed(1)}%`;
    const marked = wordsThatDiffer(each.text, sentence.translation.text);
    const isOneWord = marked.filter((part) => typeof part !== "string").length < 2 && each.text.split(" ").length === sentence.translation.text.split(" ").length;
    const option = make("button", { type: "button", className: "option" },
      make("span", { className: "check" }, ...(isPresent ? [makeIcon("done")] : [])),
      make("bdi", { className: "option-word", textContent: each.word, ...langOf(sentence.target) }),
      make("span", { className: "track" }, bar),
      make("span", { className: "number", textContent: each.probability === null ? "" : probability(each.probability) }),
      ...(isPresent || isOneWord ? [] : [make("span", { className: "rest", dir: "auto", ...langOf(sentence.target) }, ...marked)]));
    if (isPresent) option.setAttribute("aria-current", "true");
    option.addEventListener("click", () => {
      close();
      if (!isPresent) chosen(sentence, each);
    });
    return option;
  }

  /** Why the most probable word is not in the translation: the search prefers the most probable sentence. */
  function explain(alternatives, { translation }, present) {
    const [first] = alternatives;
    const [whole, other] = [translation.log_probability, first.log_probability].map((value) => (value ?? null) === null ? null : Math.exp(value));
    if (first.word === present || whole === null || other === null || whole <= other) return [];
    return [make("p", { className: "small others-why" }, ...rich("others.why", { first: makeWord(first.word), present: makeWord(present), whole: number(whole, 4), other: number(other, 4) }))];
  }

  function draw(...content) {
    const heading = make("h2", {}, ...rich("others.title", { word: makeWord(word.textContent) }));
    const shut = make("button", { type: "button", className: "shut", ariaLabel: t("others.close") }, makeIcon("clear"));
    shut.addEventListener("click", () => close());
    element.replaceChildren(make("div", { className: "others-top" }, heading, shut), ...content);
    place();
  }

  /** Put the box below the word, and bring it into view. */
  function place() {
    if (!word) return;
    const box = word.getClientRects()[0] ?? word.getBoundingClientRect();
    const frame = element.offsetParent?.getBoundingClientRect();
    if (!frame) {
      scrollBy(0, Math.max(0, box.bottom - innerHeight + element.offsetHeight + 16)); // above the sheet of a phone
      return;
    }
    const left = Math.min(Math.max(box.left - frame.left - 16, 8), frame.width - element.offsetWidth - 8);
    element.style.setProperty("--left", `${left}px`);
    element.style.setProperty("--top", `${box.bottom - frame.top + 10}px`);
    element.scrollIntoView({ block: "nearest" });
  }

  addEventListener("resize", place);
  return { element, open, close };
}
