// The part of the address after "#", which restores a view and is never sent to the server.

const read = () => new URLSearchParams(location.hash.slice(1));

/** The value of a name in the fragment, or null. */
export const inFragment = (name) => read().get(name);

/** Change values in the fragment; null removes one. */
export function changeFragment(changes) {
  const values = read();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) values.delete(name);
    else values.set(name, value);
  }
  history.replaceState(null, "", `#${values}`);
}
