"use strict";
// Plots over other quantities than time: curves with logarithmic axes, and a tooltip.
const verbatimPlots = ({ id, element, svg }) => {
  const kWide = 1000, kHigh = 270, kLeft = 90, kRight = 20, kTop = 24, kBottom = 44;
  const kColours = 8;

  // "1.5 µs": a time on an axis or in a tooltip, with up to four digits.
  const timeText = (ps) => {
    const units = [[1e12, "s"], [1e9, "ms"], [1e6, "µs"], [1e3, "ns"], [1, "ps"]];
    const [unit, name] = units.find(([one]) => ps >= one) || units[4];
    return Number((ps / unit).toPrecision(4)) + " " + name;
  };
  const bytesText = (bytes) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = 0;
    while (bytes >= 1024 && unit + 1 < units.length) { bytes /= 1024; ++unit; }
    return Number(bytes.toPrecision(3)) + " " + units[unit];
  };

  // A logarithmic axis from `least` to `most`: function from value to position (0 to 1), and ticks. Sizes
  // have ticks at powers of 2, other values at powers of 10 and, if there is space, between them.
  const logAxis = (least, most, base = 10) => {
    const low = Math.log(least), span = Math.max(1e-9, Math.log(most) - low), marks = [];
    const decades = span / Math.log(10), steps = base === 2 ? [1] : decades < 1.2 ? [1, 1.5, 2, 3, 4, 5, 7] : decades < 4 ? [1, 2, 5] : [1];
    const unit = base === 2 ? 2 ** Math.max(1, Math.ceil(span / Math.log(2) / 12)) : 10;
    for (let power = unit ** Math.floor(Math.log(least) / Math.log(unit) - 1e-9); power <= most * 1.000001; power *= unit)
      for (const step of steps) if (power * step >= least * .999999 && power * step <= most * 1.000001) marks.push(power * step);
    // A range with too few such values gets ticks at round values.
    if (marks.length < 3 && base !== 2) {
      const step = [1, 2, 5, 10].map((k) => k * 10 ** Math.floor(Math.log10((most - least) / 6))).find((one) => one >= (most - least) / 6);
      marks.length = 0;
      for (let k = Math.ceil(least / step); k * step <= most; ++k) marks.push(k * step);
    }
    return { at: (v) => (Math.log(Math.min(most, Math.max(least, v))) - low) / span, value: (share) => Math.exp(low + share * span), marks };
  };
  const linearAxis = (least, most, marks) => ({ at: (v) => (v - least) / (most - least), value: (share) => least + share * (most - least), marks });

  // `curves`: { name, points: [[x, y]], dots }. `x`, `y`: { axis, text, label }. `tell(value of x)`: text of
  // the tooltip.
  const plot = (parent, { title, x, y, curves, tell, isStep }) => {
    const wide = kWide - kLeft - kRight, high = kHigh - kTop - kBottom;
    const box = svg("svg", { viewBox: "0 0 " + kWide + " " + kHigh, role: "img", "aria-label": title });
    const atX = (v) => kLeft + wide * x.axis.at(v), atY = (v) => kTop + high * (1 - y.axis.at(v));
    box.append(svg("text", { class: "title", x: kLeft, y: 14 }, title), svg("rect", { class: "frame", x: kLeft, y: kTop, width: wide, height: high }));
    let last = -1e9;
    for (const mark of x.axis.marks) {
      const at = atX(mark), words = x.text(mark), room = 3.4 * words.length + 6;
      box.append(svg("line", { class: "grid", x1: at, x2: at, y1: kTop, y2: kTop + high }));
      if (at - room < last) continue;
      box.append(svg("text", { x: Math.min(at, kWide - room), y: kTop + high + 15, "text-anchor": "middle" }, words));
      last = at + room;
    }
    last = 1e9;
    for (const mark of y.axis.marks) {
      const at = atY(mark);
      box.append(svg("line", { class: "grid", x1: kLeft, x2: kLeft + wide, y1: at, y2: at }));
      if (last - at < 12) continue;
      box.append(svg("text", { x: kLeft - 6, y: at + 4, "text-anchor": "end" }, y.text(mark)));
      last = at;
    }
    box.append(svg("text", { x: kLeft + wide / 2, y: kHigh - 8, "text-anchor": "middle" }, x.label));
    box.append(svg("text", { x: 0, y: 0, "text-anchor": "middle", transform: "translate(12 " + (kTop + high / 2) + ") rotate(-90)" }, y.label));
    curves.forEach(({ points, dots }, k) => {
      if (!points.length) return;
      const colour = k % kColours;
      let path = "";
      points.forEach(([a, b], i) => { path += (i ? (isStep ? "H" + atX(a).toFixed(1) + "V" + atY(b).toFixed(1) : "L" + atX(a).toFixed(1) + " " + atY(b).toFixed(1)) : "M" + atX(a).toFixed(1) + " " + (isStep ? (kTop + high) + "V" + atY(b).toFixed(1) : atY(b).toFixed(1))); });
      if (isStep) path += "H" + (kLeft + wide);
      box.append(svg("path", { class: "curve curve-" + colour, d: path }));
      if (dots) for (const [a, b] of points) box.append(svg("circle", { class: "dot-" + colour, cx: atX(a).toFixed(1), cy: atY(b).toFixed(1), r: 2.6 }));
    });
    const reading = svg("line", { class: "reading", y1: kTop, y2: kTop + high, visibility: "hidden" });
    box.append(reading);
    const tip = id("tip");
    box.addEventListener("pointermove", (e) => {
      const area = box.getBoundingClientRect(), at = (e.clientX - area.left) / area.width * kWide, share = (at - kLeft) / wide;
      const isIn = share >= 0 && share <= 1;
      reading.setAttribute("visibility", isIn ? "visible" : "hidden");
      tip.hidden = !isIn;
      if (!isIn) return;
      reading.setAttribute("x1", at);
      reading.setAttribute("x2", at);
      tip.textContent = tell(x.axis.value(share));
      tip.style.left = Math.min(e.clientX + 12, innerWidth - 320) + "px";
      tip.style.top = e.clientY + 16 + "px";
    });
    box.addEventListener("pointerleave", () => { tip.hidden = true; reading.setAttribute("visibility", "hidden"); });
    parent.append(box);
    return box;
  };
  // Legend with the colours of the curves.
  const legend = (parent, names) => {
    const box = element("p", "legend");
    names.forEach((name, k) => { box.append(element("span", "swatch dot-" + k % kColours), document.createTextNode(" " + name + "   ")); });
    parent.append(box);
  };
  return { plot, legend, logAxis, linearAxis, timeText, bytesText, kColours };
};
