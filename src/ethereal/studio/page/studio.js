
// The page asks the server, which asks `ethereal run`. What is shown is what the server said.
const byId = id => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token") || sessionStorage.getItem("ethereal-token") || "";
sessionStorage.setItem("ethereal-token", token); // of this tab, so that it can be loaded again
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7b4173", "#637939", "#843c39", "#3182bd", "#e6550d", "#888888"];

function make(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes)) {
    if (k === "onclick" || k === "onchange") e.addEventListener(k.slice(2), v);
    else if (v === true) e.setAttribute(k, "");
    else if (v !== false && v !== null) e.setAttribute(k, v);
  }
  e.append(...children);
  return e;
}
function svg(name, attributes = {}, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...children);
  return e;
}

function tell(text) {
  byId("trouble").textContent = text;
  byId("trouble").hidden = !text;
  if (text) byId("trouble").scrollIntoView({ block: "nearest" });
}
async function ask(path, body, quietly = false) {
  const options = { headers: { "x-ethereal-token": token } };
  if (body !== undefined) Object.assign(options, { method: "POST", body: body instanceof Blob ? body : JSON.stringify(body) });
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The studio does not answer. Start it again with the command `ethereal studio`. Runs go on without it.");
  }
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.trouble || "The studio could not answer.");
  if (!quietly) tell("");
  return said;
}
const shown = promise => promise.catch(error => tell(error.message));
const query = parts => `?${new URLSearchParams(Object.entries(parts).filter(([, v]) => v))}`;

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
  if (!byId("target").options.length) {
    for (const t of project.targets) byId("target").append(make("option", { value: t.name, "data-chip": `${t.chip}: ${t.flash / 1024} kB of flash, ${t.ram / 1024} kB of RAM, ${t.hertz / 1e6} MHz`, "data-hertz": t.hertz }, t.name));
    byId("target").value = "cortex-m7";
    showChip();
  }
  const all = [...project.sources.map(s => s.name), ...project.recordings.map(r => `${r.name}/`)];
  const chosen = first || (all.length === 1 ? all[0] : "");
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
  data.source = name;
  data.facts = facts;
  byId("recordings").hidden = true;
  data.roles = {};
  for (const c of facts.columns) data.roles[c.name] = c.name === facts.label && c.role !== "label" ? "label" : c.role;
  const rows = `${facts.rows.toLocaleString("en")} rows${facts.whole ? "" : ", the first ones of more. A run reads all of them"}`;
  const more = facts.more_columns ? ` ${facts.more_columns} more columns are not shown.` : "";
  byId("table-note").textContent = `${name}: ${facts.columns.length} columns, ${rows}.${more} ${facts.note}`;
  byId("split-shown").replaceChildren();
  showColumns();
  showChoices();
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
    return make("tr", { class: data.roles[c.name] === "drop" ? "dropped" : "" },
      make("th", { scope: "row" }, c.name), make("td", {}, roles), make("td", {}, c.kind === "refused" ? "not readable" : c.kind),
      make("td", { class: "number" }, c.missing ? `${(100 * c.missing).toFixed(1)} %` : ""), make("td", { class: "number" }, c.different.toLocaleString("en")),
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
  showColumns();
  if (role === "label") showLooks();
  changed();
}
const withRole = role => Object.keys(data.roles).filter(name => data.roles[name] === role);

function showChoices() {
  const names = data.facts.columns.filter(c => c.kind !== "refused").map(c => c.name);
  const numbers = data.facts.columns.filter(c => c.kind === "number" && data.roles[c.name] !== "label").map(c => c.name);
  byId("looks").hidden = !names.length;
  byId("split-bar").hidden = !names.length;
  for (const [id, list] of [["histogram-of", names], ["x-of", numbers], ["y-of", numbers]])
    byId(id).replaceChildren(...list.map(name => make("option", { value: name }, name)));
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

// Recordings
const signal = { name: "", shown: null, answers: null };

async function openRecordings(name) {
  const turn = ++opened;
  byId("source").value = name;
  const said = await ask(`api/recordings${query({ source: name.replace(/\/$/, "") })}`);
  if (turn !== opened) return;
  Object.assign(data, { source: name, facts: null, roles: {}, grouped: said.grouped });
  for (const id of ["columns-box", "looks"]) byId(id).hidden = true;
  byId("split-bar").hidden = byId("recordings").hidden = false;
  byId("windows").open = true;
  if (!byId("window").value) byId("window").value = 128;
  const labels = [...new Set(said.recordings.map(r => r.label))];
  byId("labels").replaceChildren(...labels.map(value => make("option", { value })));
  byId("table-note").textContent = `${name} ${said.recordings.length} recordings of ${labels.length} classes: ${labels.join(", ")}. ${said.grouped ? "Whole groups are kept for the test." : "Whole recordings are kept for the test."}`;
  byId("recording-rows").replaceChildren(...said.recordings.map(r => make("tr", { class: r.name === signal.name ? "chosen" : "" },
    make("th", { scope: "row" }, make("button", { onclick: () => shown(openSignal(r)) }, r.file)), make("td", {}, r.label), make("td", {}, r.group), make("td", { class: "number" }, r.size))));
  byId("split-shown").replaceChildren();
  changed();
}

async function openSignal(recording) {
  Object.assign(signal, { name: recording.name, answers: null });
  byId("signal-name").textContent = recording.name;
  byId("cut-label").value = recording.label;
  byId("cut-group").value = recording.group;
  const isSound = recording.name.toLowerCase().endsWith(".wav");
  byId("sound").hidden = !isSound;
  if (isSound) byId("sound").src = `sound/${recording.name.split("/").map(encodeURIComponent).join("/")}?token=${encodeURIComponent(token)}`;
  else byId("sound").removeAttribute("src");
  for (const row of byId("recording-rows").children) row.className = row.textContent.startsWith(recording.file) && recording.name.includes(row.children[1].textContent) ? "chosen" : "";
  await showSignal(0, 0);
  await showAnswers();
}

async function showSignal(first, end) {
  const s = await ask(`api/signal${query({ name: signal.name, first, end })}`, undefined, true);
  signal.shown = s;
  byId("signal-box").hidden = false;
  byId("cut-first").value = s.first;
  byId("cut-end").value = s.end;
  drawSignal();
}

// The curve of each axis: from the least to the largest sample of each step.
function curveOf(s, title) {
  const flat = [...s.low.flat(), ...s.high.flat()];
  const f = frame({ title, xLabel: s.rate ? `samples, ${s.rate} a second` : "samples", yLabel: "", xs: [s.first, s.end], ys: [Math.min(...flat), Math.max(...flat)] });
  s.low.forEach((low, axis) => {
    const there = s.at.map((x, i) => `${f.X(x).toFixed(1)} ${f.Y(s.high[axis][i]).toFixed(1)}`), back = s.at.map((x, i) => `${f.X(x).toFixed(1)} ${f.Y(low[i]).toFixed(1)}`).reverse();
    f.root.append(svg("path", { d: `M${there.join("L")}L${back.join("L")}Z`, fill: COLOURS[axis % COLOURS.length], stroke: COLOURS[axis % COLOURS.length], "stroke-width": 1, "fill-opacity": 0.5 }));
  });
  return f;
}

function drawSignal() {
  const s = signal.shown, f = curveOf(s, `Curve of ${signal.name}`), box = byId("signal");
  const names = [...new Set(signal.answers?.answers || [])];
  (signal.answers?.first || []).forEach((first, i) => {
    const [a, b] = [Math.max(first, s.first), Math.min(first + signal.answers.window, s.end)];
    if (b > a) f.root.append(svg("rect", { x: f.X(a), width: f.X(b) - f.X(a), y: 2, height: 8, "fill-opacity": 0.8, fill: COLOURS[(6 + names.indexOf(signal.answers.answers[i])) % COLOURS.length] }, svg("title", {}, `samples ${first} to ${first + signal.answers.window}: ${signal.answers.answers[i]}`)));
  });
  const mark = svg("rect", { class: "chosen", y: 12, height: 264, x: 0, width: 0 });
  f.root.append(mark);
  const show = () => {
    const [a, b] = [+byId("cut-first").value, +byId("cut-end").value].map(v => f.X(Math.min(Math.max(v, s.first), s.end)));
    mark.setAttribute("x", a);
    mark.setAttribute("width", Math.max(0, b - a));
  };
  for (const id of ["cut-first", "cut-end"]) byId(id).oninput = show;
  const place = e => { // the sample below the pointer
    const r = f.root.getBoundingClientRect(), x = (e.clientX - r.left) / r.width * 560, [x0, x1] = [f.X(s.first), f.X(s.end)];
    return Math.round(s.first + Math.min(1, Math.max(0, (x - x0) / (x1 - x0))) * (s.end - s.first));
  };
  let from = null;
  f.root.addEventListener("pointerdown", e => { from = place(e); f.root.setPointerCapture(e.pointerId); });
  f.root.addEventListener("pointermove", e => {
    if (from === null) return;
    const to = place(e);
    byId("cut-first").value = Math.min(from, to);
    byId("cut-end").value = Math.max(from, to);
    show();
  });
  f.root.addEventListener("pointerup", () => { from = null; });
  const second = byId("sound");
  second.ontimeupdate = null;
  if (s.rate) second.onplay = () => { if (+byId("cut-first").value > 0) second.currentTime = +byId("cut-first").value / s.rate; };
  if (s.rate) second.ontimeupdate = () => { if (second.currentTime * s.rate > +byId("cut-end").value) second.pause(); };
  box.replaceChildren(f.root, legend(s.axes));
  if (names.length) box.append(make("p", { class: "quiet" }, "Answers above the curve:"), make("ul", { class: "legend" }, ...names.map((name, i) => make("li", {}, svg("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" }, svg("rect", { width: 14, height: 14, fill: COLOURS[(6 + i) % COLOURS.length] })), name))));
}

async function showAnswers() {
  const run = byId("answer-of").value;
  signal.answers = run && signal.name ? await ask(`api/answers${query({ run, name: signal.name })}`) : null;
  if (signal.shown) drawSignal();
}

async function cutPart() {
  const asked = { name: signal.name, first: +byId("cut-first").value, end: +byId("cut-end").value, folder: data.source.replace(/\/$/, ""), label: byId("cut-label").value.trim(), group: byId("cut-group").value.trim() };
  const { name } = await ask("api/cut", asked);
  byId("cut-note").textContent = `Copied to ${name}.`;
  await openRecordings(data.source);
}

// Recording
let listening = null; // what ends it
function liveCurve(box, heard) {
  if (heard.samples.length < 2) return;
  const s = { first: heard.n_samples - heard.samples.length, end: heard.n_samples, rate: null, axes: heard.axes };
  const step = Math.max(1, Math.floor(heard.samples.length / 400)), steps = [];
  for (let i = 0; i < heard.samples.length; i += step) steps.push(heard.samples.slice(i, i + step));
  s.at = steps.map((_, i) => s.first + i * step);
  s.low = heard.axes.map((_, a) => steps.map(part => Math.min(...part.map(v => v[a]))));
  s.high = heard.axes.map((_, a) => steps.map(part => Math.max(...part.map(v => v[a]))));
  box.replaceChildren(curveOf(s, "Samples as they come").root, legend(heard.axes));
}

async function listen(asked, box, note, buttons, each) {
  await ask("api/listen", asked);
  const [begin, end] = buttons;
  begin.disabled = true;
  end.disabled = false;
  listening = () => ask("api/unlisten", {}).then(finish);
  const finish = heard => {
    clearInterval(timer);
    begin.disabled = false;
    end.disabled = true;
    listening = null;
    note.textContent = [heard.kept ? `Kept as ${heard.kept}.` : "", heard.trouble].join(" ").trim();
    if (heard.kept) shown(openProject(`${asked.folder}/`));
  };
  const timer = setInterval(async () => {
    try {
      const heard = await ask("api/heard", undefined, true);
      if (!heard.listening) return finish(heard);
      liveCurve(box, heard);
      each(heard);
    } catch (error) {
      tell(error.message);
    }
  }, 250);
}

const recordTo = () => ({ folder: byId("record-folder").value.trim(), label: byId("record-label").value.trim(), group: byId("record-group").value.trim() });
async function recordBoard() {
  const note = byId("record-note");
  await listen({ port: byId("port").value.trim(), ...recordTo() }, byId("live-signal"), note, [byId("listen"), byId("stop")],
    heard => { note.textContent = `${heard.n_samples.toLocaleString("en")} samples. ${heard.trouble}`; });
}

// The microphone gives numbers from -1 to 1, and a wav file has 16 bits.
function wavOf(parts, rate) {
  const n = parts.reduce((sum, part) => sum + part.length, 0), view = new DataView(new ArrayBuffer(44 + 2 * n));
  const text = (at, letters) => [...letters].forEach((c, i) => view.setUint8(at + i, c.charCodeAt(0)));
  text(0, "RIFF"); view.setUint32(4, 36 + 2 * n, true); text(8, "WAVEfmt "); view.setUint32(16, 16, true);
  view.setUint16(20, 1, true); view.setUint16(22, 1, true); view.setUint32(24, rate, true); view.setUint32(28, 2 * rate, true);
  view.setUint16(32, 2, true); view.setUint16(34, 16, true); text(36, "data"); view.setUint32(40, 2 * n, true);
  let at = 44;
  for (const part of parts) for (const v of part) { view.setInt16(at, Math.max(-32768, Math.min(32767, Math.round(v * 32767))), true); at += 2; }
  return new Blob([view.buffer], { type: "audio/wav" });
}

async function recordMicrophone() {
  const where = recordTo(), note = byId("record-note");
  if (!where.label) throw new Error("Name the class that you record.");
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } }).catch(error => { throw new Error(`The microphone cannot be used: ${error.message}`); });
  const context = new AudioContext({ sampleRate: 16000 }), source = context.createMediaStreamSource(stream), tap = context.createScriptProcessor(4096, 1, 1), parts = [];
  tap.onaudioprocess = e => {
    const part = e.inputBuffer.getChannelData(0).slice();
    parts.push(part);
    note.textContent = `${(parts.length * 4096 / 16000).toFixed(1)} s`;
    liveCurve(byId("live-signal"), { samples: [...part].map(v => [Math.round(v * 32767)]), n_samples: parts.length * 4096, axes: ["sound"] });
  };
  source.connect(tap);
  tap.connect(context.destination);
  byId("hear").disabled = true;
  byId("stop").disabled = false;
  listening = async () => {
    listening = null;
    tap.disconnect();
    for (const track of stream.getTracks()) track.stop();
    await context.close();
    byId("hear").disabled = false;
    byId("stop").disabled = true;
    const name = `${new Date().toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-")}.wav`;
    const said = await ask(`api/upload${query({ name, ...where })}`, wavOf(parts, 16000));
    note.textContent = `Kept as ${said.name}.`;
    await openProject(`${where.folder}/`);
  };
}

async function liveAnswers() {
  const run = byId("live-run").value;
  if (!run) throw new Error("Choose a finished run of recordings.");
  await listen({ port: byId("live-port").value.trim(), run }, byId("live-curve"), byId("live-answer"), [byId("live-start"), byId("live-stop")], heard => {
    const sums = Object.entries(heard.sums || {}).toSorted((a, b) => b[1] - a[1]).slice(0, 4).map(([name, votes]) => `${name} ${votes}`);
    byId("live-answer").textContent = heard.answer ? `${heard.answer}   (${sums.join(", ")} votes)` : `${heard.n_samples} samples, waiting for a whole window. ${heard.trouble}`;
  });
}

// Charts
function ticks(low, high, about = 5) {
  const raw = (high - low || 1) / about, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(k => k * power).find(s => s >= raw), list = [];
  for (let t = Math.ceil(low / step) * step; t <= high + step * 1e-6; t += step) list.push(+t.toPrecision(12));
  return list;
}
const brief = v => (Math.abs(v) >= 1e4 ? `${+(v / 1000).toPrecision(3)}k` : `${+v.toPrecision(4)}`);
function frame({ title, xLabel, yLabel, xs, ys, logX = false }) {
  const W = 560, H = 320, left = 56, right = 14, top = 12, bottom = 44;
  let [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  if (!xs.length) [x0, x1, y0, y1] = [1, 2, 0, 1];
  const pad = (y1 - y0) * 0.06 || 1;
  y0 -= pad; y1 += pad;
  if (logX) { x0 *= 0.8; x1 *= 1.25; } else if (x0 === x1) { x0 -= 1; x1 += 1; }
  const fx = logX ? Math.log10 : v => v;
  const X = v => left + (fx(v) - fx(x0)) / (fx(x1) - fx(x0)) * (W - left - right);
  const Y = v => H - bottom - (v - y0) / (y1 - y0) * (H - top - bottom);
  const root = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": title });
  for (const t of ticks(y0, y1)) root.append(svg("line", { class: "grid", x1: left, x2: W - right, y1: Y(t), y2: Y(t) }), svg("text", { x: left - 6, y: Y(t) + 4, "text-anchor": "end" }, brief(t)));
  const marks = [];
  for (let p = Math.floor(fx(x0)); logX && p <= Math.ceil(fx(x1)); p++) for (const k of [1, 2, 5]) if (k * 10 ** p >= x0 && k * 10 ** p <= x1) marks.push(k * 10 ** p);
  for (const t of logX ? marks : ticks(x0, x1, 6)) root.append(svg("text", { x: X(t), y: H - bottom + 18, "text-anchor": "middle" }, brief(t)));
  root.append(svg("line", { class: "axis", x1: left, x2: W - right, y1: H - bottom, y2: H - bottom }),
    svg("text", { x: (left + W - right) / 2, y: H - 6, "text-anchor": "middle" }, String(xLabel).slice(0, 40)),
    svg("text", { x: 12, y: (top + H - bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(top + H - bottom) / 2})` }, String(yLabel).slice(0, 40)));
  return { root, X, Y };
}

// Goal
const flashOf = step => (step >= 40 ? null : Math.round(200 * 1.18 ** step / 10) * 10);
const microsOf = step => (step >= 40 ? null : +(0.2 * 1.28 ** step).toPrecision(2));
const hertz = () => +byId("target").selectedOptions[0]?.dataset.hertz || 1;
// Until a run has measured it, an instruction is taken for 1.3 cycles.
const secondsPerInstruction = () => lastRun()?.seconds_per_instruction && lastRun().target === byId("target").value ? lastRun().seconds_per_instruction : 1.3 / hertz();
const instructionsOf = step => (microsOf(step) === null ? null : Math.max(1, Math.floor(microsOf(step) * 1e-6 / secondsPerInstruction())));
function showChip() { byId("chip").textContent = byId("target").selectedOptions[0]?.dataset.chip || ""; }

function asked() {
  const flash = flashOf(+byId("flash-slider").value), instructions = instructionsOf(+byId("time-slider").value);
  const goal = { source: data.source.replace(/\/$/, ""), target: byId("target").value, seed: +byId("seed").value || 0, quick: byId("quick").checked, balanced: byId("balanced").checked };
  if (isFolder() && data.grouped) goal.group = "person";
  if (!isArchive() && !isFolder()) Object.assign(goal, { label: withRole("label")[0] || "", group: withRole("group")[0] || "", drop: withRole("drop") });
  if (flash !== null) goal.flash = String(flash);
  if (instructions !== null) goal.instructions = String(instructions);
  if (!byId("header").checked) goal.header = false;
  if (byId("encoding").value.trim()) goal.encoding = byId("encoding").value.trim();
  if (byId("decimal").value !== ".") goal.decimal = byId("decimal").value;
  for (const name of ["window", "hop", "rate"]) if (byId(name).value) goal[name] = +byId(name).value;
  return goal;
}

let asks = 0;
function changed() {
  byId("flash-out").textContent = bytesText(flashOf(+byId("flash-slider").value));
  const micros = microsOf(+byId("time-slider").value), instructions = instructionsOf(+byId("time-slider").value);
  byId("time-out").textContent = micros === null ? "no bound" : `${micros} µs, ${instructions.toLocaleString("en")} instructions`;
  const wanted = +byId("accuracy-slider").value;
  byId("accuracy-out").textContent = wanted > 50 ? `${wanted} %` : "any";
  promise(wanted / 100);
  const turn = ++asks;
  byId("start").disabled = true;
  if (!data.source) {
    byId("command").textContent = "Choose a table first.";
    return;
  }
  setTimeout(async () => {
    if (turn !== asks) return;
    try {
      const { command } = await ask("api/command", asked(), true);
      if (turn !== asks) return;
      byId("command").textContent = command;
      byId("start").disabled = false;
    } catch (error) {
      if (turn === asks) byId("command").textContent = error.message;
    }
  }, 150);
}
const bytesText = n => (n === null || n === undefined ? "no bound" : n < 1024 ? `${n} bytes` : `${(n / 1024).toFixed(1)} kB`);

// What the curve of the last run gives within the sliders.
function promise(wanted) {
  const run = lastRun(), flash = flashOf(+byId("flash-slider").value) ?? Infinity, most = instructionsOf(+byId("time-slider").value) ?? Infinity;
  if (!run?.curve.length) {
    byId("promise").textContent = "";
    return;
  }
  const inside = run.curve.filter(([bytes, , instructions]) => bytes <= flash && (instructions ?? 0) <= most);
  const best = inside.toSorted((a, b) => b[1] - a[1])[0], small = inside.filter(p => p[1] >= wanted).toSorted((a, b) => a[0] - b[0])[0];
  const say = ([bytes, accuracy, n]) => `${(100 * accuracy).toFixed(1)} % in ${bytesText(bytes)}${n === null ? "" : ` and ${Math.round(n).toLocaleString("en")} instructions`}`;
  byId("promise").textContent = !best ? `No model on the curve of ${run.name} is within these bounds.`
    : wanted > 0.5 ? (small ? `On the curve of ${run.name}, the smallest model of at least ${(100 * wanted).toFixed(1)} % has ${say(small)}.` : `On the curve of ${run.name}, no model within these bounds reaches ${(100 * wanted).toFixed(1)} %. The best has ${say(best)}.`)
      : `On the curve of ${run.name}, the best model within these bounds has ${say(best)}.`;
}

async function startRun() {
  byId("start").disabled = true;
  byId("start-note").textContent = "Starting …";
  try {
    await ask("api/start", asked());
    byId("start-note").textContent = "The run has begun. It goes on when this page is closed.";
    await showRuns();
    byId("runs").scrollIntoView();
  } catch (error) {
    byId("start-note").textContent = error.message;
  }
  byId("start").disabled = false;
}

// Runs
const runs = { begun: [], finished: [], chosen: new Set(), text: "" };
const lastRun = () => runs.finished.find(r => r.curve && r.again.source === data.source) || runs.finished.find(r => r.curve);

async function showRuns() {
  const said = await ask("api/runs", undefined, true), text = JSON.stringify(said);
  if (text === runs.text) return;
  Object.assign(runs, said, { text });
  byId("begun").replaceChildren(...runs.begun.map(begunCard));
  byId("finished").replaceChildren(...(runs.finished.length || runs.begun.length ? runs.finished.map(finishedCard) : [make("p", { class: "quiet" }, "No run yet.")]));
  showCompared();
  promise(+byId("accuracy-slider").value / 100);
  const ofWindows = runs.finished.filter(r => r.windows);
  for (const [id, none] of [["live-run", "no model of windows yet"], ["answer-of", "no model"]]) {
    const kept = byId(id).value;
    byId(id).replaceChildren(...(id === "answer-of" || !ofWindows.length ? [make("option", { value: "" }, none)] : []), ...ofWindows.map(r => make("option", { value: r.name }, r.name)));
    if (ofWindows.some(r => r.name === kept)) byId(id).value = kept;
  }
}

function begunCard(job) {
  const now = job.stages.find(s => !s.done), seconds = Math.max(0, Math.round(Date.now() / 1000 - job.begun));
  const states = { running: `running for ${seconds} s`, failed: "failed", cancelled: "cancelled", interrupted: "interrupted" };
  const buttons = [job.state === "running"
    ? make("button", { onclick: () => shown(ask("api/cancel", { job: job.job }).then(showRuns)) }, "Cancel")
    : make("button", { onclick: () => shown(ask("api/start", job.again).then(showRuns)) }, job.state === "failed" ? "Try again" : "Continue")];
  return make("div", { class: "run" },
    make("h3", {}, job.words.slice(2).join(" ")), make("p", {}, states[job.state]),
    make("ol", { "aria-label": "Stages" }, ...job.stages.map(s => make("li", { class: s.done ? "done" : s === now && job.state === "running" ? "now" : "" }, `${s.done ? "✓ " : ""}${s.name}`))),
    job.state === "running" && job.stages.length ? make("progress", { max: job.stages.length, value: job.stages.filter(s => s.done).length, "aria-label": "Stages done" }) : "",
    job.state === "failed" ? make("p", { class: "trouble" }, job.trouble) : make("pre", { tabindex: 0, "aria-label": "What the run says" }, job.lines.join("\n")),
    make("div", { class: "bar" }, ...buttons));
}

function finishedCard(run) {
  if (run.trouble) return make("div", { class: "run" }, make("h3", {}, run.name), make("p", { class: "trouble" }, run.trouble));
  const figures = run.rows.slice(0, 6).map(([name, own]) => make("span", {}, `${name} ${own}`));
  const box = make("input", { type: "checkbox", checked: runs.chosen.has(run.name), "aria-label": `Compare ${run.name}`, onchange: e => { e.target.checked ? runs.chosen.add(run.name) : runs.chosen.delete(run.name); showCompared(); } });
  const links = run.parts.map(part => link(run.name, part, { c: "C", arduino: "Arduino", micropython: "MicroPython", model: "model.etm" }[part]));
  return make("div", { class: "run" },
    make("h3", {}, make("label", {}, box, ` ${run.name}`)), make("p", { class: "quiet" }, `${run.date}  ${run.command}`),
    make("div", { class: "figures" }, ...figures),
    make("div", { class: "bar" }, make("button", { onclick: () => openReport(run.name) }, "Open the model"), make("button", { onclick: () => takeGoal(run.again) }, "Take its goal"), ...links, link(run.name, "all", "everything")),
    make("details", {}, make("summary", {}, "Notes, and two lines for the firmware"), make("ul", {}, ...run.notes.map(n => make("li", {}, n))), make("pre", {}, '#include "model.h"\n\nunsigned label = model_predict(features);')));
}
const link = (name, part, text) => make("a", { href: `runs/${encodeURIComponent(name)}/${part}.zip?token=${encodeURIComponent(token)}`, download: true }, `${text} (zip)`);

function openReport(name) {
  byId("report").src = `runs/${encodeURIComponent(name)}/report.html?token=${encodeURIComponent(token)}`;
  byId("report").hidden = false;
  byId("try-note").textContent = `The report of ${name}. The model runs in it, and gives the answers of the board.`;
  byId("try").scrollIntoView();
}

// Sets sliders and boxes to what a run was asked for, as near as they go.
function takeGoal(again) {
  shown((async () => {
    byId("header").checked = again.header !== false;
    byId("encoding").value = again.encoding || "";
    byId("decimal").value = again.decimal || ".";
    if (again.source) await openSource(again.source.includes(".") ? again.source : `${again.source}/`);
    for (const c of data.facts?.columns || []) {
      const role = c.name === again.label ? "label" : c.name === again.group ? "group" : (again.drop || []).includes(c.name) ? "drop" : c.kind === "refused" ? "drop" : "feature";
      data.roles[c.name] = isArchive() ? c.role : role;
    }
    if (again.target) byId("target").value = again.target;
    const nearest = (of, wanted) => (wanted === undefined ? 40 : Array.from({ length: 40 }, (_, i) => i).filter(i => of(i) <= +wanted).at(-1) ?? 0);
    byId("flash-slider").value = nearest(flashOf, again.flash);
    byId("time-slider").value = nearest(instructionsOf, again.instructions);
    byId("seed").value = again.seed || 0;
    byId("quick").checked = !!again.quick;
    byId("balanced").checked = !!again.balanced;
    for (const name of ["window", "hop", "rate"]) byId(name).value = again[name] ?? "";
    showChip();
    if (data.facts) { showColumns(); showLooks(); }
    changed();
    byId("goal").scrollIntoView();
  })());
}

function showCompared() {
  const chosen = runs.finished.filter(r => runs.chosen.has(r.name) && r.rows), box = byId("compare-box");
  box.hidden = chosen.length < 2;
  byId("compare-note").hidden = chosen.length >= 2;
  const names = [...new Set(chosen.flatMap(r => r.rows.map(row => row[0])))];
  byId("compare-table").replaceChildren(
    make("thead", {}, make("tr", {}, make("td", {}), ...chosen.map(r => make("th", { scope: "col" }, r.name)))),
    make("tbody", {}, ...names.map(name => make("tr", {}, make("th", { scope: "row" }, name), ...chosen.map(r => make("td", {}, r.rows.find(row => row[0] === name)?.[1] ?? "")))),
      make("tr", {}, make("th", { scope: "row" }, "command"), ...chosen.map(r => make("td", {}, r.command)))));
  const series = chosen.filter(r => r.curve.length), all = series.flatMap(r => r.curve);
  if (!all.length) return byId("curve").replaceChildren();
  const f = frame({ title: "Accuracy against flash", xLabel: "flash in bytes", yLabel: "accuracy on test rows in %", xs: all.map(p => p[0]), ys: all.map(p => 100 * p[1]), logX: true });
  series.forEach((r, i) => {
    const points = r.curve.toSorted((a, b) => a[0] - b[0]), colour = COLOURS[i % COLOURS.length];
    f.root.append(svg("path", { d: points.map((p, k) => `${k ? "L" : "M"}${f.X(p[0]).toFixed(1)} ${f.Y(100 * p[1]).toFixed(1)}`).join(""), fill: "none", stroke: colour, "stroke-width": 2 }));
    for (const p of points) f.root.append(svg("circle", { cx: f.X(p[0]), cy: f.Y(100 * p[1]), r: 4, fill: colour }, svg("title", {}, `${r.name}: ${(100 * p[1]).toFixed(1)} % in ${bytesText(p[0])}`)));
  });
  byId("curve").replaceChildren(f.root, legend(series.map(r => r.name)));
}

// Files
async function upload(file) {
  const bar = byId("uploading");
  bar.hidden = false;
  try {
    const said = await new Promise((done, failed) => { // which knows how far it is
      const request = new XMLHttpRequest();
      request.open("POST", `api/upload${query({ name: file.name })}`);
      request.setRequestHeader("x-ethereal-token", token);
      request.upload.addEventListener("progress", e => { bar.value = e.loaded / (e.total || 1); });
      request.addEventListener("load", () => done(JSON.parse(request.responseText)));
      request.addEventListener("error", () => failed(new Error("The file could not be copied. Is the studio still there?")));
      request.send(file);
    });
    if (said.trouble) throw new Error(said.trouble);
    tell("");
    await openProject(said.name);
  } finally {
    bar.hidden = true;
    byId("file").value = "";
  }
}

async function showSplit() {
  const s = await ask("api/split", asked());
  const groups = s.tested.length ? [make("p", {}, `In the test: ${s.tested.join(", ")}.`), make("p", { class: "quiet" }, `Learned from: ${s.learned.join(", ")}.`)] : [];
  byId("split-shown").replaceChildren(make("p", {}, `Test rows are ${s.how}. They choose nothing.`), ...groups,
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Rows of each class" }, make("table", {},
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "class"), make("th", { scope: "col", class: "number" }, "to learn from"), make("th", { scope: "col", class: "number" }, "test"))),
      make("tbody", {}, ...s.classes.map(c => make("tr", {}, make("th", { scope: "row" }, c.label), make("td", { class: "number" }, c.learn.toLocaleString("en")), make("td", { class: "number" }, c.test.toLocaleString("en"))))))));
}

const drop = byId("drop");
for (const kind of ["dragenter", "dragover"]) drop.addEventListener(kind, e => { e.preventDefault(); drop.classList.add("over"); });
for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over"));
drop.addEventListener("drop", e => { e.preventDefault(); if (e.dataTransfer.files[0]) shown(upload(e.dataTransfer.files[0])); });
byId("file").addEventListener("change", e => e.target.files[0] && shown(upload(e.target.files[0])));
byId("source").addEventListener("change", e => e.target.value && shown(openSource(e.target.value)));
byId("take").addEventListener("click", () => byId("place").value.trim() && shown(openSource(byId("place").value.trim())));
byId("reread").addEventListener("click", () => data.source && shown(openSource(data.source)));
byId("zoom").addEventListener("click", () => shown(showSignal(+byId("cut-first").value, +byId("cut-end").value)));
byId("whole").addEventListener("click", () => shown(showSignal(0, 0)));
byId("cut").addEventListener("click", () => shown(cutPart()));
byId("answer-of").addEventListener("change", () => shown(showAnswers()));
byId("listen").addEventListener("click", () => shown(recordBoard()));
byId("hear").addEventListener("click", () => shown(recordMicrophone()));
byId("live-start").addEventListener("click", () => shown(liveAnswers()));
for (const id of ["stop", "live-stop"]) byId(id).addEventListener("click", () => listening && shown(listening()));
byId("histogram-of").addEventListener("change", () => shown(showHistogram()));
for (const id of ["x-of", "y-of"]) byId(id).addEventListener("change", () => shown(showPoints()));
byId("split").addEventListener("click", () => shown(showSplit()));
for (const id of ["flash-slider", "time-slider", "accuracy-slider", "seed", "window", "hop", "rate"]) byId(id).addEventListener("input", changed);
for (const id of ["quick", "balanced", "header", "decimal", "encoding"]) byId(id).addEventListener("change", changed);
byId("target").addEventListener("change", () => { showChip(); changed(); });
byId("start").addEventListener("click", () => shown(startRun()));

let failures = 0;
async function watch() { // again and again, slower while nothing runs or nobody answers
  try {
    await showRuns();
    if (failures) tell("");
    failures = 0;
  } catch (error) {
    if (++failures === 2) tell(error.message);
  }
  setTimeout(watch, failures ? 5000 : runs.begun.some(j => j.state === "running") ? 1000 : 4000);
}
shown(openProject());
watch();
