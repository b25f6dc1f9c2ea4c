// The one drawing rule of every map: the area of a dot is the weight. Dots are drawn on a canvas.

const SMALLEST = 0.3; // dots with a smaller radius in pixels are not drawn

/** Draw the dots of some rows of a table, with cells of a size in pixels whose first is at `left` and `top`. */
export function drawDots(context, table, { left, top, cellWidth, cellHeight, rows, colour }) {
  const most = Math.min(cellWidth, cellHeight) / 2 - (cellWidth > 12 ? 1 : 0.05);
  context.fillStyle = colour;
  context.beginPath();
  for (const i of rows) {
    for (let j = 0; j < table.columns.length; j++) {
      const radius = most * Math.sqrt(Math.min(1, table.at(i, j)));
      if (radius < SMALLEST) continue;
      const x = left + cellWidth * (j + 0.5);
      const y = top + cellHeight * (i + 0.5);
      context.moveTo(x + radius, y);
      context.arc(x, y, radius, 0, 7);
    }
  }
  context.fill();
}
