// The data of the page. Attention maps and vectors are compressed (deflate, then base64) and decompressed on first use.
// Which attentions the model has, and between which tokens, is in the data: no other module parses an address.

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

/**
 * Every attention in the order of computation. `rows` are the tokens that attend, `columns` those attended to, and
 * `read` the input tokens of the decoder, if its positions attend.
 */
export const attentions = data.attentions.map((attention) => ({
  ...attention,
  rows: attention.queries === "source" ? data.source : data.written,
  columns: attention.keys === "source" ? data.source : data.read,
  read: attention.queries === "source" ? null : data.read,
}));

/** The first attention of a kind. All attentions of a kind have the same heads and the same tokens. */
export const ofKind = (kind) => attentions.find((attention) => attention.kind === kind);

/** The attention that the page shows first, or undefined if the model has none. */
export const mainAttention = attentions.find(({ address }) => address === data.main_attention);

/** The numbers of the heads of an attention, as texts. */
export const headNumbers = ({ heads }) => Array.from({ length: heads }, (_, i) => String(i + 1));

/** The address of every head in the order of computation. */
export const headAddresses = attentions.flatMap((attention) => headNumbers(attention).map((head) => `${attention.address}.${head}`));

/** The attention that a head belongs to. */
export const attentionOf = (head) => attentions.find(({ address }) => head.startsWith(`${address}.`));

/** The address of the attention of a kind in a layer, such as `encoder.2.self`; for "all" layers, the kind. */
export function attentionAddress(kind, layer) {
  return layer === "all" ? kind : attentions.find((attention) => attention.kind === kind && String(attention.layer) === layer).address;
}

/** For each kind of attention, which side attends to which side. */
export const KINDS = Object.fromEntries(attentions.map(({ kind, direction }) => [kind, direction]));
