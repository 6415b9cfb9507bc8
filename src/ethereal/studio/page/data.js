// Data
const data = { source: "", facts: null, roles: {} };

function reading() {
  return { decimal: byId("decimal").value, encoding: byId("encoding").value.trim(), header: byId("header").checked ? "" : "no" };
}

async function openProject(first) {
  const project = await ask("api/project");
  byId("folder").textContent = project.folder;
  byId("path").textContent = project.path;
  document.title = `${project.folder} – ethereal studio`;
  byId("source").replaceChildren(
    make("option", { value: "" }, project.sources.length ? "choose a table" : "no table yet"),
    ...project.sources.map(s => make("option", { value: s.name }, `${s.name} (${s.size})`)),
    ...project.recordings.map(r => make("option", { value: `${r.name}/` }, `${r.name}/ (${r.recordings} recordings)`)));
  byId("ports").replaceChildren(...project.ports.map(value => make("option", { value })));
  byId("abnormal").replaceChildren(make("option", { value: "" }, "nothing"), ...[...byId("source").options].slice(1).map(o => make("option", { value: o.value }, o.value)));
  showBoards(project.targets);
  const all = [...project.sources.map(s => s.name), ...project.recordings.map(r => `${r.name}/`)];
  const chosen = first || (all.length === 1 ? all[0] : "");
  byId("choose-source").hidden = !all.length;
  byId("ways").classList.toggle("small", !!all.length);
  byId("welcome").hidden = !!all.length;
  if (chosen) await openSource(chosen);
}
const isFolder = () => data.source.endsWith("/");
const openSource = name => (name.endsWith("/") ? openRecordings(name) : openTable(name));

let opened = 0;
async function openTable(name) {
  const turn = ++opened;
  byId("source").value = name;
  byId("table-note").textContent = `Reading ${name} …`;
  let facts;
  try {
    facts = await ask(`api/table${query({ source: name, ...reading() })}`);
  } catch (error) {
    if (turn === opened) byId("table-note").textContent = "";
    throw error;
  }
  if (turn !== opened) return;
  if (isFolder()) for (const id of ["window", "hop", "rate"]) byId(id).value = ""; // which were of recordings
  data.source = name;
  data.facts = facts;
  byId("recordings").hidden = true;
  byId("reading").hidden = !/\.(csv|tsv|tab|txt)$/i.test(name);
  giveRoles();
  const rows = `${facts.rows.toLocaleString("en")} rows${facts.whole ? "" : ", the first ones of more. A run reads all of them"}`;
  const more = facts.more_columns ? ` ${facts.more_columns} more columns are not shown.` : "";
  byId("table-note").textContent = `${name}: ${facts.columns.length} columns, ${rows}.${more} ${facts.note}`;
  byId("split-shown").replaceChildren();
  showColumns();
  guessTask();
  showChoices();
  changed();
}

const roleIn = (again, c) => (c.name === again.label ? "label" : c.name === again.group ? "group" : (again.drop || []).includes(c.name) || c.kind === "refused" ? "drop" : "feature");
// Roles as the last run of this table had them, or as the reader would give them.
function giveRoles(again = isArchive() ? null : runs.finished.find(r => r.again?.source === data.source && r.again.label)?.again) {
  data.isTouched = false;
  data.roles = {};
  for (const c of data.facts.columns) data.roles[c.name] = again ? roleIn(again, c) : c.name === data.facts.label && c.role !== "label" ? "label" : c.role;
}
// Runs may come after the table that they are of.
function rolesOfRuns() {
  if (!data.facts || data.isTouched) return;
  giveRoles();
  showColumns();
  guessTask();
  changed();
}

const isArchive = () => data.source.toLowerCase().endsWith(".npz");

function showColumns() {
  const box = byId("columns-box"), body = box.querySelector("tbody");
  box.hidden = !data.facts.columns.length;
  body.replaceChildren(...data.facts.columns.map(c => {
    const roles = make("select", { "aria-label": `Role of ${c.name}`, disabled: isArchive(), onchange: e => setRole(c.name, e.target.value) },
      ...[["feature", "feature"], ["label", "label"], ["group", "group (person, batch)"], ["drop", "not used"]].map(([value, text]) =>
        make("option", { value, selected: data.roles[c.name] === value, disabled: value === "feature" && c.kind === "refused" }, text)));
    const range = c.least === undefined ? "" : `${+c.least.toPrecision(5)} to ${+c.most.toPrecision(5)}`;
    return make("tr", { class: data.roles[c.name] === "drop" ? "dropped" : "", "data-role": data.roles[c.name] },
      make("th", { scope: "row" }, c.name), make("td", {}, roles), make("td", {}, c.kind === "refused" ? "not readable" : c.kind),
      make("td", { class: "number", "data-head": "missing" }, c.missing ? `${(100 * c.missing).toFixed(1)} %` : ""), make("td", { class: "number", "data-head": "different" }, c.different.toLocaleString("en")),
      make("td", {}, range), make("td", { class: "remark" }, c.remark));
  }));
}

function setRole(name, role) {
  for (const other of Object.keys(data.roles)) // one label, one group
    if (other !== name && (role === "label" || role === "group") && data.roles[other] === role) {
      const column = data.facts.columns.find(c => c.name === other);
      data.roles[other] = column.kind === "refused" ? "drop" : "feature";
    }
  data.roles[name] = role;
  data.isTouched = true;
  showColumns();
  if (role === "label") {
    guessTask();
    showLooks();
  }
  changed();
}
const withRole = role => Object.keys(data.roles).filter(name => data.roles[name] === role);

function showChoices() {
  const names = data.facts.columns.filter(c => c.kind !== "refused").map(c => c.name);
  const numbers = data.facts.columns.filter(c => c.kind === "number" && data.roles[c.name] !== "label").map(c => c.name);
  byId("looks").hidden = !names.length;
  for (const [id, list] of [["histogram-of", names], ["x-of", numbers], ["y-of", numbers]])
    byId(id).replaceChildren(...list.map(name => make("option", { value: name }, name)));
  if (numbers.length) byId("histogram-of").value = numbers[0];
  if (numbers.length > 1) byId("y-of").selectedIndex = 1;
  showLooks();
}
function showLooks() { shown(showHistogram()); shown(showPoints()); }

function legend(names) {
  return make("ul", { class: "legend" }, ...names.map((name, i) => make("li", {},
    svg("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" }, svg("rect", { width: 14, height: 14, fill: COLOURS[i % COLOURS.length] })), name)));
}

async function showHistogram() {
  const column = byId("histogram-of").value, source = data.source;
  if (!column) return byId("histogram").replaceChildren();
  const h = await ask(`api/histogram${query({ source, column, label: withRole("label")[0], ...reading() })}`, undefined, true);
  if (source !== data.source || column !== byId("histogram-of").value) return;
  const W = 560, H = 220, left = 44, bottom = 26, n = h.counts[0].length;
  const totals = h.counts[0].map((_, b) => h.counts.reduce((sum, of) => sum + of[b], 0)), most = Math.max(1, ...totals);
  const root = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `Histogram of ${column}` });
  const wide = (W - left) / n, y = v => (H - bottom) * (1 - v / most);
  for (let b = 0; b < n; b++) {
    let below = 0;
    h.counts.forEach((of, c) => {
      if (!of[b]) return;
      const bar = svg("rect", { x: left + b * wide + 0.5, width: Math.max(1, wide - 1), y: y(below + of[b]), height: Math.max(0.5, y(below) - y(below + of[b])), fill: COLOURS[c % COLOURS.length] });
      bar.append(svg("title", {}, `${h.kind === "number" ? `${h.heads[b]} to ${h.heads[b + 1]}` : h.heads[b]}, ${h.classes[c]}: ${of[b]} rows`));
      root.append(bar);
      below += of[b];
    });
  }
  root.append(svg("line", { class: "axis", x1: left, x2: W, y1: H - bottom, y2: H - bottom }), svg("text", { x: left - 4, y: 12, "text-anchor": "end" }, String(most)));
  const heads = h.kind === "number" ? [[left, "start", h.heads[0]], [W, "end", h.heads[n]]] : [[left, "start", h.heads[0] || ""], [W, "end", n > 1 ? h.heads[n - 1] : ""]];
  for (const [x, anchor, text] of heads) root.append(svg("text", { x, y: H - 8, "text-anchor": anchor }, String(text).slice(0, 30)));
  byId("histogram").replaceChildren(root, legend(h.classes));
}

async function showPoints() {
  const x = byId("x-of").value, y = byId("y-of").value, source = data.source;
  if (!x || !y) return byId("points").replaceChildren();
  const p = await ask(`api/points${query({ source, x, y, label: withRole("label")[0], ...reading() })}`, undefined, true);
  if (source !== data.source) return;
  const f = frame({ title: `${y} against ${x}`, xLabel: x, yLabel: y, xs: p.points.map(q => q[0]), ys: p.points.map(q => q[1]) });
  p.points.forEach((q, i) => f.root.append(svg("circle", { cx: f.X(q[0]).toFixed(1), cy: f.Y(q[1]).toFixed(1), r: 3, fill: COLOURS[p.of[i] % COLOURS.length], "fill-opacity": 0.6 })));
  byId("points").replaceChildren(f.root, legend(p.classes));
}

