// What the strip says about each problem: what has happened, what is kept, what happens next, and what the reader can do.

import { make, makeButton } from "./dom.js";
import { t, whole } from "./strings.js";

const ICONS = { offline: "offline", overloaded: "clock", draining: "restart", slow: "clock", long: "long", pair: "ask", key: "key", "key.wrong": "key" };

/** Show a problem in the strip. `actions` are functions: again, stop, shorten, chooseTarget(code), useKey(key). */
export function showProblem(strip, problem, { retryAt, languages, actions }) {
  const { kind } = problem;
  const show = (text, buttons = [], more = {}) => strip.show({ kind, icon: ICONS[kind] ?? "alert", reason: reasonOf(problem, languages), text, actions: buttons, ...more });
  const again = [t("problem.again"), actions.again];
  if (kind === "overloaded" && retryAt) show((seconds) => t("problem.overloaded.next", { seconds }), [[t("problem.stop"), actions.stop]], { until: retryAt });
  else if (kind === "overloaded") show(t("problem.kept"), [again]);
  else if (kind === "offline" || kind === "draining") show(t(`problem.${kind}.next`), [again]);
  else if (kind === "slow") show(t("problem.slow.next"), [[t("problem.cancel"), actions.stop]]);
  else if (kind === "long") show(t("problem.long.next"), [[t("problem.long.shorten"), actions.shorten]]);
  else if (kind === "pair") showPair(show, problem, languages, actions);
  else if (kind === "key" || kind === "key.wrong") show(t("problem.key.next"), [], { extra: [makeKeyForm(actions.useKey)] });
  else if (kind === "quota") show(t("problem.quota.next"));
  else show(problem.message ? t("problem.failing.next", { message: problem.message }) : t("problem.kept"), [again]);
}

/** The first sentence of what the strip says. */
export function reasonOf({ kind, over, source, target }, languages) {
  if (kind === "long" && over) return t("problem.long", { over: whole(over) });
  if (kind === "pair" && source === target) return t("problem.source", { source: languages.nameOf(source) });
  if (kind === "pair") return t("problem.pair", { source: languages.nameOf(source), target: languages.nameOf(target) });
  return t(kind === "long" ? "problem.long.server" : `problem.${kind}`);
}

function showPair(show, { source, target }, languages, actions) {
  const targets = languages.targetsOf(source).filter((code) => code !== target);
  show(t(targets.length ? "problem.pair.next" : "problem.pair.none"), targets.slice(0, 4).map((code) => [languages.nameOf(code), () => actions.chooseTarget(code)]));
}

function makeKeyForm(useKey) {
  const input = make("input", { type: "password", name: "key", autocomplete: "off", className: "key-field", ariaLabel: t("problem.key.label"), required: true });
  const form = make("form", { className: "strip-actions" }, input, makeButton(t("problem.key.use"), "", () => {}, { type: "submit" }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    useKey(input.value.trim());
  });
  return form;
}
