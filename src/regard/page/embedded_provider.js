// The provider of a page file: all data is in the file, and nothing else can be computed.

import { remembered, unpack, unpackAll, unpackEffects } from "./provider.js";

/** Make a provider from the data of a file. If something is removed in it, the file also has the original. */
export function makeEmbeddedProvider(data) {
  const effects = remembered(async () => (data.effects ? unpackEffects(data.effects) : null));
  const changed = provide(data, effects, (without) => (without === null ? original : null));
  const original = data.original && provide({ vectors: {}, ...data.original }, effects, (without) => (without === data.facts.without ? changed : null));
  return changed;
}

/** `other(without)` returns the provider of the other inspection in the file, if that is what it has. */
function provide({ facts, maps, vectors }, effects, other) {
  const find = ({ text, target, without }) => (text === undefined && target === undefined && without !== undefined ? other(without) : null);
  return {
    facts: async () => facts,
    map: remembered((address) => unpack(maps[address])),
    vectors: remembered(async (address) => (vectors[address] ? unpackAll(vectors[address]) : null)),
    holds: (address) => address in vectors,
    opening: async () => facts.opening,
    effects: () => effects(""),
    page: async () => null,
    refuses: (request) => (find(request) ? null : "refused.file"),
    look: async (request) => find(request) ?? Promise.reject(new Error("a page file has no other inspection")),
  };
}
