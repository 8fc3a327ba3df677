"use strict";
// Queues, threads, memory and fabric below the ladder. Gives back what draws them, part by part, and what is to be called when the
// moment changes.
const verbatimViews = (page) => {
  const { data, writes, waits, id, element, svg, micro, long, chart, axis, band, names, byName, fullName, begin, end, busyFrom, busyTo, kLeft, kRight, kWide } = page;
  const sides = data.sides;
  const plural = (n, word) => n + " " + word + (n === 1 ? "" : "s");
  const table = (parent, heads, rows, caption) => {
    parent.textContent = "";
    if (caption) parent.append(element("caption", "", caption));
    const top = element("tr");
    for (const head of heads) { const th = element("th", "", head); th.scope = "col"; top.append(th); }
    const thead = element("thead"), tbody = element("tbody");
    thead.append(top);
    for (const cells of rows) {
      const tr = element("tr");
      for (const cell of cells) tr.append(element("td", typeof cell === "number" ? "number" : "", String(cell)));
      tbody.append(tr);
    }
    parent.append(thead, tbody);
  };

  // ---- completion queues and receives
  const levels = () => {
    const parent = id("levels");
    if (!sides.queues.length) { parent.textContent = "No completion was written and no receive taken, or the facts of the run are not here."; return; }
    for (const queue of [...sides.queues].sort((a, b) => byName(a.host, b.host) || byName(a.name, b.name))) {
      const words = (queue.receive ? "fewest left " + queue.fewest : "at most " + queue.peak) + (queue.entries ? " of " + queue.entries : "");
      band(parent, queue, { first: queue.host + ", " + queue.name, words, bound: queue.peak, isHeld: queue.receive });
    }
    axis(parent, busyFrom, busyTo);
  };

  // ---- threads
  const kinds = [["runs", "run"], ["polls", "poll"], ["sleeps until a time", "nap"], ["waits in a call", "block"]];
  const kindOf = (what) => what.startsWith("polling") || what.startsWith("spinning") ? 1 : /sleep|until|timer/.test(what) ? 2 : 3;
  const threads = () => {
    const parent = id("threads"), legend = id("thread-legend");
    if (!sides.threads.length) { parent.textContent = "No thread is known of."; return; }
    for (const [words, name] of kinds) legend.append(element("span", "swatch is-" + name), document.createTextNode(" " + words + "   "));
    const own = sides.threads.map(() => []);
    for (const wait of waits) own[wait.thread].push(wait);
    sides.threads.slice(0, 200).forEach((thread, k) => {
      const until = thread.to >= 0 ? thread.to : end, high = 18;
      const sums = new Map();
      for (const w of own[k]) sums.set(w.what, (sums.get(w.what) || 0) + w.waited);
      const most = [...sums].sort((a, b) => b[1] - a[1]).slice(0, 3).map(([what, ps]) => what + " for " + long(ps));
      const name = thread.host + ", thread " + thread.tid;
      const { box, x, finish } = chart(parent, high, begin, end, name + (most.length ? ": " + most.join(", ") : ": never waits"), true);
      names(box, name);
      const bar = (from, to, kind, words) => {
        const one = svg("rect", { class: "is-" + kinds[kind][1], x: x(from), y: 2, height: 14, width: Math.max(.7, x(to) - x(from)) });
        one.append(svg("title", {}, words));
        box.append(one);
      };
      bar(thread.from, until, 0, name + " runs");
      // What is too short to be seen is drawn with its neighbours.
      let drawn = 0;
      own[k].forEach((wait, nth) => {
        // The last wait of who has not ended goes on.
        const to = nth === own[k].length - 1 && thread.to < 0 ? end : wait.to;
        if (x(to) - drawn < .5) return;
        bar(wait.from, to, kindOf(wait.what), wait.what + " from " + micro(wait.from) + " for " + long(wait.waited) + (wait.count > 1 ? ", " + wait.count + " times" : ""));
        drawn = x(to);
      });
      finish();
    });
    axis(parent, begin, end, true);
  };

  // ---- memory
  const peer = new Map(data.peers);
  const writer = (column, isResponse) => {
    if (column < 0) return "an adapter";
    const other = peer.has(column) ? fullName(peer.get(column)) : "";
    return isResponse ? fullName(column) + (other ? ", by reading from " + other : ", by reading") : (other || "the peer") + ", by " + fullName(column);
  };
  const kMostMarks = 600;  // of a region
  const memory = () => {
    if (!sides.regions.length) { id("memory").textContent = "No memory was registered, or the facts of the run are not here."; return; }
    table(id("regions"), ["host", "process", "addresses", "bytes", "lkey", "rkey", "rights", "registered", "until", "written by adapters"],
      sides.regions.slice(0, 200).map((r) => [r.host, r.process, r.va + (r.iova !== r.va ? " (known as " + r.iova + ")" : ""), r.length, r.lkey, r.rkey, r.rights,
        micro(r.from), r.to >= 0 ? micro(r.to) : "the end", r.written]),
      plural(sides.regions.length, "region") + (sides.regions.length > 200 ? ", 200 of them shown" : ""));
    const own = sides.regions.map(() => []);
    for (let k = 0; k < writes.count; ++k) if (writes.region[k] >= 0) own[writes.region[k]].push(k);
    let shown = 0;
    sides.regions.forEach((region, r) => {
      if (!own[r].length || ++shown > 32) return;
      const high = 54, from = writes.time[own[r][0]];
      const name = region.host + ", rkey " + region.rkey;
      const { box, x, finish } = chart(id("memory"), high, busyFrom, busyTo, name + ": " + plural(own[r].length, "write") + ", " + region.written + " bytes, the first at " + micro(from));
      names(box, name, region.length + " bytes");
      box.append(svg("rect", { class: "frame", x: kLeft, y: 1, width: kWide - kLeft - kRight, height: high - 4 }));
      // Of many writes those of a writer are one shape, without words of their own.
      const cells = new Set(), shapes = new Map(), hasWords = own[r].length <= kMostMarks;
      for (const k of own[r]) {
        const time = writes.time[k], took = writes.took[k], offset = writes.offset[k], length = writes.length[k], column = writes.column[k];
        const y = 1 + (high - 4) * offset / region.length, tall = Math.max(1, (high - 4) * length / region.length);
        const at = Math.round(2 * x(time)) + ":" + Math.round(y) + ":" + Math.round(tall) + ":" + column;
        if (cells.has(at)) continue;
        cells.add(at);
        const className = "by-" + (column < 0 ? 0 : column % 6), left = x(time), wide = Math.max(1.5, x(time + took) - left);
        if (!hasWords) {
          const shape = "M" + left.toFixed(1) + " " + y.toFixed(1) + "h" + wide.toFixed(1) + "v" + tall.toFixed(1) + "h-" + wide.toFixed(1) + "z";
          shapes.has(className) ? shapes.get(className).push(shape) : shapes.set(className, [shape]);
          continue;
        }
        const mark = svg("rect", { class: className, x: left, y, width: wide, height: tall });
        mark.append(svg("title", {}, micro(time) + ": bytes " + offset + " to " + (offset + length - 1) + " by " + writer(column, writes.isAnswer[k])));
        box.append(mark);
      }
      for (const [className, parts] of shapes) box.append(svg("path", { class: className, d: parts.join("") }));
      finish();
    });
    axis(id("memory"), busyFrom, busyTo);
  };
  // The writes before a moment, the last first.
  const showWrites = (now) => {
    if (!writes.count) return;
    let low = 0, high = writes.count;
    while (low < high) { const mid = (low + high) >> 1; if (writes.time[mid] <= now) low = mid + 1; else high = mid; }
    const rows = [];
    for (let k = low - 1; k >= 0 && rows.length < 12; --k) {
      const offset = writes.offset[k], length = writes.length[k], region = sides.regions[writes.region[k]];
      rows.push([micro(writes.time[k]), region ? region.host : "", region ? region.rkey : "not known", region ? offset + " to " + (offset + length - 1) : length + " bytes", writer(writes.column[k], writes.isAnswer[k])]);
    }
    table(id("writes"), ["begun at", "host", "region with rkey", "bytes", "sent by"], rows, "The last writes before " + micro(now) + ", of " + plural(writes.count, "write") +
      (sides.writes_left_out ? "; " + sides.writes_left_out + " later ones are not listed" : ""));
  };

  // ---- fabric: switches in rows by their distance from hosts, hosts below
  const kMostNodes = 160;
  let cables = [];
  const loads = new Map(data.links.map((l) => [l.port.replace("port/", ""), l]));
  const bins = data.links.length ? data.links[0].bytes.length : 1;
  const peak = Math.max(1, ...data.links.map((l) => Math.max(...l.bytes)));
  const fabric = () => {
    const parent = id("fabric");
    if (!sides.nodes.length) { parent.textContent = "The facts of the run are not here."; return; }
    if (sides.nodes.length > kMostNodes) { parent.textContent = "The fabric has " + sides.nodes.length + " nodes, too many to draw; the ports are listed below."; return; }
    const nodeOf = (endpoint) => endpoint.slice(0, endpoint.lastIndexOf(":"));
    // Adapters of a host with several are named after it.
    const names = new Set(sides.nodes.map((n) => n[0]));
    const hostOf = (endpoint) => { let name = nodeOf(endpoint); while (!names.has(name) && name.includes("-")) name = name.slice(0, name.lastIndexOf("-")); return name; };
    const rank = new Map(sides.nodes.filter((n) => !n[1]).map((n) => [n[0], 0]));
    for (let changed = true; changed;) {
      changed = false;
      for (const [a, b] of sides.cables) for (const [from, to] of [[hostOf(a), hostOf(b)], [hostOf(b), hostOf(a)]]) {
        if (rank.has(from) && !rank.has(to)) { rank.set(to, rank.get(from) + 1); changed = true; }
      }
    }
    const rows = [];
    for (const [name] of sides.nodes) { const r = rank.get(name) || 0; (rows[r] = rows[r] || []).push(name); }
    const high = 40 + 84 * (rows.length - 1) + (rows[0].length > 8 ? 40 : 10), box = svg("svg", { viewBox: "0 0 " + kWide + " " + high, role: "img", "aria-label": "Fabric: " +
      plural(rank.size, "node") + ", " + plural(sides.cables.length, "cable") });
    const where = new Map();
    rows.forEach((row, r) => row.forEach((name, k) => where.set(name, [kWide * (k + .5) / row.length, 20 + 84 * (rows.length - 1 - r)])));
    const between = new Map();
    for (const [a, b, rate] of sides.cables) {
      const key = hostOf(a) + "|" + hostOf(b), nth = between.get(key) || 0;
      between.set(key, nth + 1);
      const [x1, y1] = where.get(hostOf(a)), [x2, y2] = where.get(hostOf(b));
      const shift = 5 * nth;
      // One line for each direction, from its sender to the middle.
      const xm = (x1 + x2) / 2 + shift, ym = (y1 + y2) / 2;
      for (const [port, x, y, to] of [[a, x1, y1, b], [b, x2, y2, a]]) {
        const line = svg("line", { class: "cable", x1: x + shift, y1: y, x2: xm, y2: ym });
        const words = svg("title", {}, port);
        const lost = svg("text", { class: "lost-count", x: (x + xm) / 2 + 4, y: (y + ym) / 2 });
        line.append(words);
        box.append(line, lost);
        cables.push({ port, to, rate, line, words, lost });
      }
    }
    const isSmall = rows[0].length > 8;
    for (const [name, isSwitch] of sides.nodes) {
      const [x, y] = where.get(name), wide = Math.max(30, 7 * name.length + 10);
      const isTurned = isSmall && !isSwitch;
      box.append(svg("rect", { class: isSwitch ? "node is-switch" : "node", x: x - (isTurned ? 8 : wide / 2), y: y - 10, width: isTurned ? 16 : wide, height: 20, rx: isSwitch ? 2 : 8 }),
        svg("text", isTurned ? { x: x, y: y + 14, transform: "rotate(40 " + x + " " + (y + 14) + ")", "text-anchor": "start", class: "small" } : { x, y: y + 4, "text-anchor": "middle" }, name));
    }
    parent.append(box);
  };
  const showFabric = (now) => {
    if (!cables.length) return;
    const span = (busyTo - busyFrom) / bins, at = Math.floor((now - busyFrom) / span), bin = Math.min(bins - 1, at);
    const isBusy = now >= busyFrom && now <= busyTo + span;
    const told = [];
    let lostInAll = 0;
    for (const cable of cables) {
      const load = loads.get(cable.port), bytes = load && isBusy ? load.bytes[bin] : 0, part = bytes / peak;
      const rate = bytes * 8e12 / span / 1e9;
      let lost = 0;
      if (load && at >= 0) for (let k = 0; k <= bin; ++k) lost += load.drops[k];
      lostInAll += lost;
      cable.line.style.strokeWidth = bytes ? 1.5 + 5 * part : 1;
      cable.line.classList.toggle("is-loaded", bytes > 0);
      cable.line.classList.toggle("has-lost", lost > 0);
      cable.lost.textContent = lost ? "\u2715 " + lost : "";
      cable.words.textContent = cable.port + " to " + cable.to + ", " + cable.rate + ": " + rate.toFixed(2) + " Gbit/s" + (lost ? ", " + lost + " dropped so far" : "");
      if (bytes) told.push([rate, cable]);
    }
    told.sort((a, b) => b[0] - a[0]);
    id("fabric-now").textContent = "Around " + micro(now) + " (" + long(span) + "): " + (told.length ? told.slice(0, 3).map(([r, c]) => c.port + " sends " + r.toFixed(2) + " Gbit/s").join(", ") : "nothing is sent") +
      (lostInAll ? ". " + plural(lostInAll, "packet") + " dropped so far at ports" : "") + ".";
  };

  let pending = 0, moment = 0;
  const show = (now) => {
    moment = now;
    if (pending) return;
    pending = requestAnimationFrame(() => { pending = 0; showWrites(moment); showFabric(moment); });
  };
  return { parts: [levels, threads, memory, fabric], show };
};
