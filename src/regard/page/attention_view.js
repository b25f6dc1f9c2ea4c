// The first view: one map, large; its controls; one row of it as a list; and all heads below.

import { PALETTE } from "./colour_scale.js";
import { KINDS, attentions, data } from "./provider.js";
import { byId, fillBars, fillSelect } from "./dom.js";
import { drawHeatmap } from "./heatmap.js";
import { drawLines } from "./attention_lines.js";
import { chosenMap, rankedRow, sentenceOf } from "./attention_map.js";
import { change, listen, state } from "./state.js";
import { showThumbnails } from "./thumbnails.js";

const SHOWN = 12; // words of a row's list

let drawn = 0;

function fillControls() {
  const layers = attentions.filter((one) => one.kind === state.kind).map((one) => String(one.layer));
  if (!layers.includes(state.layer) && state.layer !== "all") state.layer = layers.at(-1);
  const heads = Array.from({ length: data.settings.heads }, (_, i) => [String(i + 1), String(i + 1)]);
  const over = [["mean", "mean of all"], ["max", "maximum of all"]];
  const choices = state.layer === "all" ? [...over, ["rollout", "rollout"]] : [...heads, ...over];
  if (!choices.some(([value]) => value === state.head)) state.head = "mean";
  fillSelect(byId("kind"), Object.entries(KINDS), state.kind);
  fillSelect(byId("layer"), [...layers.map((layer) => [layer, layer]), ["all", "all layers"]], state.layer);
  fillSelect(byId("head"), choices, state.head);
  byId("form").value = state.form;
  byId("units").value = state.units;
}

async function drawMap() {
  const turn = ++drawn;
  fillControls();
  const map = await chosenMap();
  if (turn !== drawn) return; // something else was chosen meanwhile
  state.row = Math.min(state.row, map.rows.length - 1);
  state.column = Math.min(state.column, map.columns.length - 1);
  byId("map-title").textContent = map.title;
  const frame = byId("map-frame");
  if (state.form === "lines") {
    drawLines(frame, map, { row: state.row, point: (row) => change({ row }) });
    showRow(map, state.row);
    byId("readout").textContent = "Press a word on the left to see where it looks.";
  } else {
    drawHeatmap(frame, map, { row: state.row, column: state.column, point: (row, column) => showCell(map, row, column), pick: () => toArithmetic(map) });
  }
  byId("to-arithmetic").onclick = () => toArithmetic(map);
  document.body.dataset.drawn = `${turn}`;
}

function showCell(map, row, column) {
  state.row = row;
  state.column = column;
  const looks = map.masked(row, column) ? "may not look there yet" : map.at(row, column).toFixed(3);
  byId("readout").textContent = `${sentenceOf(map.rows[row])} → ${map.columns[column].text}: ${looks}`;
  showRow(map, row);
}

function showRow(map, row) {
  byId("row-title").textContent = `Where it looks: ${sentenceOf(map.rows[row])}`;
  fillBars(byId("row-list"), rankedRow(map, row).slice(0, SHOWN));
}

function toArithmetic(map) {
  const [stack, part] = state.kind.split(".");
  const one = Number(state.head) ? `${stack}.${state.layer}.${part}.${state.head}` : null;
  change({ walkHead: one ?? state.walkHead, walkRow: map.rows[state.row].begin, walkKey: map.columns[state.column].begin });
  byId("tab-arithmetic").click();
}

export function showAttention() {
  for (const [id, name] of [["kind", "kind"], ["layer", "layer"], ["head", "head"], ["form", "form"], ["units", "units"]]) {
    byId(id).addEventListener("change", (event) => change({ [name]: event.target.value, ...(name === "kind" || name === "units" ? { row: 0, column: 0 } : {}) }));
  }
  const scale = byId("scale").getContext("2d");
  PALETTE.forEach((colour, i) => {
    scale.fillStyle = `rgb(${colour.join(" ")})`;
    scale.fillRect((i * 160) / 256, 0, 1, 12);
  });
  byId("rounding").textContent = "Weights of maps are kept in steps of 1/255: each piece's is within 0.002 of what was computed. Numbers under Arithmetic are exact (32 bits).";
  showThumbnails(byId("thumbnails"));
  const redraws = new Set(["kind", "layer", "head", "form", "units", "row"]);
  listen((changed) => changed.some((name) => redraws.has(name)) && drawMap());
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth !== width) drawMap();
    width = window.innerWidth;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawMap);
  return drawMap();
}
