// SPDX-License-Identifier: Apache-2.0
// What the server says of each run becomes a section of the page. Rates are differences of two snapshots.

import {bars, histogram, lines, short} from "./charts.js";

const SHOWN_S = 60, LATENCY_S = 10, RATE_S = 1, AGAIN_MS = 1000;
const runs = new Map();

/** A run: its section and its snapshots of the last SHOWN_S seconds of real time. */
class Run {
  constructor(snapshot) {
    this.section = document.getElementById("run").content.cloneNode(true).firstElementChild;
    this.past = [];
    this.text("command", snapshot.command);
    this.text("title", snapshot.title);
    document.getElementById("runs").prepend(this.section);
  }

  get(name) { return this.section.querySelector("." + name); }
  text(name, value) { this.get(name).textContent = value ?? ""; }

  add(snapshot) {
    this.section.classList.remove("over");
    const last = this.past.at(-1);
    if (last && snapshot.real_s === last.real_s) return;
    if (last && snapshot.ns < last.ns) this.past = [];
    this.past.push(snapshot);
    while (this.past.length > 2 && this.past[0].real_s < snapshot.real_s - SHOWN_S) this.past.shift();
    this.draw();
  }

  over() {
    this.section.classList.add("over");
    this.text("doing", "ended");
  }

  /** The snapshot that is about so many seconds old. */
  before(seconds) {
    const now = this.past.at(-1).real_s;
    return this.past.findLast(s => s.real_s <= now - seconds) ?? this.past[0];
  }

  draw() {
    const now = this.past.at(-1);
    if (now.points !== undefined) return this.drawSweep(now);
    const then = this.before(RATE_S);
    const ns = now.ns - then.ns, real = now.real_s - then.real_s;
    const share = now.done === undefined ? "" : `, ${(100 * now.done).toFixed(0)} % done`;
    const operators = now.operators ? `, operators: ${now.operators.join(", ")}` : "";
    this.text("doing", `${now.jobs ?? (now.command === "sweep" ? "measuring" : "serving")}${share}${operators}`);
    const figures = [["simulated", `${(now.ns / 1e6).toFixed(2)} ms`]];
    if (real > 0) figures.push(["simulation speed", `${short((now.cycles - then.cycles) / real / 1e6)} Mcycles/s`]);
    if (ns > 0) {
      for (const [way, name] of [["up", "link to host"], ["down", "link from host"]]) {
        const busy = (now.link[way] - then.link[way]) / ns / now.link.bytes_per_ns;
        figures.push([name, `${(100 * busy).toFixed(1)} %`]);
      }
      if (now.commands !== undefined && then.commands !== undefined && now.commands >= then.commands)
        figures.push(["kIOPS, simulated", short((now.commands - then.commands) / ns * 1e6)],
                     ["IOPS, real", short((now.commands - then.commands) / real)]);
      this.drawRates(now, then, ns);
    }
    this.drawLatency(now, figures);
    bars(this.get("queues"), (now.queues ?? []).map(q => [`queue ${q.queue}`, [q.inside, q.waiting]]));
    this.show(figures);
  }

  drawRates(now, then, ns) {
    const total = (s, what) => s.functions.reduce((sum, f) => sum + f[what], 0);
    const series = ["written", "read"].map(what => this.past.slice(1).flatMap((s, i) => {
      const before = this.past[i];
      return s.ns > before.ns ? [[s.real_s, (total(s, what) - total(before, what)) / (s.ns - before.ns)]] : [];
    }));
    lines(this.get("rate"), series, this.past[0].real_s, now.real_s);
    const cycles = ns * now.clock_mhz / 1000;
    bars(this.get("stalls"), Object.entries(now.stalls).slice(0, 6).map(([cause, count]) =>
      [cause, [100 * ((count - then.stalls[cause]) >>> 0) / cycles]]), {most: 100, kinds: true, unit: " %"});
    const moved = (what, i, name) => (now[what][i][name] - then[what][i][name]) / ns;
    bars(this.get("functions"), now.functions.flatMap((f, i) => f.written || f.read || !i
      ? [[i ? `VF ${i}` : "PF", [moved("functions", i, "written"), moved("functions", i, "read")]]] : []));
    this.get("of-ssds").hidden = !now.ssds.length;
    bars(this.get("ssds"), now.ssds.map((_, i) => [`SSD ${i}`, [moved("ssds", i, "written"), moved("ssds", i, "read")]]));
  }

  drawLatency(now, figures) {
    const then = this.before(LATENCY_S);
    const early = new Map(then !== now && then.since_ns === now.since_ns ? then.latency.map(([begin, _, n]) => [begin, n]) : []);
    const bins = (now.latency ?? []).map(([begin, end, n]) => [begin / 1000, end / 1000, n - (early.get(begin) ?? 0)])
      .filter(b => b[2] > 0);
    const count = bins.reduce((sum, b) => sum + b[2], 0);
    const percentile = share => {
      let left = share * count;
      return (bins.find(b => (left -= b[2]) <= 0) ?? bins.at(-1))[0];
    };
    const marks = count ? [["p50", percentile(0.5)], ["p99", percentile(0.99)], ["p99.9", percentile(0.999)]] : [];
    for (const [name, value] of marks.slice(0, 2)) figures.push([`latency ${name}`, `${short(value)} us`]);
    histogram(this.get("latency"), bins, marks, "us");
  }

  drawSweep(now) {
    this.get("charts").hidden = true;
    const failed = now.failed ? `, ${now.failed} failed` : "";
    this.text("doing", `${now.over} of ${now.points} points are over${failed}`);
  }

  show(figures) {
    this.get("figures").replaceChildren(...figures.map(([name, value]) => {
      const pair = document.createElement("div");
      for (const [kind, text] of [["dt", name], ["dd", value]])
        pair.append(Object.assign(document.createElement(kind), {textContent: text}));
      return pair;
    }));
  }
}

function hear(message) {
  const alive = new Set();
  for (const snapshot of message.runs) {
    alive.add(snapshot.name);
    if (snapshot.command === undefined) continue; // it has not said anything yet
    if (!runs.has(snapshot.name)) runs.set(snapshot.name, new Run(snapshot));
    runs.get(snapshot.name).add(snapshot);
  }
  for (const [name, run] of runs) if (!alive.has(name)) run.over();
  const count = alive.size;
  document.getElementById("state").textContent =
    count ? `${count} ${count === 1 ? "run" : "runs"}` : "nothing runs: start ./doorbell bench, serve, vm or sweep";
}

function connect() {
  const socket = new WebSocket(`ws://${location.host}/live`);
  socket.onmessage = event => hear(JSON.parse(event.data));
  socket.onclose = () => {
    document.getElementById("state").textContent = "./doorbell watch has ended";
    setTimeout(connect, AGAIN_MS);
  };
}

connect();
