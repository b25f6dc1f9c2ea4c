// What changes if a head is changed: the translation and its probabilities beside the original, and, if it is removed, the
// same for all other heads, removed one at a time, as a baseline.
//
// If the provider can compute the changed translation, the page shows that inspection. Otherwise it shows what the
// effects say: probabilities after the same words.

import { make, makeButton, makeCommand, makeSvg, makeWord, plain } from "./dom.js";
import { markDifferences, wordDifferences } from "./differences.js";
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

/** The line above the panel: "Without this head, elle becomes il". `lead` are its first words, which say what changed. */
export function changeFinding({ token, before, after, change }, map, { isTranslated, how, lead }) {
  const strong = (text) => makeWord(plain(text), "strong");
  const where = make("span", { className: "where" }, ` · ${t(how === "removed" ? "removal.where" : "change.where", { where: whereOf(map) })}`);
  if (change && change.token !== token) return [...rich(isTranslated ? "removal.becomes" : "removal.exceeds", { lead, word: strong(token), other: strong(change.token) }), where];
  return [...rich("removal.stays", { lead, word: strong(token), before: number(before), after: number(after) }), where];
}

/**
 * Make the panel. `texts` are the translations with and without the head; the second is null if it is not known.
 * `baseline` has the effects of removing each head, or null while they are computed; without it, there is none.
 */
export function makeRemoval({ effect: all, baseline, steps, map, texts, command, isGiven, isReplaced }) {
  const effect = largestEffect(all, steps);
  const [before, after] = isReplaced ? ["change.before", "change.after"] : ["removal.with", "removal.without"];
  const pair = make("dl", { className: "with-without" });
  const difference = texts.without === null ? null : wordDifferences(texts.with, texts.without);
  const line = (name, words, style) => pair.append(make("dt", { className: "small", textContent: t(name) }), make("dd", { dir: "auto" }, ...markDifferences(words, style)));
  line(before, difference ? difference.first : [{ space: "", text: texts.with }], "look");
  if (difference) line(after, difference.second, "diff");
  const panel = make("div", { className: "removal", id: "removal" }, pair);
  if (isGiven) panel.append(make("p", { className: "note", textContent: t("removal.given") }));
  else if (!difference) panel.append(make("p", { className: "note" }, t("removal.unknown")), makeCommand(command));
  else if (texts.with === texts.without) panel.append(make("p", { className: "note", textContent: t("removal.same") }));
  panel.append(make("div", { className: "halves" }, drawProbabilities(effect, isReplaced), ...drawSpecial(baseline, effect, map)));
  return panel;
}

/** Whether the effect is special: a baseline, or why there is none yet. */
function drawSpecial(baseline, effect, map) {
  if (!baseline || baseline.effects?.size === 1) return [];
  if (baseline.effects) return [drawBaseline(baseline.effects, effect, map)];
  return [make("div", {}, make("h3", { textContent: t("removal.special") }), make("p", { className: "note", textContent: baseline.failure ?? t("heads.waiting") }))];
}

function drawProbabilities({ step, token, before, after, change }, isReplaced) {
  const names = isReplaced ? ["change.before", "change.after"] : ["removal.with.short", "removal.without.short"];
  const entries = [[token, before, after], ...(change && change.token !== token ? [[change.token, change.before, change.after]] : [])];
  const list = make("div", { className: "pairs" });
  for (const [word, first, second] of entries) {
    list.append(makeWord(plain(word), "strong"), ...bar(names[0], first, "look"), ...bar(names[1], second, "diff"));
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
export const makeRemovalButton = (action) => makeButton("", "act", action, { id: "remove" });
