// What changes without a head: the translation and its probabilities beside the original, and the same for all other
// heads, removed one at a time, as a baseline.
//
// If the provider can compute the translation without a head, the page shows that inspection. Otherwise it shows what
// the effects say: probabilities after the same words.

import { make, makeButton, makeCommand, makeSvg, makeWord, plain } from "./dom.js";
import { wordDifferences } from "./differences.js";
import { whereOf } from "./inspection.js";
import { number, probability, rich, t } from "./strings.js";

/** The target token whose probability changes most without a head, and what would be written instead, if it differs. */
export function largestEffect(effect, steps) {
  let step = 0;
  effect.probabilities.forEach((value, i) => {
    if (Math.abs(value - steps[i].probability) > Math.abs(effect.probabilities[step] - steps[step].probability)) step = i;
  });
  const change = effect.changes.find((one) => one.step === step) ?? null;
  return { step, token: steps[step].token, before: steps[step].probability, after: effect.probabilities[step], change, difference: effect.probabilities[step] - steps[step].probability };
}

/** The line above the panel: "Without this head, elle becomes il". */
export function removalFinding(effect, map, isTranslated) {
  const { token, before, after, change } = effect;
  const strong = (text) => makeWord(plain(text), "strong");
  const where = make("span", { className: "where" }, ` · ${t("removal.where", { where: whereOf(map) })}`);
  if (change && change.token !== token) return [...rich(isTranslated ? "removal.becomes" : "removal.exceeds", { word: strong(token), other: strong(change.token) }), where];
  return [...rich("removal.stays", { word: strong(token), before: number(before), after: number(after) }), where];
}

/** Make the panel. `texts` are the translations with and without the head; the second is null if it is not known. */
export function makeRemoval({ effects, steps, map, texts, command, isGiven }) {
  const effect = largestEffect(effects.get(map.address), steps);
  const pair = make("dl", { className: "with-without" });
  const difference = texts.without === null ? null : wordDifferences(texts.with, texts.without);
  const line = (name, words, style) => pair.append(make("dt", { className: "small", textContent: t(name) }), make("dd", { dir: "auto" }, ...words.flatMap(({ text, differs }, i) => [i ? " " : "", differs ? make("mark", { className: style, textContent: text }) : text])));
  line("removal.with", difference ? difference.first : [{ text: texts.with }], "look");
  if (difference) line("removal.without", difference.second, "diff");
  const panel = make("div", { className: "removal", id: "removal" }, pair);
  if (isGiven) panel.append(make("p", { className: "note", textContent: t("removal.given") }));
  else if (!difference) panel.append(make("p", { className: "note" }, t("removal.unknown")), makeCommand(command));
  else if (texts.with === texts.without) panel.append(make("p", { className: "note", textContent: t("removal.same") }));
  panel.append(make("div", { className: "halves" }, drawProbabilities(effect), ...(effects.size > 1 ? [drawBaseline(effects, effect, map)] : [])));
  return panel;
}

function drawProbabilities({ step, token, before, after, change }) {
  const entries = [[token, before, after], ...(change && change.token !== token ? [[change.token, change.before, change.after]] : [])];
  const list = make("div", { className: "pairs" });
  for (const [word, first, second] of entries) {
    list.append(makeWord(plain(word), "strong"), ...bar("removal.with.short", first, "look"), ...bar("removal.without.short", second, "diff"));
  }
  return make("div", {}, make("h3", { textContent: t("removal.here") }), list, make("p", { className: "small", textContent: t("removal.place", { step: step + 1 }) }));
}

function bar(name, value, style) {
  const filled = make("span", { className: `bar ${style}`, ariaHidden: "true" });
  filled.style.width = `${100 * value}%`;
  return [make("span", { className: "small", textContent: t(name) }), make("span", {}, filled), make("span", { className: "value", textContent: probability(value) })];
}

/** All heads on one line, by the probability of the token without them; this head is marked. */
function drawBaseline(effects, { step, token, before }, map) {
  const values = [...effects].filter(([head]) => head !== map.address).map(([, effect]) => effect.probabilities[step]);
  const own = effects.get(map.address).probabilities[step];
  const [width, height] = [420, 118];
  const x = (value) => 10 + value * (width - 20);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const label = t("removal.baseline.label", { token: plain(token), own: number(own), count: values.length, low: number(low), high: number(high) });
  const svg = makeSvg("svg", { class: "baseline", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  svg.append(makeSvg("path", { class: "axis", d: `M${x(0)} 82H${x(1)}` }));
  for (const value of [0, 0.25, 0.5, 0.75, 1]) svg.append(makeSvg("path", { class: "axis", d: `M${x(value)} 82v5` }), makeSvg("text", { x: x(value), y: 102 }, number(value, value % 0.5 ? 2 : value % 1 ? 1 : 0)));
  const stacked = new Map();
  const most = Math.max(...values.map((value) => { const bin = Math.round(value * 80); stacked.set(bin, (stacked.get(bin) ?? 0) + 1); return stacked.get(bin); }));
  const spacing = Math.min(5, 66 / most);
  stacked.clear();
  for (const value of values) {
    const bin = Math.round(value * 80);
    stacked.set(bin, (stacked.get(bin) ?? 0) + 1);
    svg.append(makeSvg("circle", { cx: x(value).toFixed(1), cy: (80 - spacing * (stacked.get(bin) - 0.5)).toFixed(1), r: 2.2 }));
  }
  svg.append(makeSvg("path", { class: "own", d: `M${x(own)} 70l6 6l-6 6l-6 -6z` }));
  const others = [...effects].filter(([head, { changes }]) => head !== map.address && changes.some((one) => one.step === step)).length;
  return make("div", {}, make("h3", { textContent: t("removal.special") }), svg,
    make("p", { className: "small", textContent: `${label} ${t("removal.now", { token: plain(token), before: number(before) })} ${t("removal.others", { count: others })}` }));
}

/** The button that removes the chosen head or puts it back. */
export const makeRemovalButton = (isRemoved, action) => makeButton(t(isRemoved ? "removal.back" : "removal.remove"), "act", action, { id: "remove", ariaPressed: String(isRemoved) });
