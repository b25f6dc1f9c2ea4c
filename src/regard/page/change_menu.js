// The menu beside "Remove this head": what the head may do instead. Its attention can be spread evenly, or the selected
// word can be made to look only at one other word.

import { fillSelect, make } from "./dom.js";
import { capital } from "./inspection.js";
import { t } from "./strings.js";

/** Make the menu. `choose(instead)` gets what replaces the weights of the head: "uniform", or tokens such as "8:2". */
export function makeChangeMenu(choose) {
  const select = make("select", { id: "change-head", ariaLabel: t("change.label") });
  select.addEventListener("change", () => select.value && choose(select.value));
  return {
    element: select,
    /** Offer what can be done with a row of a table; `instead` is what is done now, or null. */
    offer(table, row, instead) {
      const only = table.columns.map((column, j) => [forcedPair(table.rows[row], column), column.text, j]).filter(([, , j]) => isPossible(table, row, j));
      const options = only.map(([pair, text]) => [pair, text]);
      // The present choice stays in the menu when another word is selected.
      const kept = instead && instead !== "uniform" && !options.some(([pair]) => pair === instead) ? [[instead, t("change.kept")]] : [];
      const group = { group: capital(t("change.only", { word: table.rows[row].text })), options: [...options, ...kept] };
      fillSelect(select, [["", t("change.none")], ["uniform", t("change.spread")], group], instead ?? "");
    },
  };
}

/** Whether a row may be made to look at a column: every token of the row must see every token of the column. */
const isPossible = (table, row, column) => !table.isCausal || table.columns[column].end <= table.rows[row].begin + 1;

/** The tokens of two words as the server and the command line take them: "8:2", counted from 1. */
export function forcedPair(row, column) {
  const span = ({ begin, end }) => (end - begin === 1 ? String(end) : `${begin + 1}-${end}`);
  return `${span(row)}:${span(column)}`;
}

/** The words of a table at a pair of tokens, or null if it has none there. */
export function forcedWords(table, instead) {
  for (const row of table.rows) {
    for (const column of table.columns) if (forcedPair(row, column) === instead) return { row: row.text, column: column.text };
  }
  return null;
}
