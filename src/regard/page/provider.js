// The exported data: facts as they are; maps and vectors compressed (deflate, then base64) and unpacked on first use.
// Addresses such as `encoder.2.self.5` are parsed only here.

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

/** The attention weights of a map as integers from 0 to 255, row by row. */
export function weightsOf(address) {
  return once(address, async () => new Uint8Array(await bytes(data.maps[address])));
}

/** A matrix of 32-bit floats, row by row. */
export function floatsOf(name, packed) {
  return once(name, async () => new Float32Array(await bytes(packed)));
}

/** The positional encoding as integers from 0 to 255. */
export function positionBytes() {
  return once("positions", async () => new Uint8Array(await bytes(data.positions.table)));
}

/** The tokens of the rows and columns of a kind of attention and, in the decoder, the tokens that the rows have read. */
export function sides(kind) {
  if (kind === "encoder.self") return { rows: data.source, columns: data.source, read: null };
  return { rows: data.written, columns: kind === "decoder.self" ? data.read : data.source, read: data.read };
}

/** Every attention in the order of computation, with its address, kind, layer and sides. */
export const attentions = data.attentions.map((address) => {
  const [stack, layer, sublayer] = address.split(".");
  return { address, kind: `${stack}.${sublayer}`, layer: Number(layer), ...sides(`${stack}.${sublayer}`) };
});

/** The address of every head in the order of computation. */
export const headAddresses = attentions.flatMap(({ address }) => Array.from({ length: data.settings.heads }, (_, i) => `${address}.${i + 1}`));

/** The attention that a head belongs to. */
export const attentionOf = (head) => attentions.find(({ address }) => head.startsWith(`${address}.`));

/** The address of an attention; for all layers together, its kind. */
export function attentionAddress(kind, layer) {
  return layer === "all" ? kind : attentions.find((attention) => attention.kind === kind && String(attention.layer) === layer).address;
}

export const KINDS = {
  "encoder.self": "source attends to source",
  "decoder.self": "target attends to the target so far",
  "decoder.cross": "target attends to source",
};
