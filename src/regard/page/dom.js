// Helpers that build the page. Text is only inserted as text, never as HTML.

export const byId = (id) => document.getElementById(id);

export const digits = (number) => number.toFixed(4);

/** A text as one word of a shell command. */
export const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

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

/** Make a shell command that a user can select and copy. */
export const makeCommand = (text) => make("code", { className: "command", textContent: text });

export function makeSvg(tag, attributes = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  return element;
}

/** Fill a list; each entry shows a name, a number and a bar of proportional length. */
export function fillBars(list, items, digits = 3) {
  list.replaceChildren(
    ...items.map(({ name, value, chosen }) => {
      const bar = make("span", { className: "bar", ariaHidden: "true" });
      bar.style.width = `${(100 * value).toFixed(1)}%`;
      const item = make(
        "li",
        { className: chosen ? "chosen" : "" },
        make("span", { className: "name", textContent: name, title: name }),
        make("span", { className: "number", textContent: value.toFixed(digits) }),
        bar,
      );
      return item;
    }),
  );
}

export function fillSelect(select, options, chosen) {
  select.replaceChildren(...options.map(([value, text]) => make("option", { value, textContent: text })));
  select.value = chosen;
}

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

/** Make a table of numbers in a frame that scrolls. */
export function makeTable(label, head, rows, foot = null) {
  const line = (tag, cells) => make("tr", {}, ...cells.map((cell) => (cell instanceof Node ? make(tag, {}, cell) : make(tag, { textContent: cell }))));
  const body = make("tbody", {}, ...rows.map(({ cells, chosen }) => Object.assign(line("td", cells), { className: chosen ? "chosen" : "" })));
  const headRow = make("tr", {}, ...head.map((text) => make("th", { textContent: text, scope: "col" })));
  const table = make("table", {}, make("thead", {}, headRow), body);
  if (foot) table.append(make("tfoot", {}, line("td", foot)));
  return make("div", { className: "numbers", tabIndex: 0, role: "region", ariaLabel: label }, table);
}
