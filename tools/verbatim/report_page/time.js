"use strict";
// Time: its format, the selected time, and the range shared by all charts and the ladder.
const verbatimTime = (data, rows) => {
  const begin = data.overview && data.overview.is_part ? 0 : rows.count ? rows.starts[0] : 0, end = Math.max(data.end, begin + 1);
  const busyFrom = data.packets ? data.first_packet : begin;
  const busyTo = data.packets ? Math.max(data.last_packet, busyFrom + 1) : end;
  const kLeast = Math.min(1000, end - begin);  // ps: the shortest range
  let from = begin, to = end;
  const listeners = [];

  // Microseconds below a second, else seconds; both to the nanosecond, truncated.
  const text = (ps) => {
    const ns = Math.trunc(ps / 1000);
    return Math.abs(ps) < 1e12 ? (ns / 1e3).toFixed(3) + " µs" : (ns / 1e9).toFixed(9) + " s";
  };

  // The time with packets and small margins. If only a part of the packets was recorded, the overview has it.
  const fitted = () => {
    const over = data.overview && data.overview.is_part ? data.overview : null;
    const [first, last] = over ? [over.begin, Math.max(over.last, over.begin + 1)] : [busyFrom, busyTo];
    const margin = data.packets || over ? 0.03 * (last - first) : 0;
    return [Math.max(begin, first - margin), Math.min(end, last + margin)];
  };
  // Moves the range into the run, and keeps its length if possible.
  const set = (wantedFrom, wantedTo) => {
    const span = Math.min(end - begin, Math.max(kLeast, wantedTo - wantedFrom));
    const start = Math.min(end - span, Math.max(begin, wantedTo - wantedFrom < kLeast ? (wantedFrom + wantedTo - span) / 2 : wantedFrom));
    if (start === from && start + span === to) return;
    from = start;
    to = start + span;
    for (const listener of listeners) listener();
  };
  const zoom = (factor, at) => set(at - (at - from) * factor, at + (to - at) * factor);
  const pan = (share) => set(from + share * (to - from), to + share * (to - from));
  // Moves the range such that it contains the time.
  const include = (ps) => { if (ps < from || ps > to) set(ps - (to - from) / 2, ps + (to - from) / 2); };
  [from, to] = fitted();

  // At most `most` round times in the range.
  const ticks = (most) => {
    const least = (to - from) / most, power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((k) => k * power).find((one) => one >= least);
    const words = (t) => {
      const [unit, name] = t < 1e12 ? [1e6, " µs"] : [1e12, " s"];
      return (t / unit).toFixed(Math.max(0, Math.min(12, Math.ceil(Math.log10(unit / step) - 1e-9)))) + name;
    };
    const list = [];
    for (let k = Math.ceil(from / step); k * step <= to && list.length <= most; ++k) list.push([k * step, words(k * step)]);
    return list;
  };

  return { begin, end, busyFrom, busyTo, from: () => from, to: () => to, span: () => to - from, text, set, zoom, pan, include, ticks,
    fit: () => set(...fitted()), whole: () => set(begin, end), onRange: (listener) => listeners.push(listener) };
};
