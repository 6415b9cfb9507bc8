// Recordings
const signal = { name: "", shown: null, answers: null };

async function openRecordings(name) {
  const turn = ++opened;
  byId("source").value = name;
  const said = await ask(`api/recordings${query({ source: name.replace(/\/$/, "") })}`);
  if (turn !== opened) return;
  Object.assign(data, { source: name, facts: null, roles: {}, grouped: said.grouped });
  for (const id of ["columns-box", "looks"]) byId(id).hidden = true;
  byId("recordings").hidden = false;
  byId("reading").hidden = true;
  guessTask();
  byId("windows").open = true;
  if (!byId("window").value) byId("window").value = 128;
  const labels = [...new Set(said.recordings.map(r => r.label))];
  byId("labels").replaceChildren(...labels.map(value => make("option", { value })));
  byId("table-note").textContent = `${name} ${said.recordings.length} recordings of ${labels.length} classes: ${labels.join(", ")}. ${said.grouped ? "Whole groups are kept for the test." : "Whole recordings are kept for the test."}`;
  byId("recording-rows").replaceChildren(...said.recordings.map(r => make("tr", { class: r.name === signal.name ? "chosen" : "", "data-name": r.name },
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
  for (const row of byId("recording-rows").children) row.className = row.dataset.name === recording.name ? "chosen" : "";
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

// Samples go one by one into the exported C. Where no compiler made it, the model on the computer answers.
async function liveAnswers() {
  const run = byId("live-run").value, note = byId("live-answer");
  if (!run) throw new Error("Choose a finished run of recordings.");
  note.textContent = "Compiling …";
  const model = await compiledModel(run), names = model?.m.classes, said = [];
  let fed = 0, answer = "";
  byId("live-by").textContent = model ? "The exported C answers, compiled to WebAssembly." : "No compiler is here (extra device), so the model on this computer answers, as the C does.";
  const feed = heard => {
    const fresh = heard.samples.slice(Math.max(0, heard.samples.length - (heard.n_samples - fed)));
    if (fresh.length < heard.n_samples - fed) model.reset(); // samples were missed
    if (heard.axes.length !== model.board.stream.axes.length) throw new Error(`The board sends ${heard.axes.length} axes, and the model reads ${model.board.stream.axes.length}.`);
    fresh.forEach((sample, i) => {
      const code = model.push(sample);
      if (code === null) return;
      answer = String(code < names.length ? names[code] : "unknown");
      said.push([heard.n_samples - fresh.length + i + 1, answer]);
    });
    fed = heard.n_samples;
  };
  await listen({ port: byId("live-port").value.trim(), run }, byId("live-curve"), note, [byId("live-start"), byId("live-stop")], heard => {
    if (model && heard.samples.length) feed(heard);
    const sums = Object.entries(heard.sums || {}).toSorted((a, b) => b[1] - a[1]).slice(0, 4).map(([name, votes]) => `${name} ${votes}`);
    const now = model ? answer : heard.answer || "";
    note.textContent = now ? `${now}${model ? "" : `   (${sums.join(", ")} votes)`}` : `${heard.n_samples} samples, waiting for a whole window. ${heard.trouble}`;
    markAnswers(byId("live-curve"), heard, said, model?.board.stream);
  });
}

// Answers above the live curve, each at the window that it is of.
function markAnswers(box, heard, said, stream) {
  const root = box.querySelector("svg");
  if (!root || !stream || !said.length) return;
  const first = heard.n_samples - heard.samples.length, step = stream.hop || stream.window, labels = [...new Set(said.map(([, label]) => label))].toSorted();
  const X = v => 56 + (v - first) / (heard.samples.length || 1) * (560 - 56 - 14);
  for (const [at, label] of said.filter(([at]) => at - step >= first)) root.append(svg("rect", { x: X(at - step), width: Math.max(1, X(at) - X(at - step)), y: 2, height: 8, fill: COLOURS[(6 + labels.indexOf(label)) % COLOURS.length] }, svg("title", {}, label)));
  box.append(make("ul", { class: "legend" }, ...labels.map((label, i) => make("li", {}, svg("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" }, svg("rect", { width: 14, height: 14, fill: COLOURS[(6 + i) % COLOURS.length] })), label))));
}
