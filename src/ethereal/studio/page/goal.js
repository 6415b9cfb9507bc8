// Goal
const flashOf = step => (step >= 40 ? null : Math.round(200 * 1.18 ** step / 10) * 10);
const microsOf = step => (step >= 40 ? null : +(0.2 * 1.28 ** step).toPrecision(2));
const alarmsOf = step => +(0.001 * 10 ** (step / 10)).toPrecision(2);
const board = () => data.boards?.find(t => t.name === byId("target").value);
// Until a run has measured it, an instruction is taken for 1.3 cycles.
const secondsPerInstruction = () => lastRun()?.seconds_per_instruction && lastRun().target === byId("target").value ? lastRun().seconds_per_instruction : 1.3 / (board()?.hertz || 1);
const instructionsOf = step => (microsOf(step) === null ? null : Math.max(1, Math.floor(microsOf(step) * 1e-6 / secondsPerInstruction())));
const bytesText = n => (n === null || n === undefined ? "no bound" : n < 1024 ? `${n} bytes` : `${(n / 1024).toFixed(1)} kB`);
const memoryText = n => (n >= 1 << 20 ? `${+(n / 2 ** 20).toFixed(1)} MB` : `${n / 1024} kB`);
const scoreText = (score, kind) => (kind === "number" ? `R² ${score.toFixed(3)}` : `${(100 * score).toFixed(1)} %`);

function showBoards(targets) {
  if (data.boards) return;
  data.boards = targets;
  const group = (label, some) => make("optgroup", { label }, ...some.map(t => make("option", { value: t.name }, t.about || t.name)));
  byId("target").replaceChildren(group("Cores", targets.filter(t => !t.about)), group("Boards", targets.filter(t => t.about)));
  byId("target").value = "cortex-m7";
  showChip();
}
function showChip() {
  const t = board();
  byId("chip").textContent = `${t.about ? `${t.core}, ` : ""}${t.chip}: ${memoryText(t.flash)} of flash, ${memoryText(t.ram)} of RAM, ${t.hertz / 1e6} MHz`;
}

const taskNow = () => document.querySelector("input[name=task]:checked").value;
const setTask = task => { document.querySelector(`input[name=task][value=${task}]`).checked = true; };
// What the label is, as the reader takes it, until somebody says otherwise.
function guessTask() {
  const label = data.facts?.columns.find(c => data.roles[c.name] === "label");
  const others = data.facts && !isArchive();
  for (const task of ["number", "normal"]) document.querySelector(`input[name=task][value=${task}]`).disabled = task === "number" && (!others || (label && label.kind !== "number"));
  if (taskNow() !== "normal") setTask(label?.is_number ? "number" : "class");
}
// What the reader took for the label may be a feature, where there are no labels.
function taskChosen() {
  const label = withRole("label")[0], isGuess = !data.isTouched && data.facts?.columns.find(c => c.name === label)?.kind === "number";
  if (taskNow() === "normal" && isGuess) setRole(label, "feature");
  else if (taskNow() !== "normal" && data.facts && !label && data.facts.label) setRole(data.facts.label, "label");
  else changed();
}
function showTask() {
  const task = taskNow(), label = withRole("label")[0];
  byId("task-note").textContent = !data.source ? "" : task === "normal" ? `All rows are normal.${label ? ` The label “${label}” is left out.` : ""}` : isFolder() ? "The folders are the classes." : label ? `The label is “${label}”.` : "Give a column the role of the label.";
  byId("abnormal-box").hidden = byId("alarms-box").hidden = task !== "normal";
  for (const e of document.querySelectorAll(".bounded, .of-labels")) e.hidden = task === "normal";
  byId("split-bar").hidden = task === "normal" || !data.source;
  byId("accuracy-label").textContent = task === "number" ? "R² wanted" : "Accuracy wanted";
  byId("accuracy-slider").min = task === "number" ? 0 : 50;
}

function asked() {
  const task = taskNow(), goal = { source: data.source.replace(/\/$/, ""), target: byId("target").value, seed: +byId("seed").value || 0 };
  const isTable = !isArchive() && !isFolder(), label = withRole("label")[0] || "";
  if (isFolder() && data.grouped) goal.group = "person";
  if (isTable) Object.assign(goal, { group: withRole("group")[0] || "", drop: withRole("drop") });
  if (!byId("header").checked) goal.header = false;
  if (byId("encoding").value.trim()) goal.encoding = byId("encoding").value.trim();
  if (byId("decimal").value !== "auto") goal.decimal = byId("decimal").value;
  for (const name of ["window", "hop", "rate"]) if (byId(name).value) goal[name] = +byId(name).value;
  if (task === "normal") {
    if (isTable && label) goal.drop = [...goal.drop, label];
    return Object.assign(goal, { normal: true, abnormal: byId("abnormal").value.replace(/\/$/, ""), false_alarms: alarmsOf(+byId("alarms-slider").value) });
  }
  const flash = flashOf(+byId("flash-slider").value), instructions = instructionsOf(+byId("time-slider").value);
  Object.assign(goal, { quick: byId("quick").checked, balanced: byId("balanced").checked });
  if (isTable) goal.label = label;
  if (isTable && taskNow() !== (data.facts?.columns.find(c => c.name === label)?.is_number ? "number" : "class")) goal.task = task;
  if (flash !== null) goal.flash = String(flash);
  if (instructions !== null) goal.instructions = String(instructions);
  return goal;
}

let asks = 0;
function changed() {
  byId("no-goal").hidden = !!data.source;
  byId("goal-box").hidden = !data.source;
  showTask();
  byId("flash-out").textContent = bytesText(flashOf(+byId("flash-slider").value));
  const micros = microsOf(+byId("time-slider").value), instructions = instructionsOf(+byId("time-slider").value);
  byId("time-out").textContent = micros === null ? "no bound" : `${micros} µs, ${instructions.toLocaleString("en")} instructions`;
  const wanted = +byId("accuracy-slider").value, least = +byId("accuracy-slider").min;
  byId("accuracy-out").textContent = wanted > least ? (taskNow() === "number" ? (wanted / 100).toFixed(2) : `${wanted} %`) : "any";
  byId("alarms-out").textContent = `${+(100 * alarmsOf(+byId("alarms-slider").value)).toPrecision(2)} % of normal rows`;
  promise();
  const turn = ++asks;
  byId("start").disabled = true;
  byId("start-note").textContent = "";
  if (!data.source) return;
  setTimeout(async () => {
    if (turn !== asks) return;
    try {
      const { command, alike } = await ask("api/command", asked(), true);
      if (turn !== asks) return;
      byId("command").textContent = command;
      data.alike = alike; // runs that differ in the budget alone
      promise();
      byId("start").disabled = false;
    } catch (error) {
      if (turn === asks) byId("command").textContent = error.message;
    }
  }, 150);
}

// What the curve of the last run gives within the sliders.
function promise() {
  const run = taskNow() === "normal" ? null : lastRun(), slider = byId("accuracy-slider"), wanted = +slider.value > +slider.min ? slider.value / 100 : null;
  const flash = flashOf(+byId("flash-slider").value) ?? Infinity, most = instructionsOf(+byId("time-slider").value) ?? Infinity;
  byId("start").textContent = "Start the run";
  if (!run?.curve.length) {
    byId("promise").textContent = "";
    byId("goal-curve").replaceChildren();
    return;
  }
  const inside = run.curve.filter(([bytes, , instructions]) => bytes <= flash && (instructions ?? 0) <= most);
  const best = inside.toSorted((a, b) => b[1] - a[1])[0], small = wanted === null ? best : inside.filter(p => p[1] >= wanted).toSorted((a, b) => a[0] - b[0])[0];
  const say = ([bytes, score, n]) => `${scoreText(score, run.kind)} in ${bytesText(bytes)}${n === null ? "" : ` and ${Math.round(n).toLocaleString("en")} instructions`}`;
  const again = data.alike?.includes(run.name) ? " Another budget of it needs no training." : "";
  byId("promise").textContent = (!best ? `No model on the curve of ${run.name} is within these bounds.`
    : !small ? `On the curve of ${run.name}, no model within these bounds reaches ${scoreText(wanted, run.kind)}. The best has ${say(best)}.`
      : wanted === null ? `On the curve of ${run.name}, the best model within these bounds has ${say(best)}.`
        : `On the curve of ${run.name}, the smallest model of at least ${scoreText(wanted, run.kind)} has ${say(small)}.`) + again;
  if (again) byId("start").textContent = "Take a model of this budget";
  const f = curveFrame(run.kind, "Accuracy against flash of the last run", run.curve);
  drawCurve(f, run.curve, run.kind, COLOURS[0], run.name);
  if (flash < Infinity) f.root.append(svg("rect", { class: "outside", x: Math.max(56, f.X(flash)), width: Math.max(0, 546 - Math.max(56, f.X(flash))), y: 12, height: 264 }));
  const mark = small || best;
  if (mark) f.root.append(svg("circle", { class: "ring", cx: f.X(mark[0]), cy: f.Y(shownScore(mark[1], run.kind)), r: 8 }));
  byId("goal-curve").replaceChildren(f.root);
}
const shownScore = (score, kind) => (kind === "number" ? score : 100 * score);
function curveFrame(kind, title, points, rows = " on test rows") {
  return frame({ title, xLabel: "flash in bytes", yLabel: kind === "number" ? `R²${rows}` : `accuracy${rows} in %`, xs: points.map(p => p[0]), ys: points.map(p => shownScore(p[1], kind)), logX: true });
}
function drawCurve(f, some, kind, colour, name) {
  const points = some.toSorted((a, b) => a[0] - b[0]);
  f.root.append(svg("path", { d: points.map((p, k) => `${k ? "L" : "M"}${f.X(p[0]).toFixed(1)} ${f.Y(shownScore(p[1], kind)).toFixed(1)}`).join(""), fill: "none", stroke: colour, "stroke-width": 2 }));
  for (const p of points) f.root.append(svg("circle", { cx: f.X(p[0]), cy: f.Y(shownScore(p[1], kind)), r: 4, fill: colour }, svg("title", {}, `${name}: ${scoreText(p[1], kind)} in ${bytesText(p[0])}`)));
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
