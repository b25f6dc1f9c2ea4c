// The states of recurrent layers: the gates and states of one step, and the norms of the states at all positions.

import { fillSelect, make, makeCommand, makeFold, makeSelect, makeTable, quoted } from "./dom.js";
import { drawNorms } from "./norms.js";
import { number, t } from "./strings.js";
import { drawVector } from "./vector.js";

const exact = (value) => number(value, 4);
const named = (name) => name.replaceAll("_", " ");

export function showStates(add, { inspection }) {
  const { facts, provider } = inspection;
  const layers = facts.recurrences;
  const present = layers.filter(({ address }) => provider.holds(address));
  const chosen = { layer: (present.at(-1) ?? layers.at(-1)).address, position: 0 };
  const tokensOf = ({ side }) => (side === "source" ? facts.source.tokens : facts.written.tokens);
  add(makeFold({
    id: "states", title: t("states.title"), note: t("states.note"), open: true,
    draw(content) {
      const choose = (changes) => { Object.assign(chosen, changes); draw(); };
      const [layerLabel, layerSelect] = makeSelect("state-layer", t("states.layer"), (layer) => choose({ layer }));
      const [tokenLabel, tokenSelect] = makeSelect("state-position", t("states.token"), (position) => choose({ position: Number(position) }));
      fillSelect(layerSelect, layers.map(({ address }) => [address, provider.holds(address) ? address : t("states.absent", { address })]), chosen.layer);
      const text = make("p", { className: "note", id: "state-text" });
      const step = make("div", { id: "state-step" });
      content.append(make("div", { className: "controls" }, layerLabel, tokenLabel), text, step,
        make("h3", { textContent: t("states.norms") }), make("p", { className: "small", textContent: t("states.norms.note") }), drawNorms(facts));
      async function draw() {
        const layer = layers.find(({ address }) => address === chosen.layer);
        const tokens = tokensOf(layer);
        chosen.position = Math.min(chosen.position, tokens.length - 1);
        fillSelect(tokenSelect, tokens.map((token, i) => [String(i), layer.side === "source" ? token : `${facts.read.tokens[i]} → ${token}`]), String(chosen.position));
        text.textContent = t(layer.backwards ? "states.text.after" : "states.text.before", { title: layer.title, width: layer.width });
        const command = makeCommand(`${facts.command} --trace ${layer.address} --tokens --word ${quoted(tokens[chosen.position])}`);
        const { position } = chosen;
        const vectors = await provider.vectors(layer.address);
        if (layer.address !== chosen.layer || position !== chosen.position) return;
        step.replaceChildren(...(vectors ? drawStep(layer, vectors, position, command) : [make("p", { textContent: t("sum.missing", { address: layer.address }) }), command]));
      }
      draw();
    },
  }));
}

function drawStep(layer, vectors, position, command) {
  const { steps, width } = layer;
  const of = Object.fromEntries(steps.map(({ name }) => [name, vectors[name].subarray(position * width, (position + 1) * width)]));
  const units = unitsByChange(of);
  const names = steps.map(({ name }) => name);
  return [
    makeVectorTable(layer, of),
    make("h3", { textContent: t("states.unit", { unit: units[0] + 1 }) }),
    make("dl", { className: "formulas", lang: "en" }, ...makeFormulas(layer, of, units[0])),
    make("h3", { textContent: t("states.all") }),
    makeTable(t("states.all"), [t("states.col"), ...names.map(named)], units.map((unit) => ({ cells: [String(unit + 1), ...names.map((name) => exact(of[name][unit]))] }))),
    make("p", { className: "note", textContent: t("states.command") }),
    command,
  ];
}

/** The indices of all units; those whose hidden state changes most in this step come first. */
function unitsByChange({ hidden, hidden_before: before }) {
  const change = Array.from(hidden, (value, i) => Math.abs(value - before[i]));
  return Array.from(change.keys()).sort((a, b) => change[b] - change[a]);
}

const inWords = (formula) => formula.replace(/\{(\w+)\}/g, (_, other) => named(other));
const inNumbers = (formula, vectors, unit) => formula.replace(/\{(\w+)\}/g, (_, name) => vectors[name][unit].toFixed(4));

function makeVectorTable({ steps, gates }, vectors) {
  const rows = steps.map(({ name, meaning, formula }) => {
    const values = Array.from(vectors[name]);
    const most = gates.includes(name) ? 1 : Math.max(...values.map(Math.abs)) || 1;
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const picture = drawVector(values, most);
    picture.removeAttribute("aria-hidden");
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", t("states.strip", { name: named(name), low: exact(-most), high: exact(most) }));
    const title = formula ? `${meaning} = ${inWords(formula)}` : meaning;
    return { cells: [make("span", { lang: "en", textContent: named(name), title }), picture, ...[mean, Math.min(...values), Math.max(...values)].map(exact)] };
  });
  return makeTable(t("states.vectors"), [t("states.vector"), t("states.units"), t("states.mean"), t("states.smallest"), t("states.largest")], rows);
}

function makeFormulas({ steps }, vectors, unit) {
  return steps.filter(({ formula }) => formula).flatMap(({ name, formula }) => [
    make("dt", { textContent: `${named(name)} =` }),
    make("dd", { textContent: `${inWords(formula)} = ${inNumbers(formula, vectors, unit)} = ${vectors[name][unit].toFixed(4)}` }),
  ]);
}
