// Fills the page from the data in it. Every text that comes from data goes in as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const model = new LiveModel(data.model);
const $ = id => document.getElementById(id);
function make(name, text = "", attributes = {}, ...children) {
  const e = document.createElement(name);
  if (text !== "") e.textContent = text;
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...children);
  return e;
}
const signed = w => (w > 0 ? "+" : "−") + Math.abs(w);
const className = c => c < data.model.classes.length ? String(data.model.classes[c]) : "unknown";
// A label that is a number could be read as a figure, so it is called a class.
const classText = c => /^[+-]?[0-9.]+$/.test(className(c)) ? `class ${className(c)}` : className(c);
// A number and what votes add to it, in its unit.
const number = data.model.number;
const inUnit = text => number.unit ? `${text} ${number.unit}` : text;
const valueText = v => inUnit(v.toFixed(number.digits));
const amountText = w => inUnit(signed(Number((number.scale * w).toPrecision(4))));
const votesText = (c, w) => number ? amountText(w) : `${Math.abs(w)} ${Math.abs(w) === 1 ? "vote" : "votes"} ${w > 0 ? "for" : "against"} ${classText(c)}`;
function tableOf(columns, rows) {
  const table = make("table"), head = make("tr");
  columns.forEach((name, i) => head.append(make("th", name, i ? { class: "number", scope: "col" } : { scope: "col" })));
  table.append(make("thead", "", {}, head), make("tbody"));
  for (const row of rows) table.tBodies[0].append(make("tr", "", {}, ...row.map((v, i) => make(i ? "td" : "th", String(v), i ? { class: "number" } : { scope: "row" }))));
  return table;
}
// A table or list of which a part is out of sight says so.
function hintAtScrolling() {
  for (const box of document.querySelectorAll(".scroll, .sliders")) {
    const hint = box.nextElementSibling?.classList.contains("hint") ? box.nextElementSibling : make("p", "", { class: "hint quiet" });
    if (!hint.parentNode) box.after(hint);
    const wide = box.scrollWidth > box.clientWidth + 1, long = box.scrollHeight > box.clientHeight + 1;
    hint.textContent = wide ? `Scroll sideways ${long ? "and down " : ""}to see the rest. →` : "Scroll down to see the rest. ↓";
    hint.hidden = !wide && !long;
  }
}

function showHeader() {
  document.title = `${data.title} · ethereal`;
  $("title").textContent = data.title;
  $("subtitle").textContent = data.subtitle;
  $("command").textContent = data.command;
  for (const section of document.querySelectorAll("section[data-name]"))
    if (!section.hidden) $("contents").append(make("li", "", {}, make("a", section.dataset.name, { href: `#${section.id}` })));
  for (const [name, value] of Object.entries(data.facts)) $("facts").append(make("dt", name), make("dd", String(value)));
}

function showResults() {
  if (!data.table) { $("results").hidden = true; return; }
  $("results-table").append(tableOf(["", ...data.table.columns], data.table.rows));
  for (const note of data.table.notes) $("results-notes").append(make("li", note));
}

// What the paper counts, with figures where its machines were trained.
function showPaper() {
  for (const card of data.headline) {
    const list = make("dl");
    for (const [name, value] of card.others) list.append(make("dt", name), make("dd", value));
    $("cards").append(make("div", "", { class: "card" }, make("h3", card.label), make("div", card.value, { class: "value" }), list));
  }
  if (Object.keys(data.history).length) showTraining();
  if (!data.device) { $("device").hidden = true; return; }
  $("device-note").textContent = data.device.note;
  $("device-table").append(tableOf(data.device.columns, data.device.rows));
}

// A table with a note, in a section that is hidden without it.
function showTable(name) {
  if (!data[name]) { $(name).hidden = true; return; }
  $(`${name}-note`).textContent = data[name].note;
  $(`${name}-table`).append(tableOf(data[name].columns, data[name].rows));
}

function showTraining() {
  const names = Object.keys(data.history);
  const of = (name, phase, y) => data.history[name].filter(r => r.phase === phase && r[y] !== null).map(r => [r.epoch, y === "validation_accuracy" ? 100 * r[y] : r[y]]);
  const series = y => names.map(name => {
    const points = of(name, "train", y), kept = data.chosen[name];
    return { name, points, marks: of(name, "exclude", y), chosen: points.find(p => p[0] === kept) };
  });
  lineChart($("accuracy-chart"), { title: "Accuracy on validation rows over epochs.", xLabel: "epoch", yLabel: "validation accuracy, %", series: series("validation_accuracy"), markName: "right after an exclusion" });
  lineChart($("includes-chart"), { title: "Included literals per clause over epochs.", xLabel: "epoch", yLabel: "includes per clause", series: series("includes_per_clause"), markName: "right after an exclusion" });
}

function showSize() {
  if (number) $("size-title").textContent = "R2 against flash and instructions";
  if (!data.sizes.length) { $("size").hidden = true; return; }
  const draw = (id, name, what, xUnit) => lineChart($(id), { title: `${number ? "R2" : "Accuracy"} on ${data.rows_are} rows against ${what}. Higher and further left is better.`, xLabel: `${xUnit} (logarithmic)`, yLabel: number ? "R2" : "accuracy, %", yUnit: number ? "" : " %", series: data[name], dots: true, logX: true, xUnit, ring: data.this[name] });
  draw("size-chart", "sizes", "flash, all code included", "bytes of flash");
  if (data.speeds.length) draw("speed-chart", "speeds", "instructions of an average row, executed", "instructions");
}

function showUnknown() {
  if (!data.unknown) { $("unknown").hidden = true; return; }
  $("unknown-note").textContent = data.unknown.note;
  lineChart($("unknown-chart"), { title: "Accuracy of the answers against the share of rows that are answered, on groups that were left out of training.", xLabel: "rows answered, %", yLabel: "right answers, %", series: [{ name: "any margin", points: data.unknown.points }, { name: "the margin of this model", points: [data.unknown.chosen] }], dots: true, xUnit: "% answered" });
}

function showConfusion() {
  if (data.errors) { showErrors(); return; }
  const { counts } = data.confusion, n = counts.length;
  const sums = counts.map(row => row.reduce((a, b) => a + b, 0));
  const table = tableOf(["true class", "rows", "found", ...(counts[0] ?? []).map((_, c) => `as ${classText(c)}`)], []);
  counts.forEach((row, c) => {
    const total = sums[c], line = make("tr", "", {}, make("th", classText(c), { scope: "row" }), make("td", String(total), { class: "number" }));
    line.append(make("td", total ? `${(100 * row[c] / total).toFixed(1)} %` : "no rows", { class: "number" }));
    row.forEach((k, d) => line.append(make("td", k ? String(k) : "·", { class: "number", style: k ? `background: rgba(var(${c === d ? "--heat" : "--heat2"}), ${(0.08 + 0.6 * k / total).toFixed(2)})` : "", title: `${k} of ${total} rows of ${classText(c)} are predicted as ${classText(d)}` })));
    table.tBodies[0].append(line);
  });
  const all = sums.reduce((a, b) => a + b, 0), right = counts.reduce((a, row, c) => a + row[c], 0);
  $("confusion-note").textContent = `${right} of ${all} ${data.rows_are} rows are right. A line is a true class: how many of its rows are found (recall), and as what of the ${n} classes its rows are predicted.`;
  $("confusion-table").append(table);
}

// How often each class's clauses include each literal: maps for images, a ranking otherwise.
function showLiterals() {
  const view = $("literal-view"), shape = data.image_shape;
  if (!shape) {
    const box = make("div", "", { class: "ranked" });
    data.ranked.forEach((own, c) => {
      const list = make("ol");
      for (const [name, n, side] of own) list.append(make("li", "", {}, make("span", name), make("span", ` ×${n} ${number ? { for: "up", against: "down" }[side] : side}`, { class: side })));
      box.append(make("div", "", {}, make("h3", classText(c)), list));
    });
    const meaning = number ? "The conditions that most rules have. ×5 up: five rules with this condition push the number up." : "The conditions that most rules of a class have. ×5 for: five rules with this condition vote for the class.";
    view.append(make("p", meaning, { class: "quiet" }), box);
    return;
  }
  view.append(make("p", "How many clauses ask for a bright pixel (blue) or a dark one (orange): for each class on the left the clauses that vote for it, on the right those against it.", { class: "quiet" }));
  const maps = make("div", "", { class: "maps" });
  const style = getComputedStyle(document.documentElement), rgb = name => style.getPropertyValue(name).split(",").map(Number);
  const [bright, dark] = [rgb("--heat"), rgb("--heat2")], [h, w] = shape;
  data.heat.forEach((sides, c) => {
    const canvas = make("canvas", "", { width: 2 * w + 1, height: h, role: "img", "aria-label": `Literals of ${classText(c)}` });
    const context = canvas.getContext("2d"), most = Math.max(1, ...sides.flat(2));
    sides.forEach(([yes, no], side) => yes.forEach((n, i) => {
      const strong = n >= no[i] ? bright : dark, share = Math.max(n, no[i]) / most;
      context.fillStyle = `rgba(${strong}, ${share ? 0.12 + 0.88 * share : 0})`;
      context.fillRect(side * (w + 1) + i % w, Math.floor(i / w), 1, 1);
    }));
    maps.append(make("figure", "", {}, canvas, make("figcaption", classText(c))));
  });
  view.append(maps);
}

function votesCell(j) {
  const cell = make("td", "", { class: "votes" });
  data.model.votes[j].forEach(([c, w], i) => cell.append(i ? ", " : "", make("span", votesText(c, w), { class: w > 0 ? "for" : "against" })));
  return cell;
}

function showExplorer() {
  const page = 50, m = data.model;
  let shown = page;
  $("filter-class").parentNode.hidden = Boolean(number);
  $("filter-class").append(make("option", "all", { value: "" }), ...m.classes.map((_, c) => make("option", className(c), { value: c })));
  const length = j => m.offsets[j + 1] - m.offsets[j];
  const refresh = () => {
    const wanted = $("filter-class").value, polarity = $("filter-polarity").value, text = $("filter-text").value.toLowerCase();
    const least = Number($("filter-weight").value) || 1, order = $("filter-sort").value;
    const weight = j => Math.max(...m.votes[j].filter(([c]) => wanted === "" || c === Number(wanted)).map(([, w]) => Math.abs(w)), 0);
    const found = m.votes.map((_, j) => j).filter(j => length(j) > 0 &&
      m.votes[j].some(([c, w]) => (wanted === "" || c === Number(wanted)) && (!polarity || (w > 0) === (polarity === "+")) && Math.abs(w) >= least) &&
      (!text || m.rules[j].toLowerCase().includes(text)));
    const key = { weight: j => -weight(j), fires: j => -m.fires[j], length, clause: j => j }[order];
    found.sort((a, b) => key(a) - key(b) || a - b);
    const counted = number ? `A rule counts when all its conditions hold. The number is ${valueText(number.offset)} and what these rules add.` : "A rule votes when all its conditions hold. The class with the most votes wins.";
    $("clause-count").textContent = `${found.length} of ${m.votes.length} rules. ${counted}`;
    $("clause-rows").replaceChildren(...found.slice(0, shown).map(j => make("tr", "", { "data-clause": j }, make("td", String(j), { class: "number" }), votesCell(j),
      make("td", `${(100 * m.fires[j] / m.fires_of).toFixed(1)} %`, { class: "number", title: `${m.fires[j]} of ${m.fires_of} test rows` }), make("td", String(length(j)), { class: "number" }), make("td", m.rules[j], { class: "rule" }))));
    $("clause-more").hidden = found.length <= shown;
    hintAtScrolling();
  };
  for (const id of ["filter-class", "filter-polarity", "filter-weight", "filter-text", "filter-sort"]) $(id).addEventListener("input", () => { shown = page; refresh(); });
  $("filters").addEventListener("submit", e => e.preventDefault());
  $("clause-more").addEventListener("click", () => { shown += 4 * page; refresh(); });
  refresh();
}

// ---- live model ----
let x = data.start.slice();
function showAnswer() { if (number) showNumber(); else showVotes(); }
// What pushes the number up and down, and by how much.
function showNumber() {
  const fired = model.firing(x), sum = model.sums(x, fired)[0], value = model.value(sum);
  const row = data.rows[Number($("row-choice").value)], voteOf = j => data.model.votes[j]?.[0]?.[1] ?? 0;
  const isRow = row?.x.every((v, i) => v === x[i]), half = number.half_width;
  const interval = half === null ? "" : `, nine times of ten between ${valueText(value - half)} and ${valueText(value + half)}`;
  $("verdict").replaceChildren(`${className(0)}: `, make("strong", valueText(value)), interval, isRow ? ` (true: ${valueText(row.y)})` : "");
  const own = fired.filter(j => voteOf(j)), total = side => own.reduce((a, j) => a + Math.max(0, side * voteOf(j)), 0);
  const ways = [["pushed up", total(1)], ["pushed down", -total(-1)]], span = Math.max(1, ...ways.map(([, w]) => Math.abs(w)));
  $("votes").replaceChildren(...ways.map(([name, w]) => make("div", "", { class: "vote" }, make("span", name, { class: "label" }),
    make("span", "", { class: "track" }, make("span", "", { class: w < 0 ? "fill negative" : "fill", style: `left: ${w < 0 ? 50 * (1 + w / span) : 50}%; width: ${50 * Math.abs(w) / span}%` })), make("span", w ? amountText(w) : inUnit("0"), { class: "number" }))));
  $("fired-title").textContent = `${own.length} rules apply. Without any the answer is ${valueText(number.offset)}`;
  own.sort((a, b) => voteOf(b) - voteOf(a));
  const shown = own.length > 60 ? [...own.slice(0, 30), ...own.slice(-30)] : own;
  $("fired").replaceChildren(...shown.map(j => make("tr", "", {}, make("td", amountText(voteOf(j)), { class: `number ${voteOf(j) > 0 ? "for" : "against"}` }), make("td", data.model.rules[j], { class: "rule" }))));
  showWindow(isRow ? row : null, own, j => Math.abs(voteOf(j)));
  hintAtScrolling();
}
function showVotes() {
  const fired = model.firing(x), sums = model.sums(x, fired), best = LiveModel.winner(sums);
  const span = Math.max(1, ...sums.map(Math.abs)), row = data.rows[Number($("row-choice").value)];
  const start = data.image_shape ? " (of an empty picture)" : " (of the middle values of all features)";
  const note = row?.x.every((v, i) => v === x[i]) ? ` (true label: ${classText(row.y)})` : !row && data.start.every((v, i) => v === x[i]) ? start : "";
  const answer = model.answer(sums), doubt = answer === best ? "" : `, because ${classText(best)} leads by fewer than ${data.model.margin} votes`;
  $("verdict").replaceChildren("Prediction: ", make("strong", classText(answer)), doubt, note);
  $("votes").replaceChildren(...sums.map((s, c) => make("div", "", { class: c === best ? "vote winner" : "vote" }, make("span", classText(c), { class: "label", title: classText(c) }),
    make("span", "", { class: "track" }, make("span", "", { class: s < 0 ? "fill negative" : "fill", style: `left: ${s < 0 ? 50 * (1 + s / span) : 50}%; width: ${50 * Math.abs(s) / span}%` })), make("span", String(s), { class: "number" }))));
  const own = fired.filter(j => data.model.votes[j].some(([c]) => c === best));
  $("fired-title").textContent = `${fired.length} rules apply, ${own.length} of them vote on ${classText(best)}`;
  const voteOf = j => data.model.votes[j].find(([c]) => c === best)[1];
  own.sort((a, b) => voteOf(b) - voteOf(a));
  $("fired").replaceChildren(...own.slice(0, 60).map(j => make("tr", "", {}, make("td", signed(voteOf(j)), { class: `number ${voteOf(j) > 0 ? "for" : "against"}` }), make("td", data.model.rules[j], { class: "rule" }))));
  showWindow(note && row ? row : null, own.filter(j => voteOf(j) > 0), voteOf);
  hintAtScrolling();
}

// The raw window of a row, with the features marked that the rules for the answer look at.
function showWindow(row, rules, voteOf) {
  const figure = $("window-chart"), w = data.windows, samples = row && w?.samples[row.i];
  figure.replaceChildren();
  if (!samples) return;
  const votes = new Map(), features = data.model.features;
  for (const j of rules) for (const f of new Set(data.model.literals.slice(data.model.offsets[j], data.model.offsets[j + 1]).map(l => featureOf(l % data.model.n_booleans))))
    votes.set(f, (votes.get(f) ?? 0) + voteOf(j));
  const decided = [...votes].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([f]) => f);
  const axesOf = f => w.axes.filter(a => { const s = w.features[f][0]; return s === a || s.split("*").includes(a) || (s.startsWith("|") && a.startsWith(s.slice(1, -1))); });
  const used = new Set(decided.flatMap(axesOf)), time = k => k * w.every / (w.rate ?? 1);
  windowChart(figure, {
    xLabel: w.rate ? "seconds" : "samples", end: time(w.window / w.every),
    lines: w.axes.map((name, a) => ({ name, bold: used.has(name), points: samples[a].map((v, k) => [time(k), v]) })),
    levels: decided.filter(f => w.features[f][1] === "stats" && w.features[f][2] !== "range").map(f => ({ name: features[f].name, axis: w.axes.indexOf(w.features[f][0]), value: row.x[f] })).filter(l => l.axis >= 0),
    spans: decided.filter(f => w.features[f][1] === "parts").map(f => { const k = Number(w.features[f][2].slice(4)) - 1, one = Math.floor(w.window / 8) / w.every; return { name: features[f].name, from: time(k * one), to: time((k + 1) * one) }; }),
    title: decided.length ? `The window in counts. The rules for this answer look most at ${decided.map(f => features[f].name).join(", ")}. Axes that they read are thick.` : "The window in counts. No rule for this answer applies.",
  });
}
function featureOf(b) {
  let low = 0, high = data.model.features.length - 1;
  while (low < high) { const mid = (low + high + 1) >> 1; if (data.model.features[mid].first <= b) low = mid; else high = mid - 1; }
  return low;
}

function drawingGrid(refreshers) {
  const [h, w] = data.image_shape, top = Math.max(1, ...data.model.features.map(f => f.max));
  const canvas = make("canvas", "", { class: "draw", width: w, height: h, tabindex: 0, role: "application", "aria-label": "Drawing grid: arrow keys move, space paints, delete erases" });
  const context = canvas.getContext("2d");
  let at = [Math.floor(h / 2), Math.floor(w / 2)], focused = false;
  const paint = () => {
    x.forEach((v, i) => { const g = Math.round(255 * (v || 0) / top); context.fillStyle = `rgb(${g},${g},${g})`; context.fillRect(i % w, Math.floor(i / w), 1, 1); });
    if (focused) { context.fillStyle = "rgba(230,120,0,.6)"; context.fillRect(at[1], at[0], 1, 1); }
  };
  const put = (r, c, v) => { if (r >= 0 && r < h && c >= 0 && c < w) x[r * w + c] = v; };
  const brush = (r, c, erase) => { put(r, c, erase ? 0 : top); if (!erase && w > 12) for (const [dr, dc] of [[0, 1], [1, 0], [1, 1]]) put(r + dr, c + dc, top); };
  const pointer = e => {
    if (!(e.buttons & 3)) return;
    const box = canvas.getBoundingClientRect();
    brush(Math.floor((e.clientY - box.top) / box.height * h), Math.floor((e.clientX - box.left) / box.width * w), e.buttons === 2 || e.shiftKey);
    paint(); showAnswer();
    e.preventDefault();
  };
  canvas.addEventListener("pointerdown", pointer);
  canvas.addEventListener("pointermove", pointer);
  canvas.addEventListener("contextmenu", e => e.preventDefault());
  canvas.addEventListener("focus", () => { focused = canvas.matches(":focus-visible"); paint(); });
  canvas.addEventListener("blur", () => { focused = false; paint(); });
  canvas.addEventListener("keydown", e => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
    if (step) at = [(at[0] + step[0] + h) % h, (at[1] + step[1] + w) % w];
    else if (e.key === " ") put(...at, top);
    else if (e.key === "Delete" || e.key === "Backspace") put(...at, 0);
    else return;
    e.preventDefault(); focused = true; paint(); showAnswer();
  });
  refreshers.push(paint);
  return make("div", "", {}, canvas, make("p", "Draw with the pointer; right button or Shift erases.", { class: "quiet" }));
}

// A list of the names of a feature that is a category.
function choice(f, i, refreshers) {
  const list = make("select", "", { id: `f${i}` }, ...f.categories.map((name, k) => make("option", name, { value: k })));
  if (f.missing) list.append(make("option", "missing or another", { value: "" }));
  list.addEventListener("input", () => { x[i] = list.value === "" ? null : Number(list.value); showAnswer(); });
  refreshers.push(() => { list.value = x[i] === null ? "" : x[i]; });
  return make("div", "", { class: "slider" }, make("label", f.name, { class: "name", for: `f${i}` }), list);
}

// A value of a feature of windows as rules write it. FrontEnd.in_units does the same in Python.
function inUnits({ rule, divisor }, v) {
  if (rule === "plain") return v / divisor;
  if (rule === "log") return v === 0 ? 0 : Math.sign(v) * 2 ** ((Math.abs(v) - 8192) / 1024);
  const size = Math.abs(v), exponent = Math.max(0, Math.floor(size / 512) - 1);
  const sum = Math.sign(v) * (size < 1024 ? size : (size - 512 * exponent) * 2 ** exponent);
  return (rule === "root" ? Math.sqrt(Math.max(sum, 0)) : sum) / divisor;
}
const inUnitsText = (shown, v) => `${Number(inUnits(shown, v).toPrecision(shown.digits))}${shown.unit && ` ${shown.unit}`}`;
// A slider of a feature of windows shows the value in units. The board has it as a whole number.
function unitSlider(f, i, refreshers) {
  const name = make("label", f.name, { class: "name", for: `f${i}`, title: f.shown.words }), text = make("output", "", { for: `f${i}`, class: "number" });
  const range = make("input", "", { type: "range", id: `f${i}`, min: f.min, max: f.max, step: f.step });
  const set = v => { x[i] = v; range.value = v; text.textContent = inUnitsText(f.shown, v); text.title = `${v} on the board`; range.setAttribute("aria-valuetext", text.textContent); };
  range.addEventListener("input", () => { set(Number(range.value)); showAnswer(); });
  refreshers.push(() => set(x[i]));
  return make("div", "", { class: "slider" }, name, range, text);
}
// What the names of features of windows mean, one line for each that rules use.
function glossary() {
  const list = make("dl", "", { class: "terms" }), told = new Set();
  data.model.features.forEach((f, i) => {
    const kind = f.shown && data.windows ? data.windows.features[i][2] : null;
    if (!kind || !f.uses || told.has(kind)) return;
    told.add(kind);
    list.append(make("dt", f.name.includes(kind) ? kind : f.name), make("dd", f.shown.words));
  });
  return told.size ? make("details", "", { id: "glossary" }, make("summary", "What the names of the features mean"), list) : "";
}

function slider(f, i, refreshers) {
  if (f.categories.length) return choice(f, i, refreshers);
  if (f.shown) return unitSlider(f, i, refreshers);
  const box = make("div", "", { class: "slider" }), name = make("label", f.name, { class: "name", for: `f${i}` });
  const range = make("input", "", { type: "range", id: `f${i}`, min: f.min, max: f.max, step: f.step });
  const number = make("input", "", { type: "number", step: "any", "aria-label": `${f.name}, exact value` });
  const set = v => { x[i] = v; number.value = v === null ? "" : v; if (v !== null) range.value = v; };
  range.addEventListener("input", () => { set(Number(range.value)); showAnswer(); });
  number.addEventListener("input", () => { if (number.value !== "" || f.missing) { set(number.value === "" ? null : Number(number.value)); showAnswer(); } });
  refreshers.push(() => set(x[i]));
  if (f.missing) number.placeholder = "missing";
  box.append(name, range, number);
  return box;
}

function showLive() {
  const refreshers = [], box = $("inputs");
  if (data.image_shape) box.append(drawingGrid(refreshers));
  else {
    const search = make("input", "", { type: "search", placeholder: "find a feature", "aria-label": "Find a feature" }), list = make("div", "", { class: "sliders" });
    const order = data.model.features.map((_, i) => i).sort((a, b) => data.model.features[b].uses - data.model.features[a].uses);
    const fill = () => {
      refreshers.length = 0;
      const text = search.value.toLowerCase(), found = order.filter(i => data.model.features[i].name.toLowerCase().includes(text));
      list.replaceChildren(...found.slice(0, 40).map(i => slider(data.model.features[i], i, refreshers)));
      if (found.length > 40) list.append(make("p", `${found.length - 40} more, those that the rules use least: search by name.`, { class: "quiet" }));
      refreshers.forEach(f => f());
      hintAtScrolling();
    };
    search.addEventListener("input", fill);
    if (order.length > 12) box.append(make("div", "", { class: "bar" }, search));
    box.append(list, glossary());
    fill();
  }
  const choice = $("row-choice");
  const rowText = r => number ? valueText(r.y) : classText(r.y) + (r.predicted === r.y ? "" : r.predicted < data.model.classes.length ? " (wrong)" : " (unknown)");
  choice.append(make("option", "own values", { value: -1 }), ...data.rows.map((r, i) => make("option", `${i}: ${rowText(r)}`, { value: i })));
  const take = values => { x = values.slice(); refreshers.forEach(f => f()); showAnswer(); };
  const select = i => { choice.value = i; take(i < 0 ? x : data.rows[i].x); };
  choice.addEventListener("input", () => select(Number(choice.value)));
  const n = data.rows.length;
  $("row-next").addEventListener("click", () => n && select((Number(choice.value) + 1) % n));
  $("row-previous").addEventListener("click", () => n && select((Number(choice.value) + n - (Number(choice.value) < 0 ? 0 : 1)) % n));
  $("row-clear").addEventListener("click", () => { choice.value = -1; take(data.start); });
  if (n) select(0); else take(data.start);
}

function showUse() {
  for (const s of data.snippets) {
    const copy = make("button", "Copy", { type: "button" }), code = make("pre", s.code);
    copy.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(s.code); copy.textContent = "Copied"; } catch { getSelection().selectAllChildren(code); copy.textContent = "Selected"; }
      setTimeout(() => { copy.textContent = "Copy"; }, 1500);
    });
    $("snippets").append(make("h3", s.title), make("div", "", { class: "code" }, code, copy));
  }
}

if (number) {
  $("live-note").textContent = "The model of the board runs in this page and gives the same number. Change the features and watch what the rules add.";
  $("votes").setAttribute("aria-label", "What pushes the number up and down");
}
showResults(); showSize(); showUnknown(); for (const name of ["search", "people", "teaching", "kernels"]) showTable(name); showPaper(); showHeader(); showConfusion(); showLiterals(); showExplorer(); showLive(); showUse();
hintAtScrolling();
addEventListener("resize", hintAtScrolling);
window.ethereal = { model, classSums: row => model.sums(row), predict: row => model.predict(row) };
