// The memorisation machine: two small networks learn the same partly wrong labels, each with its own loss.
import { DIVERGENCES, row, random, figure, canvas, slider, menu, button, element, percent, calm } from "./common.js";

const LOSSES = [
  { name: "cross-entropy", title: "Cross-entropy", short: "CE", colour: "#1f2933", dark: "#e4e8ec" },
  ...["tv", "js", "kl", "pearson"].map(row),
  { name: "gce", title: "Generalised cross-entropy", short: "GCE", colour: "#5b6671", dark: "#a3aeb8" },
];
const GCE_POWER = 0.7; // Zhang & Sabuncu (2018)
const DARK_CLASS_COLOURS = ["#5db4ec", "#f2b84b", "#3cc79c", "#e29cc3"]; // of dots on a dark ground
const CLASS_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7"];

// ------------------------------------------------------------------ data

// `count` points of each class in the square [-1, 1]^2, flat as x0, y0, x1, y1, ...
function drawPoints(kind, classes, count, source) {
  const points = new Float64Array(2 * classes * count);
  const labels = new Uint8Array(classes * count);
  for (let n = 0; n < labels.length; n++) {
    const k = n % classes;
    const t = source.uniform();
    let [x, y] = [0, 0];
    if (kind === "moons") {
      const turn = Math.PI * t;
      const up = k % 2 === 0 ? 1 : -1;
      x = (Math.cos(turn) + k - (classes - 1) / 2) / (0.62 * classes + 0.36);
      y = (up * (Math.sin(turn) - 0.25)) / (0.62 * classes + 0.36);
      [x, y] = [x + 0.06 * source.normal(), y + 0.06 * source.normal()];
    } else if (kind === "spirals") {
      const turn = (2 * Math.PI * k) / classes + 1.1 * Math.PI * t;
      const radius = 0.12 + 0.76 * t;
      x = radius * Math.cos(turn) + 0.04 * source.normal();
      y = radius * Math.sin(turn) + 0.04 * source.normal();
    } else {
      const turn = (2 * Math.PI * k) / classes + Math.PI / 2 + (classes === 4 ? 0.4 : 0);
      x = 0.55 * Math.cos(turn) + 0.2 * source.normal();
      y = 0.55 * Math.sin(turn) + 0.2 * source.normal() - (classes === 3 ? 0.12 : 0);
    }
    points[2 * n] = Math.max(-0.98, Math.min(0.98, x));
    points[2 * n + 1] = Math.max(-0.98, Math.min(0.98, y));
    labels[n] = k;
  }
  return { points, labels };
}

// The place of each value among all, from just above 0 to just below 1.
function ranks(values) {
  const found = new Float64Array(values.length);
  const order = Array.from(values.keys()).sort((a, b) => values[a] - values[b]);
  order.forEach((n, place) => (found[n] = (place + 0.5) / values.length));
  return found;
}

// Training points with a clean label, the place each has in line for a flip and where it would go; test points.
function makeData({ data, classes, points, seed }) {
  const each = Math.round(points / classes);
  const train = drawPoints(data, classes, each, random(2 * seed + 1));
  const test = drawPoints(data, classes, Math.round(600 / classes), random(2 * seed + 100001));
  const source = random(seed + 777);
  const N = train.labels.length;
  const nearest = new Float64Array(N); // distance to the nearest point of another class, and that class
  const neighbour = new Uint8Array(N);
  for (let n = 0; n < N; n++) {
    nearest[n] = Infinity;
    for (let m = 0; m < N; m++) {
      if (train.labels[m] === train.labels[n]) continue;
      const d = Math.hypot(train.points[2 * n] - train.points[2 * m], train.points[2 * n + 1] - train.points[2 * m + 1]);
      if (d < nearest[n]) [nearest[n], neighbour[n]] = [d, train.labels[m]];
    }
  }
  const rank = ranks(nearest);
  const chance = ranks(Float64Array.from({ length: N }, source.uniform)); // even, so that 40 % are 40 %
  const other = Uint8Array.from({ length: N }, (_, n) => (train.labels[n] + 1 + Math.floor(source.uniform() * (classes - 1))) % classes);
  return { ...train, test, neighbour, rank, chance, other, classes };
}

// The labels the networks see. More noise flips more points and never others.
function corrupt(set, noise, rate) {
  return set.labels.map((label, n) => {
    const chance = noise === "border" ? 2 * rate * (1 - set.rank[n]) : rate;
    if (set.chance[n] >= chance) return label;
    if (noise === "pair") return (label + 1) % set.classes;
    return noise === "border" ? set.neighbour[n] : set.other[n];
  });
}

// ------------------------------------------------------------------ losses

// Softmax of each row of `scores`, in place.
function softmax(scores, classes) {
  for (let start = 0; start < scores.length; start += classes) {
    let top = -Infinity;
    let sum = 0;
    for (let k = 0; k < classes; k++) top = Math.max(top, scores[start + k]);
    for (let k = 0; k < classes; k++) sum += scores[start + k] = Math.exp(scores[start + k] - top);
    for (let k = 0; k < classes; k++) scores[start + k] /= sum;
  }
}

function labelShares(labels, classes) {
  const shares = new Float64Array(classes);
  for (const label of labels) shares[label] += 1 / labels.length;
  return shares;
}

// The mean loss of probabilities `v` (a row per point), and into `gradient` its slope along the scores before softmax.
// A divergence's is E_Q[f*(g(v))] - E_P[g(v_y)], with the product Q computed exactly from the label shares.
function lossAndGradient(name, v, labels, shares, gradient) {
  const classes = shares.length;
  const N = labels.length;
  const d = row(name);
  let total = 0;
  for (let n = 0; n < N; n++) {
    const start = n * classes;
    const y = labels[n];
    const p = v[start + y];
    if (name === "cross-entropy") {
      total -= Math.log(p);
      for (let k = 0; k < classes; k++) gradient[start + k] = (v[start + k] - (k === y ? 1 : 0)) / N;
      continue;
    }
    if (name === "gce") {
      const power = p ** GCE_POWER;
      total += (1 - power) / GCE_POWER;
      for (let k = 0; k < classes; k++) gradient[start + k] = (power * (v[start + k] - (k === y ? 1 : 0))) / N;
      continue;
    }
    let mean = 0;
    for (let k = 0; k < classes; k++) {
      const u = v[start + k];
      total += shares[k] * d.h(u);
      gradient[start + k] = shares[k] * d.dh(u) - (k === y ? d.dg(u) : 0);
      mean += u * gradient[start + k];
    }
    total -= d.g(p);
    for (let k = 0; k < classes; k++) gradient[start + k] = (v[start + k] * (gradient[start + k] - mean)) / N;
  }
  return total / N;
}

// ------------------------------------------------------------------ the network: 2 -> width -> width -> classes

const RATE = 0.015; // of Adam
const SPREAD = 2.5; // of the first layer's weights: how finely the network can draw

function startWeights(width, classes, seed) {
  const source = random(seed + 4242);
  const matrix = (rows, columns, spread) => Float64Array.from({ length: rows * columns }, () => spread * source.normal());
  return [
    matrix(width, 2, SPREAD), Float64Array.from({ length: width }, () => SPREAD * (2 * source.uniform() - 1)),
    matrix(width, width, Math.sqrt(2 / width)), new Float64Array(width),
    new Float64Array(classes * width), new Float64Array(classes),
  ];
}

// out = relu(in W' + b), or without the relu for the last layer.
function layer(input, W, b, out, count, from, to, last) {
  for (let n = 0; n < count; n++) {
    const a = n * from;
    for (let o = 0; o < to; o++) {
      const w = o * from;
      let sum = b[o];
      let second = 0;
      let third = 0;
      let fourth = 0;
      let i = 0;
      for (; i + 3 < from; i += 4) {
        sum += W[w + i] * input[a + i];
        second += W[w + i + 1] * input[a + i + 1];
        third += W[w + i + 2] * input[a + i + 2];
        fourth += W[w + i + 3] * input[a + i + 3];
      }
      for (; i < from; i++) sum += W[w + i] * input[a + i];
      sum += second + third + fourth;
      out[n * to + o] = last || sum > 0 ? sum : 0;
    }
  }
}

// Slopes along W and b from those along `out`, which are cut where the relu was shut; and those along the input.
function layerBack(input, W, out, slopes, dW, db, back, count, from, to, last) {
  dW.fill(0);
  db.fill(0);
  back?.fill(0);
  for (let n = 0; n < count; n++) {
    const a = n * from;
    for (let o = 0; o < to; o++) {
      const slope = slopes[n * to + o];
      if (Math.abs(slope) < 1e-14 || (!last && out[n * to + o] === 0)) continue;
      const w = o * from;
      db[o] += slope;
      if (!back) for (let i = 0; i < from; i++) dW[w + i] += slope * input[a + i];
      else
        for (let i = 0; i < from; i++) {
          dW[w + i] += slope * input[a + i];
          back[a + i] += slope * W[w + i];
        }
    }
  }
}

// A network with its own loss; `step` is one step of Adam on all points, `predict` the probabilities at others.
function makeNetwork({ loss, weights, points, labels, classes, rate = RATE }) {
  const width = weights[1].length;
  const N = labels.length;
  const parts = weights.map((w) => Float64Array.from(w));
  const [W1, b1, W2, b2, W3, b3] = parts;
  const slopes = parts.map((w) => new Float64Array(w.length));
  const first = parts.map((w) => new Float64Array(w.length));
  const second = parts.map((w) => new Float64Array(w.length));
  const shares = labelShares(labels, classes);
  const room = (count) => [new Float64Array(count * width), new Float64Array(count * width), new Float64Array(count * classes)];
  const [A1, A2, V] = room(N);
  const [D1, D2, DV] = room(N);
  let time = 0;

  function predict(at, [B1, B2, P] = room(at.length / 2)) {
    const count = at.length / 2;
    layer(at, W1, b1, B1, count, 2, width, false);
    layer(B1, W2, b2, B2, count, width, width, false);
    layer(B2, W3, b3, P, count, width, classes, true);
    softmax(P, classes);
    return P;
  }

  function step() {
    predict(points, [A1, A2, V]);
    const value = lossAndGradient(loss, V, labels, shares, DV);
    layerBack(A2, W3, V, DV, slopes[4], slopes[5], D2, N, width, classes, true);
    layerBack(A1, W2, A2, D2, slopes[2], slopes[3], D1, N, width, width, false);
    layerBack(points, W1, A1, D1, slopes[0], slopes[1], null, N, 2, width, false);
    time += 1;
    const [c1, c2] = [1 - 0.9 ** time, 1 - 0.999 ** time];
    for (let part = 0; part < parts.length; part++) {
      const [w, s, m, v] = [parts[part], slopes[part], first[part], second[part]];
      for (let i = 0; i < w.length; i++) {
        m[i] = 0.9 * m[i] + 0.1 * s[i];
        v[i] = 0.999 * v[i] + 0.001 * s[i] * s[i];
        w[i] -= ((rate / c1) * m[i]) / (Math.sqrt(v[i] / c2) + 1e-8);
      }
    }
    return value;
  }
  predict(points, [A1, A2, V]);
  return { step, predict, room, parts, slopes, loss, onTrain: V };
}

const argmax = (values, start, count) => {
  let best = 0;
  for (let k = 1; k < count; k++) if (values[start + k] > values[start + best]) best = k;
  return best;
};

// Share of the points whose largest probability is that of their label.
function accuracy(probabilities, labels, classes) {
  let hits = 0;
  for (let n = 0; n < labels.length; n++) if (argmax(probabilities, n * classes, classes) === labels[n]) hits += 1;
  return hits / labels.length;
}

// Share of the wrong labels that the network believes more than all others together.
function memorised(probabilities, labels, classes, wrong) {
  let [hits, all] = [0, 0];
  for (let n = 0; n < labels.length; n++) {
    if (!wrong[n]) continue;
    all += 1;
    if (probabilities[n * classes + labels[n]] > 0.5) hits += 1;
  }
  return all ? hits / all : 0;
}

export const core = {
  DIVERGENCES, LOSSES, makeData, corrupt, softmax, lossAndGradient, labelShares, startWeights, makeNetwork, accuracy, memorised,
};

// ------------------------------------------------------------------ the figure

const DATA = [["blobs", "Blobs"], ["moons", "Moons"], ["spirals", "Spirals"]];
const NOISES = [["symmetric", "to any other class"], ["pair", "to the next class"], ["border", "near the border"]];
const DEFAULTS = {
  data: "blobs", classes: 3, noise: "symmetric", rate: 0.4, left: "cross-entropy", right: "tv",
  width: 32, points: 150, steps: 600, seed: 0,
};
const SPEED = 40; // steps a second, if the machine can
const FAR = 1.06; // the board reaches from -FAR to FAR: the outermost points have room for their rings
const EVERY = 6; // steps between two points of a curve
const HEART = "#D55E00"; // a wrong label learned by heart
const RING = (share, colour) => `<svg width="18" height="18" viewBox="-9 -9 18 18" aria-hidden="true" style="vertical-align:-4px">
  <circle r="3" fill="currentColor"/><circle r="7" fill="none" stroke="currentColor" opacity=".35" stroke-width="1.4"/>
  <circle r="7" fill="none" stroke="${colour}" stroke-width="2.4" pathLength="100" stroke-dasharray="${share} 100"
  transform="rotate(-90)"/></svg>`;

function build({ root, params, theme, tint, tell, onTheme, closing }) {
  const set = { ...DEFAULTS, ...params };
  let [data, given, wrong, networks, history, step, playing, seen] = [];

  function prepare() {
    data = makeData(set);
    relabel();
  }
  function relabel() {
    given = corrupt(data, set.noise, set.rate);
    wrong = Array.from(given, (label, n) => label !== data.labels[n]);
    restart();
  }
  function restart() {
    const weights = startWeights(set.width, set.classes, set.seed);
    const same = { weights, points: data.points, labels: given, classes: set.classes };
    networks = [set.left, set.right].map((loss) => makeNetwork({ loss, ...same }));
    step = 0;
    history = [];
    measure();
    stop();
    show();
  }
  // Accuracy on clean test points and the share of wrong labels that are predicted, for both networks.
  function measure() {
    history.push({
      step,
      accuracy: networks.map((net) => accuracy(net.predict(data.test.points), data.test.labels, set.classes)),
      memorised: networks.map((net) => memorised(net.onTrain, given, set.classes, wrong)),
    });
  }
  function advance() {
    step += 1;
    for (const net of networks) net.step();
    if (step % EVERY === 0 || step === set.steps) measure();
    if (step >= set.steps) stop();
  }

  // ---- time: so many steps a second, never more than a frame's worth at once
  let [frameId, before, due, turn] = [0, 0, 0, 0];
  function tick(now) {
    if (!playing) return;
    frameId = requestAnimationFrame(tick);
    if (!seen || document.hidden) return void (before = now);
    const start = performance.now();
    const block = calm() ? 20 : 1; // with reduced motion the picture changes twice a second
    due = Math.min(due + ((now - before) / 1000) * SPEED, 4 + block);
    before = now;
    const [first, known] = [step, history.length];
    while (playing && due >= block && performance.now() - start < 10)
      for (let i = 0; i < block && playing; i++, due -= 1) advance();
    if (step === first) return;
    if (!playing || block > 1) return void show();
    panels[turn ^= 1].draw();
    if (history.length === known) return;
    for (const chart of charts) chart.draw();
    report();
  }
  function play() {
    if (step >= set.steps) restart();
    playing = true;
    [before, due] = [performance.now(), 1];
    frameId = requestAnimationFrame(tick);
    label();
    report();
  }
  function stop() {
    playing = false;
    cancelAnimationFrame(frameId);
    label();
  }
  closing.push(() => cancelAnimationFrame(frameId));

  // ---- controls
  const top = element("div", { className: "fdiv-row" });
  const knobs = element("div", { className: "fdiv-buttons" });
  top.append(knobs);
  root.append(top);
  const playButton = button(knobs, "▶ Play", () => (playing ? (stop(), show()) : play()), { className: "fdiv-main" });
  button(knobs, "Step", () => {
    stop();
    if (step < set.steps) advance();
    show();
  });
  button(knobs, "Reset", restart);
  const label = () => {
    if (playButton) playButton.textContent = playing ? "❚❚ Pause" : step >= set.steps ? "↺ Again" : "▶ Play";
  };
  slider(top, {
    label: "Wrong labels", min: 0, max: 0.5, step: 0.05, value: set.rate, show: percent,
    input: (value) => ((set.rate = value), relabel()),
  });
  menu(top, { label: "They go", options: NOISES, value: set.noise, input: (value) => ((set.noise = value), relabel()) });

  const middle = element("div", { className: "fdiv-pair" });
  root.append(middle);
  const panels = ["left", "right"].map((side, which) => {
    const cell = element("div");
    middle.append(cell);
    menu(cell, {
      label: `${which ? "Right" : "Left"} network learns by`, options: LOSSES.map((loss) => [loss.name, loss.title]), value: set[side],
      input: (value) => ((set[side] = value), restart()),
    });
    const board = canvas({ onTheme, closing }, cell, {
      height: (width) => width, label: `Decision regions of the ${side} network`, paint: (...at) => paintPanel(which, ...at),
    });
    board.node.style.marginTop = "6px";
    return board;
  });
  const note = element("p", { className: "fdiv-note" });
  note.innerHTML = `A dot has the colour of the label it was given. ${RING(30, "currentColor")} is a <em>wrong</em> label: its ring fills
    as the network comes to believe it, and ${RING(100, HEART)} is one learned by heart.`;
  const bottom = element("div", { className: "fdiv-pair fdiv-stack", style: "margin-top:10px" });
  root.append(note, bottom);
  const charts = [["accuracy", "Right on new, clean points"], ["memorised", "Wrong labels learned by heart"]].map(([what, title]) => {
    const cell = element("div", {}, element("p", { className: "fdiv-title" }, title));
    bottom.append(cell);
    return canvas({ onTheme, closing }, cell, {
      height: () => 132, label: `${title}, against the steps of training`, paint: (...at) => paintChart(what, ...at),
    });
  });
  const say = element("p", { className: "fdiv-say" });
  const more = element("details", {}, element("summary", {}, "Data, width, seed"));
  const extra = element("div", { className: "fdiv-row" });
  more.append(extra);
  root.append(say, more);
  menu(extra, { label: "Points", options: DATA, value: set.data, input: (value) => ((set.data = value), prepare()) });
  menu(extra, {
    label: "Classes", options: ["2", "3", "4"].map((k) => [k, k]), value: String(set.classes),
    input: (value) => ((set.classes = Number(value)), prepare()),
  });
  slider(extra, {
    label: "Width of the hidden layers", min: 4, max: 64, step: 4, value: set.width,
    input: (value) => ((set.width = value), restart()),
  });
  slider(extra, { label: "Seed", min: 0, max: 20, step: 1, value: set.seed, input: (value) => ((set.seed = value), prepare()) });

  // ---- drawing
  const channels = CLASS_COLOURS.map((colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)));
  const small = element("canvas");
  const grounds = {};
  function ground(size) {
    if (!grounds[size]) {
      const at = new Float64Array(2 * size * size);
      for (let i = 0; i < size * size; i++) {
        at[2 * i] = FAR * (((i % size) + 0.5) * (2 / size) - 1);
        at[2 * i + 1] = FAR * (1 - (Math.floor(i / size) + 0.5) * (2 / size));
      }
      grounds[size] = at;
    }
    return grounds[size];
  }
  const rooms = {};
  function paintPanel(which, context, width) {
    const net = networks[which];
    const K = set.classes;
    const colours = theme();
    const size = playing ? 36 : 72;
    const key = `${size} ${set.width} ${K}`;
    const v = net.predict(ground(size), (rooms[key] ??= net.room(size * size)));
    small.width = small.height = size;
    const pen = small.getContext("2d");
    const image = pen.createImageData(size, size);
    const paper = colours.dark ? [24, 29, 34] : [255, 255, 255];
    const strength = colours.dark ? 0.5 : 0.36;
    for (let i = 0; i < size * size; i++) {
      const sure = (v[i * K + argmax(v, i * K, K)] - 1 / K) / (1 - 1 / K); // 0 where it cannot tell
      for (let c = 0; c < 3; c++) {
        let colour = 0;
        for (let k = 0; k < K; k++) colour += v[i * K + k] * channels[k][c];
        image.data[4 * i + c] = paper[c] + (colour - paper[c]) * strength * (0.15 + 0.85 * sure);
      }
      image.data[4 * i + 3] = 255;
    }
    pen.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = true;
    context.drawImage(small, 0, 0, width, width);

    const scale = Math.max(0.55, Math.min(1.15, width / 340));
    const place = (n) => [((data.points[2 * n] / FAR + 1) * width) / 2, ((1 - data.points[2 * n + 1] / FAR) * width) / 2];
    for (const flipped of [false, true])
      for (let n = 0; n < given.length; n++) {
        if (wrong[n] !== flipped) continue;
        const [x, y] = place(n);
        context.beginPath();
        context.arc(x, y, (flipped ? 3.3 : 2.8) * scale, 0, 7);
        context.fillStyle = (colours.dark ? DARK_CLASS_COLOURS : CLASS_COLOURS)[given[n]];
        context.fill();
        context.lineWidth = 0.8;
        context.strokeStyle = colours.paper;
        context.stroke();
        if (!flipped) continue;
        const belief = net.onTrain[n * K + given[n]];
        const learned = belief > 0.5;
        context.lineWidth = 1.2 * scale;
        context.strokeStyle = colours.ink;
        context.globalAlpha = 0.35;
        context.beginPath();
        context.arc(x, y, 6.4 * scale, 0, 7);
        context.stroke();
        context.globalAlpha = 1;
        context.lineWidth = (learned ? 2.6 : 1.8) * scale;
        context.strokeStyle = learned ? HEART : colours.ink;
        context.beginPath();
        context.arc(x, y, 6.4 * scale, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * belief);
        context.stroke();
      }
  }

  const lossRow = (name) => LOSSES.find((loss) => loss.name === name);
  function paintChart(what, context, width, height) {
    const colours = theme();
    const [left, right, top, low] = [44, 48, 8, height - 20];
    const x = (at) => left + (at / set.steps) * (width - left - right);
    const y = (value) => low - value * (low - top);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (const level of [0, 0.5, 1]) {
      context.strokeStyle = colours.line;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(left, y(level));
      context.lineTo(width - right, y(level));
      context.stroke();
      context.fillStyle = colours.muted;
      context.textAlign = "right";
      context.fillText(percent(level), left - 6, y(level));
    }
    context.textAlign = "center";
    for (const at of [0, set.steps / 2, set.steps]) context.fillText(at === set.steps ? `${at} steps` : at, x(at), height - 7);
    const ends = networks.map((net, which) => y(history.at(-1)[what][which]));
    if (set.left !== set.right && Math.abs(ends[0] - ends[1]) < 14) {
      const middle = (ends[0] + ends[1]) / 2;
      const sign = ends[0] <= ends[1] ? 1 : -1;
      [ends[0], ends[1]] = [middle - 7 * sign, middle + 7 * sign];
    }
    const under = Math.max(0, ...ends.map((end) => end - (low - 5))); // above the numbers of the axis
    networks.forEach((net, which) => {
      ends[which] -= under;
      const loss = lossRow(net.loss);
      context.strokeStyle = context.fillStyle = tint(loss);
      context.lineWidth = 2.2;
      context.beginPath();
      for (const one of history) context.lineTo(x(one.step), y(one[what][which]));
      context.stroke();
      context.textAlign = "left";
      if (!which || set.left !== set.right) context.fillText(loss.short, x(history.at(-1).step) + 6, ends[which]);
    });
  }

  function report() {
    const last = history.at(-1);
    const flips = wrong.filter(Boolean).length;
    const words = networks.map((net, which) =>
      `<b>${lossRow(net.loss).title}</b>${flips ? ` has learned <b>${percent(last.memorised[which])}</b> of them by heart and` : ""} is right on
       <b>${percent(last.accuracy[which])}</b> of new points`);
    say.innerHTML = `After <b>${step}</b> steps, ${flips || "none"} of ${given.length} labels being wrong: ${words.join("; ")}.`;
    tell({ step, flips, playing, accuracy: last.accuracy, memorised: last.memorised, settings: set });
  }
  function show() {
    for (const board of [...panels, ...charts]) board.later();
    report();
  }

  const watch = new IntersectionObserver(([entry]) => (seen = entry.isIntersecting));
  watch.observe(root);
  closing.push(() => watch.disconnect());
  prepare();
}

const widget = figure("The memorisation machine: two networks learn the same partly wrong labels", build);
export default widget;
