// Plotly's figures on a page: in the colours of the theme, folded for a phone, and with the menus and sliders that
// JupyterLab has. A figure lies as JSON beside its place; fdiv.course.twins packs what its controls change.

const narrow = matchMedia("(max-width: 40rem)");
const plots = [...document.querySelectorAll(".plot")];
const HIGH = 380; // pixels, where a figure does not say; fdiv.course.site.lessons keeps as much room free

// ------------------------------------------------------------------ colours

const css = (name, otherwise) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim() || otherwise;
const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
function light(hex) {
  const [r, g, b] = channels(hex).map((c) => (c <= 10 ? c / 3294 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
const mixed = (a, b, share) =>
  `#${channels(a).map((c, k) => Math.round(c + (channels(b)[k] - c) * share).toString(16).padStart(2, "0")).join("")}`;

// On dark paper a colour that would sink is lightened until it can be seen, and a light grey becomes a dark one.
function tint(colour, theme) {
  if (!theme.dark || !/^#[0-9a-f]{6}$/i.test(colour)) return colour;
  const parts = channels(colour);
  if (Math.max(...parts) - Math.min(...parts) < 24 && light(colour) > 0.5) return theme.line;
  let seen = colour;
  for (let share = 0.1; contrast(seen, theme.paper) < 4 && share < 1; share += 0.1) seen = mixed(colour, "#ffffff", share);
  return seen;
}

function recolour(part, theme) {
  for (const [key, value] of Object.entries(part)) {
    if (/color$/i.test(key) && typeof value === "string") part[key] = tint(value, theme);
    else if (/color$/i.test(key) && Array.isArray(value)) part[key] = value.map((one) => tint(one, theme));
    else if (key === "colorscale") part[key] = rescaled(value, theme);
    else if (value && typeof value === "object" && !Array.isArray(value)) recolour(value, theme);
  }
}

// A scale from white to one colour starts at the paper of a dark page instead, one from red over white to blue has it
// in the middle, and a light grey alone is a dark one.
function rescaled(scale, theme) {
  const numbers = (stop) => (stop[1].startsWith("#") ? channels(stop[1]) : stop[1].match(/\d+/g).map(Number));
  if (!theme.dark || !Array.isArray(scale)) return scale;
  const [first, last] = [numbers(scale[0]), numbers(scale.at(-1))];
  if (diverges(scale)) return [[0, "#b2182b"], [0.5, theme.soft], [1, "#2166ac"]];
  if (scale[0][1] === scale.at(-1)[1]) return scale.map(([at, colour]) => [at, tint(colour, theme)]);
  if (Math.min(...first) < 240 || Math.max(...last) - Math.min(...last) > 130) return scale;
  const grey = Math.max(...last) - Math.min(...last) < 24;
  return [[0, theme.soft], [1, grey ? theme.ink : "#2f7ab0"]]; // on which the white numbers of a matrix can be read
}

// Whether the middle of a scale is its lightest part.
const diverges = (scale) =>
  Array.isArray(scale) && scale.length % 2 === 1 && Math.min(...(scale[(scale.length - 1) / 2][1].match(/\d+/g) ?? [0]).map(Number)) > 240;

function themed({ data, layout }) {
  const paper = css("--paper", "#ffffff");
  const theme = { paper, soft: css("--soft", "#f5f7f9"), ink: css("--ink", "#1f2933"), dark: light(paper) < 0.2 };
  theme.line = theme.dark ? "#4a5560" : "#e3e6ea";
  const axis = { gridcolor: mixed(paper, theme.line, theme.dark ? 0.6 : 1), zerolinecolor: theme.line, linecolor: theme.line };
  const style = (layout.template ??= {}).layout ?? {};
  layout.template.layout = {
    ...style, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { ...style.font, color: theme.ink },
    xaxis: { ...style.xaxis, ...axis }, yaxis: { ...style.yaxis, ...axis },
    shapedefaults: { line: { color: theme.ink } },
    hoverlabel: { bgcolor: theme.soft, bordercolor: theme.line, font: { color: theme.ink } },
  };
  const table = theme.dark && data.some((trace) => diverges(trace.colorscale));
  if (table) for (const note of layout.annotations ?? []) note.font.color = theme.ink;
  for (const trace of data) {
    recolour(trace, theme);
    for (const bar of [trace.error_x, trace.error_y]) if (bar) bar.color ??= theme.ink;
  }
  if (!data.some((trace) => trace.type === "heatmap")) for (const note of layout.annotations ?? []) recolour(note, theme);
  for (const shape of layout.shapes ?? []) {
    recolour(shape, theme);
    if (shape.fillcolor === "white") shape.fillcolor = paper; // a mask
  }
}

// ------------------------------------------------------------------ phones

const plain = (text) => text.replace(/<[^>]*>/g, "");
function folded(text, most) {
  const lines = [""];
  for (const word of text.replaceAll("<br>", " ").split(" ")) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (plain(longer).length > most && lines.at(-1)) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines.join("<br>");
}

// Panels side by side come to lie one above the other, each with its heading.
function stack(layout, margin) {
  const panels = Object.keys(layout).filter((key) => /^xaxis\d*$/.test(key) && layout[key].domain).map((key) => ({
    x: layout[key], from: [...layout[key].domain], y: layout[(layout[key].anchor ?? key[0].replace("x", "y") + key.slice(5)).replace("y", "yaxis")] ?? {},
  }));
  if (panels.length < 2 || new Set(panels.map((one) => one.from[0])).size < 2) return;
  const [rows, high] = [panels.length, layout.height - margin.t - margin.b];
  const between = 92; // pixels for the ticks and title of one and the heading of the next
  const gap = between / (rows * high + between * (rows - 1));
  const each = (1 - gap * (rows - 1)) / rows;
  panels.forEach((one, row) => {
    const top = 1 - row * (each + gap);
    one.x.domain = [0, 1];
    one.y.domain = [Math.max(0, top - each), top];
    for (const note of layout.annotations ?? [])
      if (note.xref === "paper" && note.yref === "paper" && !note.moved && note.x >= one.from[0] && note.x <= one.from[1])
        Object.assign(note, { x: 0.5, y: top, moved: true });
  });
  for (const note of layout.annotations ?? []) delete note.moved;
  layout.height = margin.t + margin.b + rows * high + between * (rows - 1);
}

// The width that a caption needs; those of three lines and more need it for their height.
function captionWidth(note) {
  const lines = String(note.text).split("<br>").map((line) => plain(line).length);
  return Math.max(6.6 * Math.max(...lines) + 8, lines.length > 2 ? 28 * lines.length : 0);
}

// The width that words over the data need; what is wider than the screen moves in its own box.
function needed(data, layout) {
  const rows = {};
  for (const note of layout.annotations ?? [])
    if (/^x/.test(note.xref ?? "x") && note.xref !== "x domain") (rows[`${note.yref} ${note.y}`] ??= []).push(captionWidth(note));
  const beside = 30 + 7 * Math.max(0, ...(layout.yaxis?.ticktext ?? []).map((name) => plain(name).length));
  const notes = Object.values(rows).filter((row) => row.length > 3).map((row) => row.length * Math.max(...row) + beside);
  const cells = data.filter((trace) => trace.texttemplate && trace.z).map((trace) =>
    (trace.z.shape ? Number(trace.z.shape.split(",")[1]) : trace.z[0].length) * 25 + 60);
  return Math.max(0, ...notes, ...cells);
}

// Images in a grid come to lie in fewer columns: each keeps room for its caption, and none is out of sight.
function regrid(plot, { data, layout }, margin) {
  const trace = data.find((one) => one.meta?.grid);
  if (!trace) return;
  const { count, columns, high, wide, above } = trace.meta.grid; // of a tile: its image with the caption above
  const notes = layout.annotations;
  const lines = Math.max(...notes.map((note) => note.text.split("<br>").length));
  const least = Math.max(...notes.map(captionWidth), (17 * lines * wide) / above);
  const most = Math.max(1, Math.floor((plot.clientWidth - 30) / least));
  const even = most >= columns ? columns : [most, most - 1].find((one) => one > 1 && count % one === 0) ?? most;
  const pixels = trace.z.bdata ? rowsOf(trace.z) : trace.z;
  const rows = Math.ceil(count / even);
  const canvas = Array.from({ length: rows * high }, () => Array(even * wide).fill(null));
  for (let tile = 0; tile < count; tile += 1) {
    const [from, to] = [columns, even].map((across) => [Math.floor(tile / across) * high, (tile % across) * wide]);
    for (let y = 0; y < high; y += 1)
      for (let x = 0; x < wide; x += 1) canvas[to[0] + y][to[1] + x] = pixels[from[0] + y][from[1] + x];
    notes[tile].y += to[0] - from[0];
    notes[tile].x += to[1] - from[1];
  }
  trace.z = canvas;
  const room = plot.clientWidth - margin.l - margin.r;
  layout.height = margin.t + margin.b + Math.ceil((room * rows * high) / (even * wide));
}

// The rows of a table of numbers as Python stored it.
function rowsOf({ bdata, shape }) {
  const flat = new Float32Array(Uint8Array.from(atob(bdata), (one) => one.charCodeAt(0)).buffer);
  const [rows, across] = shape.split(",").map(Number);
  return Array.from({ length: rows }, (_, row) => Array.from(flat.subarray(row * across, (row + 1) * across), (one) => (Number.isNaN(one) ? null : one)));
}

function fitted(plot, { data, layout }) {
  const own = layout.margin ?? {};
  const margin = { l: 60, r: 20, t: 56, b: 50, ...own };
  const below = layout.legend?.orientation === "h";
  if (below) margin.b = 56;
  stack(layout, margin);
  regrid(plot, { data, layout }, margin);
  let width = Math.max(plot.clientWidth, needed(data, layout));
  const pictures = layout.xaxis?.visible === false && layout.yaxis?.scaleanchor;
  if (pictures && width < 1.3 * plot.clientWidth) { // smaller words over pictures, and all of them in sight
    for (const note of layout.annotations ?? []) note.font = { ...note.font, size: Math.floor((12 * plot.clientWidth) / width) };
    width = plot.clientWidth;
  }
  const grid = pictures && (data[0].z?.shape?.split(",").map(Number) ?? (data[0].z?.length && [data[0].z.length, data[0].z[0].length]));
  if (grid) layout.height = Math.min(layout.height, ((width - margin.l - margin.r) * grid[0]) / grid[1] + margin.t + margin.b);
  plot.place.style.minWidth = width > plot.clientWidth ? `${Math.ceil(width)}px` : "";
  if (below) layout.height -= (own.b ?? 50) - 56;
  const text = folded(layout.title?.text ?? "", Math.floor((plot.clientWidth - 16) / 8.6));
  const more = 19 * (text.split("<br>").length - (layout.title?.text ?? "").split("<br>").length);
  const lines = text.split("<br>").length;
  layout.title = { ...layout.title, text, y: 1, yref: "container", yanchor: "top", pad: { t: 12 + 10 * (lines - 1) } };
  for (const trace of data)
    if (trace.textposition === "outside") trace.cliponaxis = false;
  const words = data.flatMap((trace) => (Array.isArray(trace.x) && typeof trace.x[0] === "string" ? [trace.x] : []))[0] ?? [];
  const longest = Math.max(0, ...words.flatMap((one) => one.split("<br>")).map((one) => one.length));
  if (longest * 7 > (width - 80) / (words.length || 1)) {
    margin.b += Math.min(6 * longest, 110); // slanted words below the axis
    layout.height += Math.min(6 * longest, 110);
  }
  const names = [...(layout.yaxis?.ticktext ?? []), ...data.flatMap((trace) => (Array.isArray(trace.y) ? trace.y : []))].filter((one) => typeof one === "string");
  const left = Math.max(margin.l, ...names.map((one) => 7 * plain(one).length));
  for (const axis of Object.keys(layout).filter((key) => /^xaxis/.test(key) && layout[key].title?.text)) {
    const title = folded(layout[axis].title.text, Math.floor((width - left - margin.r) / 8.6));
    layout[axis].title = { ...layout[axis].title, text: title };
    const taller = 18 * (title.split("<br>").length - 1);
    margin.b += taller;
    layout.height += taller;
  }
  if (data.some((trace) => trace.textposition === "outside" && trace.orientation === "h")) margin.r = Math.max(margin.r, 46);
  for (const trace of data)
    if (/heatmap|contour/.test(trace.type) && trace.showscale !== false) {
      const bar = trace.colorbar ?? {};
      const title = { ...bar.title, text: (bar.title?.text ?? "").replace("<br>", " "), side: "top" };
      trace.colorbar = { ...bar, title, orientation: "h", x: 0.5, y: 0, yanchor: "top", ypad: layout.xaxis?.visible === false ? 4 : 40, thickness: 12, len: 0.9 };
      margin.b += 50;
      layout.height += 20;
    }
  layout.legend = { orientation: "h", x: 0, xref: "container", y: 0, yref: "container", yanchor: "bottom" };
  const room = plot.room ?? 0;
  Object.assign(margin, { t: margin.t + more, b: margin.b + room });
  Object.assign(layout, { margin, height: layout.height + more + room });
}

// ------------------------------------------------------------------ drawing

// Four megabytes, which come when the first figure does.
let loading = null;
const plotly = () => (loading ??= new Promise((ready, failed) => {
  const script = Object.assign(document.createElement("script"), { src: "assets/plotly.min.js", onload: ready, onerror: failed });
  document.head.append(script);
}));

async function draw(plot) {
  plot.wanted = true;
  await plotly();
  const figure = structuredClone(plot.figure);
  figure.layout.height ??= HIGH;
  const fixed = plot.config.staticPlot;
  themed(figure);
  if (narrow.matches && !fixed) fitted(plot, figure);
  else plot.place.style.minWidth = "";
  const config = { responsive: !fixed, displaylogo: false, displayModeBar: narrow.matches ? false : "hover", ...plot.config };
  plot.place.setAttribute("aria-label", plain(figure.layout.title?.text ?? "figure"));
  // Whenever the window changes, plotly takes the height from the style: without it there is none to be found.
  Object.assign(plot.place.style, { minHeight: "", height: `${figure.layout.height}px` });
  await Plotly.react(plot.place, figure.data, figure.layout, config);
  const legend = narrow.matches && !fixed ? plot.place.querySelector("g.legend")?.getBoundingClientRect().height : 0;
  const room = legend ? Math.ceil(legend) + 12 : 0; // known only when it has been drawn
  if (narrow.matches && !fixed && room !== (plot.room ?? 0)) {
    plot.room = room;
    await draw(plot);
  }
}

// ------------------------------------------------------------------ controls

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

function changed(base, { paths, pool, frames }, number) {
  const figure = structuredClone(base);
  paths.forEach((path, n) => {
    let place = figure;
    for (const key of path.slice(0, -1)) place = place[key] ??= {};
    const value = frames[number][n];
    if (value < 0) delete place[path.at(-1)];
    else place[path.at(-1)] = structuredClone(pool[value]);
  });
  return figure;
}

function control(row, { label, kind, options, start }, moved) {
  const box = document.createElement("label");
  const shown = document.createElement("output");
  const name = document.createElement("span");
  const made = document.createElement(kind === "menu" ? "select" : "input");
  name.append(label, " ");
  if (kind === "menu") made.append(...options.map((text, n) => new Option(text, n)));
  if (kind === "range") Object.assign(made, { type: "range", min: 0, max: options.length - 1, step: 1 });
  if (kind === "range") name.append(shown);
  if (kind === "box") Object.assign(made, { type: "checkbox", checked: start === 1 });
  else made.value = start;
  made.setAttribute("aria-label", label);
  box.append(name, made);
  row.append(box);
  const say = () => {
    if (kind !== "range") return;
    shown.textContent = options[made.value];
    made.setAttribute("aria-valuetext", shown.textContent);
  };
  say();
  made.addEventListener("input", () => {
    say();
    moved();
  });
  return () => (kind === "box" ? Number(made.checked) : Number(made.value));
}

function addControls(plot, { controls, packed }) {
  const row = document.createElement("div");
  const note = document.createElement("p");
  row.className = "plot-controls";
  note.className = "plot-note";
  note.setAttribute("role", "status");
  const base = plot.figure;
  let [twin, waiting] = [null, false];
  const places = controls.map((one) => control(row, one, async () => {
    if (waiting) return;
    waiting = true;
    twin ??= await unpacked(packed);
    requestAnimationFrame(() => {
      waiting = false;
      const number = controls.reduce((sum, one, n) => sum * one.options.length + places[n](), 0);
      note.textContent = twin.frames[number] ? "" : "These values do not go together: move another control.";
      if (!twin.frames[number]) return;
      plot.figure = changed(base, twin, number);
      draw(plot);
    });
  }));
  plot.prepend(row, note);
}

// A figure is drawn when the reader comes near it, or prints the page.
const near = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) if (isIntersecting && !target.wanted) draw(target);
}, { rootMargin: "1500px 0px" });
for (const plot of plots) {
  const { config, ...figure } = JSON.parse(plot.querySelector("script").textContent);
  const twin = figure.layout.meta?.twin;
  delete figure.layout.meta;
  Object.assign(plot, { figure, config, place: plot.querySelector(".plotly-graph-div") });
  plot.place.setAttribute("role", "img");
  if (twin) addControls(plot, twin);
  near.observe(plot);
}

const again = () => plots.forEach((plot) => plot.wanted && draw(plot));
narrow.addEventListener("change", again);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
new MutationObserver(again).observe(document.documentElement, { attributeFilter: ["data-theme", "class"] });
addEventListener("beforeprint", () => plots.forEach((plot) => plot.wanted || draw(plot)));
