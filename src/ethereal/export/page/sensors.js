// The phone's motion sensor and the microphone, as a stream of samples for models of windows.
const SOURCES = {
  none: ["nothing (0)", ""], ax: ["acceleration x", "m/s2"], ay: ["acceleration y", "m/s2"], az: ["acceleration z", "m/s2"],
  gx: ["rotation x", "deg/s"], gy: ["rotation y", "deg/s"], gz: ["rotation z", "deg/s"], sound: ["microphone", "1"],
};
// How many of a model's unit one unit of the browser is.
const UNITS = {
  "m/s2": { "m/s2": 1, "m/s^2": 1, "m/s²": 1, g: 1 / 9.80665, mg: 1000 / 9.80665 },
  "deg/s": { "deg/s": 1, dps: 1, "°/s": 1, "rad/s": Math.PI / 180, mdps: 1000 },
  1: {},
};
// Samples at another rate, by straight lines between those that come.
class Resampler {
  constructor(rate, take) { this.step = 1 / rate; this.take = take; this.last = null; this.next = 0; }
  add(time, values) {
    if (this.last && time > this.last.time) {
      if (time - this.last.time > 1) this.next = time; // it was interrupted
      for (; this.next <= time; this.next += this.step) {
        const part = (this.next - this.last.time) / (time - this.last.time);
        this.take(values.map((v, i) => this.last.values[i] + part * (v - this.last.values[i])));
      }
    } else if (!this.last) this.next = time;
    this.last = { time, values };
  }
}
// The sensor of an axis by its name: acc_x and gyro-z are known, and one axis alone is sound.
function guessSource(axis, i) {
  const { axes, rate } = data.board.stream, name = axis.toLowerCase(), letter = name.match(/([xyz])(?![a-z]*[xyz])/)?.[1];
  if (axes.length === 1 && (rate ?? 0) >= 4000) return "sound";
  if (!letter) return axes.length === 1 ? "sound" : ["ax", "ay", "az", "gx", "gy", "gz"][i] ?? "none";
  return (/gyr|rot|omega|^g[xyz]|ang/.test(name) ? "g" : "a") + letter;
}
// Counts per unit of the browser. A model that does not know its scale gets what sensors usually send.
function usualCounts(source, i) {
  const { scale, units } = data.board.stream, unit = SOURCES[source][1], per = UNITS[unit]?.[units?.[i]];
  if (scale && per) return scale[i] * per;
  return { "m/s2": 1000 / 9.80665, "deg/s": 16.4, 1: 32767 }[unit] ?? 0;
}

let running = null; // what stops the stream
function stopStream(why = "Stopped.") {
  running?.();
  running = null;
  $("sensor-start").textContent = "Start";
  $("sensor-state").textContent = why;
}

async function startStream() {
  const { axes, hop, majority } = data.board.stream, rate = Number($("sensor-rate").value);
  const chosen = axes.map((_, i) => ({ source: $(`axis${i}`).value, counts: Number($(`counts${i}`).value) }));
  const wantsSound = chosen.some(c => c.source === "sound"), state = { n: 0, answers: 0, shown: -Infinity };
  if (!(rate > 0)) throw new Error("The rate must be above 0.");
  const take = values => {
    const answer = model.push(values);
    state.n++;
    if (answer !== null) {
      state.answers++;
      $("stream-answer").textContent = number ? valueText(answer) : classText(answer);
      if (performance.now() - state.shown > 100) { // faster than anybody reads
        takeRow([...model.features]);
        state.shown = performance.now();
      }
    }
    if (answer !== null || state.n % Math.ceil(rate / 4) === 0) $("sensor-state").textContent = `${state.n} samples, ${state.answers} answers, one after every ${hop}${majority > 1 ? `, the most frequent of ${majority}` : ""}.`;
  };
  const resampler = new Resampler(rate, take), clip = v => Math.max(-32768, Math.min(32767, Math.round(v)));
  model.reset();
  if (wantsSound) {
    const media = await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false } });
    const context = new AudioContext(), source = context.createMediaStreamSource(media);
    // It runs beside the page and hands over what it hears. Its code is an address, because the page is one file.
    await context.audioWorklet.addModule(`data:text/javascript,${encodeURIComponent("registerProcessor('ear', class extends AudioWorkletProcessor { process([[sound]]) { if (sound) this.port.postMessage(sound.slice()); return true; } });")}`);
    const node = new AudioWorkletNode(context, "ear");
    let heard = 0;
    node.port.onmessage = e => {
      for (const v of e.data) resampler.add(heard++ / context.sampleRate, chosen.map(c => c.source === "sound" ? clip(v * c.counts) : 0));
    };
    source.connect(node);
    node.connect(context.destination);
    running = () => { node.port.onmessage = null; for (const track of media.getTracks()) track.stop(); context.close(); };
  } else {
    if (!("DeviceMotionEvent" in globalThis)) throw new Error("This browser has no motion sensor.");
    if (await DeviceMotionEvent.requestPermission?.() === "denied") throw new Error("The browser does not allow the motion sensor.");
    let hasMoved = false;
    const moved = e => {
      const a = e.accelerationIncludingGravity ?? {}, g = e.rotationRate ?? {};
      if ((a.x ?? g.alpha ?? null) === null) { // a computer without the sensor sends one such event
        if (!hasMoved) $("sensor-state").textContent = "This device has no motion sensor.";
        return;
      }
      hasMoved = true;
      const now = { none: 0, ax: a.x, ay: a.y, az: a.z, gx: g.beta, gy: g.gamma, gz: g.alpha };
      resampler.add(e.timeStamp / 1000, chosen.map(c => clip((now[c.source] ?? 0) * c.counts)));
    };
    addEventListener("devicemotion", moved);
    running = () => removeEventListener("devicemotion", moved);
  }
  $("sensor-start").textContent = "Stop";
  $("sensor-state").textContent = "Waiting for samples …";
}
const takeRow = values => { $("row-choice").value = -1; take(values); };

function showSensors() {
  const stream = data.board.stream;
  if (!stream) { $("sensor").hidden = true; return; }
  $("sensor-rate").value = stream.rate ?? 50;
  stream.axes.forEach((axis, i) => {
    const source = make("select", "", { id: `axis${i}`, "aria-label": `Sensor of ${axis}` }, ...Object.entries(SOURCES).map(([key, [text]]) => make("option", text, { value: key })));
    const counts = make("input", "", { type: "number", id: `counts${i}`, step: "any", "aria-label": `Counts per unit of ${axis}` });
    const fill = () => { counts.value = Number(usualCounts(source.value, i).toPrecision(6)); };
    source.value = guessSource(axis, i);
    source.addEventListener("change", fill);
    fill();
    $("sensor-axes").append(make("div", "", { class: "slider" }, make("label", `${axis}${stream.units ? ` in ${stream.units[i]}` : ""}`, { class: "name", for: `axis${i}` }), source, counts));
  });
  $("sensor-start").addEventListener("click", () => {
    if (running) stopStream();
    else startStream().catch(error => stopStream(error.message));
  });
}
