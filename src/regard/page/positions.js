// The positional encoding: a row for each position and a column for each dimension; hollow is negative, full positive.

import { make, makeCanvas, makeFold, themeColours } from "./dom.js";
import { number, t } from "./strings.js";

const MOST_WIDTH = 1020;

export function showPositions(add, { inspection }) {
  const { rows, width, max_abs: most, kind } = inspection.facts.positions;
  const { tokens } = inspection.facts.source;
  add(makeFold({
    id: "positions", title: t("positions.title"), note: t("positions.note", { width }), open: false,
    async draw(content) {
      const { table } = await inspection.provider.vectors("positions");
      const valueAt = (row, column) => (table[row * width + column] / 255) * 2 * most - most;
      const cellWidth = Math.max(2, Math.min(8, Math.floor(MOST_WIDTH / width)));
      const cellHeight = Math.max(4, Math.min(14, Math.floor(480 / rows)));
      const [canvas, context] = makeCanvas(cellWidth * width, cellHeight * rows);
      const drawing = () => {
        const colours = themeColours(content);
        context.clearRect(0, 0, cellWidth * width, cellHeight * rows);
        for (let row = 0; row < rows; row++) {
          for (let column = 0; column < width; column++) {
            const size = Math.abs(valueAt(row, column)) / most; // the height of a bar is the number
            context.fillStyle = valueAt(row, column) < 0 ? colours.line : colours.look;
            const height = Math.max(0.4, size * (cellHeight - 1));
            context.fillRect(cellWidth * column, cellHeight * (row + 1) - height, cellWidth - 0.4, height);
          }
        }
      };
      drawing();
      document.addEventListener("themechange", drawing);
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", t("positions.label", { rows, width }));
      const readout = make("p", { className: "readout", id: "positions-readout", textContent: t("positions.point") });
      canvas.addEventListener("pointermove", (event) => {
        const box = canvas.getBoundingClientRect();
        const row = Math.min(rows - 1, Math.max(0, Math.floor((event.clientY - box.top) / cellHeight)));
        const column = Math.min(width - 1, Math.max(0, Math.floor((event.clientX - box.left) / cellWidth)));
        const word = tokens[row] === undefined ? "" : t("positions.word", { word: tokens[row] });
        readout.textContent = t("positions.cell", { row, word, column: column + 1, value: number(valueAt(row, column)) });
      });
      const note = t("positions.rows", { rows, max: number(most), step: number((2 * most) / 255, 4) });
      content.append(
        make("p", { className: "note", textContent: t(kind === "sinusoid" ? "positions.sinusoid" : "positions.learned") }),
        make("p", { className: "small", textContent: note }), readout,
        make("div", { className: "frame", id: "positions-frame", tabIndex: 0, role: "region", ariaLabel: t("positions.title") }, canvas),
      );
    },
  }));
}
