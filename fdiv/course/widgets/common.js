// What the figures share: the eight divergences, random numbers from a seed, controls, canvases and themes.
// A figure imports this file; where it is shown, fdiv.course.widgets puts this text in the import's place.

const LOG2 = Math.log(2);
const sigmoid = (v) => 1 / (1 + Math.exp(-v));
const logMeanExp = (v) =>
  Math.abs(v) < 1 ? Math.log1p(Math.expm1(v) / 2) : Math.max(v, 0) + Math.log1p(Math.exp(-Math.abs(v))) - LOG2;

// The s that solves 1 + s - e^-s = u: log of the ratio where Jeffrey's f' is u. Newton from below the root.
function logRatio(u) {
  const up = Math.max(u, 0);
  let s = up - Math.tanh(up / 2) - Math.log1p(Math.max(-u, 0));
  for (let i = 0; i < 4; i++) s += (u - s + Math.expm1(-s)) / (1 + Math.exp(-s));
  return s;
}

// One row per divergence, as in fdiv.theory.divergences (a test compares every function).
// f, slope: generator and f'; zero: f(0); high: lim f(v)/v; dual: f* inside its domain;
// g: activation of a score v, h: f*(g(v)); dg, ddg, dh, ddh: their derivatives.
const one = () => 1;
const none = () => 0;
const jeffreyDual = (u) => Math.expm1(logRatio(u)) + logRatio(u);
export const DIVERGENCES = [
  {
    name: "tv", title: "Total variation", short: "TV", colour: "#0072B2", dark: "#5db4ec", onLine: true,
    f: (v) => Math.abs(v - 1) / 2, slope: (v) => Math.sign(v - 1) / 2, zero: 0.5, high: 0.5,
    dual: (u) => u, inside: (u) => u >= -0.5 && u <= 0.5,
    g: (v) => Math.tanh(v) / 2, dg: (v) => (1 - Math.tanh(v) ** 2) / 2,
    ddg: (v) => -Math.tanh(v) * (1 - Math.tanh(v) ** 2),
    h: (v) => Math.tanh(v) / 2, dh: (v) => (1 - Math.tanh(v) ** 2) / 2,
    ddh: (v) => -Math.tanh(v) * (1 - Math.tanh(v) ** 2),
  },
  {
    name: "js", title: "Jensen-Shannon", short: "JS", colour: "#D55E00", dark: "#f08a3c",
    f: (v) => v * (Math.log(v) - Math.log1p((v - 1) / 2)) - Math.log1p((v - 1) / 2),
    slope: (v) => Math.log(v) - Math.log1p((v - 1) / 2), zero: LOG2, high: LOG2,
    dual: (u) => -Math.log1p(-Math.expm1(u)), inside: (u) => u < LOG2,
    g: (v) => -logMeanExp(-v), dg: (v) => sigmoid(-v), ddg: (v) => -sigmoid(v) * sigmoid(-v),
    h: logMeanExp, dh: sigmoid, ddh: (v) => sigmoid(v) * sigmoid(-v),
  },
  {
    name: "squared-hellinger", title: "Squared Hellinger", short: "Hellinger", colour: "#009E73", dark: "#3cc79c",
    f: (v) => (Math.sqrt(v) - 1) ** 2, slope: (v) => 1 - 1 / Math.sqrt(v), zero: 1, high: 1,
    dual: (u) => u / (1 - u), inside: (u) => u < 1,
    g: (v) => -Math.expm1(-v), dg: (v) => Math.exp(-v), ddg: (v) => -Math.exp(-v),
    h: Math.expm1, dh: Math.exp, ddh: Math.exp,
  },
  {
    name: "pearson", title: "Pearson χ²", short: "Pearson", colour: "#CC79A7", dark: "#e29cc3", onLine: true,
    f: (v) => (v - 1) ** 2, slope: (v) => 2 * (v - 1), zero: 1, high: Infinity,
    dual: (u) => u * (1 + u / 4), inside: () => true,
    g: (v) => v, dg: one, ddg: none, h: (v) => v * (1 + v / 4), dh: (v) => 1 + v / 2, ddh: () => 0.5,
  },
  {
    name: "neyman", title: "Neyman χ²", short: "Neyman", colour: "#56B4E9", dark: "#8fd0f5",
    f: (v) => ((v - 1) * (v - 1)) / v, slope: (v) => 1 - 1 / (v * v), zero: Infinity, high: 1,
    dual: (u) => (2 * u) / (1 + Math.sqrt(1 - u)), inside: (u) => u <= 1,
    g: (v) => -Math.expm1(-v), dg: (v) => Math.exp(-v), ddg: (v) => -Math.exp(-v),
    h: (v) => -2 * Math.expm1(-v / 2), dh: (v) => Math.exp(-v / 2), ddh: (v) => -Math.exp(-v / 2) / 2,
  },
  {
    name: "kl", title: "KL", short: "KL", colour: "#E69F00", dark: "#f2b84b",
    f: (v) => v * Math.log(v), slope: (v) => 1 + Math.log(v), zero: 0, high: Infinity,
    dual: (u) => Math.exp(u - 1), inside: () => true,
    g: (v) => v, dg: one, ddg: none, h: (v) => Math.exp(v - 1), dh: (v) => Math.exp(v - 1), ddh: (v) => Math.exp(v - 1),
  },
  {
    name: "reverse-kl", title: "Reverse KL", short: "Reverse KL", colour: "#7A5C00", dark: "#c9a53c",
    f: (v) => -Math.log(v), slope: (v) => -1 / v, zero: Infinity, high: 0,
    dual: (u) => -1 - Math.log(-u), inside: (u) => u < 0,
    g: (v) => -Math.exp(-v), dg: (v) => Math.exp(-v), ddg: (v) => -Math.exp(-v), h: (v) => v - 1, dh: one, ddh: none,
  },
  {
    name: "jeffrey", title: "Jeffrey", short: "Jeffrey", colour: "#5A3E99", dark: "#ab93e6",
    f: (v) => (v - 1) * Math.log(v), slope: (v) => Math.log(v) + (v - 1) / v, zero: Infinity, high: Infinity,
    dual: jeffreyDual, inside: () => true,
    g: (v) => v, dg: one, ddg: none,
    h: jeffreyDual, dh: (v) => Math.exp(logRatio(v)), ddh: (v) => Math.exp(logRatio(v)) * sigmoid(logRatio(v)),
  },
];
export const row = (name) => DIVERGENCES.find((d) => d.name === name);

// D_f(P||Q) of two tables of one length; where one of them is 0 its limit counts.
export function divergence(d, p, q) {
  let sum = 0;
  for (let i = 0; i < p.length; i++) {
    const ratio = p[i] / q[i];
    if (ratio > 0 && ratio < Infinity) sum += q[i] * d.f(ratio);
    else if (p[i] > 0) sum += p[i] * d.high;
    else if (q[i] > 0) sum += q[i] * d.zero;
  }
  return sum;
}

// Whole numbers in, the same random numbers out, on every machine (mulberry32).
export function random(seed) {
  let state = (seed * 2654435761) >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal };
}

// ------------------------------------------------------------------ the page around a figure

export const THEMES = {
  light: { ink: "#1f2933", muted: "#5b6671", paper: "#ffffff", soft: "#f3f5f7", line: "#d5dce3", accent: "#0072b2" },
  dark: { ink: "#e4e8ec", muted: "#a3aeb8", paper: "#181d22", soft: "#232a31", line: "#3b4650", accent: "#6cb8ea" },
};
const darkScreen = matchMedia("(prefers-color-scheme: dark)");
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  made.setAttribute("data-lm-suppress-shortcuts", "true"); // JupyterLab leaves the keys to what has the focus
  for (const [name, value] of Object.entries(properties)) {
    if (name in made && name !== "role" && name !== "list") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// A figure as anywidget wants it: `build(frame)` fills `frame.root`; new parameters from Python build it anew.
export function figure(label, build) {
  return {
    render({ model, el }) {
      let shown = makeFrame({ model, el, label });
      build(shown);
      const again = () => {
        shown.close();
        shown = makeFrame({ model, el, label });
        build(shown);
      };
      model.on("change:params", again);
      return () => {
        model.off("change:params", again);
        shown.close();
      };
    },
  };
}

// What a figure is given, what it tells, its colours; `close` undoes all of it.
function makeFrame({ model, el, label }) {
  const root = element("div", { className: "fdiv-fig", role: "group", "aria-label": label });
  el.append(root);
  const closing = [];
  const onTheme = [];
  const jupyter = () => document.body.dataset.jpThemeLight;
  const dark = () => (jupyter() ? jupyter() === "false" : darkScreen.matches);
  const recolour = () => {
    root.dataset.theme = dark() ? "dark" : "light";
    for (const listener of onTheme) listener();
  };
  const watch = new MutationObserver(recolour);
  watch.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  darkScreen.addEventListener("change", recolour);
  recolour();
  let [told, latest] = [0, {}];
  closing.push(() => watch.disconnect(), () => darkScreen.removeEventListener("change", recolour), () => clearTimeout(told));
  return {
    root,
    closing,
    onTheme,
    params: model.get("params"),
    theme: () => ({ ...THEMES[root.dataset.theme], dark: root.dataset.theme === "dark" }),
    tint: (d) => (root.dataset.theme === "dark" ? d.dark : d.colour),
    // What the figure shows now, for Python where a kernel listens: at most ten times a second.
    tell(state) {
      latest = state;
      told ||= setTimeout(() => {
        told = 0;
        model.set("state", latest);
        model.save_changes();
      }, 100);
    },
    close() {
      for (const undo of closing) undo();
      root.remove();
    },
  };
}

// A canvas as wide as its parent, sharp on every screen; `paint(context, width, height)` draws all of it.
export function canvas({ onTheme, closing }, parent, { height, label, paint, keys = false }) {
  const made = element("canvas", { role: keys ? "application" : "img", "aria-label": label });
  if (keys) made.tabIndex = 0;
  parent.append(made);
  let waiting = 0;
  let size = [0, 0];
  const draw = () => {
    waiting = 0;
    if (size[0] < 20) return;
    const context = made.getContext("2d");
    const sharp = devicePixelRatio || 1;
    context.setTransform(sharp, 0, 0, sharp, 0, 0);
    context.clearRect(0, 0, ...size);
    context.font = "13px system-ui, sans-serif";
    context.lineJoin = context.lineCap = "round";
    paint(context, ...size);
  };
  const later = () => {
    waiting ||= requestAnimationFrame(draw);
  };
  const fit = new ResizeObserver(() => {
    const width = Math.floor(made.clientWidth);
    const tall = Math.round(height(width));
    if (width === size[0] && tall === size[1]) return;
    const sharp = devicePixelRatio || 1;
    size = [width, tall];
    made.style.height = `${tall}px`;
    made.width = width * sharp;
    made.height = tall * sharp;
    draw();
  });
  fit.observe(made);
  onTheme.push(later);
  closing.push(() => fit.disconnect(), () => cancelAnimationFrame(waiting));
  return { node: made, draw, later, size: () => size };
}

// Follows a finger or a mouse that is held down: `move(x, y, first)` in the canvas's own pixels.
export function draggable(board, move, done = () => {}) {
  const { node } = board;
  node.style.touchAction = "none";
  const at = (event) => {
    const box = node.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  let held = null;
  node.addEventListener("pointerdown", (event) => {
    held = event.pointerId;
    node.setPointerCapture(held);
    node.focus({ preventScroll: true });
    move(...at(event), true);
    event.preventDefault();
  });
  node.addEventListener("pointermove", (event) => {
    if (event.pointerId === held) move(...at(event), false);
  });
  for (const end of ["pointerup", "pointercancel"])
    node.addEventListener(end, (event) => {
      if (event.pointerId === held) {
        held = null;
        done();
      }
    });
}

// Arrow keys as (right, up) steps, ten times as long with Shift.
export function arrows(board, step) {
  const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  board.node.addEventListener("keydown", (event) => {
    const way = ways[event.key];
    if (!way) return;
    event.preventDefault();
    event.stopPropagation();
    step(way[0] * (event.shiftKey ? 10 : 1), way[1] * (event.shiftKey ? 10 : 1));
  });
}

export function slider(parent, { label, min, max, step, value, show = String, input }) {
  const range = element("input", { type: "range", min, max, step, value, "aria-label": label });
  const shown = element("output", {}, show(value));
  parent.append(
    element("label", { className: "fdiv-control" }, element("span", {}, label, " ", shown), range),
  );
  const say = () => {
    shown.textContent = show(Number(range.value));
    range.setAttribute("aria-valuetext", shown.textContent);
  };
  say();
  range.addEventListener("input", () => {
    say();
    input(Number(range.value));
  });
  return {
    node: range,
    set(to) {
      range.value = to;
      say();
    },
  };
}

export function menu(parent, { label, options, value, input }) {
  const select = element("select", { "aria-label": label });
  for (const [name, title] of options) select.append(element("option", { value: name }, title));
  select.value = value;
  parent.append(element("label", { className: "fdiv-control" }, element("span", {}, label), select));
  select.addEventListener("change", () => input(select.value));
  return select;
}

export function button(parent, label, press, properties = {}) {
  const made = element("button", { type: "button", ...properties }, label);
  parent.append(made);
  made.addEventListener("click", press);
  return made;
}

export const percent = (x) => `${Math.round(100 * x)} %`;

// `steps` + 1 colours as [r, g, b], from one "#rrggbb" to another.
export function ramp(from, to, steps) {
  const part = (colour, i) => parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16);
  return Array.from({ length: steps + 1 }, (_, n) =>
    [0, 1, 2].map((i) => Math.round(part(from, i) + ((part(to, i) - part(from, i)) * n) / steps)),
  );
}

// Sets one pixel of an image to an opaque colour.
export function dot(image, n, [r, g, b]) {
  const at = 4 * n;
  image.data[at] = r;
  image.data[at + 1] = g;
  image.data[at + 2] = b;
  image.data[at + 3] = 255;
}
