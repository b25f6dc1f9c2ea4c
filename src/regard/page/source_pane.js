// The pane in which a text is written. Behind the field lies the same text with marks: the words that belong to a word
// of the translation, and what is too long. The text itself is never changed or cut.

import { directionOf, make, makeButton } from "./dom.js";
import { makeIcon } from "./icons.js";
import { langOf, t, whole } from "./strings.js";

/**
 * Make the pane. `edited({ isUrgent })` is called after every change, `moved(index)` when the reader goes to a place in the
 * text, and `hovered(word)` with one of the words that are shown, or null.
 */
export function makeSourcePane(limit, { edited, moved, hovered, openFile }) {
  const back = make("div", { className: "language back", ariaHidden: "true" });
  const field = make("textarea", { id: "source", className: "language", dir: "auto", spellcheck: true, placeholder: t("source.hint"), ariaLabel: t("source.label") });
  field.setAttribute("aria-describedby", "source-count");
  const count = make("span", { id: "source-count", className: "end" });
  const clear = makeButton("", "plain", () => { set(""); field.focus(); }, { id: "clear", hidden: true });
  clear.append(makeIcon("clear"), t("source.clear"));
  const file = makeButton("", "plain", openFile, { id: "open-file" });
  file.append(makeIcon("file"), t("source.file"));
  const element = make("div", { className: "pane" },
    make("div", { className: "field" }, make("div", { className: "layers" }, back, field)),
    make("div", { className: "foot" }, clear, file, count));
  let words = []; // [{ start, end }] of the text that is shown

  field.addEventListener("input", (event) => {
    show([]);
    const isPaste = event.inputType !== "insertText" && event.inputType !== "deleteContentBackward";
    edited({ isUrgent: isPaste || /[.?!…。]\s?$/u.test(field.value) });
  });
  field.addEventListener("pointermove", (event) => {
    const under = document.elementsFromPoint(event.clientX, event.clientY).find((each) => each.dataset.word);
    hovered(under ? words[Number(under.dataset.word)] : null);
  });
  field.addEventListener("pointerleave", () => hovered(null));
  for (const event of ["click", "keyup"]) field.addEventListener(event, () => moved(field.selectionStart));

  /** Draw the text behind the field with its words, so that they can be marked. */
  function show(newWords) {
    words = newWords;
    const text = field.value;
    const parts = [];
    let at = 0;
    words.forEach(({ start, end }, i) => {
      parts.push(text.slice(at, start), make("span", { "data-word": String(i), textContent: text.slice(start, end) }));
      at = end;
    });
    const rest = text.slice(at);
    const excess = words.length ? "" : excessOf(text, limit);
    parts.push(excess ? rest.slice(0, rest.length - excess.length) : rest);
    if (excess) parts.push(make("span", { className: "over", textContent: excess }));
    back.replaceChildren(...parts, "\u200b");
    back.dir = field.value ? directionOf(field.value) : "auto";
    showCount(text);
  }

  function showCount(text) {
    const length = [...text].length;
    const over = length - limit;
    count.replaceChildren(...(over > 0 ? [make("b", { className: "excess", textContent: t("source.over", { over: whole(over) }) }), " · "] : []), t("source.count", { count: whole(length), limit: whole(limit) }));
    clear.hidden = !text;
  }

  /** Mark the words at places of the text. */
  function mark(ranges) {
    back.querySelectorAll("[data-word]").forEach((span) => {
      const { start, end } = words[Number(span.dataset.word)];
      span.classList.toggle("lit", ranges.some((range) => range.start < end && range.end > start));
    });
  }

  function set(text) {
    field.value = text;
    show([]);
    edited({ isUrgent: true });
  }

  function setLanguage(code) {
    field.lang = "";
    Object.assign(field, langOf(code));
  }

  show([]);
  return { element, field, set, show, mark, setLanguage, limit };
}

/** What of a text is beyond the limit, which counts code points. */
export function excessOf(text, limit) {
  return text.length <= limit ? "" : [...text].slice(limit).join("");
}
