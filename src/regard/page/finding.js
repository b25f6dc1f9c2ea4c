// One finding in one line, and below it what the line does not say.

import { announce, make, makeWord, listOf } from "./dom.js";
import { whereOf } from "./inspection.js";
import { number, rich, t } from "./strings.js";

/** A word in a finding. */
const emphasised = (text) => makeWord(text, "strong");

/** The finding about a row of a table, as a list of strings and elements. */
export function findingOf(table, row) {
  const { text, read } = table.rows[row];
  const to = table.columns[table.top(row)].text;
  if (read === null) return rich("finding.encoder", { word: emphasised(text), to: emphasised(to) });
  return rich("finding.decoder", { word: emphasised(text), to: emphasised(to), read: emphasised(read) });
}

/**
 * Show the finding about the selected row. `changed` has the finding about the head if it is changed, with a note, and
 * `note` says why this is shown.
 */
export function showFinding(line, below, { map, table, heads, row, changed, note, canRemove }) {
  const where = () => make("span", { className: "where" }, ` · ${whereOf(map)}`);
  line.replaceChildren(...(changed?.line ?? [...findingOf(table, row), t("finding.value", { weight: number(table.at(row, table.top(row))) }), where()]));
  below.replaceChildren(...(changed ? changed.note : honest(map, table, heads, row, canRemove)), ...(note ? [" ", note] : []));
  announce(line.textContent);
}

function honest(map, table, heads, row, canRemove) {
  const parts = shares(table, row);
  const to = table.top(row);
  const same = heads.filter((head) => head.top(row) === to).length;
  parts.push(" ");
  if (!map.head) parts.push(t("finding.combined"));
  else if (heads.length === 1) parts.push(t("finding.only"));
  else {
    const chance = heads.length / table.ranked(row).length;
    parts.push(...rich("finding.heads", { count: heads.length, same, to: makeWord(table.columns[to].text), chance: chance < 1 ? number(chance, 1) : String(Math.round(chance)) }));
  }
  parts.push(" ", t(map.head && canRemove ? "finding.test" : "finding.hint"));
  return parts;
}

/** How the weights of a row are shared out: the two largest, and the rest. */
function shares(table, row) {
  const largest = table.ranked(row).slice(0, 2).filter((j, i) => i === 0 || table.at(row, j) >= 0.005);
  const shown = largest.flatMap((j, i) => [...(i ? [listOf(["", ""])] : []), makeWord(table.columns[j].text), ` ${number(table.at(row, j))}`]);
  if (table.ranked(row).length <= 2) return rich("finding.shares.all", { shares: shown });
  const rest = 1 - largest.reduce((sum, j) => sum + Number(table.at(row, j).toFixed(2)), 0);
  return rich("finding.shares", { shares: shown, rest: number(Math.max(0, rest)) });
}
