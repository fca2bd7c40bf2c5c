// On a narrow screen a figure with one pair of axes has its legend below, not beside it, and a title in two lines.
const narrow = matchMedia("(max-width: 40rem)");
const folded = (text) => (text.length > 42 ? text.replace(/^(.{20,42}) /, "$1<br>") : text);
function fitFigures() {
  for (const figure of document.querySelectorAll(".fits .plotly-graph-div")) {
    const { legend = {}, height = figure.clientHeight, title = {}, margin = {} } = figure.layout;
    figure.wide ??= structuredClone({
      legend, height, "title.text": title.text ?? "", "margin.t": margin.t ?? null,
    });
    const text = folded(figure.wide["title.text"]);
    const more = text.includes("<br>") ? 18 : 0;
    const names = figure.querySelectorAll(".legendtext").length;
    const slim = {
      legend: { orientation: "h", x: 0, y: -0.3, yanchor: "top" },
      height: figure.wide.height + 22 * names + more,
      "title.text": text,
      "margin.t": (figure.wide["margin.t"] ?? 56) + more,
    };
    Plotly.relayout(figure, narrow.matches ? slim : figure.wide);
  }
}
narrow.addEventListener("change", fitFigures);
if (narrow.matches) fitFigures();

// A figure of fdiv.course.widgets: the module that JupyterLab shows, with a model of its own in place of a kernel's.
function mountFigure(name, widget, core) {
  (window.figureCores ??= {})[name] = core;
  for (const el of document.querySelectorAll(`[data-figure="${name}"]`)) {
    const values = { params: JSON.parse(el.dataset.params), state: {} };
    const heard = new Set();
    el.model = {
      get: (key) => values[key],
      set(key, value) {
        values[key] = value;
        for (const [event, listener] of heard) if (event === `change:${key}`) listener();
      },
      on: (event, listener) => heard.add([event, listener]),
      off() {},
      save_changes() {},
    };
    widget.render({ model: el.model, el });
  }
}

// Code that does not teach is folded; a click opens it.
for (const input of document.querySelectorAll(".celltag_fold > .input")) {
  const fold = document.createElement("details");
  fold.className = "folded";
  const summary = document.createElement("summary");
  summary.textContent = "Code";
  input.replaceWith(fold);
  fold.append(summary, input);
}
