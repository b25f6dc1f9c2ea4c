// The pictures on buttons, drawn with lines of the colour of the text.

import { makeSvg } from "./dom.js";

const PATHS = {
  swap: "M4 8.5h15M15 4.5l4 4-4 4M20 15.5H5M9 11.5l-4 4 4 4",
  clear: "M6 6l12 12M18 6L6 18",
  file: "M7 3h7l4 4v14H7zM14 3v4h4",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  done: "M5 12.5l5 5L20 7",
  down: "M6 9l6 6 6-6",
  up: "M6 15l6-6 6 6",
  offline: "M3 4l18 17M5 11a10 10 0 014-2.6M12.5 8A10 10 0 0119 11M8.3 14.4a5 5 0 017 .2M12 18.5h.01",
  alert: "M12 4l9 16H3zM12 10v5M12 17.5h.01",
  clock: "M12 3a9 9 0 100 18 9 9 0 000-18zM12 7v5l3.5 2",
  restart: "M20 5v5h-5M19.5 10A8 8 0 104 13",
  long: "M4 6h16M4 11h16M4 16h9M19 13.5v6M16 16.5h6",
  key: "M14 10a4 4 0 11-8 0 4 4 0 018 0zM13 12.5l7 7M17 16.5l2-2",
  ask: "M9 9a3 3 0 115 2.2c-1.2.9-2 1.5-2 3M12 18h.01",
  words: "M4 7h16M4 12h9M4 17h6M17 13v6M14 16h6",
  theme: "M12 3a9 9 0 100 18 9 9 0 000-18zM12 3v18M15.2 4v16M18.4 6v12",
  inside: "M3 17C3 3 21 3 21 17M3 17C3 9 12 9 12 17",
  link: "M10 14a4 4 0 005.7 0l3-3a4 4 0 00-5.7-5.7l-1 1M14 10a4 4 0 00-5.7 0l-3 3a4 4 0 005.7 5.7l1-1",
};

export function makeIcon(name) {
  const svg = makeSvg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" });
  svg.append(makeSvg("path", { d: PATHS[name] }));
  return svg;
}
