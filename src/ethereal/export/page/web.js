// Starts the compiled model and fills the page of an export.
function showAbout() {
  document.title = `${data.title} · ethereal`;
  $("title").textContent = data.title;
  $("subtitle").textContent = data.subtitle;
  for (const [name, value] of Object.entries(data.facts)) $("facts").append(make("dt", name), make("dd", String(value)));
  if (number) $("live-note").textContent = "The C of the board runs in this page, compiled to WebAssembly. Change the features and watch what the rules add.";
  const stream = data.board.stream;
  $("file-note").textContent = stream
    ? `Drop a CSV of samples on this page: a line per sample, with the columns ${stream.axes.join(", ")}. An answer stands beside the sample after which it comes.`
    : "Drop a CSV on this page: a line per row. Columns are found by their names, and others stay as they are.";
}

async function start() {
  try {
    const bytes = Uint8Array.from(atob(data.wasm), c => c.charCodeAt(0)), { instance } = await WebAssembly.instantiate(bytes);
    model = new BoardModel(data.model, instance.exports, data.board);
    if (!instance.exports.et_page_check()) throw new Error("The tables of the model are not as they were exported.");
    showAbout(); showLive(); showFile(); showSensors();
    hintAtScrolling();
    addEventListener("resize", hintAtScrolling);
    window.ethereal = { model, classSums: row => model.sums(row), predict: row => model.predict(row) };
  } catch (error) {
    $("verdict").textContent = `The model cannot run here: ${error.message}`;
  }
}
window.ready = start();
