// The two menus of languages, and the button that swaps them. The menu of the target has what can be translated into
// from the source; the menu of the source says which language was detected.

import { fillSelect, make } from "./dom.js";
import { makeIcon } from "./icons.js";
import { capital } from "./inspection.js";
import { languageName, t } from "./strings.js";

export const DETECT = "";

/** Make the menus of `languages` ([{ code, name, targets }]). `changed()` is called when the reader chooses. */
export function makeLanguages(languages, { changed, swapped }) {
  const source = make("select", { id: "source-language", ariaLabel: t("source.language") });
  const target = make("select", { id: "target-language", ariaLabel: t("target.language") });
  const swap = make("button", { type: "button", id: "swap", className: "swap", ariaLabel: t("swap"), title: t("swap") }, makeIcon("swap"));
  let detected = null;

  const nameOf = (code) => code && capital(languageName(code) ?? languages.find((each) => each.code === code)?.name ?? code);
  const targetsOf = (code) => (languages.find((each) => each.code === code)?.targets ?? []).filter((each) => each !== code);
  const allTargets = languages.map((each) => each.code).filter((code) => languages.some((each) => each.code !== code && each.targets.includes(code)));
  const sources = languages.filter((each) => targetsOf(each.code).length);

  function fill() {
    const auto = detected && source.value === DETECT ? t("source.detected", { language: nameOf(detected) }) : t("source.detect");
    fillSelect(source, [[DETECT, auto], ...sources.map((each) => [each.code, nameOf(each.code)])], source.value);
    const possible = source.value === DETECT ? allTargets : targetsOf(source.value);
    const chosen = possible.includes(target.value) ? target.value : possible[0];
    fillSelect(target, possible.map((code) => [code, nameOf(code)]), chosen);
  }

  function choose(newSource, newTarget) {
    fillSelect(source, [DETECT, ...sources.map((each) => each.code)].map((code) => [code, code]), newSource);
    if (source.selectedIndex < 0) source.value = DETECT;
    fillSelect(target, allTargets.map((code) => [code, code]), newTarget);
    fill();
  }

  source.addEventListener("change", () => {
    detected = null;
    fill();
    changed();
  });
  target.addEventListener("change", () => changed());
  swap.addEventListener("click", () => {
    const from = source.value || detected || sources.find((each) => each.targets.includes(target.value) && each.code !== target.value)?.code;
    if (!from || !targetsOf(target.value).includes(from)) return;
    detected = null;
    choose(target.value, from);
    swapped();
  });

  return {
    source, target, swap, nameOf, targetsOf, choose,
    sources: sources.map((each) => each.code),
    /** What the menus say: { source, target }; the source is null if it is to be detected. */
    chosen: () => ({ source: source.value || null, target: target.value }),
    detect(code) {
      detected = code;
      fill();
    },
    /** The languages of a text in a detected language: a text that is in the target language needs another target. */
    route(code, wanted) {
      const found = code ?? sources.find((each) => each.targets.includes(wanted) && each.code !== wanted)?.code;
      const targets = targetsOf(found);
      if (targets.includes(wanted)) return { source: found, target: wanted };
      if (found === wanted && targets.length) return { source: found, target: targets[0] };
      throw Object.assign(new Error("no such pair"), { kind: "pair", found: { source: found ?? code, target: wanted } });
    },
  };
}
