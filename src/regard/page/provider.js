// The data of the page. Attention maps and vectors are compressed (deflate, then base64) and decompressed on first use.
// Only this module parses addresses such as `encoder.2.self.5`.

export const data = JSON.parse(document.getElementById("data").textContent);

const unpacked = new Map();

async function bytes(packed) {
  const compressed = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

function once(key, unpack) {
  if (!unpacked.has(key)) unpacked.set(key, unpack());
  return unpacked.get(key);
}

/** The attention weights at an address, as integers from 0 to 255 in row-major order. */
export function weightsOf(address) {
  return once(address, async () => new Uint8Array(await bytes(data.maps[address])));
}

/** A matrix of 32-bit floats in row-major order; it is stored under `name` after the first call. */
export function floatsOf(name, packed) {
  return once(name, async () => new Float32Array(await bytes(packed)));
}

/** The positional encoding as integers from 0 to 255. */
export function positionBytes() {
  return once("positions", async () => new Uint8Array(await bytes(data.positions.table)));
}

/** The tokens that attend (`rows`), those attended to (`columns`) and, in the decoder, its input tokens (`read`). */
export function sides(kind) {
  if (kind === "encoder.self") return { rows: data.source, columns: data.source, read: null };
  return { rows: data.written, columns: kind === "decoder.self" ? data.read : data.source, read: data.read };
}

/** Every attention sublayer in the order of computation, with its address, kind, layer and tokens. */
export const attentions = data.attentions.map((address) => {
  const [stack, layer, sublayer] = address.split(".");
  return { address, kind: `${stack}.${sublayer}`, layer: Number(layer), ...sides(`${stack}.${sublayer}`) };
});

/** The address of every head in the order of computation. */
export const headAddresses = attentions.flatMap(({ address }) => Array.from({ length: data.settings.heads }, (_, i) => `${address}.${i + 1}`));

/** The attention sublayer that a head belongs to. */
export const attentionOf = (head) => attentions.find(({ address }) => head.startsWith(`${address}.`));

/** The address of the attention of a kind in a layer, such as `encoder.2.self`; for "all" layers, the kind. */
export function attentionAddress(kind, layer) {
  return layer === "all" ? kind : attentions.find((attention) => attention.kind === kind && String(attention.layer) === layer).address;
}

export const KINDS = {
  "encoder.self": "source attends to source",
  "decoder.self": "target attends to the target so far",
  "decoder.cross": "target attends to source",
};
