// Runs scripts one after the other in one MicroPython interpreter. A job comes as JSON on standard input:
// { package, heap, files: {path: base64}, scripts: [text] }; on standard output a JSON list with what each
// script printed, or { error } for the first one that failed.
import fs from "node:fs";
import { pathToFileURL } from "node:url";

const job = JSON.parse(fs.readFileSync(0, "utf8"));
const { loadMicroPython } = await import(pathToFileURL(job.package));
let printed = [];
const interpreter = await loadMicroPython({
  heapsize: job.heap,
  linebuffer: true,
  stdout: (line) => printed.push(line),
});
for (const [path, data] of Object.entries(job.files)) {
  interpreter.FS.writeFile(path, Buffer.from(data, "base64"));
}
const results = [];
for (const script of job.scripts) {
  printed = [];
  try {
    interpreter.runPython(script);
    results.push({ text: printed.join("\n") });
  } catch (error) {
    results.push({ error: String(error.message) });
    break;
  }
}
process.stdout.write(JSON.stringify(results));
