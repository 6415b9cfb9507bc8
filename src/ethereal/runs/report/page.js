// Fills the page from the data in it. Every text that comes from data goes in as text, never as markup.
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
  if (!data.sizes.length) { $("size").hidden = true; return; }
  const ofBoard = data.sizes_are === "bytes of flash";
  $("size-title").textContent = `${number ? "R2" : "Accuracy"} against ${ofBoard ? "flash and instructions" : data.sizes_are}`;
  const draw = (id, name, what, xUnit) => lineChart($(id), { title: `${number ? "R2" : "Accuracy"} on ${data.rows_are} rows against ${what}. Higher and further left is better.`, xLabel: `${xUnit} (logarithmic)`, yLabel: number ? "R2" : "accuracy, %", yUnit: number ? "" : " %", series: data[name], dots: true, logX: true, xUnit, ring: data.this[name] });
  draw("size-chart", "sizes", ofBoard ? "flash, all code included" : `${data.sizes_are}, estimated`, data.sizes_are);
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

showRow = showWindow;
if (number) {
  $("live-note").textContent = "The model of the board runs in this page and gives the same number. Change the features and watch what the rules add.";
  $("votes").setAttribute("aria-label", "What pushes the number up and down");
}
showResults(); showSize(); showUnknown(); for (const name of ["search", "people", "teaching", "kernels"]) showTable(name); showPaper(); showHeader(); showConfusion(); showLiterals(); showExplorer(); showLive(); showUse();
hintAtScrolling();
addEventListener("resize", hintAtScrolling);
window.ethereal = { model, classSums: row => model.sums(row), predict: row => model.predict(row) };
