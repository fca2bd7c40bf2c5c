// The T editor: change a transition matrix by hand, and see what every method could learn from infinite data.
import { DIVERGENCES, row, figure, canvas, draggable, arrows, slider, menu, element, percent, ramp, dot } from "./common.js";

// ------------------------------------------------------------------ matrices

const noisyPrior = (T, prior) => T[0].map((_, j) => prior.reduce((sum, p, i) => sum + p * T[i][j], 0));

// T with the entry (i, j) set to t; the diagonal pays for it as long as it can, then the rest of the row.
function withEntry(T, i, j, t) {
  const next = [...T[i]];
  const rest = next.reduce((sum, x, k) => (k === i || k === j ? sum : sum + x), 0);
  const shrink = rest > 0 && (j === i || rest + t > 1) ? (1 - t) / rest : 1;
  for (let k = 0; k < next.length; k++) if (k !== i && k !== j) next[k] *= shrink;
  next[j] = t;
  if (j !== i) next[i] = Math.max(0, 1 - t - rest * Math.min(1, shrink));
  else if (rest === 0) next[(i + 1) % next.length] = 1 - t;
  return T.map((entries, k) => (k === i ? next : entries));
}

// The inverse by Gauss and Jordan with the largest pivot; null where there is none.
function inverse(T) {
  const K = T.length;
  const A = T.map((entries, i) => [...entries, ...entries.map((_, j) => (i === j ? 1 : 0))]);
  for (let c = 0; c < K; c++) {
    let pivot = c;
    for (let r = c + 1; r < K; r++) if (Math.abs(A[r][c]) > Math.abs(A[pivot][c])) pivot = r;
    if (Math.abs(A[pivot][c]) < 1e-12) return null;
    [A[c], A[pivot]] = [A[pivot], A[c]];
    A[c] = A[c].map((x) => x / A[c][c]);
    for (let r = 0; r < K; r++) if (r !== c && A[r][c] !== 0) A[r] = A[r].map((x, k) => x - A[r][c] * A[c][k]);
  }
  return A.map((entries) => entries.slice(K));
}

// Singular values, largest first: rotations make the columns orthogonal, their lengths are what is sought (Jacobi).
function singularValues(S) {
  const A = S[0].map((_, j) => S.map((entries) => entries[j]));
  const dot = (x, y) => x.reduce((sum, value, k) => sum + value * y[k], 0);
  for (let sweep = 0; sweep < 30; sweep++) {
    let turned = false;
    for (let i = 0; i < A.length; i++)
      for (let j = i + 1; j < A.length; j++) {
        const [aa, bb, ab] = [dot(A[i], A[i]), dot(A[j], A[j]), dot(A[i], A[j])];
        if (Math.abs(ab) <= 1e-15 * Math.sqrt(aa * bb) || ab === 0) continue;
        turned = true;
        const z = (bb - aa) / (2 * ab);
        const t = (z < 0 ? -1 : 1) / (Math.abs(z) + Math.hypot(1, z));
        const [c, s] = [1 / Math.hypot(1, t), t / Math.hypot(1, t)];
        [A[i], A[j]] = [A[i].map((x, k) => c * x - s * A[j][k]), A[i].map((x, k) => s * x + c * A[j][k])];
      }
    if (!turned) break;
  }
  return A.map((x) => Math.sqrt(dot(x, x))).sort((x, y) => y - x);
}

// How much of D_f survives for every classifier: low D <= D~ <= high D, both tight, for total variation and Pearson.
function guarantees(T, prior) {
  const spread = (M) => Math.max(...M.flatMap((x) => M.map((y) => x.reduce((sum, v, k) => sum + Math.abs(v - y[k]), 0) / 2)));
  const back = inverse(T);
  const q = noisyPrior(T, prior);
  const S = T.map((entries, i) => entries.map((t, j) => (q[j] > 0 ? t * Math.sqrt(prior[i] / q[j]) : 0)));
  const s = singularValues(S);
  return { tv: [back ? 1 / spread(back) : 0, spread(T)], pearson: [s.at(-1) ** 2, s[1] ** 2] };
}

// ------------------------------------------------------------------ what infinite data teach

// The probabilities v that maximise sum_y [posterior_y g(v_y) - prior_y f*(g(v_y))], which need not be concave:
// the best v on a grid by dynamic programming, then uphill from there and from equal shares; the higher end wins.
function fixedOptimum(d, posterior, prior) {
  const K = prior.length;
  const height = (v) => v.reduce((sum, x, y) => sum + posterior[y] * d.g(x) - prior[y] * d.h(x), 0);
  const even = climb(d, posterior, prior, new Array(K).fill(1 / K), height);
  const other = climb(d, posterior, prior, gridOptimum(d, posterior, prior), height);
  return height(other) - height(even) > 1e-13 ? other : even;
}

const STEPS = 64;
const onGrid = new Map(DIVERGENCES.map((d) => [d.name, [d.g, d.h].map((f) => Float64Array.from({ length: STEPS + 1 }, (_, m) => f(m / STEPS)))]));
function gridOptimum(d, posterior, prior) {
  const [g, h] = onGrid.get(d.name);
  let best = new Float64Array(STEPS + 1).fill(-Infinity);
  best[0] = 0;
  const taken = posterior.map((weight, y) => {
    const value = g.map((x, m) => weight * x - prior[y] * h[m]);
    const [next, choice] = [new Float64Array(STEPS + 1), new Uint8Array(STEPS + 1)];
    for (let s = 0; s <= STEPS; s++) {
      let top = -Infinity;
      for (let m = 0; m <= s; m++)
        if (best[s - m] + value[m] > top) {
          top = best[s - m] + value[m];
          choice[s] = m;
        }
      next[s] = top;
    }
    best = next;
    return choice;
  });
  const v = new Array(posterior.length);
  for (let y = posterior.length - 1, rest = STEPS; y >= 0; y--) {
    v[y] = taken[y][rest] / STEPS;
    rest -= taken[y][rest];
  }
  return v;
}

// Newton steps on a separable sum over the simplex, damped until they gain.
function climb(d, posterior, prior, v, height) {
  let damping = 1;
  for (let round = 0; round < 200; round++) {
    const slope = v.map((x, y) => posterior[y] * d.dg(x) - prior[y] * d.dh(x));
    const bend = v.map((x, y) => damping * Math.max(1e-6, Math.abs(posterior[y] * d.ddg(x) - prior[y] * d.ddh(x))));
    const next = modelOptimum(v, slope, bend);
    const moved = Math.max(...next.map((x, y) => Math.abs(x - v[y])));
    const gain = height(next) - height(v) >= -1e-15;
    damping = gain ? Math.max(1, damping / 4) : damping * 4;
    if (gain) v = next;
    if (moved < 1e-11) break;
  }
  return v;
}

// The w of the simplex that maximises slope (w - v) - bend (w - v)^2 / 2: w = max(0, v + (slope - price) / bend).
function modelOptimum(v, slope, bend) {
  const leaves = v.map((x, y) => slope[y] + bend[y] * x);
  const order = v.map((_, y) => y).sort((a, b) => leaves[b] - leaves[a]);
  let [peak, give, price] = [0, 0, 0];
  for (const y of order) {
    peak += v[y] + slope[y] / bend[y];
    give += 1 / bend[y];
    if ((peak - 1) / give >= leaves[y]) break;
    price = (peak - 1) / give;
  }
  const w = v.map((x, y) => Math.max(0, x + (slope[y] - price) / bend[y]));
  const sum = w.reduce((a, b) => a + b, 0);
  return w.map((x) => x / sum);
}

// The classes that share the largest score; those alike in all `twins` tie as well.
function winners(scores, ...twins) {
  const best = Math.max(...scores);
  const top = scores.map((x) => x >= best - 1e-7);
  if (!twins.length) return top;
  const alike = (i, j) => twins.every((x) => Math.abs(x[i] - x[j]) < 1e-12);
  return top.map((_, i) => top.some((won, j) => won && alike(i, j)));
}

// The accuracy with infinite noisy data and a model that can be anything; every class is told apart by its x.
function ceiling(rule, T, prior) {
  const q = noisyPrior(T, prior);
  const back = rule === "forward" ? inverse(T) : null;
  return T.reduce((sum, posterior, i) => {
    let top;
    if (rule === "cross-entropy") top = winners(posterior);
    else if (rule === "ratio") top = winners(posterior.map((x, y) => (q[y] > 0 ? x / q[y] : 0)));
    else if (rule === "forward") top = back ? T.map((_, k) => k === i) : T.map((other) => other.every((x, y) => Math.abs(x - posterior[y]) < 1e-12));
    else top = winners(fixedOptimum(row(rule), posterior, q), posterior, q);
    return sum + (top[i] ? prior[i] / top.filter(Boolean).length : 0);
  }, 0);
}

// The objective at an x of class i, a function of its probabilities v. repair: "none"; "ratio" compares v with the
// label prior; "forward" sends v through T first; "backward" undoes T in the objective.
function objective(rule, repair, T, prior, i) {
  const q = noisyPrior(T, prior);
  const d = row(rule);
  const own = T[i];
  const K = T.length;
  const log = (x) => Math.log(Math.max(x, 1e-9));
  if (repair === "backward") return (v) => (d ? d.g(v[i]) - v.reduce((sum, x, y) => sum + prior[y] * d.h(x), 0) : log(v[i]));
  if (repair === "none")
    return (v) => v.reduce((sum, x, y) => sum + (d ? own[y] * d.g(x) - q[y] * d.h(x) : own[y] && own[y] * log(x)), 0);
  return (v) => {
    let scale = 0;
    let sum = 0;
    for (let y = 0; y < K; y++) scale += v[y] * q[y];
    for (let y = 0; y < K; y++) {
      if (!(q[y] > 0)) continue;
      let sent = v[y] / scale;
      if (repair === "forward") {
        sent = 0;
        for (let k = 0; k < K; k++) sent += (v[k] * T[k][y]) / q[y];
      }
      const ratio = Math.max(sent, 1e-4);
      sum += d ? (own[y] - q[y] * ratio) * d.slope(ratio) + q[y] * d.f(ratio) : own[y] && own[y] * log(sent);
    }
    return sum;
  };
}

// The highest point of `height` on the triangle: the best of a lattice, then ever smaller steps from it.
// flat: the share of the lattice that is as high, more than one point where the top is a plateau.
function peak(height, lattice = 40) {
  const points = [];
  for (let a = 0; a <= lattice; a++) for (let b = 0; a + b <= lattice; b++) points.push([a / lattice, b / lattice, (lattice - a - b) / lattice]);
  const values = points.map(height);
  const top = Math.max(...values);
  const flat = points.filter((_, k) => values[k] > top - 1e-9);
  let at = points[values.indexOf(top)];
  if (flat.length > 5) at = [0, 1, 2].map((c) => flat.reduce((sum, v) => sum + v[c], 0) / flat.length);
  else
    for (let [step, high] = [0.5 / lattice, top]; step > 1e-7; step /= 2)
      for (let again = true; again; ) {
        again = false;
        for (const [from, to] of [[0, 1], [1, 0], [0, 2], [2, 0], [1, 2], [2, 1]]) {
          const by = Math.min(step, at[from]);
          const next = at.map((x, k) => x + (k === to ? by : 0) - (k === from ? by : 0));
          if (height(next) > high + 1e-14) [at, high, again] = [next, height(next), true];
        }
      }
  return { at, flat: flat.length / points.length };
}

export const core = { DIVERGENCES, noisyPrior, withEntry, inverse, singularValues, guarantees, fixedOptimum, ceiling, objective, peak };

// ------------------------------------------------------------------ the figure

const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#A68A2D", "#7B62B8", "#8C959E", "#44AA99"];
const WRONG = "#D55E00";
const RIGHT = "#00805d";
const RULES = [
  ["cross-entropy", "Cross-entropy"], ...DIVERGENCES.map((d) => [d.name, d.title]), ["ratio", "Ratio rule"], ["forward", "Forward correction"],
];
const REPAIRS = [
  ["none", "nothing"], ["ratio", "divide by the label prior"], ["forward", "forward: send v through T"], ["backward", "backward: undo T"],
];
const eye = (K) => Array.from({ length: K }, (_, i) => Array.from({ length: K }, (_, j) => (i === j ? 1 : 0)));
const even = (K) => new Array(K).fill(1 / K);
const uniform = (e) => e.map((_, i) => e.map((x, j) => (i === j ? 1 - e.reduce((a, b) => a + b, 0) + x : x)));
const OWN = {
  "A confused pair": [[0.6, 0.4, 0], [0.1, 0.9, 0], [0, 0.1, 0.9]],
  "No noise": eye(3),
  "Uniform": uniform([0.15, 0.15, 0.15]),
  "Uniform, one label is popular": uniform([0.3, 0.05, 0.05]),
  "In a circle": [[0.6, 0.4, 0], [0, 0.6, 0.4], [0.4, 0, 0.6]],
};

function build({ root, params, theme, tint, tell, onTheme, closing }) {
  const set = { T: OWN["A confused pair"], prior: even(3), select: [0, 1], rule: "cross-entropy", repair: "none", mend: true, settings: {}, ...params };
  const offered = set.mend ? RULES : RULES.slice(0, 9); // without the rules that mend
  let [T, prior, [i, j]] = [set.T, set.prior, set.select];
  const all = { ...OWN, ...set.settings };
  const shared = { onTheme, closing };
  const take = (matrix) => {
    if (matrix.length !== T.length) prior = even(matrix.length);
    T = matrix.map((entries) => [...entries]);
    if (i >= T.length || j >= T.length) [i, j] = [0, 1];
  };

  // ---- controls
  const top = element("div", { className: "fdiv-row" });
  root.append(top);
  const chooser = menu(top, {
    label: "Start from", options: [["", "your own T"], ...Object.keys(all).map((name) => [name, name])], value: "",
    input: (name) => {
      if (name) take(all[name]);
      // the row that is confused most, and its most frequent wrong label
      i = T.reduce((worst, entries, k) => (entries[k] < T[worst][worst] - 1e-9 ? k : worst), 0);
      j = T[i].reduce((most, x, k) => (k !== i && (most === i || x > T[i][most]) ? k : most), i);
      show(false);
    },
  });
  const size = slider(top, {
    label: "Classes", min: 2, max: 10, step: 1, value: T.length,
    input: (K) => {
      const next = eye(K);
      [next[0][0], next[0][1], next[1][0], next[1][1]] = [0.6, 0.4, 0.1, 0.9];
      take(next);
      [i, j] = [0, 1];
      show();
    },
  });
  const entry = slider(top, {
    label: "Selected entry", min: 0, max: 1, step: 0.01, value: T[i][j], show: (x) => `${i} → ${j}: ${x.toFixed(2)}`,
    input: (value) => ((T = withEntry(T, i, j, value)), show()),
  });

  const pair = element("div", { className: "fdiv-pair fdiv-stack" });
  root.append(pair);
  const cells = [0, 1, 2, 3].map(() => {
    const cell = element("div");
    pair.append(cell);
    return cell;
  });
  cells[0].append(element("p", { className: "fdiv-title" }, "T: where the labels of each class go"));
  const bars = canvas(shared, cells[0], {
    height: () => 330, keys: true, paint: paintBars,
    label: "The rows of T; arrow keys select an entry, plus and minus change it",
  });
  cells[0].append(element("p", { className: "fdiv-note" }, "Drag a border within a row; or select an entry with the arrow keys and change it with + and −."));
  const objectives = element("div", { className: "fdiv-row" });
  cells[1].append(objectives);
  menu(objectives, { label: "Trained with", options: RULES.slice(0, 9), value: set.rule, input: (value) => ((set.rule = value), show(false)) });
  if (set.mend) menu(objectives, { label: "Mended by", options: REPAIRS, value: set.repair, input: (value) => ((set.repair = value), show(false)) });
  const triangle = canvas(shared, cells[1], {
    height: (width) => Math.min(width * 0.86, 320), paint: paintTriangle, label: "Where the objective peaks among the probabilities of three classes",
  });
  const say = element("p", { className: "fdiv-say" });
  cells[1].append(say);
  cells[2].append(element("p", { className: "fdiv-title" }, "The best accuracy that infinite data can teach"));
  const ceilings = canvas(shared, cells[2], { height: () => 22 * offered.length, paint: paintCeilings, label: "Ceiling of each method" });
  cells[3].append(element("p", { className: "fdiv-title" }, "How much of the score survives, whatever the classifier"));
  const bounds = canvas(shared, cells[3], { height: () => 150, paint: paintBounds, label: "Guarantees of total variation and Pearson" });
  const promise = element("p", { className: "fdiv-note" });
  cells[3].append(promise);
  if (!set.mend) cells[2].style.gridColumn = "1 / -1", cells[3].remove();

  // ---- the rows: borders can be dragged
  const layout = () => {
    const [width, height] = bars.size();
    const tall = Math.min(66, (height - 44) / (T.length + 1));
    return { left: 46, wide: width - 52, tall, y: (k) => 4 + k * tall, bar: tall - 6, prior: 4 + T.length * tall + 24 };
  };
  let held = null;
  draggable(bars, (x, y, first) => {
    const at = layout();
    const share = Math.max(0, Math.min(1, (x - at.left) / at.wide));
    if (first) {
      const k = Math.max(0, Math.min(T.length - 1, Math.floor((y - 4) / at.tall)));
      // the border nearest to the finger lies between two labels that both occur, or at an end
      let [sum, near] = [0, null];
      const present = T[k].map((t, label) => [t, label]).filter(([t]) => t > 1e-9);
      if (present.length === 1) present.push([0, k === present[0][1] ? (k + 1) % T.length : k]), present.sort((a, b) => a[1] - b[1]);
      for (let n = 0; n + 1 < present.length; n++) {
        sum += present[n][0];
        if (!near || Math.abs(sum - share) < Math.abs(near.at - share)) near = { at: sum, left: present[n][1], right: present[n + 1][1] };
      }
      held = { k, ...near, start: near.at - T[k][near.left], both: T[k][near.left] + T[k][near.right] };
      i = k;
      j = held.left === k ? held.right : held.left;
    }
    const part = Math.max(0, Math.min(held.both, Math.round(100 * (share - held.start)) / 100));
    if (!first) T = T.map((entries, k) => (k === held.k ? entries.map((t, label) => (label === held.left ? part : label === held.right ? held.both - part : t)) : entries));
    show(!first);
  }, () => (held = null));
  arrows(bars, (right, up) => {
    i = (i - Math.sign(up) + T.length) % T.length;
    j = (j + Math.sign(right) + T.length) % T.length;
    show(false);
  });
  bars.node.addEventListener("keydown", (event) => {
    const by = { "+": 0.01, "=": 0.01, "-": -0.01 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    T = withEntry(T, i, j, Math.max(0, Math.min(1, Math.round(100 * (T[i][j] + by)) / 100)));
    show();
  });

  // ---- drawing
  const on = (colour) => (["#E69F00", "#56B4E9", "#CC79A7", "#44AA99"].includes(colour) ? "#1f2933" : "#ffffff");
  function paintBars(context) {
    const colours = theme();
    const at = layout();
    const stack = (shares, y, name, chosen) => {
      context.font = "13px system-ui, sans-serif";
      context.textBaseline = "middle";
      context.textAlign = "right";
      context.fillStyle = colours.ink;
      context.fillText(name, at.left - 8, y + at.bar / 2);
      let x = at.left;
      let box = null;
      shares.forEach((share, k) => {
        const wide = share * at.wide;
        context.fillStyle = COLOURS[k];
        context.fillRect(x, y, Math.max(0, wide - 1.5), at.bar);
        if (k === chosen) box = [x, wide];
        const text = share.toFixed(2).replace(/^0/, "");
        context.font = `${at.bar < 24 ? 11 : 12}px system-ui, sans-serif`;
        if (wide > 28 && at.bar > 13) {
          context.fillStyle = on(COLOURS[k]);
          context.textAlign = "center";
          context.fillText(wide > 76 && at.bar > 18 ? `label ${k}: ${text}` : wide > 42 ? `${k}: ${text}` : text, x + wide / 2, y + at.bar / 2);
        }
        x += wide;
      });
      if (!box) return;
      context.strokeStyle = colours.ink;
      context.lineWidth = 2.2;
      context.strokeRect(box[0] - 0.5, y - 1, Math.max(2, box[1] - 0.5), at.bar + 2);
    };
    T.forEach((entries, k) => stack(entries, at.y(k), `${k} →`, k === i ? j : -1));
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "left";
    context.fillStyle = colours.muted;
    context.fillText("All labels together, the noisy prior:", at.left, at.prior - 12);
    stack(noisyPrior(T, prior), at.prior, "P(Ỹ)", -1);
  }

  // The class of the selected row, its most frequent wrong label, and one more.
  function face() {
    const others = T.map((_, k) => k).filter((k) => k !== i).sort((a, b) => T[i][b] - T[i][a] || a - b);
    return [i, ...others.slice(0, 2)];
  }
  function landscape() {
    const corner = face();
    const full = new Array(T.length).fill(0);
    const value = objective(set.rule, set.repair, T, prior, i);
    const height = ([one, two, three]) => {
      full[corner[0]] = one;
      full[corner[1]] = corner.length < 3 ? two + three : two;
      if (corner.length > 2) full[corner[2]] = three;
      return value(full);
    };
    return { corner, height };
  }
  let [view, found] = [];
  const small = element("canvas");
  function paintTriangle(context, width, height) {
    const colours = theme();
    const { corner, height: value } = view;
    const side = Math.min(width - 90, (height - 46) / 0.866);
    const [left, low] = [(width - side) / 2, height - 24];
    const spots = [[left + side / 2, low - 0.866 * side], [left, low], [left + side, low]];
    const to = (v) => [0, 1].map((c) => v.reduce((sum, x, n) => sum + x * spots[n][c], 0));
    const cells = T.length > 3 ? 80 : 110;
    small.width = small.height = cells;
    const values = new Float64Array(cells * cells).fill(NaN);
    for (let n = 0; n < values.length; n++) {
      const [x, y] = [((n % cells) + 0.5) / cells, 1 - (Math.floor(n / cells) + 0.5) / cells];
      const v = [y, 1 - y / 2 - x, x - y / 2];
      if (v[1] > -0.03 && v[2] > -0.03) values[n] = value([v[0], Math.max(0, v[1]), Math.max(0, v[2])]);
    }
    const inside = values.filter((x) => !Number.isNaN(x)).sort();
    const [floor, roof] = [inside[Math.floor(inside.length * 0.08)], inside.at(-1)];
    const colour = set.rule === "cross-entropy" ? colours.muted : tint(row(set.rule));
    const pen = small.getContext("2d");
    const image = pen.createImageData(cells, cells);
    const shades = ramp(colours.paper, colour, 14); // of which ten are used
    for (let n = 0; n < values.length; n++) {
      if (Number.isNaN(values[n])) continue;
      const share = Math.max(0, Math.min(1, (values[n] - floor) / (roof - floor || 1)));
      dot(image, n, shades[1 + Math.ceil(share * 8.999)]);
    }
    pen.putImageData(image, 0, 0);
    context.save();
    context.beginPath();
    for (const spot of spots) context.lineTo(...spot);
    context.closePath();
    context.clip();
    context.drawImage(small, left, low - 0.866 * side, side, 0.866 * side);
    context.restore();
    context.lineWidth = 1.2;
    context.strokeStyle = colours.muted;
    context.stroke();

    // where two classes tie: the answer changes there
    context.setLineDash([2, 4]);
    context.beginPath();
    const middle = to([1 / 3, 1 / 3, 1 / 3]);
    for (const v of [[0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]]) {
      context.moveTo(...middle);
      context.lineTo(...to(v));
    }
    context.strokeStyle = colours.ink;
    context.lineWidth = 1;
    context.stroke();
    context.setLineDash([]);

    context.font = "13px system-ui, sans-serif";
    context.textBaseline = "middle";
    const words = corner.map((k, n) => `answer ${k}${n ? "" : ", the truth"}`);
    context.textAlign = "center";
    [-12, 14, 14].forEach((dy, n) => {
      if (!words[n]) return;
      context.fillStyle = n ? colours.muted : colours.ink;
      context.fillText(words[n], spots[n][0], spots[n][1] + dy);
    });
    const right = found.at[0] >= Math.max(found.at[1], found.at[2]) - 1e-6;
    const [x, y] = to(found.at);
    context.beginPath();
    context.arc(x, y, 8, 0, 7);
    context.fillStyle = right ? RIGHT : WRONG;
    context.fill();
    context.lineWidth = 2.4;
    context.strokeStyle = colours.paper;
    context.stroke();
  }

  let reached = {};
  function paintCeilings(context, width) {
    const colours = theme();
    const [left, right] = [142, 56];
    context.font = "13px system-ui, sans-serif";
    context.textBaseline = "middle";
    offered.forEach(([name, title], n) => {
      const y = 22 * n + 11;
      const chosen = name === set.rule;
      const d = row(name);
      context.font = `${chosen ? "600 " : ""}13px system-ui, sans-serif`;
      context.textAlign = "right";
      context.fillStyle = colours.ink;
      context.fillText(title, left - 10, y);
      context.fillStyle = colours.soft;
      context.fillRect(left, y - 7, width - left - right, 14);
      context.fillStyle = d ? tint(d) : name === "cross-entropy" ? colours.ink : colours.muted;
      context.fillRect(left, y - 7, (width - left - right) * reached[name], 14);
      context.textAlign = "left";
      context.fillStyle = colours.ink;
      context.fillText(percent(reached[name]), width - right + 8, y);
    });
  }

  let kept = {};
  function paintBounds(context, width) {
    const colours = theme();
    const [left, right] = [72, 14];
    const x = (value) => left + value * (width - left - right);
    context.textBaseline = "middle";
    context.font = "12px system-ui, sans-serif";
    [["tv", 34], ["pearson", 88]].forEach(([name, y]) => {
      const [low, high] = kept[name];
      const d = row(name);
      context.textAlign = "right";
      context.fillStyle = colours.ink;
      context.fillText(d.short, left - 12, y);
      context.fillStyle = colours.soft;
      context.fillRect(x(0), y - 8, x(1) - x(0), 16);
      context.fillStyle = tint(d);
      context.fillRect(x(low) - 1.5, y - 8, Math.max(3, x(high) - x(low) + 3), 16);
      context.fillStyle = colours.ink;
      const same = high - low < 1e-3;
      context.textAlign = same ? "center" : high > 0.85 ? "right" : "left";
      context.fillText(same ? `×${high.toFixed(2)}, always` : `×${high.toFixed(2)} at most`, Math.max(x(0.16), Math.min(x(0.86), x(high))), y - 18);
      context.textAlign = low < 0.15 ? "left" : "right";
      if (!same) context.fillText(`×${low.toFixed(2)} at least`, low < 0.15 ? x(0) : x(low), y + 18);
    });
    context.fillStyle = colours.muted;
    context.textAlign = "center";
    for (const tick of [0, 0.5, 1]) context.fillText(`×${tick}`, x(tick), 138);
    context.fillText("noisy score ÷ clean score", x(0.5) + (width > 330 ? (x(1) - x(0.5)) / 2 : 0), 122);
  }

  // own: whether T has just been changed by hand. What it changes is computed once a frame, however often it is called.
  let waiting = 0;
  function show(own = true) {
    if (own) chooser.value = "";
    size.set(T.length);
    entry.set(T[i][j]);
    waiting ||= requestAnimationFrame(update);
  }
  closing.push(() => cancelAnimationFrame(waiting));
  function update() {
    waiting = 0;
    reached = Object.fromEntries(offered.map(([name]) => [name, ceiling(name, T, prior)]));
    kept = guarantees(T, prior);
    view = landscape();
    found = peak(view.height);
    for (const board of [bars, triangle, ceilings, bounds]) board.draw();
    const { corner } = view;
    const answer = corner[found.at.indexOf(Math.max(...found.at))];
    const where = found.flat > 0.02 ? "is highest on a whole plateau, whose middle says" : "peaks where it answers";
    const title = RULES.find(([name]) => name === set.rule)[1];
    say.innerHTML = `For an example of class <b>${i}</b>, whose label is ${j} in ${percent(T[i][j])} of all cases, ${title.replace("Total", "total").replace("Cross", "cross")} ${where}
      <b>${answer}</b>${answer === i ? "." : ": <b>wrong</b>, however much data there is."}`;
    const words = ["tv", "pearson"].map((name) => (kept[name][1] - kept[name][0] < 1e-3 ? "keeps every ranking of classifiers" : "can reverse a ranking"));
    promise.textContent =
      `Under this T total variation ${words[0]}; Pearson ${words[1]}${words[0] === words[1] ? ", too" : ""}: rankings are safe where the two ends of a bar meet.`;
    tell({ T, prior, select: [i, j], rule: set.rule, repair: set.repair, ceilings: reached, guarantees: kept, peak: found.at, corner, answer });
  }
  chooser.value = Object.keys(all).find((name) => JSON.stringify(all[name]) === JSON.stringify(T)) ?? "";
  update();
}

const widget = figure("The T editor: what each method can learn under a transition matrix that you change", build);
export default widget;
