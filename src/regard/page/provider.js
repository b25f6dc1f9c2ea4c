// What was exported: facts as they are, maps and vectors packed (deflate, then base64) and unpacked when asked for.

export const data = JSON.parse(document.getElementById("data").textContent);

const unpacked = new Map();

async function bytes(packed) {
  const compressed = Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

function once(key, make) {
  if (!unpacked.has(key)) unpacked.set(key, make());
  return unpacked.get(key);
}

/** The weights of a map as whole numbers from 0 to 255, row after row. */
export function weightsOf(address) {
  return once(address, async () => new Uint8Array(await bytes(data.maps[address])));
}

/** A table of 32-bit floats, row after row. */
export function floatsOf(name, packed) {
  return once(name, async () => new Float32Array(await bytes(packed)));
}

/** The table of positions as whole numbers from 0 to 255. */
export function positionBytes() {
  return once("positions", async () => new Uint8Array(await bytes(data.positions.table)));
}

/** Every attention in the order of the work: its address, kind, and who looks at whom. */
export const attentions = data.attentions.map((address) => {
  const [stack, layer, part] = address.split(".");
  return { address, kind: `${stack}.${part}`, layer: Number(layer), ...sides(`${stack}.${part}`) };
});

export function sides(kind) {
  if (kind === "encoder.self") return { rows: data.source, columns: data.source, read: null };
  return { rows: data.written, columns: kind === "decoder.self" ? data.read : data.source, read: data.read };
}

export const KINDS = {
  "encoder.self": "source looks at source",
  "decoder.self": "target looks at what is written",
  "decoder.cross": "target looks at source",
};
