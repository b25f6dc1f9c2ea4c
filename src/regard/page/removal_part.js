// Changing a head: the button that removes it, the menu of other changes, the finding, the panel, and the captions of all
// heads. Two inspections are compared, that of the full model and that of the changed one, if the provider has both;
// otherwise the effects give the probabilities.

import { forcedWords, makeChangeMenu } from "./change_menu.js";
import { make, makeWord } from "./dom.js";
import { loadInspection } from "./inspection.js";
import { effectOf } from "./provider.js";
import { changeFinding, largestEffect, makeRemoval, makeRemovalButton } from "./removal.js";
import { rich, t } from "./strings.js";

/** Make the part. `redraw()` is called when the effects of removing heads have come. */
export async function makeRemovalPart({ inspection, provider, open, state, change }, redraw) {
  const { facts } = inspection;
  const full = !facts.without || provider.refuses({ without: null }) ? inspection : await loadInspection(await provider.look({ without: null }));
  const { steps } = full.facts;
  const panel = make("div", {});
  const canCompute = (address) => !provider.refuses({ without: address });
  const isComputed = (address) => facts.without === address;
  const isChanged = (map) => Boolean(map.head) && (isComputed(map.address) || (Boolean(state.removed) && !facts.without));
  const own = facts.changed && effectOf(facts.changed);
  let effects = null;
  let failure = null;

  /** The column that is looked at most stays selected, because a removed head looks at none. */
  const keepColumn = () => { state.column ??= drawn.table.top(drawn.row); };
  let drawn = null;

  async function press() {
    const { address } = state;
    keepColumn();
    if (isComputed(address)) await open({ without: null });
    else if (canCompute(address)) await open({ without: address });
    else change({ removed: !state.removed });
    document.getElementById("remove")?.focus();
  }
  const button = makeRemovalButton(press);
  const menu = makeChangeMenu(async (instead) => {
    state.column = null;
    await open({ without: state.address, instead });
    document.getElementById("change-head")?.focus();
  });
  const effectAt = (address) => (isComputed(address) && own) || effects?.get(address) || null;

  const part = {
    controls: make("div", { className: "change-controls" }, button, menu.element),
    panel,
    isOffered: () => !button.hidden,
    /** Get the effects of removing heads, if something that shows them is selected; only the first time takes long. */
    async load() {
      const isNeeded = facts.without || state.removed || state.mode === "remove";
      if (!isNeeded || !facts.has_effects || effects) return;
      try {
        failure = null;
        effects = await provider.effects();
      } catch (error) {
        failure = error.message || t("heads.failed");
      }
      redraw();
    },
    /** The table of a removed head as it was, for a drawing of what is missing. */
    async tableBefore(address, units, table) {
      if (!isComputed(address) || facts.instead) return null;
      const before = await full.table(address, units);
      const isSame = (some, others) => some.length === others.length && some.every(({ text }, i) => text === others[i].text);
      return isSame(before.rows, table.rows) && isSame(before.columns, table.columns) ? before : null;
    },
    /** Draw the controls and the panel for the selected map; return "removed", "replaced" or null. */
    draw(map, table, row) {
      drawn = { table, row };
      const changed = isChanged(map);
      button.hidden = !map.head || !(changed || (!facts.without && (canCompute(map.address) || facts.has_effects)));
      if (isComputed(map.address) && provider.refuses({ without: null })) button.hidden = true;
      button.textContent = t(changed ? (facts.instead ? "change.back" : "removal.back") : "removal.remove");
      button.setAttribute("aria-pressed", String(changed));
      menu.element.hidden = !map.head || !canCompute(map.address) || (Boolean(facts.without) && !isComputed(map.address));
      if (!menu.element.hidden) menu.offer(table, row, isComputed(map.address) ? facts.instead : null);
      const texts = { with: full.facts.texts.target, without: isComputed(map.address) ? facts.texts.target : null };
      const effect = effectAt(map.address);
      const isShown = changed && effect;
      const baseline = facts.instead || !facts.has_effects ? null : { effects, failure };
      panel.replaceChildren(...(isShown ? [makeRemoval({ effect, baseline, steps, map, texts, command: `${full.facts.command} --without ${map.address}`, isGiven: facts.is_given, isReplaced: Boolean(facts.instead) })] : []));
      return changed ? (facts.instead ? "replaced" : "removed") : null;
    },
    /** The finding about a changed head and what its lines show, or null. */
    finding(map, table) {
      const effect = effectAt(map.address);
      if (!isChanged(map) || !effect) return null;
      const isTranslated = isComputed(map.address) && !facts.is_given && facts.texts.target !== full.facts.texts.target;
      const words = facts.instead && facts.instead !== "uniform" ? forcedWords(table, facts.instead) ?? { row: "…", column: "…" } : null;
      const how = words ? "forced" : facts.instead ?? "removed";
      const values = () => (words ? { row: makeWord(words.row), column: makeWord(words.column) } : {});
      return { line: changeFinding(largestEffect(effect, steps), map, { isTranslated, how, lead: rich(`change.${how}`, values()) }), note: rich(`change.${how}.note`, values()) };
    },
    /** What the captions of all heads show besides where they look. */
    captions(map) {
      if (state.mode !== "remove" || !map.head) return { removals: null };
      if (!effects) return { removals: null, note: failure ?? t("heads.waiting") };
      const { step, token, before } = largestEffect(effects.get(map.address), steps);
      const removals = new Map([...effects].map(([head, effect]) => [head, { after: effect.probabilities[step], changes: effect.changes.some((one) => one.step === step) }]));
      return { removals: { token, before, of: removals } };
    },
  };
  part.load();
  return part;
}
