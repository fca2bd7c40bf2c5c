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

// Code that does not teach is folded; a click opens it. That of a question would tell its answer.
for (const input of document.querySelectorAll(".celltag_predict > .input")) input.remove();
for (const input of document.querySelectorAll(".celltag_fold > .input")) {
  const fold = document.createElement("details");
  fold.className = "folded";
  const summary = document.createElement("summary");
  summary.textContent = "Code";
  input.replaceWith(fold);
  fold.append(summary, input);
}

// Predict before you see: what the next code cell shows, and what is said about it up to the next heading, is
// hidden until the reader has answered or asked to be shown. Answers stay in this browser.
const kept = {
  get(key) {
    try { return localStorage.getItem(key); } catch { return null; }
  },
  set(key, value) {
    try { value === null ? localStorage.removeItem(key) : localStorage.setItem(key, value); } catch { /* private mode */ }
  },
};
function veilOf(form) {
  const hidden = [];
  let cell = form.closest(".cell")?.nextElementSibling;
  while (cell?.classList.contains("text_cell")) cell = cell.nextElementSibling;
  if (!cell) return hidden;
  hidden.push(...cell.querySelectorAll(":scope > .output_wrapper"));
  const said = cell.nextElementSibling?.querySelector(".text_cell_render");
  for (const part of said?.children ?? []) {
    if (/^H[1-3]$/.test(part.tagName)) break;
    hidden.push(part);
  }
  return hidden;
}
for (const form of document.querySelectorAll("form.predict")) {
  const key = `fdiv:predict:${form.dataset.key}`;
  const right = Number(form.dataset.answer);
  const options = [...form.querySelectorAll(".option")];
  const verdict = form.querySelector(".verdict");
  const [check, show] = form.querySelectorAll("button");
  const veil = veilOf(form);
  const note = document.createElement("p");
  note.className = "veil-note";
  note.textContent = "Hidden until you have answered the question above.";
  veil[0]?.before(note);
  const letter = (n) => String.fromCharCode(97 + n);
  function settle(answer) {
    const open = answer === null;
    const chosen = answer === "shown" ? null : Number(answer);
    for (const part of veil) part.classList.toggle("veiled", open);
    note.hidden = !open;
    form.classList.toggle("answered", !open);
    options.forEach((option, n) => {
      const input = option.querySelector("input");
      input.disabled = !open;
      input.checked = !open && n === chosen;
      option.classList.toggle("right", !open && n === right);
      option.classList.toggle("wrong", !open && n === chosen && n !== right);
      option.querySelector(".because").hidden = open;
    });
    check.hidden = !open;
    show.textContent = open ? "Show me" : "Ask me again";
    if (open) verdict.textContent = "";
    else if (chosen === null) verdict.textContent = `It is ${letter(right)}.`;
    else verdict.textContent = chosen === right ? "Right." : `Not ${letter(chosen)}: it is ${letter(right)}.`;
    if (!open) for (const figure of document.querySelectorAll(".plotly-graph-div")) if (window.Plotly && figure.data) Plotly.Plots.resize(figure);
    document.dispatchEvent(new Event("fdiv:progress"));
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = options.findIndex((option) => option.querySelector("input").checked);
    if (chosen < 0) {
      verdict.textContent = "Choose one first, or let it be shown.";
      return;
    }
    kept.set(key, String(chosen));
    settle(String(chosen));
  });
  show.addEventListener("click", () => {
    const next = kept.get(key) === null ? "shown" : null;
    kept.set(key, next);
    settle(next);
  });
  settle(kept.get(key));
}
