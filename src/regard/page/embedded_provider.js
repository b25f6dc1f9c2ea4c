// The provider of a page file: all data is in the file, and nothing else can be computed.

import { remembered, unpack, unpackAll } from "./provider.js";

export function makeEmbeddedProvider({ facts, maps, vectors }) {
  return {
    facts: async () => facts,
    map: remembered((address) => unpack(maps[address], "map")),
    vectors: remembered(async (address) => (vectors[address] ? unpackAll(address, vectors[address]) : null)),
    refuses: () => "refused.file",
    look: async () => { throw new Error("a page file has only its own inspection"); },
  };
}
