// The pages of the course: predictions, contents, ticks, search and terms. What a reader does stays in this browser.
{
const here = document.documentElement.dataset.page;
const phone = matchMedia("(max-width: 62rem)");
const make = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};
const kept = {
  get(key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null; // a browser that keeps nothing
    }
  },
  set(key, value) {
    try {
      if (value === null) localStorage.removeItem(key);
      else localStorage.setItem(key, value);
    } catch {
      // as above
    }
  },
};

// A figure of fdiv.course.widgets: the module that JupyterLab shows, with a model of its own in place of a kernel's.
window.mountFigure = function (name, widget, core) {
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
};

// ------------------------------------------------------------------ predict before you see

// What the next code cell shows (and one right behind it), and what is said about it up to the next heading.
function veilOf(form) {
  const hidden = [];
  let cell = form.closest(".cell")?.nextElementSibling;
  while (cell?.classList.contains("text_cell")) cell = cell.nextElementSibling;
  for (; cell?.matches(".code_cell:not(.celltag_predict, .celltag_exercise)"); cell = cell.nextElementSibling)
    hidden.push(...cell.querySelectorAll(":scope > .output_wrapper"));
  const said = cell?.querySelector(".text_cell_render");
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
  const note = make("p", { className: "veil-note", textContent: "Hidden until you have answered the question above." });
  veil[0]?.before(note);
  const letter = (n) => String.fromCharCode(97 + n);
  const settle = (answer) => {
    const open = answer === null;
    const chosen = answer === "shown" ? null : Number(answer);
    for (const part of veil) part.classList.toggle("veiled", open);
    note.hidden = !open;
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
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = options.findIndex((option) => option.querySelector("input").checked);
    if (chosen < 0) {
      verdict.textContent = "Choose one first, or let it be shown.";
      return;
    }
    kept.set(key, String(chosen));
    settle(String(chosen));
    show.focus();
  });
  show.addEventListener("click", () => {
    const next = kept.get(key) === null && !note.hidden ? "shown" : null;
    kept.set(key, next);
    settle(next);
  });
  settle(kept.get(key));
}

// Hints in stages: the next one offers itself when the one before it has been read.
for (const cell of document.querySelectorAll(".text_cell_render")) {
  const hints = [...cell.querySelectorAll("details")].filter((one) => /^Hint/.test(one.querySelector("summary")?.textContent));
  if (hints.length < 2) continue;
  hints.forEach((hint, n) => {
    hint.querySelector("summary").textContent = `Hint ${n + 1} of ${hints.length}`;
    hint.hidden = n > 0;
    hint.addEventListener("toggle", () => hint.open && hints[n + 1] && (hints[n + 1].hidden = false));
  });
}

// ------------------------------------------------------------------ contents, and where you are

const contents = document.querySelector(".contents");
if (contents) {
  const box = contents.querySelector("details");
  const unfold = () => (box.open = !phone.matches);
  phone.addEventListener("change", unfold);
  unfold();
  const rows = [...contents.querySelectorAll("a")].map((link) => ({
    link, heading: document.getElementById(link.getAttribute("href").slice(1)),
  })).filter(({ heading }) => heading);
  let present = null;
  const mark = () => {
    const line = innerHeight * 0.3;
    const end = innerHeight + scrollY >= document.documentElement.scrollHeight - 4;
    const passed = rows.filter(({ heading }) => heading.getBoundingClientRect().top < line);
    const now = end ? rows.at(-1) : passed.at(-1) ?? rows[0];
    if (now === present) return;
    present = now;
    for (const { link } of rows) {
      const is = link === now?.link;
      link.parentElement.classList.toggle("here", is);
      if (is) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
    }
    const row = now?.link.parentElement;
    if (row && !phone.matches) contents.scrollTop = row.offsetTop - contents.clientHeight / 2;
  };
  let asked = false;
  addEventListener("scroll", () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      mark();
    });
  }, { passive: true });
  addEventListener("resize", mark);
  contents.addEventListener("click", (event) => {
    if (event.target.closest("a") && phone.matches) box.open = false;
  });
  mark();
}

// ------------------------------------------------------------------ ticks for what is done

const doneOn = (page) => new Set(JSON.parse(kept.get(`fdiv:done:${page}`) ?? "[]"));
for (const link of document.querySelectorAll(".contents a[data-done]")) {
  const anchor = link.getAttribute("href").slice(1);
  const heading = document.getElementById(anchor);
  if (!heading) continue;
  const what = link.closest(".exercise") ? "solved" : "read";
  const box = make("input", { type: "checkbox", checked: doneOn(here).has(anchor) });
  box.setAttribute("aria-label", `${what}: ${link.textContent}`);
  const label = make("label", { className: "tick" }, box, what);
  const row = make("div", { className: "headed" });
  heading.replaceWith(row);
  row.append(heading, label);
  const tell = () => link.classList.toggle("done", box.checked);
  box.addEventListener("change", () => {
    const done = doneOn(here);
    if (box.checked) done.add(anchor);
    else done.delete(anchor);
    kept.set(`fdiv:done:${here}`, JSON.stringify([...done]));
    tell();
  });
  tell();
}
for (const card of document.querySelectorAll("[data-lesson]")) {
  const done = doneOn(card.dataset.lesson).size;
  if (done) card.querySelector(".progress").textContent = `${done} of ${card.dataset.steps} done`;
}

// ------------------------------------------------------------------ search over all pages

const search = document.querySelector(".search");
if (search) {
  const field = search.querySelector("input");
  const found = search.querySelector(".found");
  let loading = null; // the words of all pages come with the first look for one
  const load = () => (loading ??= new Promise((ready, failed) => {
    document.head.append(make("script", { src: "assets/search.js", onload: () => ready(window.courseSearch), onerror: failed }));
  }));
  const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

  // Sections that have every word, also as the beginning of a longer one; words in titles count most.
  function hits({ words, sections, common }, query) {
    let scores = null;
    const rare = query.filter((word) => !common.includes(word));
    for (const word of rare.length ? rare : query) {
      const found = new Map();
      for (const [known, places] of Object.entries(words)) {
        if (!known.startsWith(word)) continue;
        for (const place of places) {
          const [number, score] = place < 0 ? [-1 - place, 6] : [place, 1];
          const weight = known === word ? 2 * score : score;
          found.set(number, Math.max(found.get(number) ?? 0, weight));
        }
      }
      scores = scores === null ? found : new Map([...scores].filter(([n]) => found.has(n)).map(([n, s]) => [n, s + found.get(n)]));
    }
    for (const [n, score] of scores ?? []) if (sections[n][2] === "Further reading") scores.set(n, score / 2); // titles of others
    return [...(scores ?? [])].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 12).map(([n]) => sections[n]);
  }

  function marked(text, query) {
    const at = text.toLowerCase().search(new RegExp(`(^|[^\\p{L}\\p{N}])${query[0]}`, "u"));
    const from = Math.max(0, at - 50);
    const cut = (from ? "… " : "") + text.slice(from, from + 150) + (text.length > from + 150 ? " …" : "");
    const parts = cut.split(new RegExp(`((?<![\\p{L}\\p{N}])(?:${query.join("|")}))`, "giu"));
    return parts.map((part, n) => (n % 2 ? make("mark", { textContent: part }) : part));
  }

  async function look() {
    const query = wordsOf(field.value);
    if (!query.length) {
      found.hidden = true;
      return;
    }
    const data = await load();
    if (query.join() !== wordsOf(field.value).join()) return; // typed on meanwhile
    const list = hits(data, query).map(([page, anchor, title, text]) => {
      const [file, name] = data.pages[page];
      const link = make("a", { href: file + (anchor ? `#${anchor}` : "") }, make("b", { textContent: title }));
      if (title !== name) link.append(` in ${name}`);
      link.append(make("small", {}, ...marked(text, query)));
      return link;
    });
    const say = list.length ? `${list.length === 12 ? "The first 12 places" : list.length === 1 ? "1 place" : `${list.length} places`}` : `Nothing has “${field.value.trim()}”. Try fewer words, or the beginning of one.`;
    const told = make("p", { className: "minutes", textContent: say });
    told.setAttribute("role", "status");
    found.replaceChildren(told, ...list);
    found.hidden = false;
  }

  field.addEventListener("input", look);
  field.addEventListener("focus", () => {
    load();
    if (field.value) look();
  });
  search.addEventListener("submit", (event) => {
    event.preventDefault();
    found.querySelector("a")?.click();
  });
  search.addEventListener("keydown", (event) => {
    const list = [field, ...found.querySelectorAll("a")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      found.hidden = true;
      field.focus();
    } else if (step && !found.hidden) {
      event.preventDefault();
      list[Math.min(list.length - 1, Math.max(0, list.indexOf(document.activeElement) + step))].focus();
    }
  });
  document.addEventListener("click", (event) => {
    if (!search.contains(event.target) || event.target.closest(".found a")) found.hidden = true;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.closest("input, select, textarea, [contenteditable]")) return;
    event.preventDefault();
    field.focus();
  });
}
const menu = document.querySelector(".menu");
document.addEventListener("click", (event) => {
  if (menu?.open && !menu.contains(event.target)) menu.open = false;
});
menu?.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

// ------------------------------------------------------------------ terms that explain themselves

// The first time a term occurs in a section, once formulas are set and no word of them can be taken for one.
function markTerms() {
  const terms = window.courseTerms ?? [];
  const known = new Map(terms.flatMap(([words, ...rest]) => words.map((word) => [word.toLowerCase(), [words[0], ...rest]])));
  const escaped = [...known.keys()].sort((a, b) => b.length - a.length).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}-])(?:${escaped.join("|")})(?![\\p{L}\\p{N}-])`, "iu");
  const tip = make("div", { className: "tip", id: "tip", hidden: true });
  tip.setAttribute("role", "tooltip");
  document.body.append(tip);
  const hide = () => (tip.hidden = true);
  const explain = (term, [, meaning, anchor]) => {
    tip.innerHTML = `${meaning} <a href="notation.html#${anchor}">Notation</a>`;
    tip.hidden = false;
    window.MathJax?.typeset?.([tip]);
    const at = term.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(at.left, innerWidth - tip.offsetWidth - 16)) + scrollX}px`;
    const above = at.bottom + tip.offsetHeight + 12 > innerHeight;
    tip.style.top = `${(above ? at.top - tip.offsetHeight - 4 : at.bottom + 4) + scrollY}px`;
  };
  let leaving = null;
  const later = () => (leaving = setTimeout(hide, 250)); // time to reach the tip
  tip.addEventListener("pointerenter", () => clearTimeout(leaving));
  tip.addEventListener("pointerleave", later);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".term, .tip")) hide();
  });
  let seen = new Set();
  for (const block of document.querySelectorAll(".cell .text_cell_render > *")) {
    if (block.matches("h2, .headed:has(h2)")) seen = new Set();
    if (!/^(P|UL|OL)$/.test(block.tagName)) continue;
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) if (!walker.currentNode.parentElement.closest("a, code, pre, mjx-container, .term, summary")) texts.push(walker.currentNode);
    for (let text of texts) {
      for (let match; (match = pattern.exec(text.data)); ) {
        const row = known.get(match[0].toLowerCase());
        const rest = text.splitText(match.index + match[0].length);
        if (!seen.has(row[0])) {
          seen.add(row[0]);
          const term = make("span", { className: "term", tabIndex: 0, textContent: match[0] });
          term.setAttribute("aria-describedby", "tip");
          const open = () => {
            clearTimeout(leaving);
            explain(term, row);
          };
          for (const event of ["pointerenter", "focus", "click"]) term.addEventListener(event, open);
          term.addEventListener("pointerleave", later);
          term.addEventListener("blur", later);
          text.data = text.data.slice(0, match.index);
          text.after(term);
        }
        text = rest;
      }
    }
  }
}

// A comma or full stop stays on the line of the formula before it.
function keepTogether() {
  for (const formula of document.querySelectorAll("main mjx-container:not([display])")) {
    const after = formula.nextSibling;
    const mark = after?.nodeType === Node.TEXT_NODE && /^[.,;:!?)\]’”]+/.exec(after.data)?.[0];
    if (!mark) continue;
    after.data = after.data.slice(mark.length);
    const whole = make("span", { className: "set" });
    formula.before(whole);
    whole.append(formula, mark);
  }
}
addEventListener("load", () => (window.MathJax?.startup?.promise ?? Promise.resolve()).then(keepTogether).then(markTerms));

// Tables that do not fit are set smaller; those that still do not, show that there is more.
const fitTables = () => {
  for (const table of document.querySelectorAll("main table:not(.results, .sheet table)")) {
    table.classList.remove("tight", "wide");
    for (const name of ["tight", "wide"]) if (table.scrollWidth > table.clientWidth + 1) table.classList.add(name);
  }
};
addEventListener("load", fitTables);
addEventListener("resize", fitTables);

// A formula that does not fit is set smaller, down to what can still be read.
const fitFormulas = () => {
  for (const formula of document.querySelectorAll('main mjx-container[display="true"]')) {
    formula.style.fontSize = "";
    const size = parseFloat(getComputedStyle(formula).fontSize);
    const share = formula.clientWidth / formula.scrollWidth;
    if (share && share < 1) formula.style.fontSize = `${size * Math.max(0.65, 0.99 * share)}px`;
    formula.classList.toggle("wide", formula.scrollWidth > formula.clientWidth + 1);
  }
};
addEventListener("load", () => (window.MathJax?.startup?.promise ?? Promise.resolve()).then(fitFormulas));
addEventListener("resize", fitFormulas);

// ------------------------------------------------------------------ the page of results

const filters = document.querySelector(".filters");
if (filters) {
  const rows = [...document.querySelectorAll(".results > tbody > tr")];
  const shown = document.querySelector(".shown");
  const apply = () => {
    const wanted = [...filters.elements].filter((one) => one.value).map((one) => [one.name, one.value]);
    for (const row of rows) row.hidden = wanted.some(([name, value]) => row.dataset[name] !== value);
    shown.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
  };
  filters.addEventListener("input", apply);
  filters.addEventListener("submit", (event) => event.preventDefault());
  apply();
}
}
