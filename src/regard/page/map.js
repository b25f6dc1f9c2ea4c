// One map, enlarged: rows look, columns are looked at, and the area of a dot is the weight. The pointer or the arrow
// keys choose a cell. A large map has small cells without labels.

import { drawBand, drawDots } from "./dots.js";
import { make, makeCanvas, themeColours } from "./dom.js";
import { number, t } from "./strings.js";

const FONT = '13px Charter, "Noto Serif", Georgia, serif';
const MOST_LABELLED = 150; // a map with more columns than this has no labels
const MOST_WIDTH = 160; // of a label in pixels

/** Show a table in `frame`. `point(cell)` is called for a moving pointer and null when it leaves; `pick(cell)` for a click. */
export function makeMap(frame, table, { point, pick, open }) {
  const [rows, columns] = [table.rows.length, table.columns.length];
  const isLabelled = columns <= MOST_LABELLED;
  const available = Math.max(260, frame.parentElement.clientWidth - 2);
  const left = isLabelled ? Math.min(widest(table.rows.map(({ label }) => label)), MOST_WIDTH, available * 0.4) + 10 : 4;
  const top = isLabelled ? Math.min(widest(table.columns.map(({ text }) => text)), 110) * 0.79 + 18 : 4;
  const right = isLabelled ? 34 : 4;
  const natural = Math.floor((available - left - right) / columns);
  const cell = isLabelled ? Math.max(14, Math.min(30, natural)) : Math.max(2, natural);
  const [canvas, context] = makeCanvas(left + cell * columns + right, top + cell * rows + 2);
  canvas.id = "map";
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", t("map.label", { rows, columns }));
  canvas.setAttribute("aria-describedby", "readout");
  canvas.dataset.geometry = JSON.stringify({ left, top, cell });
  frame.replaceChildren(canvas);

  const cellAt = (event) => {
    const box = canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top - top) / cell);
    const column = Math.floor((event.clientX - box.left - left) / cell);
    return row >= 0 && row < rows && column >= 0 && column < columns ? { row, column } : null;
  };
  let current = { row: 0, column: 0 };
  canvas.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "mouse") return;
    point(cellAt(event));
  });
  canvas.addEventListener("pointerleave", () => point(null));
  canvas.addEventListener("click", (event) => {
    const found = cellAt(event);
    if (found) pick(found);
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.key === "Enter") open();
    else if (!step) return;
    event.preventDefault();
    if (!step) return;
    const within = (index, count) => Math.max(0, Math.min(count - 1, index));
    pick({ row: within(current.row + step[0], rows), column: within(current.column + step[1], columns) });
  });

  const draw = ({ row, column }) => {
    current = { row, column };
    const colours = themeColours(frame);
    context.clearRect(0, 0, canvas.width, canvas.height);
    drawBand(context, { left, top: top + cell * row, width: cell * columns, height: cell, colour: colours["look-soft"] });
    context.lineWidth = 1;
    context.strokeStyle = colours.line;
    if (isLabelled) drawGrid(context, { left, top, cell, rows, columns });
    hatch(context, table, { left, top, cell }, colours.edge);
    const geometry = { left, top, cellWidth: cell, cellHeight: cell };
    drawDots(context, table, { ...geometry, rows: [...table.rows.keys()].filter((i) => i !== row), colour: colours.quiet });
    drawDots(context, table, { ...geometry, rows: [row], colour: colours.look });
    context.strokeStyle = colours.look;
    context.lineWidth = 2;
    context.strokeRect(left + cell * column, top + cell * row, cell, cell);
    if (isLabelled) drawLabels(context, table, { left, top, cell }, current, colours);
  };
  return { draw };
}

/** The text of a cell, such as "it → animal: 0.910". */
export function cellText(table, { row, column }) {
  const values = { row: table.rows[row].description, column: table.columns[column].text };
  if (table.masked(row, column)) return t("map.masked", values);
  return t("map.cell", { ...values, weight: number(table.at(row, column), 3) });
}

function widest(labels) {
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  context.font = `bold ${FONT}`;
  return Math.max(...labels.map((label) => context.measureText(label).width));
}

function clipped(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const shown = [...text];
  while (shown.length > 1 && context.measureText(`${shown.join("")}…`).width > width) shown.pop();
  return `${shown.join("")}…`;
}

function drawGrid(context, { left, top, cell, rows, columns }) {
  context.beginPath();
  for (let j = 0; j <= columns; j++) {
    context.moveTo(left + cell * j, top);
    context.lineTo(left + cell * j, top + cell * rows);
  }
  for (let i = 0; i <= rows; i++) {
    context.moveTo(left, top + cell * i);
    context.lineTo(left + cell * columns, top + cell * i);
  }
  context.stroke();
}

function drawLabels(context, table, { left, top, cell }, current, colours) {
  const style = (isCurrent) => {
    context.font = isCurrent ? `bold ${FONT}` : FONT;
    context.fillStyle = isCurrent ? colours.ink : colours.ink2;
  };
  context.textBaseline = "middle";
  context.textAlign = "right";
  table.rows.forEach(({ label }, i) => {
    style(i === current.row);
    context.fillText(clipped(context, label, left - 8), left - 7, top + cell * (i + 0.5));
  });
  context.textAlign = "left";
  table.columns.forEach(({ text }, j) => {
    style(j === current.column);
    context.save();
    context.translate(left + cell * (j + 0.55), top - 7);
    context.rotate(-0.9);
    context.fillText(clipped(context, text, 110), 0, 0);
    context.restore();
  });
}

function hatch(context, table, { left, top, cell }, colour) {
  context.strokeStyle = colour;
  context.globalAlpha = 0.35;
  context.beginPath();
  for (let i = 0; i < table.rows.length; i++) {
    for (let j = 0; j < table.columns.length; j++) {
      if (!table.masked(i, j)) continue;
      context.moveTo(left + cell * j, top + cell * (i + 1));
      context.lineTo(left + cell * (j + 1), top + cell * i);
    }
  }
  context.stroke();
  context.globalAlpha = 1;
}
