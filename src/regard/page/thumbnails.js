// A small map of every head. Each is drawn when it comes into view, so that pages of long texts open fast.

import { makeImage } from "./colour_scale.js";
import { attentions, headNumbers, weightsOf } from "./provider.js";
import { make, makeCanvas } from "./dom.js";
import { change, listen, state } from "./state.js";

const SIZE = 56;

/** Reduce a map to at most size × size cells by max pooling; averages would hide single large weights. */
export function maxPooled(numbers, rows, columns, size) {
  const r = Math.min(rows, size);
  const c = Math.min(columns, size);
  const small = new Uint8Array(r * c);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      const at = Math.floor((i * r) / rows) * c + Math.floor((j * c) / columns);
      small[at] = Math.max(small[at], numbers[i * columns + j]);
    }
  }
  return [small, r, c];
}

async function drawThumbnail(button, { address, rows, columns }, head) {
  const numbers = await weightsOf(`${address}.${head}`);
  const [small, r, c] = maxPooled(numbers, rows.tokens.length, columns.tokens.length, 2 * SIZE);
  const [canvas, context] = makeCanvas(SIZE, SIZE);
  context.imageSmoothingEnabled = false;
  context.drawImage(makeImage(small, r, c), 0, 0, SIZE, SIZE);
  canvas.setAttribute("aria-hidden", "true");
  button.replaceChildren(canvas);
}

export function showThumbnails(root) {
  const buttons = new Map();
  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      drawThumbnail(target, ...buttons.get(target));
    }
  });
  for (const attention of attentions) {
    const heads = headNumbers(attention).map((head) => {
      const button = make("button", { title: `${attention.address}.${head}`, ariaLabel: `${attention.address}.${head}`, ariaPressed: "false" });
      button.style.width = button.style.height = `${SIZE + 8}px`;
      button.addEventListener("click", () => {
        change({ kind: attention.kind, layer: String(attention.layer), head, row: 0, column: 0 });
        document.getElementById("map-title").scrollIntoView({ block: "nearest" });
      });
      buttons.set(button, [attention, head]);
      observer.observe(button);
      return button;
    });
    root.append(make("div", { className: "layer" }, make("h4", { textContent: attention.address }), make("div", { className: "heads" }, ...heads)));
  }
  const markSelected = () => {
    for (const [button, [{ kind, layer }, head]] of buttons) {
      button.ariaPressed = String(kind === state.kind && String(layer) === state.layer && head === state.head);
    }
  };
  listen(markSelected);
  markSelected();
}
