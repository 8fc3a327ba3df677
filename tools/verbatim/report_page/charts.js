"use strict";
// Charts over time. All share one range (time.js) and the same gestures: drag to move, Shift and drag to
// select a part, Ctrl and wheel to zoom, Shift and wheel to move, click to select a time, double click to
// show the time with packets.
const verbatimCharts = ({ data, id, element, svg, time, columns, series, moveTo, now }) => {
  const { fullName, byName, hostOf, nodeOf } = columns;
  const kWide = 1000, kLeft = 150, kRight = 10, kRoom = kWide - kLeft - kRight;
  const kStates = ["RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"];
  const x = (t) => kLeft + kRoom * Math.min(1, Math.max(0, (t - time.from()) / time.span()));
  const isShown = (from, to) => to >= time.from() && from <= time.to();

  // ---- charts, drawn again when the range has changed and they are seen
  const plots = new Map();
  const putCursor = (plot) => { const at = x(now()).toFixed(2); plot.cursor.setAttribute("x1", at); plot.cursor.setAttribute("x2", at); };
  const draw = (plot) => {
    plot.body.textContent = "";
    plot.draw(plot.body);
    plot.isStale = false;
    putCursor(plot);
  };
  const refresh = (plot) => { if (plot.isStale) draw(plot); else putCursor(plot); };
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const plot = plots.get(entry.target);
      plot.isSeen = entry.isIntersecting;
      if (plot.isSeen) refresh(plot);
    }
  }, { rootMargin: "200px" });
  let isPending = false;
  const changed = (isRange) => {
    if (isRange) for (const plot of plots.values()) plot.isStale = true;
    if (isPending) return;
    isPending = true;
    requestAnimationFrame(() => { isPending = false; for (const plot of plots.values()) if (plot.isSeen) refresh(plot); });
  };
  time.onRange(() => changed(true));
  const drawAll = () => { for (const plot of plots.values()) draw(plot); };

  // Shows the charts of these hosts only; null: all.
  let shownHosts = null;
  const hide = (plot) => { plot.box.style.display = shownHosts && plot.hosts && !plot.hosts.some((host) => shownHosts.has(host)) ? "none" : ""; };
  const only = (hosts) => {
    shownHosts = hosts && new Set(hosts.map(hostOf));
    if (shownHosts && data.columns.every((column) => shownHosts.has(hostOf(column.host)))) shownHosts = null;
    id("only").textContent = shownHosts ? "Only charts of " + [...shownHosts].join(" and ") + " are shown; Esc shows all." : "";
    for (const plot of plots.values()) hide(plot);
  };
  // `draw(body)` draws the shown range; `tell(t)` returns text for a time. `hosts`: hosts of the chart, if
  // any.
  const chart = (parent, high, label, draw_, tell, hosts) => {
    const box = svg("svg", { viewBox: "0 0 " + kWide + " " + high, role: "img", "aria-label": label, class: "plot" });
    const plot = { box, body: svg("g"), cursor: svg("line", { class: "cursor", y1: 0, y2: high }), draw: draw_, tell, label, hosts: hosts && hosts.map(hostOf), isSeen: false };
    box.append(plot.body, plot.cursor);
    plots.set(box, plot);
    hide(plot);
    parent.append(box);
    draw(plot);
    observer.observe(box);
    return plot;
  };
  // Removes the charts of an element.
  const forget = (parent) => { for (const box of [...plots.keys()]) if (!box.isConnected || parent.contains(box)) { observer.unobserve(box); plots.delete(box); } };
  const axis = (parent) => chart(parent, 16, "time", (body) => {
    for (const [t, words] of time.ticks(6)) {
      body.append(svg("line", { class: "axis", x1: x(t), x2: x(t), y1: 0, y2: 4 }));
      if (x(t) < kWide - 45) body.append(svg("text", { x: Math.max(x(t), kLeft + 40), y: 14, "text-anchor": "middle" }, words));
    }
  });
  // Calls `draw(parent, one)` for each of a list: at once for the first ones, for the others when their fold
  // is opened.
  const count = (n, word) => n.toLocaleString("en") + " " + word + (n === 1 ? "" : "s");
  const kMany = 40;  // if charts have no ranking, up to this many are shown without a fold
  const foldRest = (parent, list, draw, words, leftOut, most = 0) => {
    const kMostInside = 2000, first = list.length <= most ? most : 12;
    for (const one of list.slice(0, first)) draw(parent, one);
    axis(parent);
    const rest = list.slice(first);
    if (rest.length) {
      const fold = element("details"), summary = element("summary", "", count(rest.length, "more " + words)), inside = element("div");
      fold.append(summary, inside);
      fold.addEventListener("toggle", () => {
        if (!fold.open || inside.firstChild) return;
        for (const one of rest.slice(0, kMostInside)) draw(inside, one);
        axis(inside);
        if (rest.length > kMostInside) inside.append(element("p", "hint", count(rest.length - kMostInside, "more " + words) + " are not drawn."));
      });
      parent.append(fold);
    }
    if (leftOut) parent.append(element("p", "hint", count(leftOut, "more " + words) + " with less are not in this page."));
  };
  const names = (plot, first, second) => {
    // Longer text would overlap the chart.
    [first, second].forEach((words, k) => {
      if (!words) return;
      const text = svg("text", { x: 0, y: 13 + 14 * k }, words.length > 22 ? words.slice(0, 21) + "…" : words);
      text.append(svg("title", {}, words.length > 22 ? words : plot.label));
      plot.box.insertBefore(text, plot.body);
    });
  };
  const legend = (parent, ...parts) => {
    const box = element("p", "legend");
    for (const [className, words] of parts) {
      if (className) box.append(element("span", "swatch " + className));
      box.append(document.createTextNode((className ? " " : "") + words + (words.endsWith(",") ? " " : "   ")));
    }
    parent.before(box);
  };
  // Shows a section, once it has content.
  const show = (parent) => { parent.closest("section").hidden = false; };

  // ---- by mouse
  const tip = id("tip");
  const timeAt = (box, clientX) => {
    const area = box.getBoundingClientRect(), at = (clientX - area.left) / area.width * kWide;
    return at < kLeft - 4 ? null : time.from() + time.span() * Math.min(1, Math.max(0, (at - kLeft) / kRoom));
  };
  const zoomBy = (e, at) => time.zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 300))), at);
  const onWheel = (e) => {
    const box = e.target.closest("svg.plot"), t = box && timeAt(box, e.clientX);
    if (box === null || t === null) return;
    const isSideways = e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY);
    if (!isSideways && !e.ctrlKey && !e.metaKey && !box.closest(".bar")) return;
    e.preventDefault();
    hideTip();
    if (isSideways) time.pan((e.deltaX || e.deltaY) / 1000);
    else zoomBy(e, t);
  };
  let drag = null;
  const onDown = (e) => {
    const box = e.target.closest("svg.plot"), t = box && timeAt(box, e.clientX);
    if (box === null || t === null || e.button !== 0) return;
    drag = { box, t, at: e.clientX, from: time.from(), to: time.to(), isMoved: false, isChoice: e.shiftKey };
    box.setPointerCapture(e.pointerId);
  };
  const onMove = (e) => {
    if (!drag) return showTip(e);
    if (!drag.isMoved && Math.abs(e.clientX - drag.at) < 4) return;
    drag.isMoved = true;
    hideTip();
    const share = (e.clientX - drag.at) / drag.box.getBoundingClientRect().width * kWide / kRoom;
    if (!drag.isChoice) return time.set(drag.from - share * (drag.to - drag.from), drag.to - share * (drag.to - drag.from));
    if (!drag.band) drag.box.append(drag.band = svg("rect", { class: "choice", y: 0, height: "100%" }));
    const [a, b] = [drag.t, timeAt(drag.box, e.clientX) ?? time.from()].sort((p, q) => p - q);
    drag.choice = [a, b];
    drag.band.setAttribute("x", x(a));
    drag.band.setAttribute("width", x(b) - x(a));
  };
  const onUp = () => {
    if (!drag) return;
    const done = drag;
    drag = null;
    if (done.band) done.band.remove();
    if (done.choice) time.set(...done.choice);
    else if (!done.isMoved) moveTo(done.t, "chart");
  };
  const showTip = (e) => {
    const box = e.target.closest("svg.plot"), t = box && timeAt(box, e.clientX), plot = plots.get(box);
    if (!box || t === null || !plot) return hideTip();
    const words = plot.tell ? plot.tell(t, e) : "";
    tip.textContent = time.text(t) + (words ? ": " + words : "");
    tip.style.left = Math.min(e.clientX + 12, innerWidth - 320) + "px";
    tip.style.top = e.clientY + 16 + "px";
    tip.hidden = false;
  };
  const hideTip = () => { tip.hidden = true; };
  // Adds listeners for all charts of an element.
  const listen = (parent) => {
    parent.addEventListener("wheel", onWheel, { passive: false });
    parent.addEventListener("pointerdown", onDown);
    parent.addEventListener("pointermove", onMove);
    parent.addEventListener("pointerup", onUp);
    parent.addEventListener("pointercancel", () => { drag = null; });
    parent.addEventListener("pointerleave", hideTip);
    parent.addEventListener("dblclick", (e) => { if (e.target.closest("svg.plot")) time.fit(); });
  };
  for (const parent of document.querySelectorAll(".charts")) listen(parent);

  // ---- series: runs of equal values over the time with packets
  const span = time.busyTo - time.busyFrom + 1;
  const runAt = (own, t) => {
    const bin = (t - time.busyFrom) / span * own.bins;
    let low = 0, high = own.starts.length;
    while (low < high) { const mid = (low + high) >> 1; if (own.starts[mid] <= bin) low = mid + 1; else high = mid; }
    return low - 1;
  };
  // The visible part of a series, as { from, to, value, isOld }. Pieces too narrow to see are joined.
  // Negative values mean unknown: with `isHeld` the previous value continues, marked as old; otherwise there
  // is no piece.
  const pieces = (number, join, isHeld, shape = (v) => v) => {
    const own = series(number), each = span / own.bins, unit = time.span() / kRoom, list = [];
    let k = Math.max(0, runAt(own, time.from())), known = -1;
    if (isHeld) for (let b = k; b >= 0 && known < 0; --b) known = own.values[b];
    for (; k < own.starts.length; ++k) {
      const from = time.busyFrom + own.starts[k] * each, until = k + 1 < own.starts.length ? own.starts[k + 1] : own.bins;
      const to = time.busyFrom + until * each;
      if (from > time.to()) break;
      const isOld = own.values[k] < 0;
      if (!isOld) known = own.values[k];
      if (isOld && (!isHeld || known < 0)) continue;
      const value = shape(known), last = list[list.length - 1];
      if (last && to - from < unit && to - last.from < unit) { last.to = to; last.value = join(last.value, value); last.isOld = last.isOld && isOld; }
      else list.push({ from, to, value, isOld });
    }
    return list;
  };
  const valueAt = (number, t, isHeld) => {
    if (t < time.busyFrom || t > time.busyTo) return -1;
    const own = series(number);
    let k = runAt(own, t);
    if (isHeld) while (k > 0 && own.values[k] < 0) --k;
    return k < 0 ? -1 : own.values[k];
  };
  // Sum over a part of the time, for a series of sums.
  const sumOf = (number, from, to) => {
    const own = series(number), each = span / own.bins;
    let sum = 0;
    for (let k = Math.max(0, runAt(own, from)); k < own.starts.length; ++k) {
      const begin = time.busyFrom + own.starts[k] * each, end = time.busyFrom + (k + 1 < own.starts.length ? own.starts[k + 1] : own.bins) * each;
      if (begin >= to) break;
      sum += Math.max(0, own.values[k]) * Math.max(0, Math.min(to, end) - Math.max(from, begin)) / each;
    }
    return sum;
  };
  // Draws pieces as one area, which needs far fewer elements than bars. `most`: value at the full height;
  // `least`: minimal width of a piece.
  const area = (list, most, high, className, least = .7) => {
    const floor = high - 2, y = (v) => (floor - (high - 6) * Math.min(1, Math.max(0, v) / most)).toFixed(1);
    let path = "";
    for (const { from, to, value } of list) {
      if (value <= 0 || to < time.from()) continue;
      const left = x(from), right = Math.max(x(to), left + least);
      path += "M" + left.toFixed(1) + " " + floor + "V" + y(value) + "H" + right.toFixed(1) + "V" + floor + "Z";
    }
    return svg("path", { class: className, d: path });
  };
  // Draws the band between two series, `least` and `most`. It is paler where they differ much. `bound`: value
  // at the top. `shape` converts values, and swaps the series if it is decreasing. `whenNone`: marks times at
  // which nothing is left.
  const band = (parent, { least, most }, { first, words, label, bound, isHeld, shape, whenNone, unit, hosts }) => {
    const high = 34, top = Math.max(1, bound), [low, up] = shape ? [most, least] : [least, most];
    const plot = chart(parent, high, first + ": " + label, (body) => {
      const above = pieces(up, Math.max, isHeld, shape), below = pieces(low, Math.min, isHeld, shape);
      const wide = isHeld ? .7 : 2.5;  // single samples must be visible
      body.append(area(above.filter((one) => one.isOld), top, high, "load is-old"), area(above.filter((one) => !one.isOld), top, high, "load is-between", wide),
        area(below.filter((one) => !one.isOld), top, high, "load", wide));
      if (whenNone) for (const one of below) if (!one.isOld && one.value === 0 && isShown(one.from, one.to)) body.append(svg("rect", { class: "lost", x: x(one.from), width: Math.max(2, x(one.to) - x(one.from)), y: 0, height: 6 }));
    }, (t) => {
      const [a, b] = [valueAt(low, t, isHeld), valueAt(up, t, isHeld)].map((v) => v < 0 || !shape ? v : shape(v));
      return a < 0 || b < 0 ? "" : (a === b ? a : a + " to " + b) + " " + unit;
    }, hosts);
    names(plot, first, words);
  };

  // ---- charts that need only the head of the page and the series
  const lives = () => {
    const parent = id("lives"), own = new Map();
    for (const change of data.changes) own.has(change[1]) ? own.get(change[1]).push(change) : own.set(change[1], [change]);
    if (!own.size) return;
    show(parent);
    const used = [...new Set(data.changes.map((change) => change[2]))].sort();
    legend(parent, ...used.map((state) => ["state-" + state, kStates[state]]));
    foldRest(parent, [...own].sort((a, b) => a[0] - b[0]), (box, [c, changes]) => {
      const until = (k) => k + 1 < changes.length ? changes[k + 1][0] : time.end;
      const plot = chart(box, 18, fullName(c) + ": " + changes.map((o) => kStates[o[2]] + " from " + time.text(o[0])).join(", "), (body) => {
        changes.forEach(([t, , state], k) => {
          if (!isShown(t, until(k))) return;
          const left = x(t), wide = Math.max(1.5, x(until(k)) - left);
          body.append(svg("rect", { class: "state-" + state, x: left, y: 2, height: 14, width: wide }));
          if (wide > 34) body.append(svg("text", { class: "on-state", x: left + 4, y: 13 }, kStates[state]));
        });
      }, (t) => {
        const k = changes.findLastIndex((o) => o[0] <= t);
        return k < 0 ? "" : kStates[changes[k][2]] + " from " + time.text(changes[k][0]) + " for " + time.text(until(k) - changes[k][0]);
      }, [data.columns[c].host]);
      names(plot, fullName(c));
    }, "queue pair", 0, kMany);
  };
  const queues = () => {
    const parent = id("queues"), { requests, packets, peer_credits } = data.windows;
    if (!requests.length && !packets.length) return;
    show(parent);
    legend(parent, ["is-load", "the number at a time"], ...(peer_credits.length ? [["is-between", "between the fewest and the most"], ["is-lost", "the receiver had none"]] : []));
    const high = 34, columns = new Set([...requests, ...packets, ...peer_credits].map((one) => one.column));
    const [ofRequests, ofPackets, ofCredits] = [requests, packets, peer_credits].map((list) => new Map(list.map((one) => [one.column, one])));
    foldRest(parent, [...columns].sort((a, b) => a - b), (box, c) => {
      const hosts = [data.columns[c].host];
      for (const [one, word, label] of [[ofRequests.get(c), "request", "requests not complete"], [ofPackets.get(c), "packet", "packets not acknowledged"]]) {
        if (!one) continue;
        const plot = chart(box, high, fullName(c) + ": at most " + one.most + " " + label,
          (body) => body.append(area(pieces(one.bins, Math.max), Math.max(1, one.most), high, "load")),
          (t) => { const v = valueAt(one.bins, t); return v < 0 ? "" : "at most " + v + " " + label; }, hosts);
        names(plot, fullName(c), "at most " + count(one.most, word));
      }
      const told = ofCredits.get(c);
      if (told) band(box, told, { first: fullName(c), words: told.fewest + " credits or more", label: "the receiver announces " + told.fewest + " credits or more",
        bound: Math.max(...series(told.most).values), isHeld: true, whenNone: true, unit: "credits of the receiver", hosts });
    }, "queue pair", 0, kMany);
  };
  // Hosts at the ends of the cable of "port/h0:1"; the adapter for "hca/h0".
  const cableOf = new Map(data.sides.cables.flatMap((cable) => [[cable[0], cable], [cable[1], cable]]));
  const hostsOf = (port) => {
    const name = port.slice(port.indexOf("/") + 1), cable = cableOf.get(name);
    return cable ? [nodeOf(cable[0]), nodeOf(cable[1])] : [port.startsWith("hca/") ? name : nodeOf(name)];
  };
  // Rates of ports are averages over parts of the shown range; a part is at least as long as the longest
  // packet takes. A packet counts in the part in which it begins, so a part may exceed the link's rate; it is
  // drawn at that rate.
  const kLanes = { SDR: 2.5, DDR: 5, QDR: 10, FDR: 14, EDR: 25, HDR: 50, NDR: 100, XDR: 200 }, kLongestPacket = 4200 * 8, kParts = 300;
  const gigabits = (rate) => {
    const [name, width] = rate.split(" ");
    return kLanes[name] ? kLanes[name] * (parseInt(width, 10) || 4) : parseFloat(rate) || 100;
  };
  const leastPart = kLongestPacket * 1e3 / Math.min(100, ...data.sides.cables.map((cable) => gigabits(cable[2])));
  const most = new Map(data.sides.cables.flatMap(([a, b, rate]) => [[a, gigabits(rate)], [b, gigabits(rate)]]));  // Gbit/s of a port
  const partOf = () => Math.max(time.span() / kParts, leastPart);
  const rateOf = (link, from, to) => Math.min(most.get(link.port.replace("port/", "")) || Infinity, sumOf(link.bytes, from, to) * 8e3 / (to - from));
  const rates = (link) => {
    const part = partOf(), list = [];
    for (let k = Math.floor(Math.max(time.from(), time.busyFrom) / part); k * part < Math.min(time.to(), time.busyTo); ++k)
      list.push({ from: k * part, to: (k + 1) * part, value: rateOf(link, k * part, (k + 1) * part) });
    return list;
  };
  // Peak over all ports in the shown range.
  let peakRange = "", peak = 0;
  const peakRate = () => {
    const range = time.from() + ":" + time.to();
    if (range !== peakRange) {
      peakRange = range;
      peak = Math.max(1e-9, ...data.links.map((link) => Math.max(0, ...rates(link).map((one) => one.value))));
    }
    return peak;
  };
  // `drops`: times, by link of data.links.
  const links = (drops) => {
    const parent = id("links"), all = data.links.map((link, k) => ({ ...link, times: drops[k] }));
    if (!all.length) return;
    show(parent);
    legend(parent, ["is-load", "what the port sent; full height: what the busiest port sends in the shown time,"], ["is-lost", "packets dropped"]);
    const scale = element("span");
    parent.previousSibling.childNodes[1].after(scale);
    const tellScale = () => { scale.textContent = peakRate().toFixed(2) + " Gbit/s   "; };
    time.onRange(tellScale);
    tellScale();
    const high = 34;
    const sums = new Map(all.map((link) => [link, sumOf(link.bytes, time.busyFrom, time.busyTo + 1)])), isLong = all.length > kMany;
    foldRest(parent, all.sort((a, b) => (isLong && sums.get(b) - sums.get(a)) || byName(a.port, b.port)), (box, link) => {
      const bytes = sums.get(link), lost = link.times.length;
      const plot = chart(box, high, link.port + ": " + count(Math.round(bytes), "byte") + ", " + count(lost, "packet") + " dropped", (body) => {
        body.append(area(rates(link), peakRate(), high, "load"));
        let last = -9;
        for (const t of link.times) if (isShown(t, t) && x(t) - last > 1) body.append(svg("rect", { class: "lost", x: last = x(t), width: 2, y: 0, height: 6 }));
      }, (t) => {
        const part = partOf(), from = Math.floor(t / part) * part, before = link.times.filter((one) => one <= t).length;
        return rateOf(link, from, from + part).toFixed(2) + " Gbit/s" + (lost ? ", " + count(before, "packet") + " dropped so far" : "");
      }, hostsOf(link.port));
      names(plot, link.port.replace("port/", ""), bytes ? count(Math.round(bytes), "byte") : lost + " dropped");
    }, "port", 0, kMany);
  };
  const credits = () => {
    const parent = id("credits"), all = data.windows.link_credits;
    if (!all.length) return;
    show(parent);
    legend(parent, ["is-load", "taken when a packet starts"], ["is-between", "the most, of packets too close to be drawn apart"], ["", "full height: no credit is left"]);
    foldRest(parent, [...all].sort((a, b) => byName(a.port, b.port) || a.lane - b.lane), (box, one) => {
      const most = one.of - one.fewest;
      band(box, one, { first: one.port.replace("port/", "") + ", VL " + one.lane, words: "at most " + most + " of " + one.of, bound: one.of,
        label: "at most " + most + " of " + one.of + " blocks are taken", shape: (free) => one.of - free, unit: "of " + one.of + " blocks taken", hosts: hostsOf(one.port) });
    }, "lane", 0, kMany);
  };

  const limitOf = (link) => most.get(link.port.replace("port/", "")) || 0;

  return { kWide, kLeft, kRight, kRoom, x, isShown, chart, axis, foldRest, area, pieces, valueAt, sumOf, rates, limitOf, hostsOf, rateOf, partOf, peakRate, band, names, legend, show, byName, count, only, drawAll, forget,
    lives, queues, links, credits, showCursors: () => changed(false) };
};
