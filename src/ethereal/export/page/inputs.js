// What the page of a report and the page of an export have in common: inputs, votes and the rules that apply.
// Every text that comes from data goes in as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
let model = new LiveModel(data.model); // the page of an export puts the compiled model in its place
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

// ---- live model ----
let x = data.start.slice();
const refreshers = []; // what shows the values of the inputs that are there
let showRow = () => {}; // what a page shows of a row beside its votes
function showAnswer() { if (number) showNumber(); else showVotes(); }
// What pushes the number up and down, and by how much.
function showNumber() {
  const fired = model.firing(x), sum = model.sums(x, fired)[0], value = model.value(sum);
  const row = data.rows[Number($("row-choice").value)], voteOf = j => data.model.votes[j]?.[0]?.[1] ?? 0;
  const isRow = row?.x.every((v, i) => v === x[i]), half = number.half_width;
  const interval = half === null ? "" : `, nine times of ten between ${valueText(value - half)} and ${valueText(value + half)}`;
  $("verdict").replaceChildren(`${className(0)}: `, make("strong", valueText(value)), interval, isRow && row.y !== undefined ? ` (true: ${valueText(row.y)})` : "");
  const own = fired.filter(j => voteOf(j)), total = side => own.reduce((a, j) => a + Math.max(0, side * voteOf(j)), 0);
  const ways = [["pushed up", total(1)], ["pushed down", -total(-1)]];
  if (number.linear) ways.push(["linear part", sum - total(1) + total(-1)]);
  const span = Math.max(1, ...ways.map(([, w]) => Math.abs(w)));
  $("votes").replaceChildren(...ways.map(([name, w]) => make("div", "", { class: "vote" }, make("span", name, { class: "label" }),
    make("span", "", { class: "track" }, make("span", "", { class: w < 0 ? "fill negative" : "fill", style: `left: ${w < 0 ? 50 * (1 + w / span) : 50}%; width: ${50 * Math.abs(w) / span}%` })), make("span", w ? amountText(w) : inUnit("0"), { class: "number" }))));
  $("fired-title").textContent = `${own.length} rules apply. Without any the answer is ${valueText(number.offset)}`;
  own.sort((a, b) => voteOf(b) - voteOf(a));
  const shown = own.length > 60 ? [...own.slice(0, 30), ...own.slice(-30)] : own;
  $("fired").replaceChildren(...shown.map(j => make("tr", "", {}, make("td", amountText(voteOf(j)), { class: `number ${voteOf(j) > 0 ? "for" : "against"}` }), make("td", data.model.rules[j], { class: "rule" }))));
  showRow(isRow ? row : null, own, j => Math.abs(voteOf(j)));
  hintAtScrolling();
}
function showVotes() {
  const fired = model.firing(x), sums = model.sums(x, fired), best = LiveModel.winner(sums);
  const span = Math.max(1, ...sums.map(Math.abs)), row = data.rows[Number($("row-choice").value)];
  const start = data.image_shape ? " (of an empty picture)" : ` (of ${data.start_is})`;
  const note = row?.x.every((v, i) => v === x[i]) && row.y !== undefined ? ` (true label: ${classText(row.y)})` : !row && data.start.every((v, i) => v === x[i]) ? start : "";
  const answer = model.answer(sums), doubt = answer === best ? "" : `, because ${classText(best)} leads by fewer than ${data.model.margin} votes`;
  $("verdict").replaceChildren("Prediction: ", make("strong", classText(answer)), doubt, note);
  $("votes").replaceChildren(...sums.map((s, c) => make("div", "", { class: c === best ? "vote winner" : "vote" }, make("span", classText(c), { class: "label", title: classText(c) }),
    make("span", "", { class: "track" }, make("span", "", { class: s < 0 ? "fill negative" : "fill", style: `left: ${s < 0 ? 50 * (1 + s / span) : 50}%; width: ${50 * Math.abs(s) / span}%` })), make("span", String(s), { class: "number" }))));
  const own = fired.filter(j => data.model.votes[j].some(([c]) => c === best));
  $("fired-title").textContent = `${fired.length} rules apply, ${own.length} of them vote on ${classText(best)}`;
  const voteOf = j => data.model.votes[j].find(([c]) => c === best)[1];
  own.sort((a, b) => voteOf(b) - voteOf(a));
  $("fired").replaceChildren(...own.slice(0, 60).map(j => make("tr", "", {}, make("td", signed(voteOf(j)), { class: `number ${voteOf(j) > 0 ? "for" : "against"}` }), make("td", data.model.rules[j], { class: "rule" }))));
  showRow(note && row ? row : null, own.filter(j => voteOf(j) > 0), voteOf);
  hintAtScrolling();
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
  const box = $("inputs");
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
  fillRows();
  const choice = $("row-choice"), select = i => { choice.value = i; take(i < 0 ? x : data.rows[i].x); };
  choice.addEventListener("input", () => select(Number(choice.value)));
  const step = by => { const n = data.rows.length; if (n) select((Number(choice.value) + n + (by < 0 && Number(choice.value) < 0 ? 0 : by)) % n); };
  $("row-next").addEventListener("click", () => step(1));
  $("row-previous").addEventListener("click", () => step(-1));
  $("row-clear").addEventListener("click", () => { choice.value = -1; take(data.start); });
  if (data.rows.length) select(0); else take(data.start);
}
// Shows other values.
function take(values) { x = values.slice(); refreshers.forEach(f => f()); showAnswer(); }
// The rows to choose from. One without a label says what it is predicted as.
function fillRows() {
  if (number) {
    $("row-choice").replaceChildren(make("option", "own values", { value: -1 }), ...data.rows.map((r, i) => make("option", `${i}: ${valueText(r.y ?? r.predicted)}`, { value: i })));
    return;
  }
  const mark = r => r.y === undefined || r.predicted === r.y ? "" : r.predicted < data.model.classes.length ? " (wrong)" : " (unknown)";
  $("row-choice").replaceChildren(make("option", "own values", { value: -1 }), ...data.rows.map((r, i) => make("option", `${i}: ${classText(r.y ?? r.predicted)}${mark(r)}`, { value: i })));
}
