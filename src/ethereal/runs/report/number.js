// What the page shows of a model whose answer is a number, in place of what it shows of classes.
const NUMBER = {
  text: v => `${Number(v.toPrecision(6))} ${data.number.unit}`.trimEnd(),
  amount: w => `${w < 0 ? "−" : "+"}${NUMBER.text(Math.abs(w) * data.number.scale)}`,
  // the same float32 as in Python and in C
  value: sum => Math.fround(Math.fround(data.number.offset) + Math.fround(Math.fround(data.number.scale) * sum)),
  votesText: (c, w) => NUMBER.amount(w),
  rowName: (r, i) => `${i}: ${NUMBER.text(r.y)}`,
  scoreName: "R2",
  scoreUnit: "",
};

function showNumberWords() {
  $("live-note").textContent = "The model of the board runs in this page and gives the same numbers. Change the features and watch the answer.";
  $("size-title").textContent = "R2 against flash and instructions";
  $("filter-class").parentNode.hidden = true;
  const [, up, down] = $("filter-polarity").options;
  up.textContent = "up"; down.textContent = "down";
}

function showNumber() {
  const fired = model.firing(x), sum = model.sums(x, fired)[0], value = NUMBER.value(sum), half = data.number.half_width;
  const row = data.rows[Number($("row-choice").value)];
  const note = row?.x.every((v, i) => v === x[i]) ? ` (true: ${NUMBER.text(row.y)})` : "";
  const interval = half === null ? "" : `, 90 % of true values from ${NUMBER.text(value - half)} to ${NUMBER.text(value + half)}`;
  $("verdict").replaceChildren(`${data.number.name || "Prediction"}: `, make("strong", NUMBER.text(value)), interval, note);
  const voteOf = j => data.model.votes[j].find(([c]) => c === 0)[1];
  const own = fired.filter(j => data.model.votes[j].length).sort((a, b) => Math.abs(voteOf(b)) - Math.abs(voteOf(a)));
  const pushed = sign => own.filter(j => Math.sign(voteOf(j)) === sign).reduce((a, j) => a + voteOf(j), 0);
  const bars = [["without rules", null, data.number.offset], ["pushed up", pushed(1)], ["pushed down", pushed(-1)]];
  const span = Math.max(1, Math.abs(bars[1][1]), Math.abs(bars[2][1]));
  $("votes").replaceChildren(...bars.map(([name, w, text]) => make("div", "", { class: "vote" }, make("span", name, { class: "label" }),
    make("span", "", { class: "track" }, make("span", "", { class: w < 0 ? "fill negative" : "fill", style: w === null ? "width: 0" : `left: ${w < 0 ? 50 * (1 + w / span) : 50}%; width: ${50 * Math.abs(w) / span}%` })),
    make("span", w === null ? NUMBER.text(text) : NUMBER.amount(w), { class: "number" }))));
  $("votes").setAttribute("aria-label", "What pushes the number");
  $("fired-title").textContent = `${own.length} rules apply`;
  $("fired").replaceChildren(...own.slice(0, 60).map(j => make("tr", "", {}, make("td", NUMBER.amount(voteOf(j)), { class: `number ${voteOf(j) > 0 ? "for" : "against"}` }), make("td", data.model.rules[j], { class: "rule" }))));
  hintAtScrolling();
}

// True against predicted numbers, and how the errors lie.
function showErrors() {
  $("confusion-table").remove();
  const { points, time } = data.errors, half = data.number.half_width, unit = data.number.unit ? `, ${data.number.unit}` : "";
  const inside = half === null ? "" : ` Between the dashed lines are ${points.filter(([y, p]) => Math.abs(y - p) <= half).length} of them.`;
  $("confusion-note").textContent = `${points.length} ${data.rows_are} rows.${inside} A point on the line is right.`;
  const chart = (title, xLabel, yLabel, dots, lines) => { const figure = make("figure"); $("error-charts").append(figure); scatterChart(figure, { title, xLabel, yLabel, points: dots, lines }); };
  const all = points.flat(), low = Math.min(...all), high = Math.max(...all), band = half ?? 0;
  const line = (shift, dashed) => ({ from: [low, low + shift], to: [high, high + shift], dashed });
  chart("Predicted against true.", `true${unit}`, `predicted${unit}`, points, [line(0, false), ...(half === null ? [] : [line(band, true), line(-band, true)])]);
  const flat = (from, to, at, dashed) => ({ from: [from, at], to: [to, at], dashed });
  const bands = (from, to) => [flat(from, to, 0, false), ...(half === null ? [] : [flat(from, to, band, true), flat(from, to, -band, true)])];
  chart("Predicted less true, against predicted.", `predicted${unit}`, `error${unit}`, points.map(([y, p]) => [p, p - y]), bands(low, high));
  if (!time) return;
  const from = Math.min(...time.values), to = Math.max(...time.values);
  chart(`Predicted less true, against ${time.name}.`, time.name, `error${unit}`, points.map(([y, p], i) => [time.values[i], p - y]), bands(from, to));
}

// The conditions that most rules have, and which way these push.
function showPushes() {
  const list = make("ol");
  for (const [name, n, side] of data.ranked[0]) list.append(make("li", "", {}, make("span", name), make("span", ` ×${n} ${side === "for" ? "up" : "down"}`, { class: side })));
  $("literal-view").append(make("p", "The conditions that most rules have. ×5 up: five rules with this condition push the number up.", { class: "quiet" }), make("div", "", { class: "ranked" }, make("div", "", {}, list)));
}
