"use strict";
// The ladder: the shown rows, their places, and the visible ones.
const verbatimFlags = { kDropped: 1, kRetransmission: 2, kNak: 4, kRnrNak: 8, kFlushed: 16, kError: 32, kFault: 64, kDuplicate: 128, kProblem: 255 };

// `state`: chosen (a row), followed (a request), only (a column); -1: none. `onPick(i, row)`: a row was
// clicked.
const verbatimLadder = ({ data, rows, id, element, time, columns, state, onPick, onFirst }) => {
  const { kDropped, kRetransmission, kNak, kRnrNak, kFlushed, kError, kFault, kDuplicate, kProblem } = verbatimFlags;
  const kRow = 22, kTime = 150, kPrinted = 3000, kCharacter = 6.8, kLane = 100;  // pixels
  const kTallest = 3e6;  // limit of the scrolled height: browsers fail at 17 million
  const { nameOf, fullName, exact, laneOf } = columns;
  const ladder = id("ladder");

  const spoken = (row) => {
    let words = time.text(row.time) + ", " + data.columns[row.from].host + " " + nameOf(row.from);
    if (row.bytes) words += row.to >= 0 ? " to " + fullName(row.to) : "";
    words += ": " + row.text + (row.bytes ? " PSN " + row.psn : "");
    return words + (row.note ? ". " + row.note : "");
  };

  // ---- which rows are shown
  let filtered = null;  // { index, time, flags } of the shown rows; null: all
  const shownCount = () => filtered ? filtered.index.length : rows.count;
  const shownAt = (k) => filtered ? filtered.index[k] : k;
  // Index of the first element of a sorted list that is not less.
  const lowest = (list, value, count = list.length) => {
    let low = 0, high = count;
    while (low < high) { const mid = (low + high) >> 1; if (list[mid] < value) low = mid + 1; else high = mid; }
    return low;
  };
  // The number of the first row at or after a time.
  const rowAt = async (ps) => {
    const b = lowest(rows.starts, ps) - 1;
    if (b < 0) return 0;
    const own = await rows.loadBlock(b);
    return b * rows.block + lowest(own.time, ps, own.count);
  };
  // Place of the first shown row at or after a time.
  const placeAt = async (ps) => filtered ? lowest(filtered.time, ps) : rowAt(ps);
  // Place of a row among the shown ones, or of the next shown one.
  const placeOf = (i) => filtered ? lowest(filtered.index, i) : i;
  const isShown = (i) => !filtered || filtered.index[placeOf(i)] === i;

  const matcher = () => {
    const words = id("find").value.trim().toLowerCase();
    if (!words) return null;
    // A search text without digits can only match within the pieces of a text.
    const hasDigits = /[0-9]/.test(words);
    const fits = rows.texts.map((pieces) => pieces.some((piece) => piece.toLowerCase().includes(words)));
    return (own, k) => fits[own.text[k]] || fits[own.note[k]] || (own.bytes[k] > 0 && String(own.psn[k]) === words) ||
      (hasDigits && (rows.textAt(own, k).toLowerCase().includes(words) || rows.noteAt(own, k).toLowerCase().includes(words)));
  };
  let filterTurn = 0;
  // Returns false if another filter was started meanwhile.
  const filter = async () => {
    const turn = ++filterTurn, fits = matcher(), problems = id("problems").checked, only = state.only;
    const [from, to] = id("inrange").checked ? [time.from(), time.to()] : [-Infinity, Infinity];
    const found = id("found");
    if (!fits && !problems && only < 0 && from === -Infinity) {
      filtered = null;
      found.textContent = "";
      layOut();
      return true;
    }
    const index = [], times = [], flags = [];
    let lastLook = performance.now();
    for (let b = 0; b < rows.blockCount; ++b) {
      if (problems && !rows.special[b]) continue;
      if (rows.starts[b] > to || (b + 1 < rows.blockCount && rows.starts[b + 1] < from)) continue;
      const own = await rows.loadBlock(b, rows.blockCount <= 64);
      if (turn !== filterTurn) return false;
      for (let k = 0; k < own.count; ++k) {
        if (problems && !(own.flags[k] & kProblem)) continue;
        if (only >= 0 && own.from[k] !== only && own.to[k] !== only) continue;
        if (own.time[k] < from || own.time[k] > to) continue;
        if (fits && !fits(own, k)) continue;
        index.push(b * rows.block + k);
        times.push(own.time[k]);
        flags.push(own.flags[k]);
      }
      if (performance.now() - lastLook < 30) continue;
      found.textContent = "searching, " + Math.round(100 * b / rows.blockCount) + " %";
      await new Promise((go) => setTimeout(go));
      lastLook = performance.now();
      if (turn !== filterTurn) return false;
    }
    filtered = { index: Uint32Array.from(index), time: Float64Array.from(times), flags: Uint16Array.from(flags) };
    found.textContent = index.length.toLocaleString("en") + " of " + rows.count.toLocaleString("en") + " rows";
    layOut();
    return true;
  };
  // The next row in this direction for which `fits` (called with block and index) is true; undefined if there
  // is none.
  const findRow = async (i, by, fits) => {
    for (let k = i + by; k >= 0 && k < rows.count;) {
      const b = Math.floor(k / rows.block), start = b * rows.block;
      if (!rows.special[b]) { k = by > 0 ? start + rows.block : start - 1; continue; }
      const own = await rows.loadBlock(b);
      for (; k >= start && k < start + own.count; k += by) if (fits(own, k - start)) return k;
    }
    return undefined;
  };

  // ---- columns
  let width = 150;
  const kHead = 19;
  const place = () => {
    columns.arrange(state.only < 0 ? data.columns.map((_, c) => c) : withPeers(state.only));
    const lanes = columns.lanes(), room = ladder.clientWidth - kTime - 28, levels = columns.hasGroups() ? 3 : 2;
    width = Math.max(kLane, Math.floor(room / Math.max(1, lanes.length)));
    const heads = id("heads");
    heads.textContent = "";
    heads.style.height = levels * kHead + "px";
    const inner = element("div");
    inner.style.cssText = "position:relative;height:" + levels * kHead + "px;width:" + (kTime + width * lanes.length + 28) + "px";
    const head = (first, last, level, className, words, key) => {
      const canToggle = key && columns.canClose(key);
      const box = element(canToggle ? "button" : "div", "head " + className, canToggle ? (columns.isOpen(key) ? "▾ " : "▸ ") + words : words);
      box.style.cssText = "top:" + level * kHead + "px;left:" + (kTime + first * width + 4) + "px;width:" + ((last - first + 1) * width - 8) + "px";
      box.title = words;
      if (canToggle) {
        box.type = "button";
        box.setAttribute("aria-expanded", columns.isOpen(key));
        box.addEventListener("click", () => { columns.toggle(key); place(); paint(); });
      }
      inner.append(box);
    };
    const spans = (level, name, prefix) => {
      for (let k = 0, last; k < lanes.length; k = last + 1) {
        for (last = k; last + 1 < lanes.length && lanes[last + 1][name] === lanes[k][name] && lanes[k][name];) ++last;
        if (lanes[k][name]) head(k, last, level, "host", lanes[k][name], prefix + lanes[k][name]);
      }
    };
    if (levels === 3) spans(0, "group", "group ");
    spans(levels - 2, "host", "host ");
    lanes.forEach((lane, k) => head(k, k, lane.title || lane.host ? levels - 1 : 1, "", lane.title || lane.note));
    heads.append(inner);
    const box = id("rows");
    box.style.width = kTime + width * lanes.length + "px";
    box.style.setProperty("--column", width + "px");
    box.style.setProperty("--time", kTime + "px");
    stale();
  };
  const withPeers = (c) => {
    const used = new Set([c]);
    for (const [a, b] of data.rows.meets) { if (a === c) used.add(b); if (b === c) used.add(a); }
    return data.columns.map((_, k) => k).filter((k) => used.has(k));
  };
  const middle = (c) => kTime + (laneOf(c) ?? 0) * width + width / 2;

  // ---- visible rows. If all of them are taller than a browser can scroll, `offset` is the height omitted
  // above.
  let offset = 0, lastTop = 0, lastLeft = 0, version = 0, isPending = false, forPrint = false;
  let made = new Map(), madeVersion = -1, seenLeft = 0, seenRight = 0;
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
    // Labels stay in the visible part.
    if (ladder.scrollLeft !== lastLeft) { lastLeft = ladder.scrollLeft; stale(); }
    if (allHeight() > kTallest) {
      const at = ladder.scrollTop, least = scrolledHeight() - ladder.clientHeight, most = allHeight() - ladder.clientHeight;
      const isFar = Math.abs(at - lastTop) > 2 * ladder.clientHeight;
      lastTop = at;
      // The scroll bar covers all rows; the wheel moves row by row beyond an apparent end.
      if (isFar) return scrollTo(at / least * most);
      if ((at <= 0 && top() > 0) || (at >= least - 1 && top() < most - 1)) return scrollTo(top());
    }
    paint();
  };

  const classes = (f) => (f & kDropped ? " drop" : f & (kNak | kRnrNak) ? " nak" : f & (kRetransmission | kDuplicate | kFault) ? " again" : "") +
    (f & (kError | kFlushed) ? " error" : "");
  const ends = (row) => {
    const from = middle(row.from);
    return [from, row.to >= 0 ? middle(row.to) : from + width / 2];
  };
  const addArrow = (box, row) => {
    const [from, to] = ends(row), left = Math.min(from, to), span = Math.max(24, Math.abs(to - from)), right = left + span;
    const arrow = element("span", "arrow " + (to >= from ? "right" : "left"));
    arrow.style.left = left + "px";
    arrow.style.width = span + "px";
    // Names that the columns do not show, or whose column is not visible.
    const isOut = (at) => at < seenLeft || at > seenRight;
    const own = exact(row.from) || (isOut(from) ? fullName(row.from) : ""), far = row.to < 0 ? "" : exact(row.to) || (isOut(to) ? fullName(row.to) : "");
    const names = own || far ? (own || nameOf(row.from)) + (row.to < 0 ? "" : " → " + (far || nameOf(row.to))) + ": " : "";
    const label = element("span", "label");
    const words = names + row.text + " PSN " + row.psn + ", " + row.bytes + " B" + (row.note ? " — " + row.note : "");
    label.append(element("span", "", words));
    // Above the visible part of the arrow; longer text extends beyond it.
    let start = Math.max(left, seenLeft) + 6, stop = Math.min(right, seenRight) - 6;
    const least = Math.min(seenRight - seenLeft, words.length * kCharacter + 12);
    if (stop - start < least) {
      const centre = Math.min(Math.max((start + stop) / 2, seenLeft + least / 2), seenRight - least / 2);
      start = centre - least / 2;
      stop = centre + least / 2;
    }
    label.style.left = start + "px";
    label.style.width = stop - start + "px";
    box.append(arrow, label);
  };
  const addCell = (box, row) => {
    const from = middle(row.from), isLeft = from < seenLeft, isOut = isLeft || from > seenRight, cell = element("span", isOut ? "cell is-out" : "cell");
    const name = exact(row.from) || (isOut ? fullName(row.from) : "");
    cell.append(element("span", "", (isLeft ? "◂ " : isOut ? "▸ " : "") + (name ? name + ": " : "") + row.text + (row.note ? " — " + row.note : "")));
    if (isOut) {
      // At the side of its column.
      cell.style.left = seenLeft + "px";
      cell.style.width = seenRight - seenLeft + "px";
      cell.style.textAlign = isLeft ? "left" : "right";
      box.append(cell);
      return;
    }
    // Long text may use the space to the right; in the last column, to the left.
    const start = from - width / 2, count = columns.lanes().length, whole = kTime + width * count;
    if (count > 1 && laneOf(row.from) === count - 1) {
      cell.style.right = "0";
      cell.style.maxWidth = whole - kTime + "px";
      cell.style.minWidth = width + "px";
    } else {
      cell.style.left = start + "px";
      cell.style.maxWidth = Math.max(width, whole - start) + "px";
    }
    box.append(cell);
  };
  const make = (k) => {
    const i = shownAt(k), row = rows.row(i);
    if (!row) {
      const waiting = element("div", "row is-waiting");
      waiting.style.top = k * kRow - offset + "px";
      waiting.append(element("span", "time", "…"));
      return waiting;
    }
    const box = element("div", "row" + classes(row.flags) + (i === state.chosen ? " is-chosen" : "") +
      (state.followed >= 0 ? (row.request === state.followed ? " is-followed" : " is-other") : "") +
      (row.time < time.from() || row.time > time.to() ? " is-outside" : ""));
    box.id = "row-" + i;
    box.setAttribute("role", "option");
    box.setAttribute("aria-selected", i === state.chosen ? "true" : "false");
    box.setAttribute("aria-setsize", shownCount());
    box.setAttribute("aria-posinset", k + 1);
    box.title = spoken(row);
    box.setAttribute("aria-label", box.title);
    box.style.top = k * kRow - offset + "px";
    box.append(element("span", "time", time.text(row.time)));
    row.bytes ? addArrow(box, row) : addCell(box, row);
    box.addEventListener("click", () => onPick(i, row));
    return box;
  };
  // Visible rows are kept unless something other than the scroll position changes.
  const paintNow = () => {
    isPending = false;
    const count = shownCount(), high = ladder.clientHeight;
    seenLeft = ladder.scrollLeft + kTime;
    seenRight = forPrint ? kTime + width * columns.lanes().length : ladder.scrollLeft + ladder.clientWidth;
    const first = forPrint ? 0 : Math.max(0, Math.floor(top() / kRow) - 8);
    const last = Math.min(count, forPrint ? kPrinted : first + Math.ceil(high / kRow) + 16);
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
    if (state.chosen >= 0 && document.getElementById("row-" + state.chosen)) ladder.setAttribute("aria-activedescendant", "row-" + state.chosen);
    else ladder.removeAttribute("aria-activedescendant");
    for (const b of wanted) rows.loadBlock(b).then(paint);
    // Loads the rows that will become visible next.
    if (!wanted.size && !filtered) for (const k of [first - 300, last + 300]) if (k >= 0 && k < count && !rows.row(k)) rows.loadBlock(Math.floor(k / rows.block));
    if (!wanted.size) onFirst();
  };
  const paint = () => { if (!isPending) { isPending = true; requestAnimationFrame(paintNow); } };
  const stale = () => { ++version; };
  const layOut = () => {
    id("rows").style.height = scrolledHeight() + "px";
    stale();
    scrollTo(top());
  };
  // Scrolls vertically to a place.
  const reveal = (k) => {
    const at = k * kRow;
    if (at < top() || at + kRow > top() + ladder.clientHeight) scrollTo(at - ladder.clientHeight / 3);
  };
  const toPlace = (k) => scrollTo(k * kRow - ladder.clientHeight / 3);
  // Scrolls horizontally to the row's columns; for a long arrow to its start.
  const revealColumns = (row) => {
    const both = row.bytes ? ends(row) : [middle(row.from)];
    const left = Math.min(...both) - width / 2, right = Math.max(...both) + width / 2, seen = ladder.clientWidth;
    if (left - kTime >= ladder.scrollLeft && right <= ladder.scrollLeft + seen) return;
    ladder.scrollLeft = right - left > seen - kTime ? both[0] - seen / 2 : left - (seen - (right - left)) / 2;
  };

  const print = (isBegun) => {
    forPrint = isBegun;
    const count = Math.min(kPrinted, shownCount());
    id("printed").textContent = isBegun && count < shownCount() ? "The first " + count + " of " + shownCount() + " rows." : "";
    if (!isBegun) return layOut();
    offset = 0;
    id("rows").style.height = count * kRow + "px";
    stale();
    paintNow();
  };
  ladder.addEventListener("scroll", scrolled, { passive: true });

  return { spoken, shownCount, shownAt, lowest, rowAt, placeAt, placeOf, isShown, filter, findRow, place, paint, stale, layOut, reveal, toPlace, revealColumns, print,
    page: () => Math.max(1, Math.floor(ladder.clientHeight / kRow) - 1) };
};
