// The cividis colour scale, which colour-blind people can read: dark blue for small weights, yellow for large ones.

const STOPS = [[0, 32, 77], [64, 77, 107], [124, 123, 120], [188, 174, 108], [255, 233, 69]];

/** For each weight from 0 to 255, its colour as red, green and blue. */
export const PALETTE = Array.from({ length: 256 }, (_, weight) => {
  const position = (weight / 255) * (STOPS.length - 1);
  const stop = Math.min(Math.floor(position), STOPS.length - 2);
  return STOPS[stop].map((low, i) => Math.round(low + (position - stop) * (STOPS[stop + 1][i] - low)));
});

/** Make an image of a matrix of numbers from 0 to 255, one pixel for each number; masked pixels are transparent. */
export function makeImage(numbers, rows, columns, masked = () => false) {
  const image = new ImageData(columns, rows);
  for (let i = 0, at = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++, at++) {
      image.data.set(PALETTE[numbers[at]], 4 * at);
      image.data[4 * at + 3] = masked(i, j) ? 0 : 255;
    }
  }
  const canvas = new OffscreenCanvas(columns, rows);
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}
