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
  byId("split-note").textContent = "Reading all rows …";
  let s;
  try {
    s = await ask("api/split", asked());
  } finally {
    byId("split-note").textContent = "";
  }
  const groups = s.tested.length ? [make("p", {}, `In the test: ${s.tested.join(", ")}.`), make("p", { class: "quiet" }, `Learned from: ${s.learned.join(", ")}.`)] : [];
  const counts = [...s.classes, ...(s.classes.length === 1 ? [] : [{ label: "all rows", ...s.rows }])];
  byId("split-shown").replaceChildren(make("p", {}, `Test rows are ${s.how}. They choose nothing.`), ...groups,
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Rows of each class" }, make("table", {},
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "class"), make("th", { scope: "col", class: "number" }, "to learn from"), make("th", { scope: "col", class: "number" }, "test"))),
      make("tbody", {}, ...counts.map(c => make("tr", {}, make("th", { scope: "row" }, c.label), make("td", { class: "number" }, c.learn.toLocaleString("en")), make("td", { class: "number" }, c.test.toLocaleString("en"))))))));
}

const over = is => byId("drop").classList.toggle("over", is);
for (const kind of ["dragenter", "dragover"]) addEventListener(kind, e => { e.preventDefault(); over(true); });
for (const kind of ["dragleave", "drop"]) addEventListener(kind, () => over(false));
addEventListener("drop", e => { e.preventDefault(); if (e.dataTransfer.files[0]) shown(upload(e.dataTransfer.files[0])); });
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
for (const id of ["flash-slider", "time-slider", "accuracy-slider", "alarms-slider", "seed", "window", "hop", "rate"]) byId(id).addEventListener("input", changed);
for (const radio of document.querySelectorAll("input[name=task]")) radio.addEventListener("change", taskChosen);
byId("example").addEventListener("click", () => shown(ask("api/example", {}).then(({ name }) => openProject(name))));
byId("to-record").addEventListener("click", () => {
  byId("record").open = true;
  byId("record").scrollIntoView();
  byId("record-label").focus();
});
for (const id of ["quick", "balanced", "header", "decimal", "encoding", "abnormal"]) byId(id).addEventListener("change", changed);
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
// The step whose section is at the top of the window.
const steps = [...document.querySelectorAll("header nav a")];
const seen = new IntersectionObserver(entries => {
  for (const e of entries) e.target.isSeen = e.isIntersecting;
  const now = steps.find(a => document.querySelector(a.getAttribute("href")).isSeen);
  for (const a of steps) a === now ? a.setAttribute("aria-current", "step") : a.removeAttribute("aria-current");
}, { rootMargin: "-70px 0px -50% 0px" });
for (const a of steps) seen.observe(document.querySelector(a.getAttribute("href")));

shown(openProject());
watch();
