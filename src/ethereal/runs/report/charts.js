// Small charts in SVG: lines over epochs, and accuracy against size.
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const DASHES = ["", "7 4", "2 3", "9 3 2 3", "1 4", "4 2"];
function svg(name, attributes = {}, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...children);
  return e;
}
function titled(node, text) { node.append(svg("title", {}, text)); return node; }

// Round numbers that span low..high.
function ticks(low, high, about = 5) {
  const span = high - low || 1, raw = span / about, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(k => k * power).find(s => s >= raw);
  const found = [];
  for (let t = Math.ceil(low / step) * step; t <= high + step * 1e-6; t += step) found.push(+t.toPrecision(12));
  return found;
}
const short = v => Math.abs(v) >= 1e4 ? `${+(v / 1000).toPrecision(3)}k` : `${+v.toPrecision(4)}`;

function frame(figure, { title, xLabel, yLabel, xs, ys, logX = false }) {
  const W = 560, H = 320, left = 56, right = 14, top = 12, bottom = 44;
  let [x0, x1] = [Math.min(...xs), Math.max(...xs)], [y0, y1] = [Math.min(...ys), Math.max(...ys)];
  const pad = (y1 - y0) * 0.06 || 1;
  y0 -= pad; y1 += pad;
  if (x0 === x1) { x0 -= logX ? x0 / 2 : 1; x1 += logX ? x1 : 1; }
  if (logX) { x0 *= 0.8; x1 *= 1.25; }
  const fx = logX ? Math.log10 : v => v;
  const X = v => left + (fx(v) - fx(x0)) / (fx(x1) - fx(x0)) * (W - left - right);
  const Y = v => H - bottom - (v - y0) / (y1 - y0) * (H - top - bottom);
  const root = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": title });
  for (const t of ticks(y0, y1)) {
    root.append(svg("line", { class: "grid", x1: left, x2: W - right, y1: Y(t), y2: Y(t) }),
      svg("text", { x: left - 6, y: Y(t) + 4, "text-anchor": "end" }, short(t)));
  }
  const logTicks = [];
  for (let p = Math.floor(fx(x0)); logX && p <= Math.ceil(fx(x1)); p++)
    for (const k of [1, 2, 5]) if (k * 10 ** p >= x0 && k * 10 ** p <= x1) logTicks.push(k * 10 ** p);
  for (const t of logX ? logTicks : ticks(x0, x1, 6))
    root.append(svg("line", { class: "axis", x1: X(t), x2: X(t), y1: H - bottom, y2: H - bottom + 4 }),
      svg("text", { x: X(t), y: H - bottom + 18, "text-anchor": "middle" }, short(t)));
  root.append(svg("line", { class: "axis", x1: left, x2: W - right, y1: H - bottom, y2: H - bottom }),
    svg("text", { x: (left + W - right) / 2, y: H - 6, "text-anchor": "middle" }, xLabel),
    svg("text", { x: 12, y: (top + H - bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(top + H - bottom) / 2})` }, yLabel));
  figure.append(root);
  return { root, X, Y, bottomY: H - bottom, topY: top };
}

// series: [{name, points: [[x, y]], marks: [[x, y]], chosen: [x, y]}]
function lineChart(figure, { title, xLabel, yLabel, series, markName, dots = false, logX = false, xUnit = "bytes", yUnit = " %", ring = null }) {
  const all = [...series.flatMap(s => [...s.points, ...(s.marks || [])]), ...(ring ? [ring] : [])];
  if (!all.length) { figure.append(`${title}: nothing was recorded.`); return; }
  const f = frame(figure, { title, xLabel, yLabel, xs: all.map(p => p[0]), ys: all.map(p => p[1]), logX });
  series.forEach((s, i) => {
    const colour = COLOURS[i % COLOURS.length];
    f.root.append(titled(svg("path", {
      d: s.points.map((p, k) => `${k ? "L" : "M"}${f.X(p[0]).toFixed(1)} ${f.Y(p[1]).toFixed(1)}`).join(""),
      fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": DASHES[i % DASHES.length],
    }), s.name));
    for (const p of dots ? s.points : [])
      f.root.append(titled(svg("circle", { cx: f.X(p[0]), cy: f.Y(p[1]), r: 4, fill: colour }), `${s.name}: ${short(p[0])} ${xUnit}, ${short(p[1])}${yUnit}`));
    for (const m of s.marks || [])
      f.root.append(titled(svg("path", { d: `M${f.X(m[0]) - 3} ${f.Y(m[1]) - 3}l6 6m0-6l-6 6`, stroke: colour, fill: "none" }),
        `${markName} after epoch ${m[0]}: ${short(m[1])}`));
    if (s.chosen) f.root.append(titled(svg("circle", { cx: f.X(s.chosen[0]), cy: f.Y(s.chosen[1]), r: 6, fill: "none", stroke: colour, "stroke-width": 2.5 }),
      `${s.name}: epoch ${s.chosen[0]} was chosen`));
  });
  const entries = series.map((s, i) => [s.name, "0 0 26 10",
    svg("line", { x1: 0, x2: 26, y1: 5, y2: 5, stroke: COLOURS[i % COLOURS.length], "stroke-width": 3, "stroke-dasharray": DASHES[i % DASHES.length] })]);
  if (ring) {
    const place = { cx: f.X(ring[0]), cy: f.Y(ring[1]), r: 9, class: "ring" };
    f.root.append(titled(svg("circle", place), `this model: ${short(ring[0])} ${xUnit}, ${short(ring[1])}${yUnit}`));
    entries.push(["this model", "0 0 26 13", svg("circle", { cx: 13, cy: 6.5, r: 5, class: "ring" })]);
  }
  const legend = legendOf(entries);
  const caption = document.createElement("figcaption");
  caption.textContent = title + (series.some(s => (s.marks || []).length) ? ` Crosses: ${markName}.` : "") + (series.some(s => s.chosen) ? " Circle: the epoch that was kept." : "");
  figure.append(legend, caption);
}

// points: [[x, y]], lines: [{from: [x, y], to: [x, y], dashed}]
function scatterChart(figure, { title, xLabel, yLabel, points, lines }) {
  const ends = lines.flatMap(l => [l.from, l.to]), all = [...points, ...ends];
  const f = frame(figure, { title, xLabel, yLabel, xs: all.map(p => p[0]), ys: all.map(p => p[1]) });
  for (const p of points) f.root.append(titled(svg("circle", { cx: f.X(p[0]).toFixed(1), cy: f.Y(p[1]).toFixed(1), r: 2.5, fill: COLOURS[0], "fill-opacity": 0.5 }), `${short(p[0])}, ${short(p[1])}`));
  for (const l of lines)
    f.root.append(svg("line", { x1: f.X(l.from[0]), y1: f.Y(l.from[1]), x2: f.X(l.to[0]), y2: f.Y(l.to[1]), stroke: COLOURS[1], "stroke-width": 1.5, "stroke-dasharray": l.dashed ? "6 4" : "" }));
  const caption = document.createElement("figcaption");
  caption.textContent = title;
  figure.append(caption);
}

// Lines of samples, with levels of an axis and spans of time marked. lines: [{name, bold, points}]
function windowChart(figure, { title, xLabel, end, lines, levels, spans }) {
  const all = lines.flatMap(l => l.points);
  const f = frame(figure, { title, xLabel, yLabel: "counts", xs: [0, end], ys: all.map(p => p[1]) });
  for (const s of spans)
    f.root.append(titled(svg("rect", { class: "span", x: f.X(s.from), width: f.X(s.to) - f.X(s.from), y: f.topY, height: f.bottomY - f.topY }), s.name));
  lines.forEach((l, i) => f.root.append(titled(svg("path", {
    d: l.points.map((p, k) => `${k ? "L" : "M"}${f.X(p[0]).toFixed(1)} ${f.Y(p[1]).toFixed(1)}`).join(""),
    fill: "none", stroke: COLOURS[i % COLOURS.length], "stroke-width": l.bold ? 2.5 : 1, "stroke-opacity": l.bold ? 1 : 0.5,
  }), l.name)));
  for (const l of levels)
    f.root.append(titled(svg("line", { x1: f.X(0), x2: f.X(end), y1: f.Y(l.value), y2: f.Y(l.value), stroke: COLOURS[l.axis % COLOURS.length], "stroke-dasharray": "6 4", "stroke-width": 1.5 }), l.name));
  const caption = document.createElement("figcaption");
  caption.textContent = title + (levels.length ? " Dashed: a mean, lowest or highest value among them." : "") + (spans.length ? " Shaded: a part among them." : "");
  figure.append(legendOf(lines.map((l, i) => [l.name, "0 0 26 10", svg("line", { x1: 0, x2: 26, y1: 5, y2: 5, stroke: COLOURS[i % COLOURS.length], "stroke-width": l.bold ? 4 : 2 })])), caption);
}

// entries: [name, view box of its sign, the sign]
function legendOf(entries) {
  const legend = document.createElement("div");
  legend.className = "legend";
  for (const [name, viewBox, sign] of entries) {
    const item = document.createElement("span");
    item.append(svg("svg", { viewBox }, sign), name);
    legend.append(item);
  }
  return legend;
}
