// The part "Inside" of the page: what the model computes for one text, from the sentence with its arcs to the numbers.
//
// mount(root, provider) shows it. The parts redraw when the selection changes (state.js). A new mount with another
// provider keeps the selection, if the new inspection has the same map.

import { showArithmetic } from "./arithmetic.js";
import { showModel } from "./architecture.js";
import { announce, make, makeButton, makeSegments } from "./dom.js";
import { showAttention } from "./attention.js";
import { showComparisonPart } from "./comparison_part.js";
import { kindName, loadInspection, whereOf } from "./inspection.js";
import { showPositions } from "./positions.js";
import { makeState } from "./state.js";
import { showStates } from "./states.js";
import { t, whole } from "./strings.js";
import { makeTour } from "./tour.js";
import { showWriting } from "./writing.js";

const mounted = new WeakMap(); // for each root: the selection, what ends its listeners, and the number of the last mount

/**
 * Show an inspection in `root`. The promise is kept when everything is drawn, or when a later call has replaced this one.
 *
 * With `ask`, a text of more tokens than that is drawn only when the reader asks for it. `selection` is a part of the
 * state to begin with. `open(changes)` shows another inspection of the provider, and is otherwise a mount.
 * With `actions(context)`, which is called when a drawing is there, the page has a heading of its own and starts the tour.
 */
export async function mount(root, provider, options = {}) {
  const { ask = Infinity, selection = {} } = options;
  const record = mounted.get(root) ?? { turn: 0, state: null, ended: null };
  mounted.set(root, record);
  const turn = (record.turn += 1);
  const inspection = await loadInspection(provider);
  if (turn !== record.turn) return;
  root.setAttribute("aria-label", t("inside"));
  const tokens = inspection.facts.source.tokens.length;
  if (tokens > ask) {
    const draw = () => mount(root, provider, { ...options, ask: Infinity });
    root.replaceChildren(make("p", { className: "card note on-demand" }, t("inside.long", { count: whole(tokens) }), " ", makeButton(t("inside.draw"), "main", options.attempt ? () => options.attempt(draw) : draw)));
    return;
  }
  const isKept = record.state && inspection.maps.has(record.state.address);
  const first = isKept ? record.state : await firstState(inspection, selection);
  if (turn !== record.turn) return;
  const began = performance.now();
  const ended = new AbortController();
  const open = options.open ?? (async (changes) => mount(root, await provider.look(changes), { ...options, selection: {} }));
  const context = { inspection, provider, signal: ended.signal, open, later: [], actions: options.actions, ...makeState(first) };
  // The new drawing needs its width, so it is made in its place, invisible, and then replaces the old one.
  const drawing = make("div", { className: "parts building" });
  root.append(drawing);
  await showParts(drawing, context);
  if (turn !== record.turn) {
    drawing.remove();
    ended.abort();
    return;
  }
  context.actions?.(context);
  record.ended?.abort();
  Object.assign(record, { state: context.state, ended });
  drawing.classList.remove("building");
  root.replaceChildren(drawing);
  performance.measure("inside", { start: began }); // bench/speed_inside.py reads it
  document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
  return context;
}

/** The selection to begin with: a given one, if the model has its map, or what is to be shown first. */
async function firstState({ maps, provider }, selection) {
  if (maps.has(selection.address)) return selection;
  const opening = await provider.opening();
  return opening ? { address: opening.address, row: opening.row, opened: opening.rule } : {};
}

async function showParts(root, context) {
  const { facts, mainAttention } = context.inspection;
  const add = (element) => { root.append(element); return element; };
  add(makeBar(context));
  if (mainAttention) {
    await showAttention(add, context, () => showComparisonPart(add, context));
    showArithmetic(add, context);
  }
  if (facts.recurrences.length) showStates(add, context);
  showWriting(add, context);
  if (facts.positions) showPositions(add, context);
  showModel(add, context);
  add(makeFooter(facts));
}

/** The heading, and the buttons that choose the kind of attention and the units. */
function makeBar(context) {
  const { inspection, state, change, listen } = context;
  const bar = make("div", { className: "bar-top" }, ...(context.actions ? [] : [make("h2", { textContent: t("inside") })]));
  if (!inspection.mainAttention) {
    bar.append(make("p", { className: "note", id: "no-attention", textContent: `${t("inside.none")} ${inspection.facts.recurrences.length ? t("inside.states") : ""}` }));
    return bar;
  }
  const kindOf = (address) => inspection.maps.get(address).attention.kind;
  if (inspection.kinds.length > 1) {
    const options = inspection.kinds.map(([first]) => [first.kind, kindName(inspection.facts, first)]);
    const [kinds, markKind] = makeSegments(t("kinds"), options, (kind) => chooseKind(inspection, state, change, kind));
    kinds.id = "kinds";
    bar.append(kinds);
    markKind(kindOf(state.address));
    listen((changed) => changed.includes("address") && markKind(kindOf(state.address)));
  }
  const [units, markUnits] = makeSegments(t("units"), [["words", t("words")], ["tokens", t("tokens")]], (name) => change({ units: name, row: 0, column: null, hover: null }));
  units.id = "units";
  markUnits(state.units);
  listen((changed) => changed.includes("units") && markUnits(state.units));
  bar.append(units);
  context.tour = makeTour(context);
  if (context.tour && !context.actions) bar.append(context.tour.button);
  return bar;
}

/** Choose what is shown first of a kind of attention. */
function chooseKind(inspection, state, change, kind) {
  if (inspection.maps.get(state.address).attention.kind === kind) return;
  const { address, row, rule } = inspection.facts.openings[kind];
  const map = inspection.maps.get(address);
  const [, firstToken] = map.attention.rows.words[row];
  change({ address, row: state.units === "words" ? row : firstToken, column: null, hover: null });
  change({ opened: rule });
  announce(`${kindName(inspection.facts, map.attention)}, ${whereOf(map)}`);
}

function makeFooter({ model, command }) {
  return make("footer", { className: "footer small" }, make("p", {}, t("footer.model", { model })), make("code", { textContent: command }));
}
