// The States tab: the gates and states of one step of a recurrent layer. The chart of norms is part of the page.

import { makeImage } from "./colour_scale.js";
import { data, floatsOf } from "./provider.js";
import { byId, digits, fillSelect, make, makeCanvas, makeCommand, makeTable, quoted } from "./dom.js";
import { change, listen, state } from "./state.js";

const STRIP_WIDTH = 320; // width of the picture of a vector in pixels, if it has fewer units than this
const STRIP_HEIGHT = 18;
const named = (name) => name.replaceAll("_", " ");

const layerOf = (address) => data.recurrences.find((layer) => layer.address === address);

async function vectorsAt({ address, steps, width }, position) {
  const arrays = await Promise.all(steps.map(({ name }) => floatsOf(`${address}.${name}`, data.states[address][name])));
  return Object.fromEntries(steps.map(({ name }, i) => [name, arrays[i].subarray(position * width, (position + 1) * width)]));
}

/** The indices of all units; those whose hidden state changes most in this step come first. */
export function unitsByChange({ hidden, hidden_before: before }) {
  const change = Array.from(hidden, (value, i) => Math.abs(value - before[i]));
  return Array.from(change.keys()).sort((a, b) => change[b] - change[a]);
}

/** The formula of a vector, with the number of one unit in place of each name. */
export function worked(formula, vectors, unit) {
  return formula.replace(/\{(\w+)\}/g, (_, name) => digits(vectors[name][unit]));
}

function makeStrip(name, values, low, high) {
  const numbers = Uint8Array.from(values, (value) => Math.round((255 * (value - low)) / (high - low || 1)));
  const width = Math.max(STRIP_WIDTH, values.length);
  const [canvas, context] = makeCanvas(width, STRIP_HEIGHT);
  context.imageSmoothingEnabled = false;
  context.drawImage(makeImage(numbers, 1, values.length), 0, 0, width, STRIP_HEIGHT);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${named(name)}, one colour for each unit, dark for ${digits(low)}, yellow for ${digits(high)}`);
  return canvas;
}

function makeVectorTable({ steps, gates }, vectors) {
  const rows = steps.map(({ name, meaning, formula }) => {
    const values = vectors[name];
    const largest = Math.max(...Array.from(values, Math.abs));
    const [low, high] = gates.includes(name) ? [0, 1] : [-largest, largest];
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const text = formula ? `${meaning} = ${formula.replace(/\{(\w+)\}/g, (_, other) => named(other))}` : meaning;
    return { cells: [make("span", { textContent: named(name), title: text }), makeStrip(name, values, low, high), ...[mean, Math.min(...values), Math.max(...values)].map(digits)] };
  });
  return makeTable("Vectors of this step", ["vector", "units", "mean", "smallest", "largest"], rows);
}

function makeFormulas({ steps }, vectors, unit) {
  const computed = steps.filter(({ formula }) => formula);
  return computed.flatMap(({ name, formula }) => [
    make("dt", { textContent: `${named(name)} =` }),
    make("dd", { className: "formula", textContent: `${formula.replace(/\{(\w+)\}/g, (_, other) => named(other))} = ${worked(formula, vectors, unit)} = ${digits(vectors[name][unit])}` }),
  ]);
}

function makeStepCommand(address, position) {
  const tokens = layerOf(address).side === "source" ? data.source.tokens : data.written.tokens;
  return makeCommand(`${data.command} --trace ${address} --tokens --word ${quoted(tokens[position])}`);
}

async function drawStates() {
  const layer = layerOf(state.stateLayer);
  const tokens = layer.side === "source" ? data.source.tokens : data.written.tokens;
  state.statePosition = Math.min(state.statePosition, tokens.length - 1);
  const position = state.statePosition;
  byId("state-layer").value = layer.address;
  fillSelect(byId("state-position"), tokens.map((token, i) => [String(i), layer.side === "source" ? token : `${data.read.tokens[i]} → ${token}`]), String(position));
  const neighbour = layer.backwards ? "after" : "before";
  byId("state-text").textContent = `${layer.title} with ${layer.width} units. The state before the step is that of the position ${neighbour} this one.`;
  if (!data.states[layer.address]) {
    byId("state-step").replaceChildren(make("p", { textContent: `This file does not contain the vectors of ${layer.address}. This command prints them:` }), makeStepCommand(layer.address, position));
    return;
  }
  const vectors = await vectorsAt(layer, position);
  if (state.stateLayer !== layer.address || state.statePosition !== position) return;
  const units = unitsByChange(vectors);
  const names = layer.steps.map(({ name }) => name);
  byId("state-step").replaceChildren(
    makeVectorTable(layer, vectors),
    make("h4", { textContent: `Unit ${units[0] + 1}, whose hidden state changes most` }),
    make("dl", { className: "formulas" }, ...makeFormulas(layer, vectors, units[0])),
    make("h4", { textContent: "All units, largest change of the hidden state first" }),
    makeTable("All units", ["unit", ...names.map(named)], units.map((unit) => ({ cells: [String(unit + 1), ...names.map((name) => digits(vectors[name][unit]))] }))),
    make("p", { className: "note", textContent: "This command prints the same step:" }),
    makeStepCommand(layer.address, position),
  );
}

export function showStates() {
  state.stateLayer = Object.keys(data.states).at(-1);
  fillSelect(byId("state-layer"), data.recurrences.map(({ address }) => [address, data.states[address] ? address : `${address} (not in this file)`]), state.stateLayer);
  byId("state-layer").addEventListener("change", (event) => change({ stateLayer: event.target.value }));
  byId("state-position").addEventListener("change", (event) => change({ statePosition: Number(event.target.value) }));
  listen((changed) => changed.some((name) => name.startsWith("state")) && drawStates());
  return drawStates();
}
