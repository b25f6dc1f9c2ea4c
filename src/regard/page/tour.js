// A tour for a reader who has never heard of attention: seven steps, each beside the part of the page that it explains.
// Every number in it is computed from the numbers that the page shows.

import { tokenPair } from "./arithmetic.js";
import { make, makeButton, makeWord, plain } from "./dom.js";
import { headArithmetic } from "./head_arithmetic.js";
import { whereOf } from "./inspection.js";
import { number, probability, rich, t } from "./strings.js";

const PRONOUN = "it"; // the word to begin with, if the text has it
const CLEAR = 0.9; // a weight that shows a clear look
const FRAMES = 30; // to wait for a part that is being drawn
const TALL = 260; // pixels; the box is beside a part of the page that is higher than this

/** Make the tour: its button and what starts it. It is null if the model has no attention of a text to itself to tour. */
export function makeTour(context) {
  const { inspection, state, change } = context;
  const kind = inspection.kinds.find(([{ is_scaled: isScaled, queries, keys }]) => isScaled && queries === keys);
  if (!kind || inspection.facts.without) return null;
  const start = async () => {
    const opening = await inspection.provider.opening();
    const map = inspection.maps.get(opening.address);
    const table = await inspection.table(opening.address, "words");
    const pronoun = table.rows.findIndex(({ text }) => text === PRONOUN);
    change({ address: opening.address, units: "words", row: pronoun < 0 ? opening.row : pronoun, column: null, hover: null, removed: false, mode: "look" });
    await show(await makeSteps(context, map), button, context);
  };
  const button = makeButton(t("tour.start"), "plain", start, { id: "tour-start" });
  return { button, start };
}

/** Each step: where it points, its title and its text as a list of strings and elements, and what to do before. */
async function makeSteps({ inspection, state, change }, map) {
  const { facts } = inspection;
  const { row } = state;
  const table = await inspection.table(map.address, "words");
  const word = (text) => makeWord(text);
  const top = table.top(row);
  const [asking, to] = [table.rows[row].text, table.columns[top].text];
  const steps = [{ at: () => document.querySelector(`#sentence [data-row="${row}"]`), key: "look", values: { word: word(asking), to: word(to), weight: number(table.at(row, top)) } }];
  const vectors = await inspection.provider.vectors(map.address);
  if (vectors) steps.push(...arithmeticSteps(vectors, map, await tokenPair(inspection, state)));
  const heads = [...inspection.maps.values()].filter((one) => one.head && one.attention.kind === map.attention.kind);
  const tables = await Promise.all(heads.map(({ address }) => inspection.table(address, "words")));
  const others = heads.map((head, i) => ({ head, top: tables[i].top(row), weight: tables[i].at(row, tables[i].top(row)) })).filter((other) => other.top !== top).sort((a, b) => b.weight - a.weight);
  if (others.length) {
    const [{ head, top: seen, weight }] = others;
    const same = heads.length - others.length;
    steps.push({ at: () => document.getElementById("all-heads"), key: "heads", values: { count: heads.length, same, to: word(to), where: whereOf(head), word: word(asking), other: word(table.columns[seen].text), weight: number(weight) } });
  }
  steps.push(orderStep(heads, tables, row, table, facts));
  const least = leastSure(facts.steps);
  const { read, token, probability: value, alternatives } = facts.steps[least];
  const [second, share] = alternatives.find(([text]) => text !== token) ?? [token, value];
  steps.push({ at: () => document.querySelector("#writing .written"), key: "writing", fold: "writing", before: () => change({ step: least }), values: { count: facts.steps.length, read: word(plain(read)), token: word(plain(token)), probability: probability(value), other: word(plain(second)), second: probability(share) } });
  return steps;
}

/** The step with the least probable token that has letters, or the first step. */
function leastSure(steps) {
  const written = steps.map((_, i) => i).filter((i) => /\p{L}/u.test(steps[i].token.replace(/^<.*>$/, "")));
  return written.sort((a, b) => steps[a].probability - steps[b].probability)[0] ?? 0;
}

function arithmeticSteps(vectors, map, { row, column }) {
  const { rows, columns } = map.attention;
  const { keys } = headArithmetic(vectors, row, columns.tokens.length, map.attention);
  const next = keys.map((_, j) => j).filter((j) => j !== column && keys[j].allowed).sort((a, b) => keys[b].weight - keys[a].weight)[0] ?? column;
  const values = {
    word: makeWord(plain(rows.tokens[row])), to: makeWord(plain(columns.tokens[column])), next: makeWord(plain(columns.tokens[next])),
    score: number(keys[column].score), nextScore: number(keys[next].score), weight: number(keys[column].weight), nextWeight: number(keys[next].weight), rest: number(1 - keys[column].weight),
  };
  const step = (key, part) => ({ key, values, fold: "arithmetic", at: () => document.querySelector(`#arithmetic ${part}`) });
  return [step("match", ".sum-steps"), step("share", ".result"), step("value", ".sum-step:last-child")];
}

/** A head that looks at the word before, if one clearly does; otherwise what the positions are. */
function orderStep(heads, tables, row, table, { width }) {
  const before = row - 1;
  const best = before < 0 ? -1 : tables.findIndex((one) => one.at(row, before) >= CLEAR);
  if (best < 0) return { at: () => document.getElementById("positions"), key: "places", values: { width } };
  const values = { where: whereOf(heads[best]), word: makeWord(table.rows[row].text), before: makeWord(table.columns[before].text), weight: number(tables[best].at(row, before)) };
  return { at: () => document.querySelector(`.tile[title="${heads[best].address}"]`), key: "order", values };
}

async function show(steps, button, { signal }) {
  const box = make("div", { className: "coach", role: "dialog", id: "coach" });
  box.setAttribute("aria-labelledby", "coach-title");
  let at = 0;
  let pointed = null;
  const end = () => {
    box.remove();
    pointed?.classList.remove("pointed");
    document.removeEventListener("keydown", onKey);
    (button.isConnected ? button : document.getElementById("start-tour"))?.focus();
  };
  const onKey = (event) => { if (event.key === "Escape") end(); };
  const go = (to) => { at = to; draw(); };
  async function draw() {
    const { key, values, before, at: find, fold } = steps[at];
    const turn = at;
    before?.();
    if (fold) document.getElementById(fold).open = true;
    for (let i = 0; i < FRAMES && !find(); i++) await new Promise(requestAnimationFrame); // a fold draws when it opens
    if (turn !== at || !box.isConnected) return;
    const target = find();
    pointed?.classList.remove("pointed");
    pointed = target;
    target?.classList.add("pointed");
    const copies = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value instanceof Element ? value.cloneNode(true) : value]));
    const pips = make("span", { className: "pips", role: "img", ariaLabel: t("tour.step", { step: at + 1, count: steps.length }) }, ...steps.map((_, i) => make("span", { className: i <= at ? "pip on" : "pip" })));
    const isLast = at === steps.length - 1;
    const next = makeButton(t(isLast ? "tour.done" : "tour.next"), "main", () => (isLast ? end() : go(at + 1)), { id: "tour-next" });
    const back = at > 0 ? [makeButton(t("tour.back"), "plain", () => go(at - 1))] : [];
    box.replaceChildren(make("h3", { id: "coach-title", textContent: t(`tour.${key}.title`) }), make("p", { id: "coach-text" }, ...rich(`tour.${key}`, copies)),
      make("div", { className: "coach-buttons" }, pips, makeButton(t("tour.skip"), "plain", end, { id: "tour-skip" }), ...back, next));
    box.setAttribute("aria-describedby", "coach-text");
    requestAnimationFrame(() => place(box, target));
    next.focus({ preventScroll: true });
  }
  document.body.append(box);
  document.addEventListener("keydown", onKey, { signal });
  signal.addEventListener("abort", () => box.remove());
  draw();
}

/** Put the box below what it points at; beside or above what is tall; and scroll there. */
function place(box, target) {
  if (!target) return;
  const around = target.getBoundingClientRect();
  const width = document.documentElement.clientWidth;
  const isTall = around.height > TALL;
  const isBeside = isTall && around.right + box.offsetWidth + 26 < width;
  const middle = around.left + around.width / 2;
  const left = Math.max(12, Math.min(isBeside ? around.right + 14 : middle - 60, width - box.offsetWidth - 12));
  const top = (isBeside ? around.top : isTall ? Math.max(around.top - box.offsetHeight - 14, 8 - window.scrollY) : around.bottom + 14) + window.scrollY;
  box.style.top = `${top}px`;
  box.style.left = `${left}px`;
  box.classList.toggle("beside", isTall);
  box.style.setProperty("--point", `${Math.max(14, Math.min(box.offsetWidth - 30, middle - left - 8))}px`);
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  window.scrollTo({ top: Math.max(0, top - (isTall ? 120 : window.innerHeight / 2)), behavior: isStill ? "auto" : "smooth" });
}
