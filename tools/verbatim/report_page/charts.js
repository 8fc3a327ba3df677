"use strict";
// Charts over time: their axes and cursors, the lives of queue pairs, send queues and links.
const verbatimCharts = (page) => {
  const { data, id, svg, micro, long, fullName, begin, end, busyFrom, busyTo, toSlider, fromSlider, moveTo } = page;
  const kWide = 1000, kLeft = 150, kRight = 10;
  const kStates = ["RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"];
  const cursors = [];
  const byName = new Intl.Collator("en", { numeric: true }).compare;  // h2 before h12

  // x is the time with packets; or, if `isWhole`, all of it, on the scale of the slider.
  const chart = (parent, height, from, to, label, isWhole) => {
    const box = svg("svg", { viewBox: "0 0 " + kWide + " " + height, role: "img", "aria-label": label });
    const part = (t) => isWhole ? toSlider(t) / 1e6 : (t - from) / Math.max(1, to - from);
    const x = (t) => kLeft + (kWide - kLeft - kRight) * Math.min(1, Math.max(0, part(t)));
    const cursor = svg("line", { class: "cursor", y1: 0, y2: height });
    const place = (t) => { const at = x(t).toFixed(2); cursor.setAttribute("x1", at); cursor.setAttribute("x2", at); };
    box.addEventListener("click", (e) => {
      const area = box.getBoundingClientRect();
      const at = (e.clientX - area.left) / area.width * kWide;
      const share = (at - kLeft) / (kWide - kLeft - kRight);
      if (at >= kLeft) moveTo(isWhole ? fromSlider(1e6 * Math.min(1, share)) : from + (to - from) * share, "chart");
    });
    parent.append(box);
    return { box, x, finish: () => { box.append(cursor); cursors.push(place); place(page.now()); } };
  };
  const axis = (parent, from, to, isWhole) => {
    const { box, x } = chart(parent, 16, from, to, "time", isWhole);
    for (let k = 0; k <= 4; ++k) {
      const t = isWhole ? fromSlider([0, 1e5, 5e5, 9e5, 1e6][k]) : from + (to - from) * k / 4;
      if (isWhole && (k === 1 || k === 3) && Math.abs(x(t) - x(k === 1 ? begin : end)) < 150) continue;
      box.append(svg("text", { x: x(t), y: 12, "text-anchor": k === 0 ? "start" : k === 4 ? "end" : "middle" }, micro(t)));
    }
  };
  // Bins as one area: far fewer elements than a bar for each.
  const area = (bins, most, high, className) => {
    const w = (kWide - kLeft - kRight) / bins.length, floor = high - 2;
    let path = "", last = -1;
    for (let k = 0; k < bins.length; ++k) {
      if (bins[k] === last) continue;
      const x = (kLeft + k * w).toFixed(1);
      if (last > 0 || bins[k] > 0) path += (path ? "L" : "M" + x + " " + floor + "L") + x + " " + (floor - (high - 6) * Math.max(0, last) / most).toFixed(1) + "L" + x + " " + (floor - (high - 6) * Math.max(0, bins[k]) / most).toFixed(1);
      last = bins[k];
    }
    if (!path) return svg("path", { class: className, d: "" });
    return svg("path", { class: className, d: path + "L" + (kWide - kRight) + " " + (floor - (high - 6) * Math.max(0, last) / most).toFixed(1) + "L" + (kWide - kRight) + " " + floor + "Z" });
  };
  const names = (box, first, second) => {
    // What is longer would run into the chart.
    [first, second].forEach((words, k) => {
      if (!words) return;
      const text = svg("text", { x: 0, y: 13 + 14 * k }, words.length > 22 ? words.slice(0, 21) + "…" : words);
      if (words.length > 22) text.append(svg("title", {}, words));
      box.append(text);
    });
  };

  // From the fewest to the most of each part of the time. Between two looks nothing is known; the last one is shown on, paler, if it
  // holds until the next.
  const band = (parent, { least, most }, { first, words, whole, bound, isHeld }) => {
    const high = 34, bins = most.length, w = (kWide - kLeft - kRight) / bins, top = Math.max(1, bound || Math.max(...most));
    const { box, finish } = chart(parent, high, busyFrom, busyTo, first + ": " + (whole || words));
    names(box, first, words);
    const y = (v) => high - 2 - (high - 6) * Math.min(1, v / top);
    let low = -1, up = -1;
    for (let k = 0; k < bins; ++k) {
      const isSeen = most[k] >= 0;
      if (isSeen) { low = least[k]; up = most[k]; }
      if (!isSeen && (!isHeld || up < 0)) continue;
      const bar = svg("rect", { class: isSeen ? "load" : "load is-old", x: kLeft + k * w, width: Math.max(.6, w), y: y(up), height: high - 2 - y(up) });
      bar.append(svg("title", {}, (low === up ? low : low + " to " + up) + (isSeen ? "" : " before")));
      box.append(bar);
      // Where the fewest is far below the most, the part between is paler.
      if (isSeen && low < up) box.append(svg("rect", { class: "gap", x: kLeft + k * w, width: Math.max(.6, w), y: y(up), height: y(low) - y(up) }));
      if (isSeen && low === 0 && isHeld) box.append(svg("rect", { class: "lost", x: kLeft + k * w, width: Math.max(2, w), y: 0, height: 6 }));
    }
    finish();
  };

  const lives = () => {
    const parent = id("lives"), own = new Map();
    for (const change of data.changes) own.has(change[1]) ? own.get(change[1]).push(change) : own.set(change[1], [change]);
    if (!own.size) { parent.textContent = "No queue pair changed its state."; return; }
    for (const [c, changes] of [...own].sort((a, b) => a[0] - b[0])) {
      const { box, x, finish } = chart(parent, 18, begin, end, fullName(c) + ": " + changes.map((o) => kStates[o[2]] + " from " + micro(o[0])).join(", "), true);
      names(box, fullName(c));
      changes.forEach(([t, , state], k) => {
        const until = k + 1 < changes.length ? changes[k + 1][0] : end;
        const bar = svg("rect", { class: "state-" + state, x: x(t), y: 2, height: 14, width: Math.max(1.5, x(until) - x(t)) });
        bar.append(svg("title", {}, kStates[state] + " from " + micro(t) + " for " + long(until - t)));
        box.append(bar);
        if (x(until) - x(t) > 34) box.append(svg("text", { class: "on-state", x: x(t) + 4, y: 13 }, kStates[state]));
      });
      finish();
    }
    axis(parent, begin, end, true);
  };
  const queues = () => {
    const parent = id("queues"), { requests, packets, peer_credits } = data.windows;
    if (!requests.length && !packets.length) { parent.textContent = "No request was posted to a send queue."; return; }
    const high = 34, columns = new Set([...requests, ...packets, ...peer_credits].map((one) => one.column));
    for (const c of [...columns].sort((a, b) => a - b)) {
      const of = (list) => list.find((one) => one.column === c);
      for (const [one, words] of [[of(requests), "requests"], [of(packets), "packets"]]) {
        if (!one) continue;
        const whole = words === "requests" ? "requests outstanding" : "packets not acknowledged";
        const { box, finish } = chart(parent, high, busyFrom, busyTo, fullName(c) + ": at most " + one.most + " " + whole);
        names(box, fullName(c), "at most " + (one.most === 1 ? "1 " + words.slice(0, -1) : one.most + " " + words));
        box.append(area(one.bins, Math.max(1, one.most), high, "load"));
        finish();
      }
      const told = of(peer_credits);
      if (told) band(parent, told, { first: fullName(c), words: told.fewest + " credits or more", whole: "the other side tells at least " + told.fewest + " receives", isHeld: true });
    }
    axis(parent, busyFrom, busyTo);
  };
  const links = () => {
    const parent = id("links");
    if (!data.links.length) { parent.textContent = "No packet was sent."; return; }
    const bins = data.links[0].bytes.length, span = (busyTo - busyFrom) / bins, w = (kWide - kLeft - kRight) / bins;
    const most = Math.max(1, ...data.links.map((l) => Math.max(...l.bytes)));
    for (const link of [...data.links].sort((a, b) => byName(a.port, b.port))) {
      const total = link.bytes.reduce((a, b) => a + b, 0), lost = link.drops.reduce((a, b) => a + b, 0);
      if (!total && !lost) continue;
      const peak = Math.max(...link.bytes) * 8e12 / span / 1e9, high = 34;
      const { box, finish } = chart(parent, high, busyFrom, busyTo, link.port + ": " + total + " bytes, " + lost + " packets dropped");
      names(box, link.port.replace("port/", ""), total ? "peak " + peak.toFixed(2) + " Gbit/s" : lost + " dropped");
      box.append(area(link.bytes, most, high, "load"));
      link.drops.forEach((d, k) => {
        if (!d) return;
        const mark = svg("rect", { class: "lost", x: kLeft + k * w, width: Math.max(2, w), y: 0, height: 6 });
        mark.append(svg("title", {}, d + " dropped"));
        box.append(mark);
      });
      finish();
    }
    axis(parent, busyFrom, busyTo);
  };

  const credits = () => {
    const parent = id("credits"), all = data.windows.link_credits;
    if (!all.length) { parent.textContent = "No packet was sent, or the run was recorded without them."; return; }
    for (const one of [...all].sort((a, b) => byName(a.port, b.port) || a.lane - b.lane)) {
      const name = one.port.replace("port/", "") + ", VL " + one.lane;
      const taken = (blocks) => blocks.map((free) => free < 0 ? -1 : one.of - free), most = one.of - one.fewest;
      band(parent, { least: taken(one.most), most: taken(one.least) }, { first: name, words: "at most " + most + " of " + one.of, bound: one.of,
        whole: "at most " + most + " of " + one.of + " blocks are taken" });
    }
    axis(parent, busyFrom, busyTo);
  };

  return { kWide, kLeft, kRight, chart, axis, area, band, names, byName, lives, queues, links, credits, showCursors: (now) => { for (const place of cursors) place(now); } };
};
