// Helpers that build the page. Text is only inserted as text, never as HTML.

import { number, t } from "./strings.js";

/** Make an element with properties and children; strings become text. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export function makeSvg(tag, attributes = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  return element;
}

/** Make a word of a text, as opposed to words of the interface. */
export const makeWord = (text, style = "") => make("span", { className: `word ${style}`, dir: "auto", textContent: text });

/** Make a token. The sign at its beginning that stands for a space is pale. */
export function makeToken(text) {
  const space = /^\u2581?/.exec(text)[0];
  return make("bdi", { className: "token-text" }, ...(space ? [make("span", { className: "space", textContent: space })] : []), text.slice(space.length));
}

/** A token without the sign for a space. */
export const plain = (token) => token.replace(/^\u2581/, "") || token;

export function makeButton(text, className, action, properties = {}) {
  const button = make("button", { type: "button", className: `button ${className}`, textContent: text, ...properties });
  button.addEventListener("click", action);
  return button;
}

/** Make buttons of which one is pressed. `options` are pairs of a value and a text. Returns [element, mark(value)]. */
export function makeSegments(label, options, choose) {
  const buttons = options.map(([value, text]) => {
    const button = make("button", { type: "button", textContent: text, value });
    button.addEventListener("click", () => choose(value));
    return button;
  });
  const mark = (value) => buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.value === String(value))));
  return [make("div", { className: "segments", role: "group", ariaLabel: label }, ...buttons), mark];
}

/** Make a labelled menu. An option is a pair of a value and a text, or a group: { group, options }. */
export function makeSelect(id, label, choose) {
  const select = make("select", { id });
  select.addEventListener("change", () => choose(select.value));
  return [make("label", {}, label, select), select];
}

export function fillSelect(select, options, chosen) {
  const option = ([value, text]) => make("option", { value, textContent: text });
  select.replaceChildren(
    ...options.map((entry) => (Array.isArray(entry) ? option(entry) : make("optgroup", { label: entry.group }, ...entry.options.map(option)))),
  );
  select.value = chosen;
}

const openFolds = new Map(); // which folds the reader has opened or closed, so that a new drawing keeps them so

/** Make a part of the page that opens and closes. `draw(content)` is called when it is first opened. */
export function makeFold({ id, title, note, open, draw }) {
  const content = make("div", { className: "fold" });
  const heading = make("h2", { id: `${id}-title` }, ...[title].flat());
  const summary = make("summary", {}, make("hgroup", {}, heading, ...(note ? [make("p", { className: "small" }, ...[note].flat())] : [])));
  const details = make("details", { id, className: "card", open: openFolds.get(id) ?? open }, summary, content);
  let drawn = false;
  const drawOnce = () => {
    if (!details.open || drawn) return;
    drawn = true;
    draw(content);
  };
  details.addEventListener("toggle", () => {
    openFolds.set(id, details.open);
    drawOnce();
  });
  drawOnce();
  return details;
}

/** Fill a list; each entry shows a name, a number and a bar of proportional length. */
export function fillBars(list, items, digits = 2) {
  list.replaceChildren(
    ...items.map(({ name, value, chosen }) => {
      const bar = make("span", { className: "bar", ariaHidden: "true" });
      bar.style.width = `${(100 * value).toFixed(1)}%`;
      return make(
        "li",
        { className: chosen ? "chosen" : "" },
        make("span", { className: "name", title: name }, makeToken(name)),
        make("span", { className: "number", textContent: number(value, digits) }),
        bar,
      );
    }),
  );
}

/** Make a table of numbers in a frame that scrolls. */
export function makeTable(label, head, rows, foot = null) {
  const cell = (tag, content) => make(tag, {}, content);
  const body = rows.map(({ cells, chosen }) => make("tr", { className: chosen ? "chosen" : "" }, ...cells.map((content) => cell("td", content))));
  const table = make(
    "table",
    {},
    make("thead", {}, make("tr", {}, ...head.map((content) => make("th", { scope: "col" }, content)))),
    make("tbody", {}, ...body),
  );
  if (foot) table.append(make("tfoot", {}, make("tr", {}, ...foot.map((content) => cell("td", content)))));
  return make("div", { className: "numbers", role: "region", ariaLabel: label, tabIndex: 0 }, table);
}

/** Make a shell command that a user can select and copy. */
export const makeCommand = (text) => make("code", { className: "command", textContent: text });

/** A text as one word of a shell command. */
export const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** Make a canvas of a size in CSS pixels, which is sharp on every screen; return the canvas and its drawing context. */
export function makeCanvas(width, height) {
  const ratio = window.devicePixelRatio || 1;
  const canvas = make("canvas", { width: Math.round(width * ratio), height: Math.round(height * ratio) });
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return [canvas, context];
}

/** The colours of the theme, resolved for drawing on a canvas. */
export function themeColours(element) {
  const probe = make("span", { hidden: false });
  element.append(probe);
  const resolved = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const colours = Object.fromEntries(["ink", "ink2", "ink3", "line", "edge", "quiet", "look", "look-soft", "diff"].map((name) => [name, resolved(name)]));
  probe.remove();
  return colours;
}

/** The direction of a text, from its first letter: "rtl" or "ltr". */
export function directionOf(text) {
  const letter = /\p{L}/u.exec(text)?.[0] ?? "";
  return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/.test(letter) ? "rtl" : "ltr";
}

/** Announce a text to screen readers, once the reader has stopped moving. */
export function announce(text) {
  clearTimeout(announce.timer);
  announce.timer = setTimeout(() => {
    const region = document.getElementById("status");
    if (region && region.textContent !== text) region.textContent = text;
  }, 600);
}

export const listOf = (values) => values.join(t("separator"));
