
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

