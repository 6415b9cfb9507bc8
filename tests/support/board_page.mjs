// Answers of the compiled model of a page: data and rows come on standard input as JSON.
import { readFileSync } from "node:fs";

const { data, scripts, rows = [], windows = [] } = JSON.parse(readFileSync(0, "utf8"));
const BoardModel = new Function(`${scripts}; return BoardModel;`)();
const wasm = new WebAssembly.Module(Buffer.from(data.wasm, "base64"));
const model = new BoardModel(data.model, new WebAssembly.Instance(wasm).exports, data.board);
const answers = { imports: WebAssembly.Module.imports(wasm).length, bytes: Buffer.from(data.wasm, "base64").length };
answers.check = model.c.et_page_check();
answers.refused = rows.map(row => model.refused(row));
const taken = rows.filter((_, i) => answers.refused[i] < 0);
answers.sums = taken.map(row => model.sums(row, model.firing(row))); // throws where the rules disagree
answers.classes = taken.map(row => model.predict(row));
answers.windows = windows.map(window => {
  model.reset();
  const given = window.map(sample => model.push(sample));
  if (given.slice(0, -1).some(answer => answer !== null)) throw new Error("an answer came too early");
  return [given.at(-1), [...model.features]];
});
process.stdout.write(JSON.stringify(answers));
