"use strict";
(() => {
  const kDropped = 1, kRetransmission = 2, kNak = 4, kRnrNak = 8, kFlushed = 16, kError = 32, kFault = 64, kDuplicate = 128;
  const kSpecial = kDropped | kRetransmission | kNak | kRnrNak | kFlushed | kError | kFault | kDuplicate;
  const kRow = 22, kTime = 140;
  const kStates = ["RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"];
  const id = (name) => document.getElementById(name);
  const data = JSON.parse(id("data").textContent);
  const rows = data.rows, count = rows.time.length;

  // Times come as differences.
  const time = new Float64Array(count);
  for (let i = 0, t = 0; i < count; ++i) time[i] = t += rows.time[i];
  const begin = count ? time[0] : 0, end = count ? Math.max(time[count - 1], begin + 1) : 1;
  const busyFrom = data.packets ? data.first_packet : begin;
  const busyTo = data.packets ? Math.max(data.last_packet, busyFrom + 1) : end;

  const element = (tag, className, text) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const svg = (tag, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const name in attributes) made.setAttribute(name, attributes[name]);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const micro = (ps) => (ps / 1e6).toFixed(3) + " us";
  const long = (ps) => Math.abs(ps) < 1e6 ? (ps / 1e3).toFixed(3) + " ns" : Math.abs(ps) < 1e9 ? micro(ps) : (ps / 1e9).toFixed(6) + " ms";
  const nameOf = (c) => data.columns[c].qp ? "QP " + data.columns[c].qp : "programs";
  const fullName = (c) => data.columns[c].host + ", " + nameOf(c);
  const isPacket = (i) => rows.bytes[i] > 0;
  const text = (i) => data.strings[rows.text[i]];
  const note = (i) => data.strings[rows.note[i]];
  const spoken = (i) => {
    let words = micro(time[i]) + ", " + data.columns[rows.from[i]].host + " " + nameOf(rows.from[i]);
    if (isPacket(i)) words += rows.to[i] >= 0 ? " to " + fullName(rows.to[i]) : "";
    words += ": " + text(i) + (isPacket(i) ? " PSN " + rows.psn[i] : "");
    return words + (note(i) ? ". " + note(i) : "");
  };

  // ---- what is shown, and of what it is the time
  let shown = [];       // indices of rows
  let chosen = -1;      // an index of rows
  let followed = -1;    // a request
  let onlyQp = -1;      // a column
  let now = begin;

  const matches = () => {
    const words = id("find").value.trim().toLowerCase();
    const found = new Uint8Array(data.strings.length);
    if (words) data.strings.forEach((s, i) => { found[i] = s.toLowerCase().includes(words) ? 1 : 0; });
    return (i) => !words || found[rows.text[i]] || found[rows.note[i]] || (isPacket(i) && String(rows.psn[i]) === words);
  };
  const filter = () => {
    const fits = matches(), problems = id("problems").checked;
    shown = [];
    for (let i = 0; i < count; ++i) {
      if (problems && !(rows.flags[i] & kSpecial)) continue;
      if (onlyQp >= 0 && rows.from[i] !== onlyQp && rows.to[i] !== onlyQp) continue;
      if (fits(i)) shown.push(i);
    }
    id("rows").style.height = shown.length * kRow + "px";
    paint();
  };
  // The first of the shown rows at or after a time.
  const at = (ps) => {
    let low = 0, high = shown.length;
    while (low < high) { const mid = (low + high) >> 1; if (time[shown[mid]] < ps) low = mid + 1; else high = mid; }
    return low;
  };

  // ---- columns
  const ladder = id("ladder");
  let width = 150, visible = data.columns.map((_, c) => c);
  const place = () => {
    const room = ladder.clientWidth - kTime - 28;
    width = Math.max(120, Math.floor(room / Math.max(1, visible.length)));
    const heads = id("heads");
    heads.textContent = "";
    const inner = element("div");
    inner.style.cssText = "position:relative;height:38px;width:" + (kTime + width * visible.length) + "px";
    for (let k = 0; k < visible.length;) {
      let last = k;
      while (last + 1 < visible.length && data.columns[visible[last + 1]].host === data.columns[visible[k]].host) ++last;
      const host = element("div", "head host", data.columns[visible[k]].host);
      host.style.cssText = "top:0;left:" + (kTime + k * width + 4) + "px;width:" + ((last - k + 1) * width - 8) + "px";
      inner.append(host);
      for (; k <= last; ++k) {
        const head = element("div", "head", nameOf(visible[k]));
        head.style.cssText = "top:19px;left:" + (kTime + k * width) + "px;width:" + width + "px";
        inner.append(head);
      }
    }
    heads.append(inner);
    id("rows").style.width = kTime + width * visible.length + "px";
  };
  const middle = (c) => kTime + visible.indexOf(c) * width + width / 2;

  // ---- rows in sight
  const classes = (i) => {
    const f = rows.flags[i];
    return (f & kDropped ? " drop" : f & (kNak | kRnrNak) ? " nak" : f & (kRetransmission | kDuplicate | kFault) ? " again" : "") +
      (f & (kError | kFlushed) ? " error" : "");
  };
  const make = (k) => {
    const i = shown[k], request = rows.request[i];
    const row = element("div", "row" + classes(i) + (i === chosen ? " is-chosen" : "") +
      (followed >= 0 ? (request === followed ? " is-followed" : " is-other") : ""));
    row.id = "row-" + i;
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", i === chosen ? "true" : "false");
    row.setAttribute("aria-label", spoken(i));
    row.style.top = k * kRow + "px";
    row.style.width = kTime + width * visible.length + "px";
    row.title = spoken(i);
    row.append(element("span", "time", micro(time[i])));
    for (const c of visible) {
      const rail = element("span", "rail");
      rail.style.left = middle(c) + "px";
      row.append(rail);
    }
    const from = middle(rows.from[i]);
    if (isPacket(i)) {
      const to = rows.to[i] >= 0 ? middle(rows.to[i]) : from + width / 2;
      const left = Math.min(from, to), span = Math.max(24, Math.abs(to - from));
      const arrow = element("span", "arrow " + (to >= from ? "right" : "left"));
      arrow.style.left = left + "px";
      arrow.style.width = span + "px";
      const label = element("span", "label", text(i) + " PSN " + rows.psn[i] + ", " + rows.bytes[i] + " B" + (note(i) ? " — " + note(i) : ""));
      label.style.left = left + 6 + "px";
      label.style.width = span - 12 + "px";
      row.append(arrow, label);
    } else {
      const cell = element("span", "cell");
      cell.append(element("span", "", text(i) + (note(i) ? " — " + note(i) : "")));
      // Long words may use the room to the right.
      const start = from - width / 2;
      cell.style.left = start + "px";
      cell.style.maxWidth = Math.max(width, kTime + width * visible.length - start) + "px";
      row.append(cell);
    }
    row.addEventListener("click", () => { choose(i, false); follow(rows.request[i]); });
    return row;
  };
  let isPending = false, forPrint = false;
  const paintNow = () => {
    isPending = false;
    const first = forPrint ? 0 : Math.max(0, Math.floor(ladder.scrollTop / kRow) - 8);
    const last = Math.min(shown.length, forPrint ? 3000 : first + Math.ceil(ladder.clientHeight / kRow) + 16);
    const fragment = document.createDocumentFragment();
    for (let k = first; k < last; ++k) fragment.append(make(k));
    id("rows").replaceChildren(fragment);
    id("heads").scrollLeft = ladder.scrollLeft;
    if (chosen >= 0 && document.getElementById("row-" + chosen)) ladder.setAttribute("aria-activedescendant", "row-" + chosen);
    else ladder.removeAttribute("aria-activedescendant");
  };
  const paint = () => { if (!isPending) { isPending = true; requestAnimationFrame(paintNow); } };
  const reveal = (k) => {
    const top = k * kRow;
    if (top < ladder.scrollTop || top + kRow > ladder.scrollTop + ladder.clientHeight) ladder.scrollTop = Math.max(0, top - ladder.clientHeight / 3);
  };

  // ---- one moment for all parts
  const toSlider = (ps) => Math.round(1e6 * (ps < busyFrom ? 0.1 * (ps - begin) / Math.max(1, busyFrom - begin)
    : ps <= busyTo ? 0.1 + 0.8 * (ps - busyFrom) / (busyTo - busyFrom) : 0.9 + 0.1 * (ps - busyTo) / Math.max(1, end - busyTo)));
  const fromSlider = (value) => {
    const part = value / 1e6;
    return part < 0.1 ? begin + (busyFrom - begin) * part / 0.1
      : part <= 0.9 ? busyFrom + (busyTo - busyFrom) * (part - 0.1) / 0.8 : busyTo + (end - busyTo) * (part - 0.9) / 0.1;
  };
  const moveTo = (ps, from) => {
    now = Math.min(end, Math.max(begin, ps));
    id("now").textContent = micro(now);
    if (from !== "slider") id("slider").value = toSlider(now);
    id("slider").setAttribute("aria-valuetext", micro(now));
    if (from !== "ladder") { const k = Math.min(at(now), shown.length - 1); if (k >= 0) ladder.scrollTop = Math.max(0, k * kRow - ladder.clientHeight / 3); }
    for (const line of document.querySelectorAll(".cursor")) {
      const x = line.chart(now);
      line.setAttribute("x1", x); line.setAttribute("x2", x);
    }
    showOutput();
    showViews(now);
    paint();
  };
  let linkTimer = 0;
  const remember = () => {
    clearTimeout(linkTimer);
    linkTimer = setTimeout(() => {
      const parts = ["t=" + (now / 1e6).toFixed(6)];
      if (onlyQp >= 0) parts.push("qp=" + data.columns[onlyQp].host + ":" + data.columns[onlyQp].qp);
      history.replaceState(null, "", "#" + parts.join("&"));
    }, 120);
  };
  const choose = (i, moves) => {
    chosen = i;
    const k = at(time[i]);
    let where = k;
    while (where < shown.length && shown[where] !== i) ++where;
    if (moves) reveal(Math.min(where, shown.length - 1));
    moveTo(time[i], "ladder");
    showDetails();
    remember();
  };
  const follow = (request) => { followed = request; showDetails(); paint(); };

  // ---- the chosen row, and the parts of its request's time
  const kSteps = [["the program posts it", 6], ["the doorbell is rung", 7], ["the adapter fetches it", 8], ["its first packet leaves", 9],
    ["its last packet leaves", 10], ["its last packet comes", 11], ["it is acknowledged", 12], ["its completion is written", 13]];
  const showDetails = () => {
    const box = id("details");
    box.textContent = "";
    if (chosen < 0) { box.textContent = "None is chosen."; return; }
    box.append(element("p", "", spoken(chosen)));
    if (isPacket(chosen)) {
      const took = rows.took[chosen];
      box.append(element("p", "", rows.bytes[chosen] + " bytes on the wire" + (took >= 0 ? ", " + long(took) + " under way" : ", never came")));
    }
    const request = rows.request[chosen];
    if (request < 0) return;
    const r = data.requests[request];
    const words = "Request " + (r[1] >= 0 ? "with wr_id " + r[1] + " " : "") + "of " + fullName(r[0]) + ", " + r[3] + " bytes, PSN " + r[4] +
      (r[5] !== r[4] ? " to " + r[5] : "") + (data.strings[r[2]] ? ", posted at " + data.strings[r[2]] : "") + (r[14] ? ", status " + r[14] : "");
    box.append(element("p", "", words));
    const table = element("table");
    let before = -1, first = -1;
    const line = (a, b, className) => {
      const tr = element("tr", className);
      tr.append(element("td", "", a), element("td", "number", b));
      table.append(tr);
    };
    for (const [title, field] of kSteps) {
      const t = r[field];
      if (t < 0) continue;
      line(title, before < 0 ? micro(t) : (t >= before ? "+ " : "- ") + long(Math.abs(t - before)));
      if (first < 0) first = t;
      before = t;
    }
    if (before > first) line("in all", long(before - first), "sum");
    box.append(table);
    const button = element("button", "", followed === request ? "let it go (Esc)" : "follow it (Enter)");
    button.type = "button";
    button.addEventListener("click", () => follow(followed === request ? -1 : request));
    box.append(button);
  };

  // ---- output
  const pieces = data.output.map(([t, host, words, isError]) => {
    const piece = element("span", isError ? "standard-error" : "");
    const lines = words.split("\n");
    const tail = lines[lines.length - 1] === "" ? lines.slice(0, -1) : lines;
    piece.textContent = tail.map((l) => host + "| " + l).join("\n") + "\n";
    piece.title = micro(t);
    id("output").append(piece);
    piece.addEventListener("click", () => moveTo(t));
    return { t, piece };
  });
  if (!pieces.length) id("output").textContent = "The programs wrote nothing, or only the trace is here.";
  const showOutput = () => { for (const { t, piece } of pieces) piece.classList.toggle("later", t > now); };

  // ---- charts over time: x is the time with packets, or all of it
  const kWide = 1000, kLeft = 150, kRight = 10;
  // `isWhole`: the whole run, on the scale of the slider.
  const chart = (parent, height, from, to, label, isWhole) => {
    const box = svg("svg", { viewBox: "0 0 " + kWide + " " + height, role: "img", "aria-label": label });
    const part = (t) => isWhole ? toSlider(t) / 1e6 : (t - from) / Math.max(1, to - from);
    const x = (t) => kLeft + (kWide - kLeft - kRight) * Math.min(1, Math.max(0, part(t)));
    const cursor = svg("line", { class: "cursor", y1: 0, y2: height, x1: kLeft, x2: kLeft });
    cursor.chart = x;
    box.addEventListener("click", (e) => {
      const area = box.getBoundingClientRect();
      const at = (e.clientX - area.left) / area.width * kWide;
      const share = (at - kLeft) / (kWide - kLeft - kRight);
      if (at >= kLeft) { moveTo(isWhole ? fromSlider(1e6 * Math.min(1, share)) : from + (to - from) * share); remember(); }
    });
    parent.append(box);
    return { box, x, finish: () => box.append(cursor) };
  };
  const axis = (parent, from, to, isWhole) => {
    const { box, x } = chart(parent, 16, from, to, "time", isWhole);
    for (let k = 0; k <= 4; ++k) {
      const t = isWhole ? fromSlider([0, 1e5, 5e5, 9e5, 1e6][k]) : from + (to - from) * k / 4;
      if (isWhole && (k === 1 || k === 3) && Math.abs(x(t) - x(k === 1 ? begin : end)) < 150) continue;
      box.append(svg("text", { x: x(t), y: 12, "text-anchor": k === 0 ? "start" : k === 4 ? "end" : "middle" }, micro(t)));
    }
  };
  const lives = () => {
    const parent = id("lives");
    const with_life = data.columns.map((_, c) => c).filter((c) => data.changes.some((change) => change[1] === c));
    if (!with_life.length) { parent.textContent = "No queue pair changed its state."; return; }
    for (const c of with_life) {
      const own = data.changes.filter((change) => change[1] === c);
      const { box, x, finish } = chart(parent, 18, begin, end, fullName(c) + ": " + own.map((o) => kStates[o[2]] + " from " + micro(o[0])).join(", "), true);
      box.append(svg("text", { x: 0, y: 13 }, fullName(c)));
      own.forEach(([t, , state], k) => {
        const until = k + 1 < own.length ? own[k + 1][0] : end;
        const bar = svg("rect", { class: "state-" + state, x: x(t), y: 2, height: 14, width: Math.max(1.5, x(until) - x(t)) });
        bar.append(svg("title", {}, kStates[state] + " from " + micro(t) + " for " + long(until - t)));
        box.append(bar);
        if (x(until) - x(t) > 34) box.append(svg("text", { class: "on-state", x: x(t) + 4, y: 13 }, kStates[state]));
      });
      finish();
    }
    axis(parent, begin, end, true);
  };
  // Requests between doorbell (or post) and completion (or acknowledgement).
  const queues = () => {
    const parent = id("queues");
    const of = new Map();
    for (const r of data.requests) {
      const from = r[7] >= 0 ? r[7] : r[6] >= 0 ? r[6] : r[8], to = r[13] >= 0 ? r[13] : r[12] >= 0 ? r[12] : end;
      if (from < 0) continue;
      if (!of.has(r[0])) of.set(r[0], []);
      of.get(r[0]).push([from, 1], [to, -1]);
    }
    if (!of.size) { parent.textContent = "No request was posted to a send queue."; return; }
    for (const [c, steps] of [...of].sort((a, b) => a[0] - b[0])) {
      steps.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
      const high = 34;
      const bins = new Float64Array(600);
      let level = 0, most = 0, bin = 0;
      const binOf = (t) => Math.min(599, Math.max(0, Math.floor(600 * (t - busyFrom) / (busyTo - busyFrom + 1))));
      for (const [t, step] of steps) {
        const b = binOf(t);
        for (; bin < b; ++bin) bins[bin] = Math.max(bins[bin], level);
        level += step;
        most = Math.max(most, level);
        bins[b] = Math.max(bins[b], level);
      }
      for (; bin < 600; ++bin) bins[bin] = Math.max(bins[bin], level);
      const { box, finish } = chart(parent, high, busyFrom, busyTo, fullName(c) + ": at most " + most + " requests outstanding");
      box.append(svg("text", { x: 0, y: 13 }, fullName(c)), svg("text", { x: 0, y: 27 }, "at most " + most));
      let path = "M" + kLeft + " " + (high - 2);
      const w = (kWide - kLeft - kRight) / 600;
      bins.forEach((v, b) => { const y = high - 2 - (high - 6) * v / Math.max(1, most); path += "L" + (kLeft + b * w).toFixed(1) + " " + y.toFixed(1) + "L" + (kLeft + (b + 1) * w).toFixed(1) + " " + y.toFixed(1); });
      box.append(svg("path", { class: "load", d: path + "L" + (kWide - kRight) + " " + (high - 2) + "Z" }));
      finish();
    }
    axis(parent, busyFrom, busyTo);
  };
  const links = () => {
    const parent = id("links");
    if (!data.links.length) { parent.textContent = "No packet was sent."; return; }
    const bins = data.links[0].bytes.length, span = (busyTo - busyFrom) / bins;
    const most = Math.max(1, ...data.links.map((l) => Math.max(...l.bytes)));
    for (const link of data.links) {
      const total = link.bytes.reduce((a, b) => a + b, 0), lost = link.drops.reduce((a, b) => a + b, 0);
      if (!total && !lost) continue;
      const peak = Math.max(...link.bytes) * 8e12 / span / 1e9;
      const high = 34, w = (kWide - kLeft - kRight) / bins;
      const { box, finish } = chart(parent, high, busyFrom, busyTo, link.port + ": " + total + " bytes, " + lost + " packets dropped");
      box.append(svg("text", { x: 0, y: 13 }, link.port.replace("port/", "")), svg("text", { x: 0, y: 27 }, total ? "peak " + peak.toFixed(2) + " Gbit/s" : lost + " dropped"));
      link.bytes.forEach((b, k) => { if (b) box.append(svg("rect", { class: "load", x: kLeft + k * w, width: Math.max(.6, w), y: high - 2 - (high - 8) * b / most, height: (high - 8) * b / most })); });
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

  const showViews = verbatimViews({ data, id, element, svg, micro, long, chart, axis, fullName, begin, end, busyFrom, busyTo, kLeft, kRight, kWide });

  // ---- what went wrong
  const failures = () => {
    const box = id("failures"), findings = (data.run && data.run.findings) || [];
    if (!data.failures.length && !findings.length) return;
    box.hidden = false;
    box.append(element("h2", "", "What went wrong"));
    for (const finding of findings) box.append(element("p", "", finding));
    const list = element("ol");
    for (const failure of data.failures) {
      const item = element("li");
      const jump = element("button", "", "at " + micro(failure.time_ps));
      jump.type = "button";
      jump.addEventListener("click", () => { const k = at(failure.time_ps); if (k < shown.length) choose(shown[k], true); });
      item.append(jump, element("span", "", " " + failure.what));
      const causes = element("ul");
      for (const cause of failure.causes) causes.append(element("li", "", cause.evidence + (cause.remedy ? ". So: " + cause.remedy : "")));
      item.append(causes);
      list.append(item);
    }
    box.append(list);
  };

  // ---- by hand
  const step = (by) => {
    if (!shown.length) return;
    let k = chosen >= 0 ? at(time[chosen]) : at(now);
    while (chosen >= 0 && k < shown.length && shown[k] !== chosen && time[shown[k]] === time[chosen]) ++k;
    choose(shown[Math.min(shown.length - 1, Math.max(0, chosen < 0 ? k : k + by))], true);
  };
  const problem = (by) => {
    let k = chosen >= 0 ? at(time[chosen]) : at(now);
    while (chosen >= 0 && k < shown.length - 1 && shown[k] !== chosen) ++k;
    if (chosen < 0 && by > 0) --k;
    for (k += by; k >= 0 && k < shown.length; k += by) {
      if (rows.flags[shown[k]] & kSpecial) { choose(shown[k], true); return; }
    }
  };
  const keys = (e) => {
    if (e.target.matches("input, select")) return;
    const page = Math.max(1, Math.floor(ladder.clientHeight / kRow) - 1);
    const inLadder = e.target === ladder || e.target === document.body;
    if (e.ctrlKey || e.altKey || e.metaKey) return;
    if (e.key === "n") problem(1);
    else if (e.key === "p") problem(-1);
    else if (e.key === "Escape") follow(-1);
    else if (!inLadder) return;
    else if (e.key === "ArrowDown") step(1);
    else if (e.key === "ArrowUp") step(-1);
    else if (e.key === "PageDown") step(page);
    else if (e.key === "PageUp") step(-page);
    else if (e.key === "Home") step(-count);
    else if (e.key === "End") step(count);
    else if (e.key === "Enter" && chosen >= 0) follow(rows.request[chosen]);
    else return;
    e.preventDefault();
  };
  document.addEventListener("keydown", keys);
  ladder.addEventListener("scroll", paint, { passive: true });
  id("slider").addEventListener("input", () => { moveTo(fromSlider(Number(id("slider").value)), "slider"); remember(); });
  id("back").addEventListener("click", () => problem(-1));
  id("forward").addEventListener("click", () => problem(1));
  id("problems").addEventListener("change", () => { filter(); moveTo(now); });
  id("find").addEventListener("input", () => { filter(); moveTo(now); });
  const select = (c) => {
    onlyQp = c;
    id("qp").value = String(c);
    const used = new Set();
    if (c >= 0) {
      for (let i = 0; i < count; ++i) if (rows.from[i] === c || rows.to[i] === c) { used.add(rows.from[i]); if (rows.to[i] >= 0) used.add(rows.to[i]); }
      used.add(c);
    }
    visible = data.columns.map((_, k) => k).filter((k) => c < 0 || used.has(k));
    place();
    filter();
  };
  id("qp").addEventListener("change", () => { select(Number(id("qp").value)); moveTo(now); remember(); });
  addEventListener("resize", () => { place(); paint(); });
  addEventListener("beforeprint", () => { forPrint = true; id("rows").style.height = Math.min(3000, shown.length) * kRow + "px"; paintNow(); });
  addEventListener("afterprint", () => { forPrint = false; id("rows").style.height = shown.length * kRow + "px"; paint(); });
  // "#t=100285.5&qp=client:72": microseconds, and a queue pair as host and number, or its number.
  const open = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    const qp = asked.get("qp");
    if (qp) {
      const [host, number] = qp.includes(":") ? qp.split(":") : ["", qp];
      const c = data.columns.findIndex((col) => String(col.qp) === number && (!host || col.host === host));
      if (c >= 0) select(c);
    }
    const t = parseFloat(asked.get("t"));
    moveTo(Number.isFinite(t) ? t * 1e6 : data.failures.length ? data.failures[0].time_ps : busyFrom);
    const k = at(now);
    if (k < shown.length && (asked.get("t") || data.failures.length)) choose(shown[k], true);
  };
  addEventListener("hashchange", open);

  // ---- start
  const programs = ((data.run && data.run.programs) || []).map((p) => p.host + ": " + p.argv.join(" "));
  id("title").textContent = programs.length ? programs.slice(0, 4).join("; ") + (programs.length > 4 ? "; …" : "") : "Trace";
  document.title = "Verbatim: " + id("title").textContent;
  const run = data.run || {};
  id("summary").textContent = [run.outcome ? "outcome " + run.outcome : "", run.virtual_time_ps ? "virtual time " + long(run.virtual_time_ps) : "",
    data.packets + " packets", run.seed !== undefined ? "seed " + run.seed : "", run.freedom ? "freedom " + run.freedom : ""].filter(Boolean).join(", ");
  id("origin").textContent = "Verbatim " + (run.version || "") + (run.digest ? ", digest " + run.digest + " (" + run.determinism + ")" : "");
  const all = element("option", "", "all");
  all.value = "-1";
  id("qp").append(all);
  data.columns.forEach((col, c) => { if (!col.qp) return; const option = element("option", "", fullName(c)); option.value = String(c); id("qp").append(option); });
  failures();
  lives(); queues(); links();
  place();
  filter();
  open();
  document.documentElement.dataset.ready = "1";
})();
