// The provider of a page with a server: everything is asked for when it is needed.

import { remembered, unpack, unpackAll, unpackEffects } from "./provider.js";

/**
 * Make a provider of the inspection that a request describes: { text, target, without, and what else the server needs }.
 * `send(body)` posts a body as JSON and returns the answer, or throws an error whose message can be shown. The body is
 * the request with `parts` ("facts", "maps", "effects") and `vectors` (addresses), and the answer has these as members,
 * in the form that look_data.py gives them.
 */
export function makeHttpProvider(request, send) {
  const ask = (parts, vectors = []) => send({ ...request, parts, vectors });
  const first = remembered(() => ask(["facts", "maps"]));
  const effects = remembered(async () => {
    const answer = await ask(["effects"]);
    return answer.effects ? unpackEffects(answer.effects) : null;
  });
  return {
    facts: async () => (await first("")).facts,
    map: remembered(async (address) => unpack((await first("")).maps[address])),
    vectors: remembered(async (address) => {
      const { vectors } = await ask([], [address]);
      return vectors?.[address] && Object.keys(vectors[address]).length ? unpackAll(vectors[address]) : null;
    }),
    effects: () => effects(""),
    refuses: () => null,
    // A translation that was given belongs to its text.
    look: async (changes) => makeHttpProvider({ ...request, ...("text" in changes ? { target: null } : {}), ...changes }, send),
  };
}
