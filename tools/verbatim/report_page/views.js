"use strict";
// Queues, threads and memory below the ladder. Returns the functions that draw them, part by part, and one to
// call when the selected time changes.
const verbatimViews = ({ data, writes, waits, id, element, svg, time, fullName, charts }) => {
  const { chart, axis, band, names, legend, byName, count, x, isShown, kLeft, kRoom } = charts;
  const sides = data.sides;
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
  // Index of the first element that is not less, in a list sorted by `key`.
  const lowest = (length, key, value) => {
    let low = 0, high = length;
    while (low < high) { const mid = (low + high) >> 1; if (key(mid) < value) low = mid + 1; else high = mid; }
    return low;
  };

  // ---- completion queues and receives
  const levels = () => {
    const parent = id("levels");
    if (!sides.queues.length) return;
    charts.show(parent);
    legend(parent, ["is-load", "entries"], ["is-between", "between the fewest and the most in a time"], ["is-old", "no change since"], ["is-lost", "no receive was left"]);
    for (const queue of [...sides.queues].sort((a, b) => byName(a.host, b.host) || byName(a.name, b.name))) {
      const words = (queue.receive ? "at least " + queue.fewest : "at most " + queue.peak) + (queue.entries ? " of " + queue.entries : "");
      band(parent, queue, { first: queue.host + ", " + queue.name, words, label: words + (queue.receive ? " receives posted" : " completions to be polled"), bound: queue.peak,
        isHeld: queue.receive === 1, whenNone: queue.receive === 1, unit: queue.receive ? "receives posted" : "completions to be polled", hosts: [queue.host] });
    }
    axis(parent);
  };

  // ---- threads
  const kinds = [["runs", "run"], ["polls", "poll"], ["sleeps until a time", "nap"], ["waits in a call", "block"]];
  const kindOf = (what) => what.startsWith("polling") || what.startsWith("spinning") ? 1 : /sleep|until|timer/.test(what) ? 2 : 3;
  const kMostThreads = 200;
  const threads = () => {
    const parent = id("threads");
    if (!sides.threads.length) return;
    charts.show(parent);
    legend(parent, ...kinds.map(([words, name]) => ["is-" + name, words]));
    const own = sides.threads.map(() => []);
    for (const wait of waits) own[wait.thread].push(wait);
    sides.threads.slice(0, kMostThreads).forEach((thread, k) => {
      const until = thread.to >= 0 ? thread.to : time.end, all = own[k];
      // The last wait of an unfinished thread lasts until the end of the run.
      if (all.length && thread.to < 0) all[all.length - 1].to = time.end;
      const sums = new Map();
      for (const w of all) sums.set(w.what, (sums.get(w.what) || 0) + w.waited);
      const most = [...sums].sort((a, b) => b[1] - a[1]).slice(0, 3).map(([what, ps]) => what + " for " + time.text(ps));
      const name = thread.host + ", thread " + thread.tid;
      const plot = chart(parent, 18, name + (most.length ? ": " + most.join(", ") : ": never waits"), (body) => {
        const bar = (from, to, kind) => body.append(svg("rect", { class: "is-" + kinds[kind][1], x: x(from), y: 2, height: 14, width: Math.max(.7, x(to) - x(from)) }));
        if (isShown(thread.from, until)) bar(thread.from, until, 0);
        // Waits too short to be visible are joined with their neighbours.
        let drawn = 0;
        for (let w = lowest(all.length, (n) => all[n].to, time.from()); w < all.length && all[w].from <= time.to(); ++w) {
          if (x(all[w].to) - drawn < .5) continue;
          bar(all[w].from, all[w].to, kindOf(all[w].what));
          drawn = x(all[w].to);
        }
      }, (t) => {
        if (t < thread.from || t > until) return "no thread yet, or no more";
        const wait = all[lowest(all.length, (n) => all[n].to, t)];
        return wait && wait.from <= t ? wait.what + " from " + time.text(wait.from) + " for " + time.text(wait.waited) + (wait.count > 1 ? ", " + wait.count + " times" : "") : "runs";
      }, [thread.host]);
      names(plot, name);
    });
    axis(parent);
    if (sides.threads.length > kMostThreads) parent.append(element("p", "hint", sides.threads.length - kMostThreads + " more threads are not drawn."));
  };

  // ---- memory
  const peer = new Map(data.peers);
  const writer = (column, isResponse) => {
    if (column < 0) return "an adapter";
    const other = peer.has(column) ? fullName(peer.get(column)) : "";
    return isResponse ? fullName(column) + (other ? ", reading from " + other : ", reading") : (other || "the peer") + ", to " + fullName(column);
  };
  const kMostMarks = 600, kMostRegions = 32, kMostRows = 200, kColours = 6;
  const colourOf = (column) => "by-" + (column < 0 ? 0 : column % kColours);
  const memory = () => {
    const parent = id("memory");
    if (!sides.regions.length) return;
    charts.show(parent);
    table(id("regions"), ["host", "process", "addresses", "bytes", "lkey", "rkey", "rights", "registered", "until", "bytes written by adapters"],
      sides.regions.slice(0, kMostRows).map((r) => [r.host, r.process, r.va + (r.iova !== r.va ? " (remote address " + r.iova + ")" : ""), r.length, r.lkey, r.rkey, r.rights,
        time.text(r.from), r.to >= 0 ? time.text(r.to) : "the end", r.written]),
      count(sides.regions.length, "region") + (sides.regions.length > kMostRows ? "; the first " + kMostRows + " are listed" : ""));
    const own = sides.regions.map(() => []), writers = new Map();
    for (let k = 0; k < writes.count; ++k) {
      if (writes.region[k] < 0) continue;
      own[writes.region[k]].push(k);
      const colour = colourOf(writes.column[k]), name = writer(writes.column[k], writes.isAnswer[k]);
      writers.has(colour) ? writers.get(colour).add(name) : writers.set(colour, new Set([name]));
    }
    const drawn = sides.regions.map((region, r) => [region, own[r]]).filter(([, list]) => list.length);
    if (!drawn.length) return;
    legend(parent, ...[...writers].sort().map(([colour, of]) => [colour, [...of].slice(0, 2).join("; ") + (of.size > 2 ? "; " + (of.size - 2) + " more" : "")]));
    for (const [region, list] of drawn.slice(0, kMostRegions)) {
      const high = 54, name = region.host + ", rkey " + region.rkey;
      const plot = chart(parent, high, name + ": " + count(list.length, "write") + ", " + region.written + " bytes, the first at " + time.text(writes.time[list[0]]), (body) => {
        body.append(svg("rect", { class: "frame", x: kLeft, y: 1, width: kRoom, height: high - 4 }));
        // If there are many writes, those of one writer become one shape.
        const cells = new Set(), shapes = new Map();
        for (let n = lowest(list.length, (m) => writes.time[list[m]] + writes.took[list[m]], time.from()); n < list.length && writes.time[list[n]] <= time.to(); ++n) {
          const k = list[n], offset = writes.offset[k], length = writes.length[k], left = x(writes.time[k]);
          const y = 1 + (high - 4) * offset / region.length, tall = Math.max(1, (high - 4) * length / region.length), colour = colourOf(writes.column[k]);
          const at = Math.round(2 * left) + ":" + Math.round(y) + ":" + Math.round(tall) + ":" + colour;
          if (cells.has(at)) continue;
          cells.add(at);
          const wide = Math.max(1.5, x(writes.time[k] + writes.took[k]) - left);
          const shape = "M" + left.toFixed(1) + " " + y.toFixed(1) + "h" + wide.toFixed(1) + "v" + tall.toFixed(1) + "h-" + wide.toFixed(1) + "z";
          shapes.has(colour) ? shapes.get(colour).push(shape) : shapes.set(colour, [shape]);
        }
        for (const [colour, parts] of shapes) body.append(svg("path", { class: colour, d: parts.join("") }));
      }, (t) => {
        const n = lowest(list.length, (m) => writes.time[list[m]], t + 1) - 1;
        if (n < 0) return "nothing is written yet";
        const k = list[n];
        return "last written: bytes " + writes.offset[k] + " to " + (writes.offset[k] + writes.length[k] - 1) + " at " + time.text(writes.time[k]) + " by " + writer(writes.column[k], writes.isAnswer[k]);
      }, [region.host]);
      names(plot, name, region.length + " bytes");
    }
    axis(parent);
    if (drawn.length > kMostRegions) parent.append(element("p", "hint", drawn.length - kMostRegions + " more regions are not drawn."));
  };
  // The writes before the selected time, the latest first.
  const showWrites = (now) => {
    if (!writes.count) return;
    const rows = [];
    for (let k = lowest(writes.count, (n) => writes.time[n], now + 1) - 1; k >= 0 && rows.length < 12; --k) {
      const offset = writes.offset[k], length = writes.length[k], region = sides.regions[writes.region[k]];
      rows.push([time.text(writes.time[k]), region ? region.host : "", region ? region.rkey : "not known", region ? offset + " to " + (offset + length - 1) : length + " bytes", writer(writes.column[k], writes.isAnswer[k])]);
    }
    table(id("writes"), ["began at", "host", "region with rkey", "bytes", "written by"], rows, "The last writes before " + time.text(now) + ", of " + count(writes.count, "write") +
      (sides.writes_left_out ? "; " + sides.writes_left_out + " later ones are not listed" : ""));
  };
  return { parts: [levels, threads, memory], show: showWrites, table };
};
