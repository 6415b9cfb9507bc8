// A board for tests: MicroPython's event-driven prompt on standard input and output. Files outlive a soft reset, as
// they do in a board's flash.
import fs from "node:fs";
import { pathToFileURL } from "node:url";

const [, , module, heap, files] = process.argv; // files: "rw", or "ro" for a board that stores none
const { loadMicroPython } = await import(pathToFileURL(module));
const send = (data) => fs.writeSync(1, data);
const flash = {};
let interpreter;

async function boot() {
  if (interpreter) {
    for (const name of interpreter.FS.readdir("/")) {
      const stat = interpreter.FS.stat(`/${name}`);
      if (interpreter.FS.isFile(stat.mode)) flash[name] = interpreter.FS.readFile(`/${name}`);
    }
  }
  interpreter = await loadMicroPython({ heapsize: Number(heap), linebuffer: false, stdout: send });
  for (const [name, data] of Object.entries(flash)) interpreter.FS.writeFile(`/${name}`, data);
  if (files === "ro") interpreter.FS.chmod("/", 0o555);
  interpreter.replInit();
}

await boot();
const buffer = Buffer.alloc(1);
let raw = false;
let skip = 0;
for (;;) {
  let n = 0;
  try {
    n = fs.readSync(0, buffer, 0, 1, null);
  } catch (error) {
    if (error.code === "EAGAIN") continue;
    throw error;
  }
  if (!n) break;
  // Raw paste waits for the port in a way that this one cannot; boards may say that they have none.
  if (raw && buffer[0] === 5) {
    skip = 2;
    send("R\0");
    continue;
  }
  if (skip) {
    skip--;
    continue;
  }
  if (buffer[0] === 1) raw = true;
  if (buffer[0] === 2) raw = false;
  if (interpreter.replProcessChar(buffer[0])) {
    send("soft reboot\r\n");
    await boot();
    if (raw) interpreter.replProcessChar(1);
  }
}
