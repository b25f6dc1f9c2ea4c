// The one drawing rule of every map: the area of a dot is the weight. Dots are drawn on a canvas.

const SMALLEST = 0.3; // dots with a smaller radius in pixels are not drawn
const LEAST = 1.7; // pixels, the radius of the weight 1; in small cells, dots may touch

/** Draw the dots of some rows of a table, with cells of a size in pixels whose first is at `left` and `top`. */
export function drawDots(context, table, { left, top, cellWidth, cellHeight, rows, colour }) {
  const most = Math.max(LEAST, Math.min(cellWidth, cellHeight) / 2 - (cellWidth > 12 ? 1 : 0.05));
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

/** Mark a row: a band, or an outline if the colours of the system have no pale one. */
export function drawBand(context, { left, top, width, height, colour }) {
  if (matchMedia("(forced-colors: active)").matches) {
    context.strokeStyle = colour;
    context.lineWidth = 1;
    context.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
    return;
  }
  context.fillStyle = colour;
  context.fillRect(left, top, width, height);
}
