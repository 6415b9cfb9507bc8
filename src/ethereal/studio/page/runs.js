// Runs
const runs = { begun: [], finished: [], chosen: new Set(), text: "" };
const lastRun = () => runs.finished.find(r => r.curve?.length && r.again.source === data.source.replace(/\/$/, "")) || (data.source ? null : runs.finished.find(r => r.curve?.length));
const TAKEN = { c: "C", arduino: "Arduino", micropython: "MicroPython", verilog: "Verilog", model: "model.etm", zephyr: "Zephyr", esp_idf: "ESP-IDF", stm32f746g_disco: "STM32", cmsis_pack: "CMSIS pack", web: "Web page" };

async function showRuns() {
  const said = await ask("api/runs", undefined, true), { now, ...rest } = said, text = JSON.stringify(rest);
  for (const job of said.begun) if (job.state === "running") showClock(job, now);
  if (text === runs.text) return;
  const isNew = said.finished.length !== runs.finished.length;
  Object.assign(runs, said, { text });
  byId("begun").replaceChildren(...runs.begun.map(job => begunCard(job, now)));
  const none = make("p", { class: "empty" }, "No run yet. A run learns, prunes the model to the board, measures its C there, and compares it with a forest.");
  if (isNew || !runs.finished.length) byId("finished").replaceChildren(...(runs.finished.length || runs.begun.length ? runs.finished.map(finishedCard) : [none]));
  showCompared();
  if (isNew) rolesOfRuns();
  if (isNew) promise();
  const ofWindows = runs.finished.filter(r => r.windows && r.kind === "class");
  byId("live").hidden = !ofWindows.length;
  for (const [id, none] of [["live-run", "no model of windows yet"], ["answer-of", "no model"]]) {
    const kept = byId(id).value;
    byId(id).replaceChildren(...(id === "answer-of" || !ofWindows.length ? [make("option", { value: "" }, none)] : []), ...ofWindows.map(r => make("option", { value: r.name }, r.name)));
    if (ofWindows.some(r => r.name === kept)) byId(id).value = kept;
  }
}

const STAGES = { kernels: "Choose features", learn: "Learn", prune: "Prune", forest: "Forest", board: "Board", facts: "Report", normal: "Learn what is normal" };
const timeText = s => (s < 90 ? `${Math.max(1, Math.round(s))} s` : `${Math.round(s / 60)} min`);
function leftText(job, now) {
  const p = job.progress, gone = p ? now - p.since : 0;
  return p && p.share > 0.08 && p.share < 1 && gone > 2 ? `, this stage about ${timeText(gone * (1 / p.share - 1))} more` : "";
}
const clockText = (job, now) => `running for ${timeText(now - job.begun)}${leftText(job, now)}`;
function showClock(job, now) {
  const clock = document.getElementById(`clock-${job.job}`);
  if (clock) clock.textContent = clockText(job, now);
}

function begunCard(job, now) {
  const next = job.stages.find(s => !s.done), isRunning = job.state === "running";
  const states = { running: clockText(job, now), failed: "failed", cancelled: "cancelled", interrupted: "interrupted" };
  const button = isRunning
    ? make("button", { onclick: () => shown(ask("api/cancel", { job: job.job }).then(showRuns)) }, "Cancel")
    : make("button", { onclick: () => shown(ask("api/start", job.again).then(showRuns)) }, job.state === "failed" ? "Try again" : "Continue");
  const share = (job.stages.filter(s => s.done).length + (job.progress?.share || 0) * 0.99) / (job.stages.length || 1);
  return make("div", { class: isRunning ? "run going" : "run" },
    make("div", { class: "head" }, make("h3", {}, job.command.replace(/^ethereal run /, "")), make("span", { id: `clock-${job.job}`, class: "quiet" }, states[job.state])),
    make("ol", { "aria-label": "Stages" }, ...job.stages.map(s => make("li", { class: `stage ${s.done ? "done" : s === next && isRunning ? "now" : ""}` }, `${s.done ? "✓ " : ""}${STAGES[s.name] || s.name}`))),
    isRunning && job.stages.length ? make("progress", { max: 1, value: Math.min(1, share), "aria-label": "Part that is done" }) : "",
    isRunning ? growing(job) : "",
    job.state === "failed" ? make("p", { class: "trouble" }, job.trouble) : make("details", { class: "log" }, make("summary", {}, "What the command says"), make("pre", { tabindex: 0 }, job.lines.join("\n"))),
    make("div", { class: "bar" }, button));
}

// The models that were made so far: dots are held-out rows and estimated bytes, the line is test rows and real flash.
function growing(job) {
  const made = job.progress?.points || {}, dots = made["held out"] || [], line = made.test || [], kind = job.again.task === "number" ? "number" : "class";
  if (dots.length + line.length < 2) return "";
  const f = curveFrame(kind, "Models that were made so far", [...dots, ...line], "");
  for (const p of dots) f.root.append(svg("circle", { cx: f.X(p[0]).toFixed(1), cy: f.Y(shownScore(p[1], kind)).toFixed(1), r: 3, fill: COLOURS[5], "fill-opacity": 0.5 }));
  if (line.length) drawCurve(f, line, kind, COLOURS[0], "measured");
  const note = line.length ? "Dots: held-out rows, estimated flash. Line: test rows, measured flash." : "Models so far, on held-out rows, by estimated flash.";
  return make("figure", {}, f.root, make("figcaption", {}, note));
}

// A figure of the model, and below it that of the forest.
const figure = (name, own, other) => make("div", {}, make("dt", {}, name), make("dd", {}, own, other ? make("small", {}, `forest ${other}`) : ""));
function finishedCard(run) {
  if (run.trouble) return make("div", { class: "run" }, make("h3", {}, run.name), make("p", { class: "trouble" }, run.trouble));
  const box = make("input", { type: "checkbox", checked: runs.chosen.has(run.name), "aria-label": `Compare ${run.name}`, onchange: e => { e.target.checked ? runs.chosen.add(run.name) : runs.chosen.delete(run.name); showCompared(); } });
  const links = [...run.parts, ...run.made].map(part => link(run.name, part, TAKEN[part]));
  const weak = (run.classes || []).toSorted((a, b) => a.found - b.found).slice(0, 8), people = run.people || [];
  const bars = list => list.map(([name, share, rows]) => make("div", { class: "recall" }, make("span", {}, name), make("span", { class: "track" }, make("span", { class: "fill" })), make("span", {}, `${(100 * share).toFixed(0)} % of ${rows.toLocaleString("en")}`)));
  const firmware = run.kind === "normal" ? "if (!model_is_normal(features)) alarm();" : run.windows ? "int label = model_push(sample);  /* or -1 */" : run.kind === "number" ? "float number = model_value(features);" : "unsigned label = model_predict(features);";
  const card = make("div", { class: "run" },
    make("div", { class: "head" }, make("h3", {}, make("label", {}, box, ` ${run.name}`)), make("span", { class: "quiet" }, `${run.date}, ${run.target}`)),
    make("dl", { class: "figures" }, ...run.rows.slice(0, 7).map(row => figure(...row))),
    make("div", { class: "bar" }, ...(run.kind === "normal" ? [] : [make("button", { class: "main", onclick: () => shown(openModel(run.name)) }, "Open the model")]),
      make("button", { onclick: () => openReport(run.name) }, "Report"), make("button", { onclick: () => takeGoal(run.again) }, "Take its goal")),
    weak.length || people.length ? make("details", {}, make("summary", {}, "Where it errs"), ...(weak.length ? [make("h4", {}, "Rows of each class that are recognised"), ...bars(weak.map(c => [c.label, c.found, c.rows]))] : []),
      ...(people.length ? [make("h4", {}, `Accuracy per group (${run.people_are})`), ...bars(people)] : [])) : "",
    make("details", {}, make("summary", {}, "Notes, and the lines for the firmware"), make("ul", {}, ...run.notes.map(n => make("li", {}, n))), make("pre", { tabindex: 0 }, `#include "model.h"\n\n${firmware}`), make("p", { class: "quiet" }, "The command that makes it again:"), make("pre", { tabindex: 0 }, run.command)),
    make("div", { class: "take" }, make("h4", {}, "Take away as zip:"), ...links, link(run.name, "all", "everything")));
  [...card.querySelectorAll(".recall")].forEach((bar, i) => { bar.querySelector(".fill").style.width = `${100 * [...weak.map(c => c.found), ...people.map(p => p[1])][i]}%`; bar.querySelector(".fill").style.display = "block"; });
  return card;
}
const link = (name, part, text) => make("a", { href: `runs/${encodeURIComponent(name)}/${part}.zip?token=${encodeURIComponent(token)}`, download: true }, text);

function showFrame(name, file, note) {
  byId("report").src = `runs/${encodeURIComponent(name)}/${file}?token=${encodeURIComponent(token)}`;
  byId("report").hidden = false;
  byId("try-note").className = "quiet";
  byId("try-note").textContent = note;
  byId("try").scrollIntoView();
}
const openReport = name => showFrame(name, "report.html", `The report of ${name}.`);
async function openModel(name) {
  byId("try-note").textContent = `Compiling the C of ${name} …`;
  const { why_not } = await ask(`api/live${query({ run: name })}`);
  if (why_not) showFrame(name, "report.html", `The report of ${name}, in which the model of this computer answers, as the C does. The C itself does not run here: ${why_not}`);
  else showFrame(name, "live.html", `The exported C of ${name}, compiled to WebAssembly, answers rows of the test, sliders, and files.`);
}

// The exported C of a run, as the page of the run has it. Null where no compiler made it.
async function compiledModel(name) {
  if ((await ask(`api/live${query({ run: name })}`)).why_not) return null;
  const page = await (await fetch(`runs/${encodeURIComponent(name)}/live.html`, { headers: { "x-ethereal-token": token } })).text();
  const made = JSON.parse(/<script type="application\/json" id="data">([^<]*)</.exec(page)[1]), bytes = Uint8Array.from(atob(made.wasm), c => c.charCodeAt(0));
  const { instance } = await WebAssembly.instantiate(bytes);
  if (!instance.exports.et_page_check()) throw new Error("The tables of the model are not as they were exported.");
  return new BoardModel(made.model, instance.exports, made.board);
}

// Sets sliders and boxes to what a run was asked for, as near as they go.
function takeGoal(again) {
  shown((async () => {
    byId("header").checked = again.header !== false;
    byId("encoding").value = again.encoding || "";
    byId("decimal").value = again.decimal || "auto";
    if (again.source) await openSource([...byId("source").options].some(o => o.value === `${again.source}/`) ? `${again.source}/` : again.source);
    if (data.facts && !isArchive()) giveRoles(again);
    data.isTouched = true;
    guessTask();
    if (again.normal) setTask("normal");
    else if (["class", "number"].includes(again.task)) setTask(again.task);
    byId("abnormal").value = [again.abnormal, `${again.abnormal}/`].find(v => [...byId("abnormal").options].some(o => o.value === v)) || "";
    byId("alarms-slider").value = Math.round(10 * Math.log10((again.false_alarms || 0.01) / 0.001));
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
  const kind = chosen.find(r => r.curve.length)?.kind, series = chosen.filter(r => r.curve.length && r.kind === kind);
  if (chosen.length < 2 || !series.length) return byId("curve").replaceChildren();
  const f = curveFrame(kind, "Accuracy against flash", series.flatMap(r => r.curve));
  series.forEach((r, i) => drawCurve(f, r.curve, kind, COLOURS[i % COLOURS.length], r.name));
  byId("curve").replaceChildren(f.root, legend(series.map(r => r.name)));
}
