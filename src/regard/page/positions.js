// The positional encoding: for each position a row of bars, one for each dimension, up above zero and down below.

import { make, makeCanvas, makeFold, themeColours } from "./dom.js";
import { number, t } from "./strings.js";

const WIDTH = 1000; // of the picture in pixels, at most
const LEAST = 16; // rows, so that the pattern shows even for a short text
const MOST = 48;
const HEIGHT = 22; // of a row
const LEFT = 110; // for the tokens

export function showPositions(add, { inspection, signal }) {
  const { rows: stored, width, kind } = inspection.facts.positions;
  const { tokens } = inspection.facts.source;
  add(makeFold({
    id: "positions", title: t("positions.title"), note: t("positions.note", { width }), open: false,
    async draw(content) {
      const { table } = await inspection.provider.vectors("positions");
      const rows = Math.min(stored, MOST, Math.max(LEAST, tokens.length));
      const most = table.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0) || 1;
      const valueAt = (row, column) => table[row * width + column];
      const cell = Math.max(2, Math.min(8, Math.floor((WIDTH - LEFT) / width)));
      const [canvas, context] = makeCanvas(LEFT + cell * width, HEIGHT * rows);
      const drawing = () => {
        const colours = themeColours(content);
        context.clearRect(0, 0, LEFT + cell * width, HEIGHT * rows);
        context.font = '13px Charter, "Noto Serif", Georgia, serif';
        context.textBaseline = "middle";
        for (let row = 0; row < rows; row++) {
          const middle = HEIGHT * (row + 0.5);
          context.fillStyle = colours.ink2;
          context.fillText(`${row}  ${tokens[row] ?? ""}`, 0, middle, LEFT - 8);
          for (let column = 0; column < width; column++) {
            const size = (valueAt(row, column) / most) * (HEIGHT / 2 - 1);
            context.fillStyle = size < 0 ? colours.quiet : colours.look;
            context.fillRect(LEFT + cell * column, middle - Math.max(0, size), cell - 0.6, Math.max(0.5, Math.abs(size)));
          }
        }
      };
      drawing();
      document.addEventListener("themechange", drawing, { signal });
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", t("positions.label", { rows, width }));
      const readout = make("p", { className: "readout", id: "positions-readout", textContent: t("positions.point") });
      canvas.addEventListener("pointermove", (event) => {
        const box = canvas.getBoundingClientRect();
        const row = Math.min(rows - 1, Math.max(0, Math.floor((event.clientY - box.top) / HEIGHT)));
        const column = Math.min(width - 1, Math.max(0, Math.floor((event.clientX - box.left - LEFT) / cell)));
        const word = tokens[row] === undefined ? "" : t("positions.word", { word: tokens[row] });
        readout.textContent = t("positions.cell", { row, word, column: column + 1, value: number(valueAt(row, column)) });
      });
      content.append(
        make("p", { className: "note", textContent: t(kind === "sinusoid" ? "positions.sinusoid" : "positions.learned") }),
        make("p", { className: "small", textContent: t("positions.rows", { rows, max: number(most), step: number(most / 127, 4) }) }), readout,
        make("div", { className: "frame", id: "positions-frame", tabIndex: 0, role: "region", ariaLabel: t("positions.title") }, canvas),
      );
    },
  }));
}
