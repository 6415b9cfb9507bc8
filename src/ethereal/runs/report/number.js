// True numbers against predicted ones, and how the errors lie.
function showErrors() {
  $("confusion-table").remove();
  const { points, time } = data.errors, half = number.half_width, unit = number.unit ? `, ${number.unit}` : "";
  const inside = half === null ? "" : ` Between the dashed lines are ${points.filter(([y, p]) => Math.abs(y - p) <= half).length} of them.`;
  $("confusion-note").textContent = `${points.length} ${data.rows_are} rows.${inside} A point on the line is right.`;
  const chart = (title, xLabel, yLabel, dots, lines) => { const figure = make("figure"); $("error-charts").append(figure); scatterChart(figure, { title, xLabel, yLabel, points: dots, lines }); };
  const all = points.flat(), low = Math.min(...all), high = Math.max(...all), shifts = half === null ? [0] : [0, half, -half];
  const sloped = shifts.map((shift, i) => ({ from: [low, low + shift], to: [high, high + shift], dashed: i > 0 }));
  const flat = (from, to) => shifts.map((shift, i) => ({ from: [from, shift], to: [to, shift], dashed: i > 0 }));
  chart("Predicted against true.", `true${unit}`, `predicted${unit}`, points, sloped);
  chart("Predicted less true, against predicted.", `predicted${unit}`, `error${unit}`, points.map(([y, p]) => [p, p - y]), flat(low, high));
  if (!time) return;
  const from = Math.min(...time.values), to = Math.max(...time.values);
  chart(`Predicted less true, against ${time.name}.`, time.name, `error${unit}`, points.map(([y, p], i) => [time.values[i], p - y]), flat(from, to));
}
