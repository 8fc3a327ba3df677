"use strict";
// The blocks of the page (page_block.h): columns of numbers, decoded on demand.
const verbatimBlocks = (head) => {
  const kMostKept = 128;  // blocks of rows: a million rows take 70 MB
  let read = 0;

  // The text of an element that follows this script, as soon as it is complete.
  const textOf = (name) => new Promise((resolve) => {
    const look = () => {
      const found = document.getElementById(name), isWhole = document.readyState !== "loading";
      if (found && (isWhole || found.nextElementSibling)) resolve(found.textContent);
      else if (isWhole) resolve("");
      else setTimeout(look, 4);
    };
    look();
  });
  const bytesOf = (text) => {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const words = atob(text), bytes = new Uint8Array(words.length);
    for (let i = 0; i < words.length; ++i) bytes[i] = words.charCodeAt(i);
    return bytes;
  };
  const inflated = async (bytes) => {
    const stream = new DecompressionStream("deflate-raw"), writer = stream.writable.getWriter();
    writer.write(bytes).catch(() => {});
    writer.close().catch(() => {});
    return new Uint8Array(await new Response(stream.readable).arrayBuffer());
  };

  class Columns {
    constructor(bytes) { this.bytes = bytes; this.at = 0; }
    number() {
      const bytes = this.bytes;
      let value = bytes[this.at++];
      if (value < 128) return value;
      value &= 127;
      for (let scale = 128; ; scale *= 128) {
        const byte = bytes[this.at++];
        value += (byte & 127) * scale;
        if (!(byte >= 128)) return value;
      }
    }
    signed() { return Columns.unfolded(this.number()); }
    static unfolded(value) { return value % 2 ? -(value + 1) / 2 : value / 2; }
    // Moves to the next column and fills `into` with the results of `each`.
    fill(into, each) {
      this.number();
      for (let i = 0; i < into.length; ++i) into[i] = each(i);
      return into;
    }
    plain(into) { return this.fill(into, () => this.number()); }
  }
  const columns = async (name) => {
    const bytes = await inflated(bytesOf(await textOf(name)));
    ++read;
    return new Columns(bytes);
  };
  // The numbers in texts. Within a block they are differences to the previous number at the same place.
  const numbersOf = (from, texts, uses) => {
    const last = [], numbers = [], starts = new Uint32Array(uses[0].length + 1);
    from.number();
    for (let i = 0; i < uses[0].length; ++i) {
      for (const use of uses) {
        const text = use[i], own = last[text] || (last[text] = new Float64Array(texts[text].length - 1));
        for (let k = 0; k < own.length; ++k) numbers.push(own[k] += from.signed());
      }
      starts[i + 1] = numbers.length;
    }
    return { numbers: Float64Array.from(numbers), starts };
  };
  const words = (pieces, numbers, at) => {
    let text = pieces[0];
    for (let k = 1; k < pieces.length; ++k) text += numbers[at + k - 1] + pieces[k];
    return text;
  };

  // ---- rows
  const rows = head.rows, blockCount = rows.starts.length;
  const kept = new Map(), asked = new Map();
  const readRows = async (b) => {
    const from = await columns("rows-" + b);
    const count = Math.min(rows.block, rows.count - b * rows.block);
    const own = { count };
    let time = 0;
    own.time = from.fill(new Float64Array(count), () => time += from.signed());
    own.from = from.plain(new Uint32Array(count));
    own.to = from.fill(new Int32Array(count), () => from.number() - 1);
    own.took = from.fill(new Float64Array(count), () => from.number() - 1);
    own.flags = from.plain(new Uint16Array(count));
    own.bytes = from.plain(new Uint32Array(count));
    const psns = [], requests = [];
    own.psn = from.fill(new Uint32Array(count), (i) => {
      const step = from.signed(), c = own.from[i];
      return own.bytes[i] ? psns[c] = (psns[c] || 0) + step : 0;
    });
    own.text = from.plain(new Uint32Array(count));
    own.note = from.plain(new Uint32Array(count));
    Object.assign(own, numbersOf(from, rows.texts, [own.text, own.note]));
    own.request = from.fill(new Int32Array(count), (i) => {
      const coded = from.number(), c = own.from[i];
      return coded ? requests[c] = (requests[c] || 0) + Columns.unfolded(coded - 1) : -1;
    });
    return own;
  };
  const loadBlock = async (b, keeps = true) => {
    const here = kept.get(b);
    if (here) {
      kept.delete(b);
      kept.set(b, here);
      return here;
    }
    if (!asked.has(b)) asked.set(b, readRows(b));
    const own = await asked.get(b);
    asked.delete(b);
    if (keeps) {
      kept.set(b, own);
      if (kept.size > kMostKept) {
        for (const old of kept.keys()) if (old !== 0) { kept.delete(old); break; }  // the first block is needed for printing
      }
    }
    return own;
  };
  const textAt = (own, k) => words(rows.texts[own.text[k]], own.numbers, own.starts[k]);
  const noteAt = (own, k) => words(rows.texts[own.note[k]], own.numbers, own.starts[k] + rows.texts[own.text[k]].length - 1);
  // A row, if its block is loaded.
  const row = (i) => {
    const b = Math.floor(i / rows.block), own = kept.get(b), k = i - b * rows.block;
    if (!own || k >= own.count) return null;
    return { time: own.time[k], from: own.from[k], to: own.to[k], took: own.took[k], flags: own.flags[k], bytes: own.bytes[k],
      psn: own.psn[k], text: textAt(own, k), note: noteAt(own, k), request: own.request[k] };
  };
  const loadRow = async (i) => {
    await loadBlock(Math.floor(i / rows.block));
    return row(i);
  };

  // ---- requests
  let lastRequests = { block: -1 };
  const request = async (index) => {
    const of = head.requests, b = Math.floor(index / of.block), k = index - b * of.block;
    if (lastRequests.block !== b) {
      const from = await columns("requests-" + b);
      const count = Math.min(of.block, of.count - b * of.block), own = { block: b };
      const numbers = () => new Float64Array(count);
      const ids = [], psns = [];
      own.column = from.plain(numbers());
      own.idHigh = from.plain(numbers());
      own.idLow = from.fill(numbers(), (i) => {
        const step = from.signed(), c = own.column[i];
        return own.idHigh[i] ? ids[c] = (ids[c] || 0) + step : 0;
      });
      own.place = from.plain(numbers());
      Object.assign(own, numbersOf(from, of.texts, [own.place]));
      own.bytes = from.plain(numbers());
      own.first = from.fill(numbers(), (i) => psns[own.column[i]] = (psns[own.column[i]] || 0) + from.signed());
      own.last = from.fill(numbers(), (i) => (own.first[i] + from.number()) % 0x1000000);
      own.times = [];
      for (let step = 0; step < 8; ++step) own.times.push(from.plain(numbers()));
      own.status = from.plain(numbers());
      // The first known time is a difference to that of the previous request.
      let before = 0;
      for (let i = 0; i < count; ++i) {
        let last = -1;
        for (const time of own.times) {
          if (!time[i]) { time[i] = -1; continue; }
          time[i] = Columns.unfolded(time[i] - 1) + (last < 0 ? before : last);
          if (last < 0) before = time[i];
          last = time[i];
        }
      }
      lastRequests = own;
    }
    const own = lastRequests, high = own.idHigh[k] - 1, low = String(own.idLow[k]);
    return { column: own.column[k], id: high < 0 ? "" : high > 0 ? high + low.padStart(9, "0") : low,
      place: words(of.texts[own.place[k]], own.numbers, own.starts[k]), bytes: own.bytes[k], first: own.first[k], last: own.last[k],
      times: own.times.map((time) => time[k]), status: own.status[k] };
  };

  // ---- what is drawn over time
  let allSeries = [];
  // A series' runs of equal values: their first part of its `bins` parts of the time with packets, and the
  // value.
  const series = (number) => allSeries[number];
  const readSeries = async () => {
    const of = head.series, all = of.runs.reduce((a, b) => a + b, 0), from = await columns("series-0");
    const steps = from.plain(new Float64Array(all)), values = from.fill(new Float64Array(all), () => from.signed());
    let at = 0;
    allSeries = of.runs.map((count, number) => {
      const own = { bins: of.bins[number], starts: steps.subarray(at, at + count), values: values.subarray(at, at + count) };
      for (let k = 1; k < count; ++k) { own.starts[k] += own.starts[k - 1]; own.values[k] += own.values[k - 1]; }
      at += count;
      return own;
    });
  };
  // Times of dropped packets, by link of head.links.
  const drops = async () => {
    const from = await columns("drops-0");
    from.number();
    return head.links.map((link) => {
      let time = 0;
      return Float64Array.from({ length: link.drops }, () => time += from.signed());
    });
  };

  // ---- the run from above
  const loads = async () => {
    const of = head.overview, ports = await columns("ports-0"), cells = await columns("loads-0"), depths = await columns("depths-0");
    const count = 2 * head.sides.cables.length, own = { count };
    own.kind = ports.plain(new Uint16Array(count));
    own.group = ports.plain(new Uint32Array(count));
    own.rate = ports.plain(new Float64Array(count));
    own.share = cells.plain(new Uint8Array(count * of.parts));
    own.worst = depths.plain(new Float64Array(of.classes.length * of.parts));
    own.middle = depths.plain(new Float64Array(of.classes.length * of.parts));
    return own;
  };
  const lanes = async () => {
    const of = head.overview.timeline, from = await columns("lanes-0"), count = of.lanes.length * of.bins, own = {};
    for (const kind of ["computes", "sends", "gets"]) own[kind] = from.plain(new Uint8Array(count));
    if (!of.operations) return own;
    const single = await columns("operations-0"), numbers = () => new Float64Array(of.operations);
    own.lane = single.plain(new Uint32Array(of.operations));
    own.kind = single.plain(new Uint8Array(of.operations));
    own.peer = single.plain(new Uint32Array(of.operations));
    own.bytes = single.plain(numbers());
    let time = 0;
    own.from = single.fill(numbers(), (i) => time = (i && own.lane[i] === own.lane[i - 1] ? time : 0) + single.signed());
    own.took = single.plain(numbers());
    own.starts = new Uint32Array(of.lanes.length + 1);
    for (let i = 0; i < of.operations; ++i) ++own.starts[own.lane[i] + 1];
    for (let k = 0; k < of.lanes.length; ++k) own.starts[k + 1] += own.starts[k];
    return own;
  };

  // ---- writes and waits
  const writes = async () => {
    const from = await columns("writes-0"), count = head.sides.writes, numbers = () => new Float64Array(count);
    let time = 0;
    return { count, time: from.fill(numbers(), () => time += from.signed()), took: from.plain(numbers()),
      region: from.fill(numbers(), () => from.number() - 1), offset: from.plain(numbers()), length: from.plain(numbers()),
      column: from.fill(numbers(), () => from.number() - 1), isAnswer: from.plain(numbers()) };
  };
  const waits = async () => {
    const from = await columns("waits-0"), count = head.sides.waits, numbers = () => new Float64Array(count);
    const thread = from.plain(numbers()), begin = from.fill(numbers(), () => from.signed());
    const took = from.fill(numbers(), () => from.signed()), waited = from.fill(numbers(), () => from.signed());
    const times = from.plain(numbers()), what = from.plain(numbers()), ends = [], all = [];
    for (let i = 0; i < count; ++i) {
      const start = (ends[thread[i]] || 0) + begin[i];
      ends[thread[i]] = start + took[i];
      all.push({ thread: thread[i], from: start, to: start + took[i], waited: waited[i], count: times[i], what: head.sides.waits_for[what[i]] });
    }
    return all;
  };

  return { rows: { count: rows.count, block: rows.block, blockCount, starts: rows.starts, special: rows.special, texts: rows.texts,
    row, loadRow, loadBlock, textAt, noteAt }, request, series, readSeries, drops, loads, lanes, writes, waits, readCount: () => read };
};
