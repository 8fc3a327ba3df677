"use strict";
// Congestion below the ladder: lanes of ports, rates of queue pairs, utilisation of links as a heat map,
// flows. The worst are shown; the others are in a fold.
const verbatimCongestion = ({ data, id, element, svg, time, charts, table }) => {
  const { chart, foldRest, area, pieces, valueAt, sumOf, band, names, legend, count, x, isShown } = charts;
  const { lanes, rates, lanes_left_out, rates_left_out } = data.congestion;
  const shortName = (port) => port.slice(port.indexOf("/") + 1);

  const bars = (body, list, className, y, high) => {
    for (const { from, to, value } of list) {
      if (value > 0 && isShown(from, to)) body.append(svg("rect", { class: className, x: x(from), width: Math.max(1.5, x(to) - x(from)), y, height: high }));
    }
  };
  const wordsOf = (lane) => {
    const parts = [];
    if (lane.dropped) parts.push(count(lane.dropped, "packet") + " dropped (" + Object.entries(lane.reasons).map(([reason, n]) => reason + " " + n).join(", ") + ")");
    if (lane.pauses) parts.push(count(lane.pauses, "pause") + ", " + time.text(lane.paused) + " in all");
    if (lane.marked) parts.push(count(lane.marked, "packet") + " marked");
    if (lane.deepest) parts.push("at most " + count(lane.deepest, "byte") + " wait");
    return parts.join("; ");
  };
  const drawLane = (parent, lane) => {
    const high = 40, has = (key) => lane[key] !== undefined, sum = (a, b) => a + b;
    const name = shortName(lane.port) + ", lane " + lane.lane;
    const plot = chart(parent, high, name + ": " + wordsOf(lane), (body) => {
      if (has("queue")) body.append(area(pieces(lane.queue, Math.max), lane.deepest, high, "load"));
      if (has("pausing")) bars(body, pieces(lane.pausing, Math.max), "pausing", 0, 5);
      if (has("marks")) bars(body, pieces(lane.marks, sum), "marked", 6, 4);
      if (has("drops")) bars(body, pieces(lane.drops, sum), "lost", 11, 5);
    }, (t) => {
      const parts = [];
      if (has("queue")) parts.push("at most " + count(Math.max(0, valueAt(lane.queue, t)), "byte") + " wait");
      if (has("pausing")) parts.push(valueAt(lane.pausing, t) > 0 ? "the far end is paused" : "the far end is not paused");
      if (has("marks")) parts.push(count(Math.round(sumOf(lane.marks, time.busyFrom, t)), "packet") + " marked so far");
      if (has("drops")) parts.push(count(Math.round(sumOf(lane.drops, time.busyFrom, t)), "packet") + " dropped so far");
      return parts.join(", ");
    }, charts.hostsOf(lane.port));
    names(plot, name, lane.dropped ? count(lane.dropped, "drop") : lane.pauses ? "paused " + time.text(lane.paused) : lane.marked ? lane.marked + " marked" : lane.deepest + " bytes");
  };
  const drawLanes = () => {
    const parent = id("lanes");
    if (!lanes.length) return;
    charts.show(parent);
    legend(parent, ["is-load", "bytes that wait; full height: the most of this lane"], ["is-pausing", "the port pauses its far end"], ["is-marked", "packets marked"], ["is-lost", "packets dropped"]);
    foldRest(parent, lanes, drawLane, "lane", lanes_left_out);
  };

  // The scale ends at the rate of the fastest queue pair.
  const drawRates = () => {
    const parent = id("rates");
    if (!rates.length) return;
    charts.show(parent);
    legend(parent, ["is-load", "Mbit/s at a change"], ["is-between", "between the lowest and the highest in a time"], ["is-old", "no change since"]);
    const bound = Math.max(...rates.map((rate) => Math.max(...pieces(rate.most, Math.max, true).map((one) => one.value), rate.lowest)));
    foldRest(parent, rates, (box, rate) => {
      const words = "down to " + rate.lowest + " Mb/s";
      band(box, rate, { first: rate.host + ", QP " + rate.qp, words, label: count(rate.changes, "change") + ", " + words, bound, isHeld: true, unit: "Mbit/s", hosts: [rate.host] });
    }, "queue pair", rates_left_out);
  };

  // A row for each port. `kSteps`: thresholds of the colours.
  const kSteps = [.02, .25, .5, .75, .95];
  const drawHeat = () => {
    const parent = id("heat"), all = data.links.filter((link) => link.port.startsWith("port/") && charts.limitOf(link));
    // For a large fabric the section with loads replaces this.
    if (!all.length || (data.overview && data.overview.parts && (data.overview.is_part || data.sides.cables.length > 24))) return;
    charts.show(parent);
    legend(parent, ...kSteps.map((share, k) => ["heat-" + (k + 1), "from " + Math.round(100 * share) + " %"]));
    const bytes = new Map(all.map((link) => [link, sumOf(link.bytes, time.busyFrom, time.busyTo + 1) / charts.limitOf(link)]));
    const high = 12;
    foldRest(parent, [...all].sort((a, b) => bytes.get(b) - bytes.get(a)), (box, link) => {
      const limit = charts.limitOf(link), name = shortName(link.port), mean = bytes.get(link) * 8e3 / (time.busyTo - time.busyFrom + 1);
      const plot = chart(box, high, name + ": " + Math.round(100 * mean) + " % of " + limit + " Gbit/s over the time with packets", (body) => {
        const shapes = kSteps.map(() => []);
        for (const one of charts.rates(link)) {
          const k = kSteps.findLastIndex((share) => one.value / limit >= share);
          if (k < 0 || one.to < time.from()) continue;
          const left = x(one.from);
          shapes[k].push("M" + left.toFixed(1) + " 1h" + Math.max(.7, x(one.to) - left).toFixed(1) + "V11H" + left.toFixed(1) + "z");
        }
        shapes.forEach((parts, k) => { if (parts.length) body.append(svg("path", { class: "heat-" + (k + 1), d: parts.join("") })); });
      }, (t) => {
        const part = charts.partOf(), from = Math.floor(t / part) * part, rate = charts.rateOf(link, from, from + part);
        return rate.toFixed(2) + " of " + limit + " Gbit/s, " + Math.round(100 * rate / limit) + " %";
      }, charts.hostsOf(link.port));
      const text = svg("text", { x: 0, y: 10 }, name.length > 22 ? name.slice(0, 21) + "…" : name);
      text.append(svg("title", {}, plot.label));
      plot.box.insertBefore(text, plot.body);
    }, "port", 0);
  };

  const bytesText = (bytes) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (bytes && bytes % 1024 === 0 && unit + 1 < units.length) { bytes /= 1024; ++unit; }
    return bytes + " " + units[unit];
  };
  const gbps = (mbps) => (mbps / 1e3).toFixed(3) + " Gbit/s";
  const drawFlows = () => {
    const { times, slowest } = data.flows;
    if (!times.length || (data.overview && data.overview.flows)) return;
    charts.show(id("flow-times"));
    const orNone = (row, key, text) => row[key] === undefined ? "—" : text(row[key]);
    table(id("flow-times"), ["flows of", "flows", "finished", "mean", "p50", "p95", "p99", "longest", "half are faster than"], times.map((row) =>
      [row.bytes === "any" ? "any size" : (row.is_exact ? "" : "up to ") + bytesText(row.bytes), row.flows, row.finished,
        ...["mean_ps", "p50_ps", "p95_ps", "p99_ps", "longest_ps"].map((key) => orNone(row, key, time.text)), orNone(row, "p50_mbps", gbps)]), "Time from the start of a flow to the acknowledgement of its last byte");
    const fold = id("flow-list");
    fold.hidden = !slowest.length;
    fold.firstElementChild.textContent = slowest.length < data.flows.count ? "The " + slowest.length + " slowest of " + count(data.flows.count, "flow") : count(slowest.length, "flow") + ", the slowest first";
    table(id("slowest-flows"), ["flow", "from", "to", "bytes", "start", "time", "rate"], slowest.map((flow) => {
      const isDone = flow.mbps !== null;
      return [flow.number, flow.from, flow.to, bytesText(flow.bytes), time.text(flow.start_ps), isDone ? time.text(flow.finish_ps - flow.start_ps) : "not finished, " + bytesText(flow.acknowledged) + " have arrived", isDone ? gbps(flow.mbps) : flow.status];
    }));
  };

  return { parts: [drawLanes, drawRates, drawFlows, drawHeat] };
};
