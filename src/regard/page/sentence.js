// The sentence with arcs from the selected word to the words that it attends to: thicker line, more attention.
//
// If rows and columns are the same words, there is one line of words with arcs above it; otherwise two lines with curves
// between them. A sentence that does not fit into one line is wrapped, or becomes a column on a narrow screen; two lines
// become two columns.

import { directionOf, make, makeSvg } from "./dom.js";
import { langOf, number, t } from "./strings.js";

const LARGEST = 38; // font sizes in pixels
const SMALLEST = 20;
const LEAST = 0.008; // smaller weights have no line
const THICKNESS = { line: 15, pair: 15, wrapped: 10, column: 12, columns: 12 };
const NARROW = 640; // pixels; a long sentence is a column on screens that are narrower
const MOST_HEIGHT = 200;
const GAP = 120; // between the two lines of a cross-attention

export const heightOf = (span, most = MOST_HEIGHT) => Math.min(most, 26 + 0.26 * span);

/**
 * Show a table in `host` and return an object with draw(row, options). `select(row)` is called for a click or an arrow
 * key, `point(row)` for a moving pointer, and point(null) when it leaves.
 */
export function makeSentence(host, table, { select, point, language, below = false, size = LARGEST, most = MOST_HEIGHT, left = null }) {
  const { rows, columns, readsColumns: isSelf } = table;
  const svg = makeSvg("svg", { class: "arcs", "aria-hidden": "true" });
  const wordElements = [];
  const makeLine = (units, label, rowOf) => {
    const line = make("div", { className: "line", role: "group", ariaLabel: label, dir: directionOf(units.map(({ text, isSpecial }) => (isSpecial ? "" : text)).join(" ")), ...langOf(language) });
    for (const [i, unit] of units.entries()) {
      const text = make("bdi", { textContent: unit.text });
      const element = rowOf(i) === null ? make("span", {}, text) : make("button", { type: "button", tabIndex: -1 }, text);
      element.className = `token${unit.isSpecial ? " special" : ""}${/^[.,!?;:…)\]}»”’]$/u.test(unit.text) ? " glued" : ""}`;
      element.append(make("span", { className: "weight", ariaHidden: "true" }));
      if (rowOf(i) !== null) {
        wordElements[rowOf(i)] = element;
        element.dataset.row = rowOf(i);
      }
      line.append(element);
    }
    return line;
  };
  const rowOfColumn = columns.map((_, j) => rows.findIndex((row, i) => (row.input ?? i) === j));
  const upper = isSelf ? null : makeLine(rows, t("words.looking"), (i) => i);
  const lower = makeLine(columns, t(isSelf ? "words.looking" : "words.seen"), (j) => (isSelf && rowOfColumn[j] >= 0 ? rowOfColumn[j] : null));
  host.replaceChildren(svg, ...(upper ? [upper] : []), lower);
  const columnElements = [...lower.children];

  for (const [row, element] of wordElements.entries()) {
    if (!element) continue;
    element.addEventListener("click", () => select(row));
    element.addEventListener("pointermove", (event) => {
      if (event.pointerType === "mouse" && (event.movementX || event.movementY)) point(row);
    });
  }
  host.addEventListener("pointerleave", () => point(null));
  host.addEventListener("keydown", (event) => {
    const forwards = getComputedStyle(lower).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    const backwards = forwards === "ArrowLeft" ? "ArrowRight" : "ArrowLeft";
    const step = { [forwards]: 1, ArrowDown: 1, [backwards]: -1, ArrowUp: -1 }[event.key];
    const at = wordElements.indexOf(event.target);
    if (!step || at < 0) return;
    event.preventDefault();
    const next = wordElements[at + step];
    if (!next) return;
    select(at + step);
    next.focus();
  });

  let layout = "line";
  function fit() {
    const lines = upper ? [upper, lower] : [lower];
    const width = host.clientWidth;
    host.classList.remove("column", "columns", "wrapped", "line-layout");
    host.classList.add("line-layout");
    const natural = () => Math.max(...lines.map((line) => line.scrollWidth));
    const setSize = (pixels) => { host.style.setProperty("--size", `${pixels}px`); };
    let pixels = size;
    setSize(pixels);
    if (natural() > width) {
      pixels = Math.max(SMALLEST, Math.floor((pixels * width) / natural()));
      setSize(pixels);
    }
    while (natural() > width && pixels > SMALLEST) setSize((pixels -= 1));
    const fits = natural() <= width;
    layout = fits ? (isSelf ? "line" : "pair") : !isSelf ? "columns" : width >= NARROW ? "wrapped" : "column";
    if (!fits) {
      host.classList.remove("line-layout");
      host.classList.add(layout);
    }
    if (left !== null && layout === "line") lower.style.cssText = `justify-content: start; padding-left: ${left}px`;
    // The space for arcs is the same for every word, so that the sentence does not move when another is chosen.
    const space = layout === "line" ? heightOf(lower.scrollWidth, most) * 0.78 + 26 : 0;
    lower.style.marginTop = !below && space ? `${space}px` : "";
    lower.style.marginBottom = below && space ? `${space}px` : "";
    if (upper) upper.style.marginBottom = layout === "pair" ? `${GAP}px` : "";
  }

  /** Draw the arcs of a row; those of a head that is "removed" are dashed, and those of one whose weights are "replaced" orange. */
  function draw(row, { changed = null, chosen = row, marks = [] } = {}) {
    const weights = columns.map((_, j) => table.at(row, j));
    const from = isSelf ? (rows[row].input ?? row) : null;
    const largest = table.top(row);
    columnElements.forEach((element, j) => {
      const weight = weights[j];
      element.classList.toggle("some", weight >= 0.03);
      element.classList.toggle("top", j === largest);
      element.classList.toggle("later", table.masked(row, j));
      element.classList.toggle("mark", marks.includes(j));
      element.lastChild.textContent = isSelf && j === from ? t("looks.at") : weight >= 0.005 ? number(weight) : "";
    });
    wordElements.forEach((element, i) => {
      element.classList.toggle("from", i === row);
      element.tabIndex = i === chosen ? 0 : -1;
      element.setAttribute("aria-pressed", String(i === chosen));
    });
    if (row === chosen) labelWords(weights);
    host.classList.toggle("replaced", changed === "replaced");
    drawArcs(weights, isSelf ? columnElements[from] : wordElements[row], from, largest, changed === "removed");
  }

  function labelWords(weights) {
    if (!isSelf) {
      wordElements.forEach((element, i) => element.setAttribute("aria-label", t("word.row", { word: rows[i].description })));
      return;
    }
    wordElements.forEach((element, i) => {
      const j = rows[i].input ?? i;
      const values = { word: columns[j].text, weight: number(weights[j]) };
      element.setAttribute("aria-label", t(element.classList.contains("later") ? "word.hidden" : "word.weight", values));
    });
  }

  function drawArcs(weights, fromElement, from, largest, dashed) {
    const frame = host.getBoundingClientRect();
    const boxOf = (element) => {
      const box = element.getBoundingClientRect();
      return { left: box.left - frame.left, right: box.right - frame.left, top: box.top - frame.top + host.scrollTop, bottom: box.bottom - frame.top + host.scrollTop, x: box.left - frame.left + box.width / 2, y: box.top - frame.top + host.scrollTop + box.height / 2, height: box.height };
    };
    const start = boxOf(fromElement);
    const shown = weights.map((weight, j) => [weight, j]).filter(([weight]) => weight >= LEAST).sort((a, b) => a[0] - b[0]);
    const paths = [];
    const labels = [];
    for (const [weight, j] of shown) {
      const end = boxOf(columnElements[j]);
      const { d, label } = j === from ? loop(start, layout, below) : curve(start, end, layout, below, most);
      const path = makeSvg("path", { d, "stroke-width": Math.max(1, weight * THICKNESS[layout]).toFixed(1) });
      if (dashed) path.setAttribute("stroke-dasharray", "3 5");
      paths.push(path);
      if (label && weight >= 0.04) labels.unshift({ ...label, weight, isLargest: j === largest });
    }
    svg.setAttribute("width", host.clientWidth);
    svg.setAttribute("height", host.scrollHeight);
    svg.classList.toggle("below", below);
    svg.replaceChildren(...paths, ...withoutOverlaps(labels).flatMap(drawLabel));
  }

  fit();
  return { draw, fit, focus: (row) => wordElements[row]?.focus(), element: (row) => wordElements[row], left: () => columnElements[0].getBoundingClientRect().left - host.getBoundingClientRect().left };
}

function curve(start, end, layout, below, most) {
  if (layout === "column") {
    const x = Math.min(start.left, end.left) - 2;
    const bend = Math.min(96, 24 + 0.3 * Math.abs(start.y - end.y)) * 1.3;
    return { d: `M${x} ${start.y}C${x - bend} ${start.y} ${x - bend} ${end.y} ${x} ${end.y}` };
  }
  if (layout === "columns") {
    const [from, to] = start.x < end.x ? [start.right + 2, end.left - 2] : [start.left - 2, end.right + 2];
    const bend = (to - from) / 2;
    return { d: `M${from} ${start.y}C${from + bend} ${start.y} ${to - bend} ${end.y} ${to} ${end.y}` };
  }
  if (layout === "pair") {
    const [y1, y2] = [start.bottom, end.top];
    const [u, v] = [0.62, 0.38]; // the label is a little nearer to the word looked at
    const at = (a, b, c, d) => v * v * v * a + 3 * v * v * u * b + 3 * v * u * u * c + u * u * u * d;
    return {
      d: `M${start.x} ${y1}C${start.x} ${y1 + GAP / 2} ${end.x} ${y2 - GAP / 2} ${end.x} ${y2}`,
      label: { x: at(start.x, start.x, end.x, end.x), y: at(y1, y1 + GAP / 2, y2 - GAP / 2, y2) },
    };
  }
  if (layout === "wrapped" && Math.abs(start.y - end.y) > start.height) {
    const isUp = end.y < start.y;
    const [y1, y2] = isUp ? [start.top - 2, end.bottom + 2] : [start.bottom + 2, end.top - 2];
    const bend = (isUp ? -1 : 1) * Math.max(24, Math.abs(y2 - y1) / 2);
    return { d: `M${start.x} ${y1}C${start.x} ${y1 + bend} ${end.x} ${y2 - bend} ${end.x} ${y2}`, label: { x: (start.x + end.x) / 2, y: (y1 + y2) / 2 } };
  }
  if (layout === "wrapped") most = 58;
  const sign = below ? 1 : -1;
  const y = below ? start.bottom + 2 : start.top - 2;
  const height = heightOf(Math.abs(start.x - end.x), most) * sign;
  const x = start.x + Math.sign(end.x - start.x) * Math.min(10, start.height / 5);
  return { d: `M${x} ${y}C${x} ${y + height} ${end.x} ${y + height} ${end.x} ${y}`, label: { x: (x + end.x) / 2, y: y + height * 0.75 } };
}

/** The line of a word that attends to itself. */
function loop(start, layout, below) {
  if (layout === "column") {
    const x = start.left - 2;
    return { d: `M${x} ${start.y - 6}C${x - 34} ${start.y - 14} ${x - 34} ${start.y + 14} ${x} ${start.y + 6}` };
  }
  const sign = below ? 1 : -1;
  const y = below ? start.bottom + 2 : start.top - 2;
  return { d: `M${start.x - 9} ${y}C${start.x - 30} ${y + 52 * sign} ${start.x + 30} ${y + 52 * sign} ${start.x + 9} ${y}`, label: { x: start.x, y: y + 39 * sign } };
}

/** Keep the labels of the largest weights where labels would overlap. */
function withoutOverlaps(labels) {
  const kept = [];
  for (const label of labels) {
    if (kept.every(({ x, y }) => Math.abs(x - label.x) > 44 || Math.abs(y - label.y) > 24)) kept.push(label);
  }
  return kept;
}

function drawLabel({ x, y, weight, isLargest }) {
  const size = isLargest ? 17 : 13;
  const half = size * 1.35;
  return [
    makeSvg("rect", { x: x - half, y: y - size * 0.8, width: 2 * half, height: size * 1.6, rx: size * 0.8, class: isLargest ? "pill largest" : "pill" }),
    makeSvg("text", { x, y, class: isLargest ? "largest" : "" }, number(weight)),
  ];
}
