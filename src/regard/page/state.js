// What the reader has selected, and who is told when it changes.

export function makeState(initial) {
  const listeners = [];
  const state = {
    address: null, // of the selected map
    units: "words",
    row: 0, // index of the selected word or token, as is column; a null column stands for the largest weight of the row
    column: null,
    hover: null, // the row and column under the pointer, which are shown instead of the selected ones
    step: 0,
    ...initial,
  };
  return {
    state,
    listen: (listener) => listeners.push(listener),
    change(changes) {
      const changed = Object.keys(changes).filter((name) => state[name] !== changes[name]);
      if (!changed.length) return;
      Object.assign(state, changes);
      for (const listener of listeners) listener(changed);
    },
    /** The row that is shown, which is the one under the pointer if there is one. */
    row: () => state.hover?.row ?? state.row,
    column: () => (state.hover ? state.hover.column : state.column),
  };
}
