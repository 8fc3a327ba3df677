"use strict";
// Assembles the page: figures, failures, the selected row, output, the selected time, keyboard and links.
(() => {
  const { kDropped, kRetransmission, kError, kFlushed, kProblem } = verbatimFlags;
  const kMostFailures = 50;
  const id = (name) => document.getElementById(name);
  const data = JSON.parse(id("head").textContent);
  const blocks = verbatimBlocks(data), rows = blocks.rows;
  const time = verbatimTime(data, rows), columns = verbatimColumns(data), { fullName } = columns;
  const { begin, end } = time;

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
  const button = (words, onClick) => {
    const made = element("button", "", words);
    made.type = "button";
    made.addEventListener("click", onClick);
    return made;
  };

  // `only`: the queue pair shown alone; `picked`: selected by the user, so it is kept.
  const state = { chosen: -1, followed: -1, only: -1, picked: false };
  let now = begin;
  const ladder = verbatimLadder({ data, rows, id, element, time, columns, state, onPick: (i, row) => { choose(i, false); follow(row.request); }, onFirst: () => shownFirst() });
  const { spoken, shownCount, shownAt, placeAt, placeOf } = ladder;
  const charts = verbatimCharts({ data, id, element, svg, time, columns, series: blocks.series, moveTo: (ps, from) => moveTo(ps, from), now: () => now });

  // ---- one selected time for all parts, always within the shown range
  const toSlider = (ps) => Math.round(1e6 * (ps - time.from()) / time.span());
  let showViews = () => {}, moveTurn = 0;
  // `from`: the part that was moved by the user, and need not be moved again.
  const moveTo = async (ps, from) => {
    const turn = ++moveTurn;
    now = Math.min(end, Math.max(begin, ps));
    time.include(now);
    id("now").textContent = time.text(now);
    if (from !== "slider") id("slider").value = toSlider(now);
    id("slider").setAttribute("aria-valuetext", time.text(now));
    if (from !== "start") remember();
    charts.showCursors();
    showOutput();
    showViews();
    if (from === "ladder") return ladder.paint();
    const k = Math.min(await placeAt(now), shownCount() - 1);
    if (turn === moveTurn && k >= 0) ladder.toPlace(k);
  };
  let linkTimer = 0;
  const remember = () => {
    clearTimeout(linkTimer);
    linkTimer = setTimeout(() => {
      const parts = ["t=" + (now / 1e6).toFixed(6), "from=" + (time.from() / 1e6).toFixed(6), "to=" + (time.to() / 1e6).toFixed(6)];
      if (state.only >= 0) parts.push("qp=" + data.columns[state.only].host + ":" + data.columns[state.only].qp);
      history.replaceState(null, "", "#" + parts.join("&"));
    }, 120);
  };
  let rangeTimer = 0;
  time.onRange(() => {
    id("slider").value = toSlider(now);
    if (now < time.from() || now > time.to()) moveTo(Math.min(time.to(), Math.max(time.from(), now)), "range");
    showOverview();
    ladder.stale();
    ladder.paint();
    showViews();
    remember();
    clearTimeout(rangeTimer);
    if (id("inrange").checked) rangeTimer = setTimeout(search, 150);
  });

  // ---- a bar of the whole run with the shown range
  const overview = () => {
    const box = svg("svg", { viewBox: "0 0 1000 16", preserveAspectRatio: "none" }), { kLeft, kRoom } = charts;
    const at = (t) => kLeft + kRoom * (t - begin) / (end - begin);
    const shown = svg("rect", { class: "shown", y: 0, height: 16 });
    box.append(svg("rect", { class: "frame", x: kLeft, y: .5, width: kRoom, height: 15 }),
      svg("rect", { class: "load", x: at(time.busyFrom), width: Math.max(1, at(time.busyTo) - at(time.busyFrom)), y: 5, height: 6 }), shown);
    for (const t of failureTimes().slice(0, 200)) box.append(svg("rect", { class: "lost", x: at(t), width: 2, y: 1, height: 14 }));
    id("overview").append(box, element("span", "hint", "whole run: " + time.text(end - begin)), element("span", "shown-words"));
    let grip = null;
    const timeAt = (e) => { const area = box.getBoundingClientRect(); return begin + (end - begin) * Math.min(1, Math.max(0, ((e.clientX - area.left) / area.width * 1000 - kLeft) / kRoom)); };
    box.addEventListener("pointerdown", (e) => {
      const t = timeAt(e);
      grip = t >= time.from() && t <= time.to() ? t - time.from() : time.span() / 2;
      box.setPointerCapture(e.pointerId);
      time.set(t - grip, t - grip + time.span());
    });
    box.addEventListener("pointermove", (e) => { if (grip !== null) time.set(timeAt(e) - grip, timeAt(e) - grip + time.span()); });
    box.addEventListener("pointerup", () => { grip = null; });
    box.addEventListener("wheel", (e) => { e.preventDefault(); time.zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 300))), now); }, { passive: false });
    showOverview = () => {
      shown.setAttribute("x", at(time.from()));
      shown.setAttribute("width", Math.max(3, at(time.to()) - at(time.from())));
      id("overview").lastChild.textContent = "shown: " + time.text(time.span()) + " from " + time.text(time.from());
    };
    showOverview();
  };
  let showOverview = () => {};

  const choose = async (i, moves) => {
    state.chosen = i;
    ladder.stale();
    if (moves) ladder.reveal(Math.min(placeOf(i), shownCount() - 1));
    const row = await rows.loadRow(i);
    if (state.chosen !== i) return;
    if (moves) ladder.revealColumns(row);
    moveTo(row.time, "ladder");
    showDetails();
  };
  const follow = (request) => { state.followed = request; ladder.stale(); showDetails(); ladder.paint(); };

  // ---- the selected row, and the parts of its request's time
  const kSteps = ["the program posts it", "the doorbell is rung", "the adapter fetches it", "its first packet leaves",
    "its last packet leaves", "its last packet arrives", "it is acknowledged", "its completion is written"];
  const showDetails = async () => {
    const of = state.chosen, row = of >= 0 ? await rows.loadRow(of) : null;
    const request = row && row.request >= 0 ? await blocks.request(row.request) : null;
    if (of !== state.chosen) return;
    const box = id("details");
    box.textContent = "";
    if (!row) { box.textContent = "No row is chosen."; return; }
    box.append(element("p", "", spoken(row)));
    if (row.bytes) box.append(element("p", "", row.bytes + " bytes on the wire, " +
      (row.took < 0 ? "never arrived" : row.flags & kDropped ? "dropped " + time.text(row.took) + " after it left" : time.text(row.took) + " from port to port")));
    if (!request) return;
    const words = "Request " + (request.id ? "with wr_id " + request.id + " " : "") + "of " + fullName(request.column) + ", " + request.bytes + " bytes, PSN " + request.first +
      (request.last !== request.first ? " to " + request.last : "") + (request.place ? ", posted at " + request.place : "") + (request.status ? ", status " + (data.statuses[request.status] || request.status) : "");
    box.append(element("p", "", words));
    const table = element("table");
    let before = -1, first = -1;
    const line = (a, b, className) => {
      const tr = element("tr", className);
      tr.append(element("td", "", a), element("td", "number", b));
      table.append(tr);
    };
    request.times.forEach((t, k) => {
      if (t < 0) return;
      // Steps are in their usual order; a lost packet may arrive after the acknowledgement of another.
      line(kSteps[k], before < 0 ? time.text(t) : t >= before ? "+ " + time.text(t - before) : time.text(before - t) + " earlier");
      if (first < 0) first = t;
      before = t;
    });
    if (before > first) line("in all", time.text(before - first), "sum");
    box.append(table, button(state.followed === row.request ? "stop following (Esc)" : "follow this request (Enter)", () => follow(state.followed === row.request ? -1 : row.request)));
  };

  // ---- output: long output is limited to the part around the selected time
  const kMostPieces = 1500;
  const pieceTimes = data.output.map((piece) => piece[0]);
  let pieces = [], firstPiece = 0, shownUntil = 0;
  const makeOutput = (first) => {
    const box = id("output"), last = Math.min(data.output.length, first + kMostPieces);
    firstPiece = first;
    box.textContent = "";
    id("output-part").hidden = !data.output.length;
    if (!data.output.length) return;
    if (first > 0) box.append(element("p", "hint", first + " earlier pieces are shown at their time."));
    pieces = data.output.slice(first, last).map(([t, host, words, isError]) => {
      const piece = element("span", "later" + (isError ? " standard-error" : ""));
      const lines = words.split("\n");
      const tail = lines[lines.length - 1] === "" ? lines.slice(0, -1) : lines;
      piece.textContent = tail.map((l) => host + "| " + l).join("\n") + "\n";
      piece.title = time.text(t);
      piece.addEventListener("click", () => moveTo(t));
      box.append(piece);
      return piece;
    });
    if (last < data.output.length) box.append(element("p", "hint", data.output.length - last + " later pieces are shown at their time."));
    shownUntil = first;
  };
  const showOutput = () => {
    const printed = ladder.lowest(pieceTimes, now + 1);
    const isHere = printed >= firstPiece && (printed <= firstPiece + pieces.length) && (printed > firstPiece || firstPiece === 0);
    if (!isHere || (printed === firstPiece + pieces.length && printed < data.output.length)) makeOutput(Math.max(0, Math.min(data.output.length - kMostPieces, printed - kMostPieces / 2)));
    const before = shownUntil;
    for (; shownUntil < printed; ++shownUntil) pieces[shownUntil - firstPiece].classList.remove("later");
    for (; shownUntil > printed; --shownUntil) pieces[shownUntil - 1 - firstPiece].classList.add("later");
    // Scrolls to the last output before the selected time.
    const last = pieces[printed - 1 - firstPiece], box = id("output");
    if (before !== printed && last) box.scrollTop = last.offsetTop - box.offsetTop + last.offsetHeight - box.clientHeight / 2;
    else if (before !== printed) box.scrollTop = 0;
  };

  // ---- figures
  const tiles = () => {
    const f = data.figures, plural = (n, word) => n.toLocaleString("en") + " " + word + (n === 1 ? "" : "s");
    const rate = (bits) => bits >= 1e9 ? (bits / 1e9).toFixed(2) + " Gbit/s" : (bits / 1e6).toFixed(2) + " Mbit/s";
    const tile = (name, value, note, flags, isBad) => {
      const box = flags && isBad ? button("", () => jumpTo(flags)) : element("div");
      box.className = "tile" + (isBad ? " is-bad" : "");
      box.append(element("span", "name", name), element("span", "value", value), element("span", "note", note));
      if (flags && isBad) box.title = "Show the first one";
      id("tiles").append(box);
    };
    const none = "no message completed", over = data.overview;
    const isPart = over && over.is_part, losses = (data.run && data.run.losses) || {};
    const byFlows = over && over.flows && over.flows.all.flows ? over.flows.all : null, size = (n) => n.toLocaleString("en");
    if (byFlows) {
      const isAll = byFlows.finished === byFlows.flows, slow = (key) => byFlows[key] === undefined ? "" : "; slowdown " + (byFlows[key] / 1000).toFixed(2) + "×";
      tile("flows finished", size(byFlows.finished), isAll ? "all" : "of " + size(byFlows.flows) + (byFlows.failed ? ", " + byFlows.failed + " failed" : ""), 0, !isAll && byFlows.failed > 0);
      tile("completion time, median", byFlows.finished ? time.text(byFlows.p50) : "—", "p50 of the flows" + (byFlows.mean !== undefined ? "; mean " + time.text(byFlows.mean) : "") + slow("s50"));
      tile("completion time, p99", byFlows.finished ? time.text(byFlows.p99) : "—", byFlows.finished ? "longest " + time.text(byFlows.longest) + slow("s99") : "");
    }
    for (const one of over ? over.collectives.slice(0, 3) : []) {
      const ended = one.runs.filter((run) => Number.isFinite(run.time_ps)), middle = (key) => ended.map((run) => run[key]).sort((a, b) => a - b)[Math.ceil(ended.length / 2) - 1];
      const bus = ended.length ? middle("bus_bytes_per_second") : undefined;
      tile(one.name, ended.length ? time.text(middle("time_ps")) : "not ended", ended.length ? (one.run_count > 1 ? "median of " + ended.length + " of " + one.run_count + " runs" : one.hosts + " hosts") + (bus ? "; bus bandwidth " + (bus / 1e9).toFixed(3) + " GB/s" : "") : one.ended + " of " + one.operations + " operations ended");
    }
    if (isPart) {
      const dropped = losses.packets_dropped || 0, links = losses.failed_links || [];
      tile("drops", size(dropped), (data.run && data.run.packets !== undefined ? "of " + plural(data.run.packets, "packet") + " sent" : "") +
        links.slice(0, 2).map((text) => "; " + text).join("") + (links.length > 2 ? "; and " + plural(links.length - 2, "more link") : ""), 0, dropped > 0);
      return tile("packets sent again", size(losses.packets_sent_again || 0), "");
    }
    if (byFlows || (over && over.collectives.length)) return tileLosses();
    tile("throughput", f.bits_per_second === null ? "—" : rate(f.bits_per_second), f.messages ? plural(f.messages, "message") + ", " + f.bytes.toLocaleString("en") + " bytes; " + time.text(f.busy_ps) + " with a message under way" : none);
    tile("latency, median", f.p50_ps < 0 ? "—" : time.text(f.p50_ps), f.messages ? "p50, from post to completion" : none);
    tile("latency, p99", f.p99_ps < 0 ? "—" : time.text(f.p99_ps), f.messages ? "longest " + time.text(f.longest_ps) : none);
    tileLosses();
    function tileLosses() {
    const links = losses.failed_links || [];
    tile("drops", f.drops.toLocaleString("en"), "of " + plural(f.packets, "packet") + " sent" + links.slice(0, 2).map((text) => "; " + text).join("") + (links.length > 2 ? "; and " + plural(links.length - 2, "more link") : ""), kDropped, f.drops > 0);
    tile("retries", f.retries.toLocaleString("en"), plural(f.repeated_packets, "packet") + " sent again" + (f.rnr_naks ? ", " + plural(f.rnr_naks, "RNR NAK") : ""), kRetransmission, f.retries > 0);
    tile("completions with errors", f.failed_completions.toLocaleString("en"), "of " + plural(f.completions, "completion") + (f.flushed_completions ? ", " + f.flushed_completions + " flushed" : ""),
      kError | kFlushed, f.failed_completions > 0);
    }
  };

  // ---- failures. Programs ended by SIGKILL or SIGTERM do not count: a fault or the end of the run did that.
  const ended = ((data.run && data.run.programs) || []).filter((p) => p.exit_code || (p.signal && p.signal !== 9 && p.signal !== 15)).map((p) => ({
    time_ps: p.ended_ps, what: p.host + ": " + p.argv.join(" ") + (p.signal ? " was killed by signal " + p.signal : " ended with exit code " + p.exit_code),
    causes: lastWords(p.host, p.ended_ps).map((evidence) => ({ evidence })) }));
  // The last line that a host's programs wrote before a time.
  function lastWords(host, until) {
    const own = data.output.filter((piece) => piece[1] === host && piece[0] <= until);
    const text = own.length ? own[own.length - 1][2].trim().split("\n").pop() : "";
    return text ? ["its last output: " + text] : [];
  }
  const failureTimes = () => [...data.failures, ...ended].map((failure) => failure.time_ps);
  const firstFailure = () => Math.min(...failureTimes());
  const failures = () => {
    const box = id("failures"), findings = (data.run && data.run.findings) || [];
    if (!data.failures.length && !findings.length && !ended.length) return;
    box.hidden = false;
    box.append(element("h2", "", "What went wrong"));
    for (const finding of findings) box.append(element("p", "", finding));
    const list = element("ol");
    const all = [...data.failures, ...ended].sort((a, b) => a.time_ps - b.time_ps);
    for (const failure of all.slice(0, kMostFailures)) {
      const item = element("li"), causes = element("ul");
      const jump = button("at " + time.text(failure.time_ps), () => goTo(failure.time_ps));
      for (const cause of failure.causes) causes.append(element("li", "", cause.evidence + (cause.remedy ? ". What to do: " + cause.remedy : "")));
      item.append(jump, element("span", "", " " + failure.what), causes);
      list.append(item);
    }
    box.append(list);
    if (all.length > kMostFailures) box.append(element("p", "hint", all.length - kMostFailures + " later ones are not listed; press n to visit each."));
  };

  // ---- problems. Selecting one shows its queue pair with peers, and problems only, until Esc.
  let showsProblems = true;  // until the user clears the check box
  const show = async (i) => {
    const row = await rows.loadRow(i), pair = [row.from, row.to].find((c) => c >= 0 && data.columns[c].qp);
    const isElsewhere = pair === undefined || (state.only !== row.from && state.only !== row.to);
    if (showsProblems) id("problems").checked = true;
    id("find").value = state.picked ? id("find").value : "";
    if (!state.picked && isElsewhere) setOnly(pair === undefined ? -1 : pair);
    if (!await ladder.filter()) return;
    await choose(i, true);
  };
  const problem = async (by) => {
    const only = state.picked ? state.only : -1;
    const fits = (own, k) => (own.flags[k] & kProblem) && (only < 0 || own.from[k] === only || own.to[k] === only);
    const start = state.chosen >= 0 ? state.chosen : await ladder.rowAt(now) - (by > 0 ? 1 : 0);
    const i = await ladder.findRow(start, by, fits);
    if (i !== undefined) await show(i);
  };
  const jumpTo = async (flags) => {
    const i = await ladder.findRow(-1, 1, (own, k) => own.flags[k] & flags);
    if (i !== undefined) await show(i);
  };
  // Goes to the first row at or after a time, regardless of filters.
  const goTo = async (ps) => {
    const i = await ladder.rowAt(ps);
    if (i >= rows.count) return;
    if (!ladder.isShown(i)) {
      id("find").value = "";
      id("inrange").checked = false;
      await showAll();
    }
    choose(i, true);
  };
  const setOnly = (c) => {
    state.only = c;
    id("qp").value = String(c);
    ladder.place();
    charts.only(c < 0 ? null : columns.shown().map((one) => data.columns[one].host));
  };
  const showAll = async () => {
    id("problems").checked = false;
    state.picked = false;
    setOnly(-1);
    if (!await ladder.filter()) return;
    if (state.chosen >= 0) choose(state.chosen, true);
    else moveTo(now);
  };

  // ---- keyboard and buttons
  const step = async (by) => {
    const count = shownCount();
    if (!count) return;
    const k = state.chosen >= 0 ? placeOf(state.chosen) + by : await placeAt(now);
    choose(shownAt(Math.min(count - 1, Math.max(0, k))), true);
  };
  const kKeys = {
    n: () => problem(1), p: () => problem(-1), g: () => { columns.toggleAll(); ladder.place(); ladder.paint(); },
    "+": () => time.zoom(.5, now), "=": () => time.zoom(.5, now), w: () => time.zoom(.5, now), "-": () => time.zoom(2, now), s: () => time.zoom(2, now),
    a: () => time.pan(-.25), d: () => time.pan(.25), f: () => time.fit(), 0: () => time.whole(),
    Escape: () => state.followed >= 0 ? follow(-1) : (id("problems").checked || state.only >= 0) && showAll(),
  };
  const keys = (e) => {
    if (e.target.matches("input[type=search], select") || e.ctrlKey || e.altKey || e.metaKey) return;
    const inLadder = e.target === id("ladder") || e.target === document.body;
    if (Object.hasOwn(kKeys, e.key)) kKeys[e.key]();
    else if (!inLadder) return;
    else if (e.key === "ArrowDown") step(1);
    else if (e.key === "ArrowUp") step(-1);
    else if (e.key === "PageDown") step(ladder.page());
    else if (e.key === "PageUp") step(-ladder.page());
    else if (e.key === "Home" || e.key === "End") { if (shownCount()) choose(shownAt(e.key === "Home" ? 0 : shownCount() - 1), true); }
    else if (e.key === "Enter" && state.chosen >= 0) rows.loadRow(state.chosen).then((row) => follow(row.request));
    else return;
    e.preventDefault();
  };
  document.addEventListener("keydown", keys);
  id("slider").addEventListener("input", () => moveTo(time.from() + time.span() * Number(id("slider").value) / 1e6, "slider"));
  for (const [name, key] of [["back", "p"], ["forward", "n"], ["zoom-in", "+"], ["zoom-out", "-"], ["earlier", "a"], ["later", "d"], ["fit", "f"], ["whole", "0"]])
    id(name).addEventListener("click", kKeys[key]);
  const search = async () => { if (await ladder.filter()) moveTo(now); };
  let findTimer = 0;
  id("problems").addEventListener("change", () => { showsProblems = id("problems").checked; search(); });
  id("inrange").addEventListener("change", search);
  id("find").addEventListener("input", () => { clearTimeout(findTimer); findTimer = setTimeout(search, 120); });
  const select = (c) => { state.picked = c >= 0; setOnly(c); return ladder.filter(); };
  id("qp").addEventListener("change", async () => { if (await select(Number(id("qp").value))) { moveTo(now); remember(); } });
  addEventListener("resize", () => { ladder.place(); ladder.paint(); });
  addEventListener("beforeprint", () => { drawAll(); charts.drawAll(); ladder.print(true); });
  addEventListener("afterprint", () => { ladder.print(false); moveTo(now); });
  // "#t=100285.5&qp=client:72": microseconds; a queue pair as host and number, or number; "from" and "to":
  // the shown range.
  const open = async () => {
    const asked = new URLSearchParams(location.hash.slice(1)), number = (name) => parseFloat(asked.get(name)) * 1e6;
    const qp = asked.get("qp");
    if (qp) {
      const [host, of] = qp.includes(":") ? qp.split(":") : ["", qp];
      const c = data.columns.findIndex((col) => String(col.qp) === of && (!host || col.host === host));
      if (c >= 0 && !(await select(c))) return;
    }
    if (number("to") > number("from")) time.set(number("from"), number("to"));
    const t = number("t"), failed = firstFailure();
    await moveTo(Number.isFinite(t) ? t : Number.isFinite(failed) ? failed : time.busyFrom, "start");
    if (!asked.get("t") && !Number.isFinite(failed)) return;
    const k = await placeAt(now);
    if (k < shownCount()) await choose(shownAt(k), true);
  };
  addEventListener("hashchange", open);

  // ---- start: the ladder first, then the parts below it, one by one
  const page = document.documentElement.dataset;
  let parts = [], isReady = false;
  const drawAll = () => { while (parts.length) parts.shift()(); };
  const whenIdle = (then) => window.requestIdleCallback ? requestIdleCallback(then, { timeout: 200 }) : setTimeout(then, 1);
  const drawNext = () => {
    if (!parts.length) { page.whole = "1"; return; }
    parts.shift()();
    whenIdle(drawNext);
  };
  const shownFirst = () => {
    if (isReady || !hasOpened) return;
    isReady = true;
    page.blocks = blocks.readCount();
    page.ready = Math.round(performance.now());
    requestAnimationFrame(() => setTimeout(async () => {
      const over = data.overview;
      const [writes, waits, drops, loads, lanes] = await Promise.all([blocks.writes(), blocks.waits(), blocks.drops(), over ? blocks.loads() : null, over && over.timeline ? blocks.lanes() : null,
        blocks.readSeries(), rows.count ? rows.loadBlock(0) : null]);
      const views = verbatimViews({ data, writes, waits, id, element, svg, time, fullName, charts });
      const fabric = verbatimFabric({ data, drops, id, svg, time, columns, charts });
      const congestion = verbatimCongestion({ data, id, element, svg, time, charts, table: views.table });
      const overview = verbatimOverview({ data, id, element, svg, time, charts, table: views.table, loads, lanes });
      let isPending = false;
      const showNow = () => { isPending = false; views.show(now); fabric.show(now); };
      parts.push(...overview.parts, charts.lives, charts.queues, ...views.parts, ...congestion.parts, fabric.draw, charts.credits, () => charts.links(drops), () => {
        showViews = () => { if (!isPending) { isPending = true; requestAnimationFrame(showNow); } };
        showViews();
        const hidden = [...document.querySelectorAll("body > section[hidden]:not(#failures)")].map((section) => section.getAttribute("aria-label").toLowerCase());
        if (hidden.length) id("missing").textContent = "Not shown, since the run or its recording has none: " + hidden.join(", ") + ".";
      });
      drawNext();
    }));
  };

  // Flows and collectives precede the packets, which cover only a part of a long run.
  const over = data.overview, hasTraffic = over && (over.flows || over.collectives.length);
  if (hasTraffic) document.querySelector("main").before(...["collectives-part", "flows-part", "loads-part", "depths-part"].map(id));
  if (over && over.is_part) {
    const words = !rows.count ? "No packets were recorded. " : over.detail_until >= 0 ? "Packets, and what is drawn from them, were recorded until " + time.text(over.detail_until) + " (verbatim run --record-most). "
      : "Packets, and what is drawn from them, were recorded of a part of the run (verbatim run --watch). ";
    id("detail").textContent = words + "Flows, collectives, the load of the fabric and its queues by tier are of the whole run.";
    id("ladder-part").closest("main").hidden = !rows.count;
  }

  const programs = ((data.run && data.run.programs) || []).map((p) => p.host + ": " + p.argv.join(" "));
  const traffic = hasTraffic ? [...over.collectives.map((one) => one.name + " of " + one.hosts + " hosts"), ...(over.flows ? [over.flows.count.toLocaleString("en") + " flows" + (over.flows.workloads.length > 1 || !over.flows.all.flows ? "" : "")] : [])] : [];
  const titles = [...programs, ...traffic];
  id("title").textContent = titles.length ? titles.slice(0, 4).join("; ") + (titles.length > 4 ? "; …" : "") : "Trace";
  document.title = "Verbatim: " + id("title").textContent;
  const run = data.run || {};
  id("summary").textContent = [run.outcome ? "outcome " + run.outcome : "",
    ended.length ? ended.length + (ended.length === 1 ? " program" : " programs") + " failed" : "", run.virtual_time_ps ? "virtual time " + time.text(run.virtual_time_ps) : "",
    (data.run && data.run.packets !== undefined && data.overview && data.overview.is_part ? data.run.packets : data.packets).toLocaleString("en") + " packets", run.seed !== undefined ? "seed " + run.seed : "", run.freedom ? "freedom " + run.freedom : ""].filter(Boolean).join(", ");
  id("origin").textContent = "Verbatim " + (run.version || "") + (run.digest ? ", digest " + run.digest + " (" + run.determinism + (run.digest_note ? "; " + run.digest_note : "") + ")" : "");
  const all = element("option", "", "all");
  all.value = "-1";
  id("qp").append(all);
  const kMostChoices = 2000;
  data.columns.slice(0, kMostChoices).forEach((col, c) => { if (!col.qp) return; const option = element("option", "", fullName(c)); option.value = String(c); id("qp").append(option); });
  tiles();
  failures();
  makeOutput(0);
  ladder.place();
  ladder.layOut();
  overview();
  charts.axis(id("ruler"));
  let hasOpened = false;
  if (!window.DecompressionStream) id("found").textContent = "This browser cannot read the packets: it is older than 2023.";
  else open().then(() => { hasOpened = true; ladder.paint(); });
})();
