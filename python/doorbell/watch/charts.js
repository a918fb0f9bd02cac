// SPDX-License-Identifier: Apache-2.0
// Charts as SVG, drawn anew each time: lines over time, a histogram, bars with names.

const WIDTH = 340, HEIGHT = 176, LEFT = 44, BOTTOM = 18, TOP = 6;

function element(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function blank(svg, height = HEIGHT) {
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
  svg.style.height = `${height / 16}rem`;
  svg.replaceChildren();
}

/** The next of 1, 2, 5, 10, 20 ... */
export function roundUp(value) {
  if (!(value > 0)) return 1;
  const ten = 10 ** Math.floor(Math.log10(value));
  return ten * [1, 2, 5, 10].find(step => step * ten >= value);
}

export function short(value) {
  if (value >= 100 || value === 0) return value.toFixed(0);
  return value.toPrecision(3).replace(/\.?0+$/, "");
}

/** series: lists of [x, y]; x from `first` to `last`. */
export function lines(svg, series, first, last) {
  blank(svg);
  const most = roundUp(Math.max(0, ...series.flat().map(p => p[1])));
  const x = v => LEFT + (v - first) / (last - first || 1) * (WIDTH - LEFT);
  const y = v => HEIGHT - BOTTOM - v / most * (HEIGHT - BOTTOM - TOP);
  for (const mark of [0, most / 2, most]) {
    svg.append(element("line", {class: "axis", x1: LEFT, x2: WIDTH, y1: y(mark), y2: y(mark)}));
    svg.append(element("text", {x: LEFT - 4, y: y(mark) + 4, "text-anchor": "end"}, short(mark)));
  }
  svg.append(element("text", {x: LEFT, y: HEIGHT - 4}, `${Math.round(last - first)} s ago`));
  svg.append(element("text", {x: WIDTH, y: HEIGHT - 4, "text-anchor": "end"}, "now"));
  series.forEach((points, i) => svg.append(
    element("polyline", {class: `s${i}`, points: points.map(p => `${x(p[0])},${y(p[1])}`).join(" ")})));
}

/** bins: [begin, end, count], in order, on a logarithmic axis; areas are as counts. marks: [name, value]. */
export function histogram(svg, bins, marks, unit) {
  blank(svg);
  if (!bins.length) {
    svg.append(element("text", {x: LEFT, y: HEIGHT / 2}, "no commands"));
    return;
  }
  const low = Math.log(bins[0][0] / 1.1), high = Math.log(bins.at(-1)[1] * 1.1);
  const dense = ([begin, end, count]) => count / Math.log(end / begin);
  const most = Math.max(...bins.map(dense));
  const x = v => LEFT + (Math.log(v) - low) / (high - low) * (WIDTH - LEFT);
  const floor = HEIGHT - BOTTOM;
  svg.append(element("line", {class: "axis", x1: LEFT, x2: WIDTH, y1: floor, y2: floor}));
  for (const bin of bins) {
    const [begin, end, count] = bin, height = Math.max(1, dense(bin) / most * (floor - TOP));
    const bar = element("rect", {class: "f0", x: x(begin), y: floor - height, height,
                                 width: Math.max(1, x(end) - x(begin) - 1)});
    bar.append(element("title", {}, `${short(begin)} to ${short(end)} ${unit}: ${count}`));
    svg.append(bar);
  }
  svg.append(element("text", {x: LEFT, y: HEIGHT - 4}, `${short(bins[0][0])} ${unit}`));
  svg.append(element("text", {x: WIDTH, y: HEIGHT - 4, "text-anchor": "end"},
                     marks.map(([name, value]) => `${name} ${short(value)}`).join("  ")));
}

/** rows: [name, [values]]; values of a row stand one behind the other. most: the axis' end, or none. */
export function bars(svg, rows, {most = 0, kinds = false, unit = ""} = {}) {
  const step = 20;
  blank(svg, Math.max(1, rows.length) * step + 4);
  const end = most || roundUp(Math.max(0, ...rows.map(r => r[1].reduce((a, b) => a + b, 0))));
  const left = 132, room = WIDTH - left - 46;
  rows.forEach(([name, values], row) => {
    const top = row * step + 2;
    svg.append(element("text", {x: left - 6, y: top + 13, "text-anchor": "end"}, name));
    svg.append(element("line", {class: "axis", x1: left, x2: left, y1: top, y2: top + step - 4}));
    let at = left;
    values.forEach((value, i) => {
      const width = Math.max(0, value) / end * room;
      svg.append(element("rect", {class: `f${(kinds ? row : i) % 6}`, x: at, y: top + 2, width, height: step - 8}));
      at += width;
    });
    svg.append(element("text", {x: at + 4, y: top + 13}, values.map(short).join(" + ") + unit));
  });
}
