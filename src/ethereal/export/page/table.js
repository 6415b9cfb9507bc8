// Files of rows or of samples: read as `ethereal predict` reads them, answered, and compared with a column of labels.
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const WORDS = { true: 1, false: 0, inf: Infinity, "+inf": Infinity, "-inf": -Infinity, infinity: Infinity, "-infinity": -Infinity };

// Cells of a text, by lines. Quotes may hold separators and line ends, and are doubled within quotes.
function parseTable(text) {
  const lines = text.replace(/^\ufeff/, "").split("\n");
  const at = lines.findIndex(line => !line.startsWith("#") && !/^sep=./.test(line));
  const body = lines.slice(Math.max(at, 0)).join("\n"), first = lines[Math.max(at, 0)] ?? "";
  const said = lines[0].match(/^sep=(.)\s*$/);
  const separator = said ? said[1] : [...",;\t|"].reduce((best, s) => first.split(s).length > first.split(best).length ? s : best, ",");
  const rows = [];
  let row = [], cell = "", quoted = false, wasQuoted = false;
  const endCell = () => { row.push(cell); cell = ""; wasQuoted = false; };
  const endRow = () => { if (row.length || cell !== "" || wasQuoted) { endCell(); rows.push(row); row = []; } };
  for (let i = 0; i < body.length; i++) {
    const c = body[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (body[i + 1] === '"') { cell += c; i++; }
      else quoted = false;
    } else if (c === '"' && cell === "") quoted = wasQuoted = true;
    else if (c === separator) endCell();
    else if (c === "\n") endRow();
    else if (c !== "\r") cell += c;
  }
  if (quoted) throw new Error("A quote opens in the file and is never closed.");
  endRow();
  if (!rows.length) throw new Error("The file is empty. It should hold names of columns, and rows.");
  const hasNames = !rows[0].every(cell => NUMBER.test(cell.trim()));
  const names = hasNames ? rows.shift().map((name, i) => name.trim() || `column ${i + 1}`) : rows[0].map((_, i) => `column ${i + 1}`);
  const odd = rows.findIndex(r => r.length !== names.length);
  if (odd >= 0) throw new Error(`Row ${odd + 1} has ${rows[odd].length} cells, but there are ${names.length} columns.`);
  return { names, rows, separator, hasNames };
}

// The number in a cell. NaN is a missing one.
function numberOf(cell, decimal, place) {
  const text = cell.trim();
  if (data.nulls.includes(text)) return NaN;
  const plain = decimal === "," ? text.replace(",", ".") : text;
  if (NUMBER.test(plain)) return Number(plain);
  const word = WORDS[text.toLowerCase()];
  if (word !== undefined) return word;
  const comma = decimal === "." && NUMBER.test(text.replace(",", ".")) ? " If that is a decimal comma, tick it." : "";
  throw new Error(`${place()}: ${JSON.stringify(text)} is not a number.${comma}`);
}

// Columns of the wanted names. A file without them has the columns in order, apart from the label.
function findColumns(table, wanted, label) {
  const places = wanted.map(name => table.names.indexOf(name));
  const lost = wanted.filter((_, i) => places[i] < 0);
  if (!lost.length) return places;
  const others = table.names.map((_, i) => i).filter(i => i !== label);
  if (others.length === wanted.length && (!data.named || !table.hasNames)) return others;
  throw new Error(`The file lacks the column ${JSON.stringify(lost[0])}${lost.length > 1 ? ` and ${lost.length - 1} more` : ""}.`);
}

const sameLabel = (a, b) => a === b || (NUMBER.test(a) && NUMBER.test(b) && Number(a) === Number(b));
const classOf = text => data.model.classes.findIndex(label => sameLabel(String(label), text.trim()));

// A column of labels: it is none of the inputs, and most of its cells are names of classes.
function guessLabel(table, wanted) {
  const some = table.rows.slice(0, 500);
  const share = i => some.filter(r => truthOf(r[i]) !== undefined).length / Math.max(1, some.length);
  const shares = table.names.map((name, i) => wanted.includes(name) ? 0 : share(i));
  const best = shares.reduce((at, s, i) => s >= shares[at] ? i : at, 0); // the last of the best
  return shares[best] > 0.5 && (data.named || table.names.length > wanted.length) ? best : -1;
}

const pause = () => new Promise(done => setTimeout(done));

const truthOf = text => number ? numberOr(text) : classOf(text) < 0 ? undefined : classOf(text);
function numberOr(text) { return NUMBER.test(text.trim()) ? Number(text) : undefined; }

// Answers of all rows: a number each, null for none yet (a stream), or a text why there is none.
async function answerRows(table, label, decimal, told) {
  const columns = findColumns(table, data.model.features.map(f => f.input), label), answers = [], rows = [];
  const values = data.model.features.map(f => new Map(f.categories.map((name, k) => [name, k])));
  for (const [r, cells] of table.rows.entries()) {
    const row = columns.map((c, f) => values[f].size ? values[f].get(cells[c].trim()) ?? NaN : numberOf(cells[c], decimal, () => `Row ${r + 1}, column ${JSON.stringify(table.names[c])}`));
    const refused = model.refused(row);
    answers.push(refused < 0 ? model.predict(row) : `${data.model.features[refused].input} is missing, which it never was in training`);
    if (refused < 0 && rows.length < 200) rows.push({ i: r, x: row.map(v => Number.isNaN(v) ? null : v), y: label < 0 ? undefined : truthOf(cells[label]), predicted: answers[r] });
    if (r % 2000 === 1999) { told(r + 1); await pause(); }
  }
  data.rows = rows;
  fillRows();
  return answers;
}

const toCount = v => { // as numpy.rint: halves go to the even number
  const low = Math.floor(v), rounded = v - low === 0.5 ? low + (low & 1) : Math.round(v);
  return Math.max(-32768, Math.min(32767, rounded));
};

async function answerSamples(table, label, decimal, told) {
  const stream = data.board.stream, columns = findColumns(table, stream.axes, label), answers = [];
  const samples = table.rows.map((cells, r) => columns.map(c => numberOf(cells[c], decimal, () => `Row ${r + 1}, column ${JSON.stringify(table.names[c])}`)));
  const bad = samples.findIndex(sample => !sample.every(Number.isFinite));
  if (bad >= 0) throw new Error(`Row ${bad + 1} lacks a sample.`);
  const areCounts = samples.every(sample => sample.every(v => v === Math.floor(v) && v >= -32768 && v <= 32767));
  if (!areCounts && !stream.scale) throw new Error("The samples are not whole numbers of 16 bits, and the model does not know its counts per unit.");
  model.reset();
  for (const [r, sample] of samples.entries()) {
    answers.push(model.push(areCounts ? sample : sample.map((v, a) => toCount(v * stream.scale[a]))));
    if (r % 2000 === 1999) { told(r + 1); await pause(); }
  }
  model.reset();
  return answers;
}

const isGiven = a => typeof a === "number";
const answerText = a => !isGiven(a) ? "" : number ? String(Number(a.toPrecision(9))) : className(a);

// How the answers compare with a column of labels.
function comparison(table, answers, label) {
  const n = data.model.classes.length, counts = data.model.classes.map(() => new Array(n + 1).fill(0));
  let right = 0, compared = 0;
  answers.forEach((a, r) => {
    const truth = label < 0 ? undefined : truthOf(table.rows[r][label]);
    if (truth === undefined || !isGiven(a)) return;
    counts[truth][a]++;
    if (a < n) { compared++; if (a === truth) right++; }
  });
  return { counts, right, compared };
}

const quoted = (cell, separator) => /["\r\n]/.test(cell) || cell.includes(separator) ? `"${cell.replaceAll('"', '""')}"` : cell;
function withAnswers({ table, answers }) {
  const { names, rows, separator } = table;
  let column = "answer";
  while (names.includes(column)) column += "_";
  const lines = [[...names, column], ...rows.map((cells, r) => [...cells, answerText(answers[r])])];
  return `${lines.map(cells => cells.map(cell => quoted(cell, separator)).join(separator)).join("\n")}\n`;
}

let opened = null, answered = null; // the file, and its answers
async function answerFile() {
  const label = Number($("label-choice").value), decimal = $("decimal").checked ? "," : ".", table = opened.table;
  const told = n => { $("file-result").textContent = `${n} of ${table.rows.length} rows`; };
  $("file-table").replaceChildren();
  $("download").hidden = true;
  try {
    const start = performance.now(), answers = await (data.board.stream ? answerSamples : answerRows)(table, label, decimal, told);
    answered = { table, answers };
    showAnswers(label, (performance.now() - start) / 1000);
  } catch (error) {
    answered = null;
    $("file-result").textContent = `${opened.name}: ${error.message}`;
  }
}

// How far numbers are from a column of them, and from where to where they go.
function showNumbers(label) {
  const { table, answers } = answered, given = answers.filter(isGiven), text = [];
  const away = answers.map((a, r) => isGiven(a) && label >= 0 ? Math.abs(a - truthOf(table.rows[r][label])) : NaN).filter(d => !Number.isNaN(d));
  const mean = of => of.reduce((a, b) => a + b, 0) / of.length;
  if (away.length) text.push(`They are ${inUnit(mean(away).toPrecision(4))} away from ${table.names[label]} on average of ${away.length}`);
  if (given.length) $("file-table").append(tableOf(["answers", "smallest", "mean", "largest"], [[className(0), valueText(Math.min(...given)), valueText(mean(given)), valueText(Math.max(...given))]]));
  return text;
}

function showAnswers(label, seconds) {
  const { table, answers } = answered, n = data.model.classes.length, { counts, right, compared } = number ? {} : comparison(table, answers, label);
  const given = answers.filter(a => isGiven(a) && (number || a < n)).length, refused = answers.filter(a => typeof a === "string");
  const unknown = number ? 0 : answers.filter(a => a === n).length, text = [`${opened.name}: ${answers.length} ${data.board.stream ? "samples" : "rows"} in ${seconds.toFixed(2)} s, ${given} answers`];
  if (unknown) text.push(`${unknown} unknown`);
  if (refused.length) text.push(`${refused.length} not answered, because ${refused[0]}`);
  if (number) text.push(...showNumbers(label));
  if (compared) text.push(`${right} of ${compared} are right (${(100 * right / compared).toFixed(2)} %)`);
  $("file-result").textContent = `${text.join(". ")}.`;
  if (compared) {
    const columns = counts[0].map((_, c) => c).filter(c => c < n || counts.some(row => row[c]));
    $("file-table").append(tableOf(["true class", ...columns.map(c => `as ${classText(c)}`)], counts.map((row, c) => [classText(c), ...columns.map(k => row[k])]).filter(row => row.slice(1).some(Boolean))));
  } else if (!number) {
    const total = new Map();
    for (const a of answers) if (isGiven(a)) total.set(a, (total.get(a) ?? 0) + 1);
    $("file-table").append(tableOf(["answer", "how often"], [...total].sort((a, b) => b[1] - a[1]).map(([a, k]) => [classText(a), k])));
  }
  $("download").hidden = false;
  hintAtScrolling();
}

async function openFile(file) {
  if (!file) return;
  try {
    const table = parseTable(await file.text());
    opened = { name: file.name, table };
    const wanted = data.board.stream ? data.board.stream.axes : data.model.features.map(f => f.input);
    $("label-choice").replaceChildren(make("option", "none", { value: -1 }), ...table.names.map((name, i) => make("option", name, { value: i })));
    $("label-choice").value = guessLabel(table, wanted);
    $("file-options").hidden = false;
    await answerFile();
  } catch (error) {
    $("file-result").textContent = `${file.name}: ${error.message}`;
  }
}

function showFile() {
  $("file").addEventListener("change", () => openFile($("file").files[0]));
  for (const id of ["label-choice", "decimal"]) $(id).addEventListener("change", answerFile);
  addEventListener("dragover", e => { e.preventDefault(); document.body.classList.add("dropping"); });
  addEventListener("dragleave", e => { if (!e.relatedTarget) document.body.classList.remove("dropping"); });
  addEventListener("drop", e => { e.preventDefault(); document.body.classList.remove("dropping"); openFile(e.dataTransfer.files[0]); });
  $("download").addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([withAnswers(answered)], { type: "text/csv" })), link = make("a", "", { href: url, download: `answers-${opened.name}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  });
}
