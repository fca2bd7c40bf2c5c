// The classifier plane: every binary classifier is a point, and D_f draws contours over it, clean and noisy.
import { DIVERGENCES, row, divergence, figure, canvas, draggable, arrows, slider, menu, button, element, percent, ramp, dot } from "./common.js";

// ------------------------------------------------------------------ tables [++, +-, -+, --]: prediction, label

const cleanTable = (a, b, p) => [p * a, (1 - p) * b, p * (1 - a), (1 - p) * (1 - b)];
const noisyTable = ([pp, pm, mp, mm], ePlus, eMinus) => [
  pp * (1 - ePlus) + pm * eMinus, pp * ePlus + pm * (1 - eMinus),
  mp * (1 - ePlus) + mm * eMinus, mp * ePlus + mm * (1 - eMinus),
];
function product([pp, pm, mp, mm]) {
  const [up, down, plus, minus] = [pp + pm, mp + mm, pp + mp, pm + mm];
  return [up * plus, up * minus, down * plus, down * minus];
}
const mutual = (d, table) => divergence(d, table, product(table));

// D_f between prediction and label of the classifier with P(+|Y=+) = a and P(+|Y=-) = b.
const cleanD = (d, a, b, p) => mutual(d, cleanTable(a, b, p));
const noisyD = (d, a, b, p, ePlus, eMinus) => mutual(d, noisyTable(cleanTable(a, b, p), ePlus, eMinus));

const conjugate = (d, u) => (d.inside(u) ? d.dual(u) : Infinity);
// p g - q f*(g): its limit at g = -inf, 0 where q is 0, -inf outside the domain.
function term(d, p, q, g) {
  if (!(q > 0)) return 0;
  if (Number.isFinite(g)) return p * g - q * conjugate(d, g);
  return g < 0 && p === 0 && !d.onLine ? q * d.zero : -Infinity;
}
const weighted = (weight, x) => (weight === 0 ? 0 : weight * x);

// VD~ = (1 - e+ - e-) VD + Bias (Theorem 4), at the g that is best for the noisy labels, so that VD~ is the noisy D_f.
function decoupled(d, a, b, p, ePlus, eMinus) {
  const clean = cleanTable(a, b, p);
  const dirty = noisyTable(clean, ePlus, eMinus);
  const [Q, R] = [product(clean), product(dirty)];
  const g = dirty.map((x, i) => d.slope(R[i] > 0 ? x / R[i] : 1));
  const sum = (x) => x.reduce((all, one) => all + one, 0);
  const VD = sum(clean.map((x, i) => term(d, x, Q[i], g[i])));
  const margin = [clean[0] + clean[1], clean[2] + clean[3]];
  const delta = [0, 1].map((label) => sum(margin.map((m, h) => term(d, m, m, g[2 * h + label]))));
  return {
    VD,
    scaled: weighted(1 - ePlus - eMinus, VD),
    bias: weighted(eMinus, delta[0]) + weighted(ePlus, delta[1]),
    noisy: sum(dirty.map((x, i) => term(d, x, R[i], g[i]))),
  };
}

// The place of the largest value along a line through `corners` [[a, b], ...], looked for at `count` points of it.
function bestOn(corners, value, count = 400) {
  const lengths = corners.slice(1).map(([a, b], i) => Math.hypot(a - corners[i][0], b - corners[i][1]));
  const total = lengths.reduce((x, y) => x + y, 0);
  let [best, height] = [corners[0], -Infinity];
  corners.slice(1).forEach(([a, b], i) => {
    const steps = Math.max(1, Math.ceil((count * lengths[i]) / total));
    for (let s = i ? 1 : 0; s <= steps; s++) {
      const at = [corners[i][0] + ((a - corners[i][0]) * s) / steps, corners[i][1] + ((b - corners[i][1]) * s) / steps];
      const here = value(...at);
      if (here > height + 1e-12) [best, height] = [at, here];
    }
  });
  return best;
}

export const core = { DIVERGENCES, cleanD, noisyD, decoupled, bestOn };

// ------------------------------------------------------------------ the figure

// The bend runs between KL's clean contour and its noisy one at e+ = 0.3, e- = 0.05: the best end of it changes.
const BEND = [
  [0, 0], [0.503, 0], [0.6135, 0.05], [0.688, 0.1], [0.749, 0.15], [0.8, 0.2], [0.845, 0.25], [0.883, 0.3],
  [0.9165, 0.35], [0.9455, 0.4], [1, 1],
];
const ROC = Array.from({ length: 41 }, (_, i) => [Math.min(1, (i / 40) ** 0.22), i / 40]);
const CURVES = { bend: BEND, roc: ROC, none: null };
const STEPS = [0.15, 0.3, 0.45, 0.6, 0.75, 0.9]; // contours run through these classifiers between chance and perfect
const GRID = 50;
const ROOM = 16; // above a square, for the name of its corner
const BEST = "#D55E00";
const DEFAULTS = { divergence: "kl", a: 0.85, b: 0.1, e_plus: 0.3, e_minus: 0.05, prior: 0.5, curve: "bend" };
const anchor = (t) => [0.5 + t / 2, 0.5 - t / 2];

// Pieces of the line where a table of values, (GRID + 1)^2 over the square, crosses `level` (marching squares).
function contour(values, level) {
  const pieces = [];
  const at = (i, j) => values[j * (GRID + 1) + i] - level;
  for (let j = 0; j < GRID; j++)
    for (let i = 0; i < GRID; i++) {
      const below = (at(i, j) < 0) + (at(i + 1, j) < 0) + (at(i, j + 1) < 0) + (at(i + 1, j + 1) < 0);
      if (below % 4 === 0) continue;
      const corner = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
      const height = corner.map(([x, y]) => Math.min(1e9, at(x, y)));
      const cut = [];
      for (let k = 0; k < 4; k++) {
        const [from, to] = [height[k], height[(k + 1) % 4]];
        if (from < 0 === to < 0) continue;
        const share = from / (from - to);
        const [one, other] = [corner[k], corner[(k + 1) % 4]];
        cut.push([(one[0] + (other[0] - one[0]) * share) / GRID, (one[1] + (other[1] - one[1]) * share) / GRID]);
      }
      for (let k = 0; k + 1 < cut.length; k += 2) pieces.push([cut[k], cut[k + 1]]);
    }
  return pieces;
}

// Shades and contours of the square: what `height` makes of each classifier.
function mapOf(height) {
  const values = new Float64Array((GRID + 1) ** 2);
  for (let i = 0; 2 * i < values.length; i++) // the other half is the mirror image: opposites tie
    values[i] = values[values.length - 1 - i] = height((i % (GRID + 1)) / GRID, Math.floor(i / (GRID + 1)) / GRID);
  // A value's shade is that of the classifier between chance and perfect with the same value.
  const ladder = Array.from({ length: 101 }, (_, i) => height(...anchor(i / 100)));
  const shade = (value) => {
    let [low, high] = [0, 100];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (ladder[middle] <= value) low = middle;
      else high = middle;
    }
    return low;
  };
  return { shades: values.map(shade), lines: STEPS.map((t) => contour(values, height(...anchor(t)))) };
}

// `make(...from)`, made anew only where something of what it is made from has changed.
function kept(make) {
  let [known, made] = [[], null];
  return (...from) => {
    if (from.length !== known.length || from.some((one, i) => one !== known[i])) [known, made] = [from, make(...from)];
    return made;
  };
}

function build({ root, params, theme, tint, tell, onTheme, closing }) {
  const set = { ...DEFAULTS, ...params };
  let corners = CURVES[set.curve];
  let drawing = false;
  const shared = { onTheme, closing };
  const d = () => row(set.divergence);
  const heights = [
    (a, b) => cleanD(d(), a, b, set.prior),
    (a, b) => noisyD(d(), a, b, set.prior, set.e_plus, set.e_minus),
  ];
  // What the heights depend on: a change of the noise leaves the clean map and its best classifier alone.
  const from = [() => [set.divergence, set.prior], () => [set.divergence, set.prior, set.e_plus, set.e_minus]];
  const maps = heights.map((height) => kept(() => mapOf(height)));
  const map = (which) => maps[which](...from[which]());
  const tops = heights.map((height) => kept((allowed) => bestOn(allowed, height)));
  const bests = () => tops.map((top, which) => top(corners, ...from[which]()));

  // ---- controls
  const top = element("div", { className: "fdiv-row" });
  root.append(top);
  menu(top, {
    label: "Divergence", options: DIVERGENCES.map((one) => [one.name, one.title]), value: set.divergence,
    input: (value) => ((set.divergence = value), show()),
  });
  for (const [key, label, min, max] of [
    ["e_plus", "e₊: + called −", 0, 0.45], ["e_minus", "e₋: − called +", 0, 0.45], ["prior", "P(Y = +)", 0.1, 0.9],
  ])
    slider(top, {
      label, min, max, step: 0.01, value: set[key], show: (x) => x.toFixed(2), input: (value) => ((set[key] = value), show()),
    });

  const pair = element("div", { className: "fdiv-pair" });
  root.append(pair);
  const boards = ["With clean labels", "With noisy labels"].map((title, which) => {
    const cell = element("div", {}, element("p", { className: "fdiv-title" }, title));
    pair.append(cell);
    const board = canvas(shared, cell, {
      height: (width) => width + ROOM, keys: true, paint: (...at) => paintSquare(which, ...at),
      label: `${title}: the square of all classifiers; arrow keys move yours`,
    });
    let path = [];
    draggable(board, (x, y, first) => {
      const [left, low, side] = square(board.size()[0]);
      const clip = (value) => Math.round(1000 * Math.max(0, Math.min(1, value))) / 1000;
      const at = [clip((x - left) / side), clip((low - y) / side)];
      if (drawing) {
        path = first ? [at] : [...path, at];
        if (path.length > 1) [set.curve, corners] = ["drawn", path];
      } else [set.a, set.b] = at;
      show();
    }, () => {
      if (drawing) press(false);
    });
    arrows(board, (right, up) => {
      set.a = Math.round(100 * Math.max(0, Math.min(1, set.a + right / 100))) / 100;
      set.b = Math.round(100 * Math.max(0, Math.min(1, set.b + up / 100))) / 100;
      show();
    });
    return board;
  });
  const asked = boards.map((board) => kept(() => board.later())); // a square is drawn anew where something in it changed
  const below = element("div", { className: "fdiv-row", style: "margin-top:10px" });
  root.append(below);
  const chooser = menu(below, {
    label: "Allowed classifiers",
    options: [["bend", "a bent curve"], ["roc", "a smooth ROC curve"], ["drawn", "drawn by you"], ["none", "all of them"]],
    value: set.curve,
    input: (value) => {
      if (value === "drawn") return press(true);
      [set.curve, corners] = [value, CURVES[value]];
      press(false);
    },
  });
  const press = (on) => {
    drawing = on;
    if (!on) chooser.value = set.curve; // also where nothing was drawn
    pencil.setAttribute("aria-pressed", String(on));
    show();
  };
  const pencil = button(below, "✎ Draw a curve", () => press(!drawing), { "aria-pressed": "false" });
  const say = element("p", { className: "fdiv-say" });
  root.append(say, element("p", { className: "fdiv-title", style: "margin-top:12px" }, "What the noise does to your classifier's score"));
  const fall = canvas(shared, root, {
    height: () => 128, label: "The noisy score as (1 - e+ - e-) VD plus Bias", paint: paintFall,
  });
  const sum = element("p", { className: "fdiv-note" });
  root.append(sum);

  // ---- drawing
  const square = (width) => [26, width + ROOM - 34, width - 40]; // left, bottom, side
  const small = element("canvas", { width: GRID + 1, height: GRID + 1 });
  // What lies below curve and classifiers, on a canvas of its own: while these move, it is only copied.
  const layers = [0, 1].map((which) => {
    const layer = element("canvas");
    return kept((own, clean, width, sharp) => {
      [layer.width, layer.height] = [width * sharp, (width + ROOM) * sharp]; // which also clears it
      const context = layer.getContext("2d");
      context.scale(sharp, sharp);
      paintMap(context, width, own, which ? clean.lines : null);
      return layer;
    });
  });
  function paintMap(context, width, { shades, lines }, ghosts) {
    const colours = theme();
    const colour = tint(d());
    const [left, low, side] = square(width);
    const x = (a) => left + a * side;
    const y = (b) => low - b * side;
    const pen = small.getContext("2d");
    const image = pen.createImageData(GRID + 1, GRID + 1);
    const palette = ramp(colours.paper, colour, 190); // of which the first half is used
    shades.forEach((shade, i) =>
      dot(image, (GRID - Math.floor(i / (GRID + 1))) * (GRID + 1) + (i % (GRID + 1)), palette[shade]),
    );
    pen.putImageData(image, 0, 0);
    context.drawImage(small, left, low - side, side, side);

    context.strokeStyle = colours.muted; // chance: prediction and label are independent
    context.setLineDash([2, 4]);
    line(context, [[0, 0], [1, 1]], x, y);
    context.setLineDash([]);
    const strokes = (all, style, wide) => {
      context.strokeStyle = style;
      context.lineWidth = wide;
      context.beginPath();
      for (const pieces of width > 240 ? all : all.filter((_, i) => i % 2))
        for (const [start, end] of pieces) {
          context.moveTo(x(start[0]), y(start[1]));
          context.lineTo(x(end[0]), y(end[1]));
        }
      context.stroke();
    };
    if (ghosts) strokes(ghosts, colours.muted, 1);
    strokes(lines, colour, 1.8);

    context.fillStyle = colours.muted;
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "center";
    context.fillText("P(h = + | Y = +)", x(0.5), low + 24);
    for (const tick of [0, 1]) {
      context.fillText(tick, x(tick), low + 10);
      context.fillText(tick, left - 8, y(tick) + (tick ? 5 : -4));
    }
    context.save();
    context.translate(10, y(0.5));
    context.rotate(-Math.PI / 2);
    context.fillText("P(h = + | Y = −)", 0, 0);
    context.restore();
    if (width > 240) {
      context.textAlign = "right";
      context.fillText("perfect", x(1), low + 24);
      context.textAlign = "left";
      context.fillText("always wrong", x(0), y(1) - 9);
    }
  }
  function paintSquare(which, context, width) {
    const colours = theme();
    const sharp = devicePixelRatio || 1;
    const layer = layers[which](map(which), map(0), width, sharp, colours.dark);
    context.drawImage(layer, 0, 0, width, width + ROOM);
    const [left, low, side] = square(width);
    const x = (a) => left + a * side;
    const y = (b) => low - b * side;
    if (corners) {
      context.strokeStyle = colours.ink;
      context.lineWidth = 2.4;
      line(context, corners, x, y);
      const best = bests();
      const endless = heights[0](...best[0]) === Infinity; // then many of the allowed tie, and none is the best
      if (which && !endless && Math.hypot(best[0][0] - best[1][0], best[0][1] - best[1][1]) > 0.02) {
        ring(context, x(best[0][0]), y(best[0][1]), 6, colours.paper, BEST);
        arrow(context, x(best[0][0]), y(best[0][1]), x(best[1][0]), y(best[1][1]), BEST);
      }
      if (which || !endless) ring(context, x(best[which][0]), y(best[which][1]), 6, BEST, colours.paper);
    }
    // The classifier, its opposite, and the centre they mirror each other in.
    context.strokeStyle = colours.ink;
    context.lineWidth = 1;
    context.setLineDash([1, 4]);
    line(context, [[set.a, set.b], [1 - set.a, 1 - set.b]], x, y);
    context.setLineDash([]);
    ring(context, x(1 - set.a), y(1 - set.b), 6, colours.paper, colours.ink);
    ring(context, x(set.a), y(set.b), 8, colours.ink, colours.paper);
    if (width > 240 && !which) {
      label(context, "yours", x(set.a), y(set.b), 0);
      label(context, "its opposite", x(1 - set.a), y(1 - set.b), 1);
    }
    function label(pen, text, px, py) {
      pen.font = "12px system-ui, sans-serif";
      const wide = pen.measureText(text).width;
      const right = px + 14 + wide < left + side;
      pen.textAlign = right ? "left" : "right";
      pen.lineWidth = 3;
      pen.strokeStyle = colours.paper;
      pen.fillStyle = colours.ink;
      pen.strokeText(text, px + (right ? 12 : -12), py);
      pen.fillText(text, px + (right ? 12 : -12), py);
    }
  }
  function line(context, corners, x, y) {
    context.beginPath();
    for (const [a, b] of corners) context.lineTo(x(a), y(b));
    context.stroke();
  }
  function ring(context, x, y, radius, fill, edge) {
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    context.fillStyle = fill;
    context.fill();
    context.lineWidth = 2;
    context.strokeStyle = edge;
    context.stroke();
  }
  function arrow(context, fromX, fromY, toX, toY, colour) {
    const turn = Math.atan2(toY - fromY, toX - fromX);
    const [endX, endY] = [toX - 8 * Math.cos(turn), toY - 8 * Math.sin(turn)];
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(fromX + 8 * Math.cos(turn), fromY + 8 * Math.sin(turn));
    context.lineTo(endX, endY);
    for (const side of [-0.5, 0.5]) {
      context.moveTo(endX, endY);
      context.lineTo(endX - 9 * Math.cos(turn + side), endY - 9 * Math.sin(turn + side));
    }
    context.stroke();
  }

  // Bars on a scale that never moves: that of a classifier which is right 98 times in 100, on balanced labels.
  function paintFall(context, width, height) {
    const colours = theme();
    const parts = decoupled(d(), set.a, set.b, set.prior, set.e_plus, set.e_minus);
    const full = cleanD(d(), 0.98, 0.02, 0.5);
    const [left, right] = [width < 420 ? 78 : 110, 56];
    const [low, high] = [-0.25 * full, full];
    const x = (value) => left + ((Math.max(low, Math.min(high, value)) - low) / (high - low)) * (width - left - right);
    const bars = [
      ["VD, clean", 0, parts.VD, colours.muted, 0.35],
      ["(1 − e₊ − e₋) VD", 0, parts.scaled, tint(d()), 1],
      ["+ Bias", parts.scaled, parts.scaled + parts.bias, BEST, 1],
      ["= VD, noisy", 0, parts.noisy, colours.ink, 1],
    ];
    if (width < 420) bars[1][0] = "(1 − e) VD";
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.strokeStyle = colours.line;
    context.beginPath();
    context.moveTo(x(0), 0);
    context.lineTo(x(0), height);
    context.stroke();
    bars.forEach(([name, from, to, colour, alpha], i) => {
      const y = (i + 0.5) * (height / 4);
      context.fillStyle = colours.muted;
      context.textAlign = "right";
      context.fillText(name, left - 10, y);
      context.globalAlpha = alpha;
      context.fillStyle = colour;
      const [start, end] = [Math.min(x(from), x(to)), Math.max(x(from), x(to))];
      context.fillRect(start, y - 9, Math.max(end - start, 1.5), 18);
      context.globalAlpha = 1;
      const value = to - from;
      const beyond = !(to <= high) ? " ▸" : !(to >= low) ? " ◂" : "";
      context.fillStyle = colours.ink;
      context.textAlign = "left";
      context.fillText(`${Number.isFinite(value) ? value.toFixed(3).replace("-0.000", "0.000").replace("-", "−") : value > 0 ? "∞" : "−∞"}${beyond}`, end + 6, y);
    });
  }

  function show() {
    asked.forEach((ask, which) => ask(corners, set.a, set.b, ...from[which]()));
    fall.later();
    const parts = decoupled(d(), set.a, set.b, set.prior, set.e_plus, set.e_minus);
    const accuracy = set.prior * set.a + (1 - set.prior) * (1 - set.b);
    const [clean, dirty] = heights.map((height) => height(set.a, set.b));
    sum.textContent =
      `Yours is right ${percent(accuracy)} of the time. Its divergence is ${short(clean)} with clean labels and ${short(dirty)} with ` +
      "noisy ones, and its opposite has the very same. The bars are taken at the g that is best for the noisy labels; their scale never moves.";
    const best = corners ? bests() : null;
    const jump = best ? Math.hypot(best[0][0] - best[1][0], best[0][1] - best[1][1]) : 0;
    const name = d().title;
    const ghosts = "Thin and grey on the right: the clean contours.";
    if (drawing) say.textContent = "Draw the classifiers that are allowed, in either square.";
    else if (!best) say.textContent = `${ghosts} Where the noisy ones cover them, noise changes no ranking for ${name}.`;
    else if (heights[0](...best[0]) === Infinity)
      say.innerHTML = `With clean labels <b>${name}</b> is infinite for many allowed classifiers, so none is the best. With noisy labels it
        prefers (${best[1].map(short).join(", ")}). ${ghosts}`;
    else if (jump > 0.02)
      say.innerHTML = `Among the allowed classifiers, the best for <b>${name}</b> <b>jumps</b> from (${best[0].map(short).join(", ")}) to
        (${best[1].map(short).join(", ")}) with noisy labels. ${ghosts}`;
    else say.innerHTML = `The best allowed classifier for <b>${name}</b> <b>stays</b> at (${best[0].map(short).join(", ")}) with noisy labels. ${ghosts}`;
    tell({ settings: set, clean, noisy: dirty, accuracy, parts, best, jump, drawing });
  }
  const short = (value) => (Number.isFinite(value) ? value.toFixed(2) : "∞");
  show();
}

const widget = figure("The classifier plane: D_f over all binary classifiers, with clean and with noisy labels", build);
export default widget;
