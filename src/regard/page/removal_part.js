// Removing a head: the button, the finding, the panel, and the captions of all heads. Two inspections are compared, that
// of the full model and that without the head, if the provider has both; otherwise the effects give the probabilities.

import { make } from "./dom.js";
import { loadInspection } from "./inspection.js";
import { largestEffect, makeRemoval, makeRemovalButton, removalFinding } from "./removal.js";
import { t } from "./strings.js";

export async function makeRemovalPart({ inspection, provider, remount, state, change }) {
  const { facts } = inspection;
  const full = !facts.without || provider.refuses({ without: null }) ? inspection : await loadInspection(await provider.look({ without: null }));
  const { steps } = full.facts;
  const panel = make("div", {});
  const canCompute = (address) => !provider.refuses({ without: address });
  const isComputed = (address) => facts.without === address;
  const isRemoved = (map) => Boolean(map.head) && (isComputed(map.address) || (Boolean(state.removed) && !facts.without));
  let effects = null;

  async function press() {
    const { address } = state;
    if (isComputed(address)) await remount(await provider.look({ without: null }));
    else if (canCompute(address)) await remount(await provider.look({ without: address }));
    else change({ removed: !state.removed });
    document.getElementById("remove")?.focus();
  }
  let button = makeRemovalButton(false, press);

  const part = {
    button,
    panel,
    /** Get the effects, if something that shows them is selected. */
    async load() {
      const isNeeded = facts.without || state.removed || state.mode === "remove";
      if (isNeeded && facts.has_effects) effects ??= await provider.effects();
    },
    /** The table of a removed head as it was, for a drawing of what is missing. */
    async tableBefore(address, units, table) {
      if (!isComputed(address)) return null;
      const before = await full.table(address, units);
      const isSame = (some, others) => some.length === others.length && some.every(({ text }, i) => text === others[i].text);
      return isSame(before.rows, table.rows) && isSame(before.columns, table.columns) ? before : null;
    },
    /** Draw the button and the panel for the selected map; return whether its head is removed. */
    draw(map) {
      const removed = isRemoved(map);
      button.hidden = !map.head || !(removed || (!facts.without && (canCompute(map.address) || facts.has_effects)));
      if (isComputed(map.address) && provider.refuses({ without: null })) button.hidden = true;
      button.textContent = t(removed ? "removal.back" : "removal.remove");
      button.setAttribute("aria-pressed", String(removed));
      const texts = { with: full.facts.texts.target, without: isComputed(map.address) ? facts.texts.target : null };
      const command = `${full.facts.command} --without ${map.address}`;
      const isShown = removed && effects?.has(map.address);
      panel.replaceChildren(...(isShown ? [makeRemoval({ effects, steps, map, texts, command, isGiven: facts.is_given })] : []));
      return removed;
    },
    /** The finding about a removed head, or null. */
    finding(map) {
      if (!isRemoved(map) || !effects?.has(map.address)) return null;
      const isTranslated = isComputed(map.address) && !facts.is_given && facts.texts.target !== full.facts.texts.target;
      return removalFinding(largestEffect(effects.get(map.address), steps), map, isTranslated);
    },
    /** What the captions of all heads show besides where they look. */
    captions(map) {
      if (state.mode !== "remove" || !effects || !map.head) return { removals: null };
      const { step, token, before } = largestEffect(effects.get(map.address), steps);
      const removals = new Map([...effects].map(([head, effect]) => [head, { after: effect.probabilities[step], changes: effect.changes.some((one) => one.step === step) }]));
      return { removals: { token, before, of: removals } };
    },
  };
  await part.load();
  return part;
}
