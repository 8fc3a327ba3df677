"use strict";
(() => {
  const kDropped = 1, kRetransmission = 2, kNak = 4, kRnrNak = 8, kFlushed = 16, kError = 32, kFault = 64, kDuplicate = 128;
  const kSpecial = kDropped | kRetransmission | kNak | kRnrNak | kFlushed | kError | kFault | kDuplicate;
  const kRow = 22, kTime = 140, kPrinted = 3000, kMostFailures = 50;
  const kTallest = 3e6;  // pixels of what is scrolled: browsers end at 17 millions
  const id = (name) => document.getElementById(name);
  const data = JSON.parse(id("head").textContent);
  const blocks = verbatimBlocks(data), rows = blocks.rows;

  const begin = rows.count ? rows.starts[0] : 0, end = Math.max(data.end, begin + 1);
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
  const spoken = (row) => {
    let words = micro(row.time) + ", " + data.columns[row.from].host + " " + nameOf(row.from);
    if (row.bytes) words += row.to >= 0 ? " to " + fullName(row.to) : "";
    words += ": " + row.text + (row.bytes ? " PSN " + row.psn : "");
    return words + (row.note ? ". " + row.note : "");
  };

  // ---- what is shown, and of what it is the time
  let filtered = null;  // { index, time, flags } of the rows that are shown; null: all are
  let chosen = -1;      // the number of a row
  let followed = -1;    // a request
  let onlyQp = -1;      // a column
  let now = begin;
  const shownCount = () => filtered ? filtered.index.length : rows.count;
  const shownAt = (k) => filtered ? filtered.index[k] : k;
  // The first place in a sorted list that is not below.
  const lowest = (list, value, count = list.length) => {
    let low = 0, high = count;
    while (low < high) { const mid = (low + high) >> 1; if (list[mid] < value) low = mid + 1; else high = mid; }
    return low;
  };
  // The place of the first of the shown rows at or after a time.
  const placeAt = async (ps) => {
    if (filtered) return lowest(filtered.time, ps);
    const b = lowest(rows.starts, ps) - 1;
    if (b < 0) return 0;
    const own = await rows.loadBlock(b);
    return b * rows.block + lowest(own.time, ps, own.count);
  };
  // The place of a row among the shown ones, or of the first after it.
  const placeOf = (i) => filtered ? lowest(filtered.index, i) : i;

  const matcher = () => {
    const words = id("find").value.trim().toLowerCase();
    if (!words) return null;
    // Words without digits stand between the numbers of a text, or nowhere.
    const hasDigits = /[0-9]/.test(words);
    const fits = rows.texts.map((pieces) => pieces.some((piece) => piece.toLowerCase().includes(words)));
    return (own, k) => fits[own.text[k]] || fits[own.note[k]] || (own.bytes[k] > 0 && String(own.psn[k]) === words) ||
      (hasDigits && (rows.textAt(own, k).toLowerCase().includes(words) || rows.noteAt(own, k).toLowerCase().includes(words)));
  };
  let filterTurn = 0;
  // False: another filter has begun meanwhile.
  const filter = async () => {
    const turn = ++filterTurn, fits = matcher(), problems = id("problems").checked, only = onlyQp;
    const state = id("found");
    if (!fits && !problems && only < 0) {
      filtered = null;
      state.textContent = "";
      layOut();
      return true;
    }
    const index = [], time = [], flags = [];
    let lastLook = performance.now();
    for (let b = 0; b < rows.blockCount; ++b) {
      if (problems && !rows.special[b]) continue;
      const own = await rows.loadBlock(b, rows.blockCount <= 64);
      if (turn !== filterTurn) return false;
      for (let k = 0; k < own.count; ++k) {
        if (problems && !(own.flags[k] & kSpecial)) continue;
        if (only >= 0 && own.from[k] !== only && own.to[k] !== only) continue;
        if (fits && !fits(own, k)) continue;
        index.push(b * rows.block + k);
        time.push(own.time[k]);
        flags.push(own.flags[k]);
      }
      if (performance.now() - lastLook < 30) continue;
      state.textContent = "searching, " + Math.round(100 * b / rows.blockCount) + " %";
      await new Promise((go) => setTimeout(go));
      lastLook = performance.now();
      if (turn !== filterTurn) return false;
    }
    filtered = { index: Uint32Array.from(index), time: Float64Array.from(time), flags: Uint16Array.from(flags) };
    state.textContent = index.length.toLocaleString("en") + " of " + rows.count.toLocaleString("en") + " rows";
    layOut();
    return true;
  };

  // ---- columns
  const ladder = id("ladder");
  let width = 150, visible = data.columns.map((_, c) => c), placeOfColumn = [];
  const place = () => {
    const room = ladder.clientWidth - kTime - 28;
    width = Math.max(120, Math.floor(room / Math.max(1, visible.length)));
    placeOfColumn = [];
    visible.forEach((c, k) => { placeOfColumn[c] = k; });
    const heads = id("heads");
    heads.textContent = "";
    const inner = element("div");
    inner.style.cssText = "position:relative;height:38px;width:" + (kTime + width * visible.length + 28) + "px";
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
    const box = id("rows");
    box.style.width = kTime + width * visible.length + "px";
    box.style.setProperty("--column", width + "px");
    stale();
  };
  const middle = (c) => kTime + (placeOfColumn[c] ?? 0) * width + width / 2;

  // ---- rows in sight. Where all of them are taller than the browser can scroll, `offset` is what is left out above.
  let offset = 0, lastTop = 0, version = 0, isPending = false, forPrint = false;
  let made = new Map(), madeVersion = -1;
  const allHeight = () => shownCount() * kRow;
  const scrolledHeight = () => Math.min(kTallest, allHeight());
  const top = () => ladder.scrollTop + offset;
  const scrollTo = (pixels) => {
    const most = Math.max(0, allHeight() - ladder.clientHeight), least = Math.max(0, scrolledHeight() - ladder.clientHeight);
    const wanted = Math.min(most, Math.max(0, Math.round(pixels)));
    const part = allHeight() > kTallest ? Math.round(wanted / most * least) : wanted;
    ladder.scrollTop = part;
    lastTop = ladder.scrollTop;
    if (offset !== wanted - part) { offset = wanted - part; stale(); }
    paint();
  };
  const scrolled = () => {
    if (allHeight() > kTallest) {
      const at = ladder.scrollTop, least = scrolledHeight() - ladder.clientHeight, most = allHeight() - ladder.clientHeight;
      const isFar = Math.abs(at - lastTop) > 2 * ladder.clientHeight;
      lastTop = at;
      // The bar goes over all rows; the wheel goes from row to row until it comes to an end that is none.
      if (isFar) return scrollTo(at / least * most);
      if ((at <= 0 && top() > 0) || (at >= least - 1 && top() < most - 1)) return scrollTo(top());
    }
    paint();
  };

  const classes = (f) => (f & kDropped ? " drop" : f & (kNak | kRnrNak) ? " nak" : f & (kRetransmission | kDuplicate | kFault) ? " again" : "") +
    (f & (kError | kFlushed) ? " error" : "");
  const make = (k) => {
    const i = shownAt(k), row = rows.row(i);
    if (!row) {
      const waiting = element("div", "row is-waiting");
      waiting.style.top = k * kRow - offset + "px";
      waiting.append(element("span", "time", "…"));
      return waiting;
    }
    const box = element("div", "row" + classes(row.flags) + (i === chosen ? " is-chosen" : "") +
      (followed >= 0 ? (row.request === followed ? " is-followed" : " is-other") : ""));
    box.id = "row-" + i;
    box.setAttribute("role", "option");
    box.setAttribute("aria-selected", i === chosen ? "true" : "false");
    box.setAttribute("aria-setsize", shownCount());
    box.setAttribute("aria-posinset", k + 1);
    box.title = spoken(row);
    box.setAttribute("aria-label", box.title);
    box.style.top = k * kRow - offset + "px";
    box.append(element("span", "time", micro(row.time)));
    const from = middle(row.from);
    if (row.bytes) {
      const to = row.to >= 0 ? middle(row.to) : from + width / 2;
      const left = Math.min(from, to), span = Math.max(24, Math.abs(to - from));
      const arrow = element("span", "arrow " + (to >= from ? "right" : "left"));
      arrow.style.left = left + "px";
      arrow.style.width = span + "px";
      const label = element("span", "label");
      label.append(element("span", "", row.text + " PSN " + row.psn + ", " + row.bytes + " B" + (row.note ? " — " + row.note : "")));
      label.style.left = left + 6 + "px";
      label.style.width = span - 12 + "px";
      box.append(arrow, label);
    } else {
      const cell = element("span", "cell");
      cell.append(element("span", "", row.text + (row.note ? " — " + row.note : "")));
      // Long words may use the room to the right; those of the last column to the left.
      const start = from - width / 2, whole = kTime + width * visible.length;
      if (visible.length > 1 && placeOfColumn[row.from] === visible.length - 1) {
        cell.style.right = "0";
        cell.style.maxWidth = whole - kTime + "px";
        cell.style.minWidth = width + "px";
      } else {
        cell.style.left = start + "px";
        cell.style.maxWidth = Math.max(width, whole - start) + "px";
      }
      box.append(cell);
    }
    box.addEventListener("click", () => { choose(i, false); follow(row.request); });
    return box;
  };
  // Rows that stay in sight stay as they are, until something else than the place changes.
  const paintNow = () => {
    isPending = false;
    const count = shownCount();
    const first = forPrint ? 0 : Math.max(0, Math.floor(top() / kRow) - 8);
    const last = Math.min(count, forPrint ? kPrinted : first + Math.ceil(ladder.clientHeight / kRow) + 16);
    const before = madeVersion === version ? made : new Map();
    madeVersion = version;
    made = new Map();
    const wanted = new Set(), list = [];
    for (let k = first; k < last; ++k) {
      const i = shownAt(k);
      let box = before.get(k);
      if (!box) {
        box = make(k);
        if (!rows.row(i)) wanted.add(Math.floor(i / rows.block));
      }
      if (!box.classList.contains("is-waiting")) made.set(k, box);
      list.push(box);
    }
    id("rows").replaceChildren(...list);
    id("heads").scrollLeft = ladder.scrollLeft;
    if (chosen >= 0 && document.getElementById("row-" + chosen)) ladder.setAttribute("aria-activedescendant", "row-" + chosen);
    else ladder.removeAttribute("aria-activedescendant");
    for (const b of wanted) rows.loadBlock(b).then(paint);
    // What comes into sight next.
    if (!wanted.size && !filtered) for (const k of [first - 300, last + 300]) if (k >= 0 && k < count && !rows.row(k)) rows.loadBlock(Math.floor(k / rows.block));
    if (!wanted.size) shownFirst();
  };
  const paint = () => { if (!isPending) { isPending = true; requestAnimationFrame(paintNow); } };
  const stale = () => { ++version; };
  const layOut = () => {
    id("rows").style.height = scrolledHeight() + "px";
    stale();
    scrollTo(top());
  };
  const reveal = (k) => {
    const at = k * kRow;
    if (at < top() || at + kRow > top() + ladder.clientHeight) scrollTo(at - ladder.clientHeight / 3);
  };

  // Sideways, so that the row's columns are seen; of a long arrow where it begins.
  const revealColumns = (row) => {
    const ends = [middle(row.from), row.to >= 0 ? middle(row.to) : middle(row.from)];
    const left = Math.min(...ends) - width / 2, right = Math.max(...ends) + width / 2, seen = ladder.clientWidth;
    if (left - kTime >= ladder.scrollLeft && right <= ladder.scrollLeft + seen) return;
    ladder.scrollLeft = right - left > seen - kTime ? ends[0] - seen / 2 : left - (seen - (right - left)) / 2;
  };

  // ---- one moment for all parts
  const toSlider = (ps) => Math.round(1e6 * (ps < busyFrom ? 0.1 * (ps - begin) / Math.max(1, busyFrom - begin)
    : ps <= busyTo ? 0.1 + 0.8 * (ps - busyFrom) / (busyTo - busyFrom) : 0.9 + 0.1 * (ps - busyTo) / Math.max(1, end - busyTo)));
  const fromSlider = (value) => {
    const part = value / 1e6;
    return part < 0.1 ? begin + (busyFrom - begin) * part / 0.1
      : part <= 0.9 ? busyFrom + (busyTo - busyFrom) * (part - 0.1) / 0.8 : busyTo + (end - busyTo) * (part - 0.9) / 0.1;
  };
  let showViews = () => {}, moveTurn = 0;
  // `from`: what has moved, and needs not be moved.
  const moveTo = async (ps, from) => {
    const turn = ++moveTurn;
    now = Math.min(end, Math.max(begin, ps));
    id("now").textContent = micro(now);
    if (from !== "slider") id("slider").value = toSlider(now);
    id("slider").setAttribute("aria-valuetext", micro(now));
    if (from === "slider" || from === "chart") remember();
    charts.showCursors(now);
    showOutput();
    showViews(now);
    if (from === "ladder") return paint();
    const k = Math.min(await placeAt(now), shownCount() - 1);
    if (turn === moveTurn && k >= 0) scrollTo(k * kRow - ladder.clientHeight / 3);
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
  const choose = async (i, moves) => {
    chosen = i;
    stale();
    if (moves) reveal(Math.min(placeOf(i), shownCount() - 1));
    const row = await rows.loadRow(i);
    if (chosen !== i) return;
    if (moves) revealColumns(row);
    moveTo(row.time, "ladder");
    showDetails();
    remember();
  };
  const follow = (request) => { followed = request; stale(); showDetails(); paint(); };

  // ---- the chosen row, and the parts of its request's time
  const kSteps = ["the program posts it", "the doorbell is rung", "the adapter fetches it", "its first packet leaves",
    "its last packet leaves", "its last packet comes", "it is acknowledged", "its completion is written"];
  const showDetails = async () => {
    const of = chosen, row = of >= 0 ? await rows.loadRow(of) : null;
    const request = row && row.request >= 0 ? await blocks.request(row.request) : null;
    if (of !== chosen) return;
    const box = id("details");
    box.textContent = "";
    if (!row) { box.textContent = "None is chosen."; return; }
    box.append(element("p", "", spoken(row)));
    if (row.bytes) box.append(element("p", "", row.bytes + " bytes on the wire" + (row.took >= 0 ? ", " + long(row.took) + " under way" : ", never came")));
    if (!request) return;
    const words = "Request " + (request.id ? "with wr_id " + request.id + " " : "") + "of " + fullName(request.column) + ", " + request.bytes + " bytes, PSN " + request.first +
      (request.last !== request.first ? " to " + request.last : "") + (request.place ? ", posted at " + request.place : "") + (request.status ? ", status " + request.status : "");
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
      line(kSteps[k], before < 0 ? micro(t) : (t >= before ? "+ " : "- ") + long(Math.abs(t - before)));
      if (first < 0) first = t;
      before = t;
    });
    if (before > first) line("in all", long(before - first), "sum");
    box.append(table);
    const button = element("button", "", followed === row.request ? "let it go (Esc)" : "follow it (Enter)");
    button.type = "button";
    button.addEventListener("click", () => follow(followed === row.request ? -1 : row.request));
    box.append(button);
  };

  // ---- output: of very much only what is around the moment
  const kMostPieces = 1500;
  const pieceTimes = data.output.map((piece) => piece[0]);
  let pieces = [], firstPiece = 0, saidUntil = 0;
  const makeOutput = (first) => {
    const box = id("output"), last = Math.min(data.output.length, first + kMostPieces);
    firstPiece = first;
    box.textContent = "";
    if (!data.output.length) { box.textContent = "The programs wrote nothing, or only the trace is here."; return; }
    if (first > 0) box.append(element("p", "hint", first + " earlier pieces are shown at their time."));
    pieces = data.output.slice(first, last).map(([t, host, words, isError]) => {
      const piece = element("span", "later" + (isError ? " standard-error" : ""));
      const lines = words.split("\n");
      const tail = lines[lines.length - 1] === "" ? lines.slice(0, -1) : lines;
      piece.textContent = tail.map((l) => host + "| " + l).join("\n") + "\n";
      piece.title = micro(t);
      piece.addEventListener("click", () => moveTo(t));
      box.append(piece);
      return piece;
    });
    if (last < data.output.length) box.append(element("p", "hint", data.output.length - last + " later pieces are shown at their time."));
    saidUntil = first;
  };
  const showOutput = () => {
    const said = lowest(pieceTimes, now + 1);
    const isHere = said >= firstPiece && (said <= firstPiece + pieces.length) && (said > firstPiece || firstPiece === 0);
    if (!isHere || (said === firstPiece + pieces.length && said < data.output.length)) makeOutput(Math.max(0, Math.min(data.output.length - kMostPieces, said - kMostPieces / 2)));
    const before = saidUntil;
    for (; saidUntil < said; ++saidUntil) pieces[saidUntil - firstPiece].classList.remove("later");
    for (; saidUntil > said; --saidUntil) pieces[saidUntil - 1 - firstPiece].classList.add("later");
    // The last words that have been said are seen.
    const last = pieces[said - 1 - firstPiece], box = id("output");
    if (before !== said && last) box.scrollTop = last.offsetTop - box.offsetTop + last.offsetHeight - box.clientHeight / 2;
    else if (before !== said) box.scrollTop = 0;
  };

  const charts = verbatimCharts({ data, id, svg, micro, long, fullName, begin, end, busyFrom, busyTo, toSlider, fromSlider, moveTo, now: () => now });

  // ---- what went wrong. Programs that were ended by SIGKILL or SIGTERM had to: a fault did it, or the end of the run.
  const ended = ((data.run && data.run.programs) || []).filter((p) => p.exit_code || (p.signal && p.signal !== 9 && p.signal !== 15)).map((p) => ({
    time_ps: p.ended_ps, what: p.host + ": " + p.argv.join(" ") + (p.signal ? " was ended by signal " + p.signal : " ended with exit code " + p.exit_code),
    causes: lastWords(p.host, p.ended_ps).map((evidence) => ({ evidence })) }));
  // Of what a host's programs wrote before a moment.
  function lastWords(host, time) {
    const own = data.output.filter((piece) => piece[1] === host && piece[0] <= time);
    const text = own.length ? own[own.length - 1][2].trim().split("\n").pop() : "";
    return text ? ["its last words: " + text] : [];
  }
  const firstFailure = () => Math.min(...[...data.failures, ...ended].map((failure) => failure.time_ps));
  const failures = () => {
    const box = id("failures"), findings = (data.run && data.run.findings) || [];
    if (!data.failures.length && !findings.length && !ended.length) return;
    box.hidden = false;
    box.append(element("h2", "", "What went wrong"));
    for (const finding of findings) box.append(element("p", "", finding));
    const list = element("ol");
    const all = [...data.failures, ...ended].sort((a, b) => a.time_ps - b.time_ps);
    for (const failure of all.slice(0, kMostFailures)) {
      const item = element("li");
      const jump = element("button", "", "at " + micro(failure.time_ps));
      jump.type = "button";
      jump.addEventListener("click", async () => { const k = await placeAt(failure.time_ps); if (k < shownCount()) choose(shownAt(k), true); });
      item.append(jump, element("span", "", " " + failure.what));
      const causes = element("ul");
      for (const cause of failure.causes) causes.append(element("li", "", cause.evidence + (cause.remedy ? ". So: " + cause.remedy : "")));
      item.append(causes);
      list.append(item);
    }
    box.append(list);
    if (all.length > kMostFailures) box.append(element("p", "hint", all.length - kMostFailures + " later ones are not listed; n goes to each."));
  };

  // ---- by hand
  const step = async (by) => {
    const count = shownCount();
    if (!count) return;
    const k = chosen >= 0 ? placeOf(chosen) + by : await placeAt(now);
    choose(shownAt(Math.min(count - 1, Math.max(0, k))), true);
  };
  const problem = async (by) => {
    const count = shownCount();
    let k = chosen >= 0 ? placeOf(chosen) : await placeAt(now);
    if (chosen < 0 && by > 0) --k;
    for (k += by; k >= 0 && k < count; k += by) {
      if (filtered) {
        if (filtered.flags[k] & kSpecial) return choose(shownAt(k), true);
        continue;
      }
      const b = Math.floor(k / rows.block);
      if (!rows.special[b]) { k = by > 0 ? (b + 1) * rows.block - 1 : b * rows.block; continue; }
      const own = await rows.loadBlock(b), start = b * rows.block;
      for (; k >= start && k < start + own.count; k += by) if (own.flags[k - start] & kSpecial) return choose(k, true);
      k -= by;
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
    else if (e.key === "Home" || e.key === "End") { if (shownCount()) choose(shownAt(e.key === "Home" ? 0 : shownCount() - 1), true); }
    else if (e.key === "Enter" && chosen >= 0) rows.loadRow(chosen).then((row) => follow(row.request));
    else return;
    e.preventDefault();
  };
  document.addEventListener("keydown", keys);
  ladder.addEventListener("scroll", scrolled, { passive: true });
  id("slider").addEventListener("input", () => moveTo(fromSlider(Number(id("slider").value)), "slider"));
  id("back").addEventListener("click", () => problem(-1));
  id("forward").addEventListener("click", () => problem(1));
  const search = async () => { if (await filter()) moveTo(now); };
  let findTimer = 0;
  id("problems").addEventListener("change", search);
  id("find").addEventListener("input", () => { clearTimeout(findTimer); findTimer = setTimeout(search, 120); });
  const select = (c) => {
    onlyQp = c;
    id("qp").value = String(c);
    const used = new Set([c]);
    for (const [a, b] of data.rows.meets) { if (a === c) used.add(b); if (b === c) used.add(a); }
    visible = data.columns.map((_, k) => k).filter((k) => c < 0 || used.has(k));
    place();
    return filter();
  };
  id("qp").addEventListener("change", async () => { if (await select(Number(id("qp").value))) { moveTo(now); remember(); } });
  addEventListener("resize", () => { place(); paint(); });
  addEventListener("beforeprint", () => {
    forPrint = true;
    offset = 0;
    const count = Math.min(kPrinted, shownCount());
    id("rows").style.height = count * kRow + "px";
    id("printed").textContent = count < shownCount() ? "The first " + count + " of " + shownCount() + " rows." : "";
    drawAll();
    stale();
    paintNow();
  });
  addEventListener("afterprint", () => { forPrint = false; id("printed").textContent = ""; layOut(); moveTo(now); });
  // "#t=100285.5&qp=client:72": microseconds, and a queue pair as host and number, or its number.
  const open = async () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    const qp = asked.get("qp");
    if (qp) {
      const [host, number] = qp.includes(":") ? qp.split(":") : ["", qp];
      const c = data.columns.findIndex((col) => String(col.qp) === number && (!host || col.host === host));
      if (c >= 0 && !(await select(c))) return;
    }
    const t = parseFloat(asked.get("t"));
    const failed = firstFailure();
    await moveTo(Number.isFinite(t) ? t * 1e6 : Number.isFinite(failed) ? failed : busyFrom);
    if (!asked.get("t") && !Number.isFinite(failed)) return;
    const k = await placeAt(now);
    if (k < shownCount()) choose(shownAt(k), true);
  };
  addEventListener("hashchange", open);

  // ---- start: the ladder first, then what is below it, piece by piece
  const state = document.documentElement.dataset;
  let parts = [charts.lives, charts.queues, charts.links, charts.credits];
  let isReady = false;
  const drawAll = () => { while (parts.length) parts.shift()(); };
  const whenIdle = (then) => window.requestIdleCallback ? requestIdleCallback(then, { timeout: 200 }) : setTimeout(then, 1);
  const drawNext = () => {
    if (!parts.length) { state.whole = "1"; return; }
    parts.shift()();
    whenIdle(drawNext);
  };
  const shownFirst = () => {
    if (isReady || !hasOpened) return;
    isReady = true;
    state.blocks = blocks.readCount();
    state.ready = Math.round(performance.now());
    requestAnimationFrame(() => setTimeout(async () => {
      const [writes, waits] = await Promise.all([blocks.writes(), blocks.waits(), rows.count ? rows.loadBlock(0) : null]);
      const views = verbatimViews({ data, writes, waits, id, element, svg, micro, long, fullName, begin, end, busyFrom, busyTo, ...charts });
      parts.push(...views.parts, () => { showViews = views.show; showViews(now); });
      drawNext();
    }));
  };

  const programs = ((data.run && data.run.programs) || []).map((p) => p.host + ": " + p.argv.join(" "));
  id("title").textContent = programs.length ? programs.slice(0, 4).join("; ") + (programs.length > 4 ? "; …" : "") : "Trace";
  document.title = "Verbatim: " + id("title").textContent;
  const run = data.run || {};
  id("summary").textContent = [run.outcome ? "outcome " + run.outcome : "",
    ended.length ? ended.length + (ended.length === 1 ? " program" : " programs") + " failed" : "", run.virtual_time_ps ? "virtual time " + long(run.virtual_time_ps) : "",
    data.packets + " packets", run.seed !== undefined ? "seed " + run.seed : "", run.freedom ? "freedom " + run.freedom : ""].filter(Boolean).join(", ");
  id("origin").textContent = "Verbatim " + (run.version || "") + (run.digest ? ", digest " + run.digest + " (" + run.determinism + ")" : "");
  const all = element("option", "", "all");
  all.value = "-1";
  id("qp").append(all);
  data.columns.forEach((col, c) => { if (!col.qp) return; const option = element("option", "", fullName(c)); option.value = String(c); id("qp").append(option); });
  failures();
  makeOutput(0);
  place();
  layOut();
  let hasOpened = false;
  if (!window.DecompressionStream) id("found").textContent = "This browser cannot read the packets: it is older than 2023.";
  else open().then(() => { hasOpened = true; paint(); });
})();
