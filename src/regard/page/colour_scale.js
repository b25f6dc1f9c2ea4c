// Cividis: a scale that looks the same to colour-blind eyes, dark for little and yellow for much.

const STOPS = [[0, 32, 77], [64, 77, 107], [124, 123, 120], [188, 174, 108], [255, 233, 69]];

/** Red, green and blue for a weight from 0 to 255. */
export const PALETTE = Array.from({ length: 256 }, (_, weight) => {
  const place = (weight / 255) * (STOPS.length - 1);
  const low = Math.min(Math.floor(place), STOPS.length - 2);
  return STOPS[low].map((one, i) => Math.round(one + (place - low) * (STOPS[low + 1][i] - one)));
});

/** A picture with one pixel for each of rows x columns numbers from 0 to 255; what is masked is see-through. */
export function picture(numbers, rows, columns, masked = () => false) {
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
