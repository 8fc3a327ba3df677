"use strict";
// The run as a whole: distributions of flows, collectives and the activity of their hosts, the load of the
// fabric and queues by tier. Many hosts or ports are shown in groups, one row each; a selector above the rows
// opens one group.
const verbatimOverview = ({ data, id, element, svg, time, charts, table, loads, lanes }) => {
  const over = data.overview, plots = verbatimPlots({ id, element, svg });
  const { timeText, bytesText, kColours } = plots, { chart, axis, area, names, legend, count, x, isShown, byName } = charts;
  const gbps = (bits) => (bits / 1e9).toPrecision(3) + " Gbit/s";
  const choice = (parent, words, options, onChange) => {
    const label = element("label", "", words + " "), select = element("select");
    for (const [value, text] of options) { const option = element("option", "", text); option.value = value; select.append(option); }
    select.addEventListener("change", () => onChange(select.value));
    label.append(select);
    parent.append(label);
    return select;
  };

  // ---- flows
  const percentOf = (k, all) => { const share = 100 * k / all; return (share > 99 && share < 100 ? share.toFixed(Math.min(4, Math.ceil(-Math.log10(1 - k / all)) - 1)) : share.toFixed(0)) + " %"; };
  const drawFlows = () => {
    const of = over && over.flows;
    if (!of) return;
    charts.show(id("flows-part").firstElementChild);
    const sizeName = (row) => (row.is_exact ? "" : "up to ") + bytesText(row.bytes);
    const hasSlowdown = of.all.s50 !== undefined;
    const choices = [["all", of.workloads.length ? "all, by workload" : "all"], ["sizes", "all, by size"], ...of.workloads.map((one, k) => [String(k), one.name || "flows"])];
    const show = () => {
      const own = Number.isInteger(parseInt(select.value, 10)) ? of.workloads[parseInt(select.value, 10)] : of.all;
      const bySize = select.value !== "all", isTail = tail.checked;
      const list = !bySize ? (of.workloads.length ? of.workloads : [of.all]) : own.classes;
      const shown = [...list].filter((one) => one.curve.length).sort((a, b) => b.flows - a.flows).slice(0, kColours).sort((a, b) => list.indexOf(a) - list.indexOf(b));
      drawCurves(shown, (one) => bySize ? sizeName(one) : one.name || (of.workloads.length ? "flows" : "all flows"), isTail, list.length - shown.length);
      if (hasSlowdown) drawSlowdown(own);
      showTable(own);
    };
    const select = choice(id("flows-of"), "Flows", choices, () => show());
    const label = element("label"), tail = element("input");
    tail.type = "checkbox";
    tail.addEventListener("change", show);
    label.append(tail, " show the slowest tenth on a scale of its own");
    if (of.all.finished >= 100) id("flows-of").append(label);

    const drawCurves = (shown, nameOf, isTail, leftOut) => {
      const parent = id("flow-curves");
      parent.textContent = "";
      const times = shown.flatMap((one) => one.curve.map(([t]) => Math.max(1, t)));
      if (!times.length) { parent.append(element("p", "hint", "No flow with an end has finished.")); return; }
      const least = Math.min(...times), most = Math.max(...times, least * 1.0001);
      // The tail: from 90 % on, each further nine (99 %, 99.9 %) takes the same width.
      const largest = Math.max(...shown.map((one) => one.finished)), nines = Math.max(2, Math.ceil(Math.log10(Math.max(10, largest))));
      const tailAxis = { at: (v) => Math.min(1, Math.max(0, (-Math.log10(Math.max(10 ** -nines, 1 - v)) - 1) / (nines - 1))), marks: Array.from({ length: nines }, (_, k) => 1 - 10 ** -(k + 1)) };
      const last = [0, .25, .5, .75, 1], y = isTail ? tailAxis : { at: (v) => v, marks: last };
      plots.legend(parent, shown.map((one) => nameOf(one) + " (" + count(one.flows, "flow") + ")"));
      plots.plot(parent, {
        title: "Completion times: share of flows that took at most so long", isStep: true,
        x: { axis: plots.logAxis(least / 1.02, most * 1.02), text: timeText, label: "time from the start of a flow to the acknowledgement of its last byte" },
        y: { axis: y, text: (v) => isTail ? Number((100 * v).toFixed(nines)) + " %" : Math.round(100 * v) + " %", label: "share of flows" },
        curves: shown.map((one) => ({ points: one.curve.map(([t, k]) => [Math.max(1, t), k / one.flows]) })),
        tipText: (t) => timeText(t) + ": " + shown.map((one) => { const k = one.curve.findLastIndex(([at]) => at <= t); return nameOf(one) + " " + percentOf(k < 0 ? 0 : one.curve[k][1], one.flows); }).join("; "),
      });
      if (leftOut) parent.append(element("p", "hint", count(leftOut, "more group") + " with fewer flows are not drawn; the table has them."));
    };
    const drawSlowdown = (own) => {
      const parent = id("flow-slowdowns"), rows = own.slowdown;
      parent.textContent = "";
      if (!rows.length) return;
      if (rows.length === 1) {
        // If all flows have one size, the distribution of slowdowns says more than one point.
        const curve = own.slowdown_curve.map(([v, k]) => [v / 1000, k / own.flows]), last = curve[curve.length - 1][0];
        plots.plot(parent, {
          title: "Slowdown: share of flows with at most so much; time over the least time that the path allows", isStep: true,
          x: { axis: plots.logAxis(Math.max(1, curve[0][0] / 1.02), Math.max(last * 1.02, 1.02)), text: (v) => Number(v.toPrecision(4)) + "×", label: "slowdown" },
          y: { axis: { at: (v) => v, marks: [0, .25, .5, .75, 1] }, text: (v) => Math.round(100 * v) + " %", label: "share of flows" },
          curves: [{ points: curve }],
          tipText: (v) => { const k = own.slowdown_curve.findLastIndex(([at]) => at <= v * 1000); return v.toFixed(2) + "×: " + percentOf(k < 0 ? 0 : own.slowdown_curve[k][1], own.flows); },
        });
        return;
      }
      const middle = (row) => Math.sqrt(Math.max(1, row.least) * Math.max(1, row.most)), sizes = rows.map(middle), keys = [["s50", "p50"], ["s95", "p95"], ["s99", "p99"]];
      const most = Math.max(2000, ...rows.map((row) => row.s99)) / 1000, first = sizes[0], last = Math.max(sizes[sizes.length - 1], first * 2);
      plots.legend(parent, keys.map(([, name]) => name));
      plots.plot(parent, {
        title: "Slowdown by size: time over the least time that the path allows",
        x: { axis: plots.logAxis(first / 1.05, last * 1.05, 2), text: bytesText, label: "bytes of a flow" },
        y: { axis: plots.logAxis(1, most * 1.05), text: (v) => v + "×", label: "slowdown" },
        curves: keys.map(([key]) => ({ dots: true, points: rows.map((row, k) => [sizes[k], Math.max(1, row[key] / 1000)]) })),
        tipText: (bytes) => {
          const k = sizes.reduce((best, size, i) => Math.abs(Math.log(size / bytes)) < Math.abs(Math.log(sizes[best] / bytes)) ? i : best, 0), row = rows[k];
          return (row.least === row.most ? bytesText(row.least) : bytesText(row.least) + " to " + bytesText(row.most)) + ", " + count(row.count, "flow") + ": " + keys.map(([key, name]) => name + " " + (row[key] / 1000).toFixed(2) + "×").join(", ");
        },
      });
    };
    const showTable = (own) => {
      const cell = (row, key, text) => row[key] === undefined ? "—" : text(row[key]), times = ["mean", "p50", "p95", "p99", "longest"], slows = hasSlowdown ? ["s50", "s95", "s99", "most_slowdown"] : [];
      const row = (name, one) => [name, one.flows, one.finished, ...times.map((key) => cell(one, key, timeText)), ...slows.map((key) => cell(one, key, (v) => (v / 1000).toFixed(2) + "×"))];
      table(id("flow-times"), ["flows of", "flows", "finished", ...times, ...(hasSlowdown ? ["slowdown p50", "p95", "p99", "most"] : [])],
        [...own.classes.map((one) => row(sizeName(one), one)), row("any size", own)],
        (own.name ? own.name + ": " : "") + "time from the start of a flow to the acknowledgement of its last byte" + (own.endless ? "; " + count(own.endless, "more flow") + " without end" : "") + (own.failed ? "; " + own.failed + " failed" : ""));
    };
    show();
    const fold = id("flow-list"), slowest = of.slowest;
    fold.hidden = !slowest.length;
    fold.firstElementChild.textContent = slowest.length < of.count ? "The " + slowest.length + " slowest of " + count(of.count, "flow") : count(slowest.length, "flow") + ", the slowest first";
    const knowsIdeal = slowest.some((flow) => flow.ideal > 0);
    const facts = of.has_facts ? ["packets sent again", "marked", "notifications", "held by flow control", "switches"] : [];
    table(id("slowest-flows"), ["flow", ...(of.workloads.length ? ["workload"] : []), "from", "to", "bytes", "start", "time", "rate", ...(knowsIdeal ? ["slowdown"] : []), ...facts], slowest.map((flow) => {
      const isDone = flow.is_good && flow.finish >= 0, took = flow.finish - flow.start;
      return [flow.number, ...(of.workloads.length ? [flow.workload || "flows"] : []), flow.from, flow.to, bytesText(flow.bytes), flow.start < 0 ? "not started" : time.text(flow.start), isDone ? time.text(took) : (flow.is_good ? "not finished, " : "failed, ") + bytesText(flow.acknowledged) + " have arrived",
        isDone && took > 0 ? gbps(flow.acknowledged * 8e12 / took) : "—", ...(knowsIdeal ? [isDone && flow.ideal > 0 ? (took / flow.ideal).toFixed(2) + "×" : "—"] : []), ...(of.has_facts ? [flow.again, flow.marked, flow.notified, time.text(flow.held), flow.path || "—"] : [])];
    }));
    if (!of.has_facts && slowest.length) fold.append(element("p", "hint", "Packets sent again, marks, pauses and paths of flows are here if the run had --flows FILE."));
    if (of.left_out) fold.after(element("p", "hint", count(of.left_out, "flow") + " beyond the first " + of.count.toLocaleString("en") + " are not in this page."));
  };

  // ---- groups of hosts or ports: the groups in use, and blocks of groups if there are many
  const kMostRows = 16, kMostSingle = 24;
  const blocksOf = (list) => {
    const each = Math.ceil(list.length / kMostRows), blocks = [];
    for (let k = 0; k < list.length; k += each) {
      const own = list.slice(k, k + each);
      blocks.push({ name: own.length > 1 ? own[0].name + " … " + own[own.length - 1].name : own[0].name, first: own[0].name, members: own.flatMap((one) => one.members) });
    }
    return blocks;
  };
  const collect = (members, groupOf) => {
    const groups = new Map();
    for (const one of members) { const name = groupOf(one); groups.has(name) ? groups.get(name).push(one) : groups.set(name, [one]); }
    return [...groups].map(([name, own]) => ({ name, members: own })).sort((a, b) => byName(a.name, b.name));
  };
  // A name at the left; a click opens the named group.
  const rowName = (plot, words, title, onClick, className = "") => {
    const text = svg("text", { x: 0, y: 11, class: className + (onClick ? " chooses" : "") }, words.length > 22 ? words.slice(0, 21) + "…" : words);
    text.append(svg("title", {}, title));
    if (onClick) text.addEventListener("click", onClick);
    plot.box.insertBefore(text, plot.body);
  };
  const tierLine = (parent, words) => {
    const box = svg("svg", { viewBox: "0 0 1000 18", role: "img", "aria-label": words });
    box.append(svg("text", { class: "tier", x: 0, y: 14 }, words));
    parent.append(box);
  };
  // A selector of one group, and the function that draws it. `draw(parent, name)`; name "": all.
  const chooser = (bar, parent, groups, words, draw) => {
    const put = (name) => { parent.textContent = ""; charts.forget(parent); draw(parent, name); };
    if (groups.length < 2) return { set: null, put };
    const select = choice(id(bar), words, [["", "all, by group"], ...groups.map((one) => [one.name, one.name])], put);
    return { set: (name) => { select.value = name; put(name); }, put };
  };

  // ---- collectives
  const drawCollectives = () => {
    if (!over || !over.collectives.length) return;
    charts.show(id("collectives"));
    const median = (list) => list.length ? [...list].sort((a, b) => a - b)[Math.ceil(list.length / 2) - 1] : undefined, orNone = (v, text) => v === undefined ? "—" : text(v);
    table(id("collectives"), ["name", "what", "hosts", "bytes", "runs ended", "time, median", "longest", "least possible", "bus bandwidth", "operations ended"], over.collectives.map((one) => {
      const ended = one.runs.filter((run) => run.time_ps !== null && run.time_ps !== undefined), times = ended.map((run) => run.time_ps), bus = ended.map((run) => run.bus_bytes_per_second).filter((v) => v !== undefined);
      return [one.name, one.pattern + (one.algorithm ? " by " + one.algorithm : ""), one.hosts, bytesText(one.bytes || 0), ended.length + " of " + one.run_count, orNone(median(times), timeText), times.length ? timeText(Math.max(...times)) : "—",
        orNone(median(ended.map((run) => run.ideal_ps).filter((v) => v > 0)), timeText), orNone(median(bus), (v) => (v / 1e9).toFixed(3) + " GB/s"), one.ended === one.operations ? "all " + one.operations.toLocaleString("en") : one.ended + " of " + one.operations];
    }), "Bus bandwidth as nccl-tests computes it" + (over.collectives.some((one) => one.run_count > one.runs.length) ? "; of the first " + over.collectives[0].runs.length + " runs" : ""));
    const line = over.timeline, parent = id("timeline");
    if (!line) return;
    const hasCompute = lanes.computes.some((share) => share > 0);
    legend(parent, ["is-load", "a message from or to the host is under way"], ...(hasCompute ? [["is-run", "the host computes"]] : []), ["", "height: share of the time; of a group the mean of its hosts"]);
    const members = line.lanes.map((host, lane) => ({ lane, name: over.hosts[host], group: over.groups[over.host_groups[host]] }));
    let groups = members.length > kMostSingle ? collect(members, (one) => one.group) : [];
    if (groups.length === 1 || groups.length > members.length / 2) {
      const each = Math.ceil(members.length / 16);
      groups = collect(members, (one) => { const first = one.lane - one.lane % each; return members[first].name + " … " + members[Math.min(members.length, first + each) - 1].name; });
    }
    const width = (line.to - line.from) / line.bins;
    const sharesOf = (own, value) => {
      const list = [];
      for (let k = 0; k < line.bins; ++k) {
        const from = line.from + k * width;
        if (!isShown(from, from + width)) continue;
        let sum = 0;
        for (const one of own) sum += value(one.lane * line.bins + k);
        list.push({ from, to: from + width, value: sum / own.length });
      }
      return list;
    };
    const busy = (at) => Math.max(lanes.sends[at], lanes.gets[at]);
    // Draws single messages if they are wide enough.
    const drawSingle = (body, lane, high) => {
      if (!line.operations || width * charts.kRoom / time.span() < 6) return false;
      const kMost = 4000, top = hasCompute ? high / 2 : 1;
      let drawn = 0;
      for (let i = lanes.starts[lane]; i < lanes.starts[lane + 1] && drawn < kMost; ++i) {
        if (lanes.kind[i] === 1 || !isShown(lanes.from[i], lanes.from[i] + lanes.took[i])) continue;
        const left = x(lanes.from[i]), wide = Math.max(.7, x(lanes.from[i] + lanes.took[i]) - left), isCompute = lanes.kind[i] === 2;
        body.append(svg("rect", { class: isCompute ? "is-run" : "message", x: left, y: isCompute ? 1 : top, width: wide, height: isCompute ? high / 2 - 2 : high - top - 2 }));
        ++drawn;
      }
      return true;
    };
    const draw = (box, own, name, onClick) => {
      const high = own.length > 1 ? 26 : 18;
      const plot = chart(box, high, name + (own.length > 1 ? ": " + count(own.length, "host") : ""), (body) => {
        if (own.length === 1 && drawSingle(body, own[0].lane, high)) return;
        if (!hasCompute) return body.append(area(sharesOf(own, busy), 100, high, "load"));
        const upper = svg("g"), lower = svg("g", { transform: "translate(0 " + high / 2 + ")" });
        upper.append(area(sharesOf(own, (at) => lanes.computes[at]), 100, high / 2 + 2, "is-run"));
        lower.append(area(sharesOf(own, busy), 100, high / 2, "load"));
        body.append(upper, lower);
      }, (t) => {
        const k = Math.floor((t - line.from) / width);
        if (k < 0 || k >= line.bins) return "";
        const mean = (list) => Math.round(own.reduce((sum, one) => sum + list[one.lane * line.bins + k], 0) / own.length) + " %";
        let words = name + (hasCompute ? ": computes " + mean(lanes.computes) + "," : ":") + " sends " + mean(lanes.sends) + ", gets " + mean(lanes.gets) + " of the time";
        if (own.length === 1 && line.operations) {
          for (let i = lanes.starts[own[0].lane], listed = 0; i < lanes.starts[own[0].lane + 1] && listed < 3; ++i) {
            if (lanes.from[i] > t || lanes.from[i] + lanes.took[i] < t) continue;
            ++listed;
            words += "; " + (lanes.kind[i] === 2 ? "computes" : (lanes.kind[i] ? "from " : "to ") + over.hosts[lanes.peer[i]] + " " + bytesText(lanes.bytes[i])) + " for " + timeText(lanes.took[i]);
          }
        }
        return words;
      }, own.map((one) => one.name));
      rowName(plot, name + (own.length > 1 && !name.includes("…") ? " (" + own.length + ")" : ""), plot.label, onClick);
    };
    const runBars = (box) => {
      for (const one of over.collectives.slice(0, 12)) {
        // Some hosts start the next repetition before others have finished, so successive ones alternate
        // between two rows.
        const rows = one.runs.length > 1 ? 2 : 1;
        const plot = chart(box, 2 + 16 * rows, one.name + ": " + count(one.runs.length, "run"), (body) => one.runs.forEach((run, k) => {
          const until = run.finish_ps === null ? time.end : run.finish_ps;
          if (run.start_ps === null || !isShown(run.start_ps, until)) return;
          const left = x(run.start_ps), wide = Math.max(1.5, x(until) - left - .8);
          const top = 1 + 16 * (k % rows);
          body.append(svg("rect", { class: "run", x: left, y: top, width: wide, height: 14 }));
          if (wide > 120) body.append(svg("text", { class: "on-run", x: left + 4, y: top + 11 }, "run " + (k + 1) + (run.time_ps ? ", " + timeText(run.time_ps) : "")));
        }), (t) => {
          const k = one.runs.findLastIndex((run) => run.start_ps !== null && run.start_ps <= t), run = one.runs[k];
          return k < 0 ? "" : one.name + ", run " + (k + 1) + ": " + (run.time_ps === null ? "not ended" : timeText(run.time_ps) + (run.bus_bytes_per_second ? ", bus bandwidth " + (run.bus_bytes_per_second / 1e9).toFixed(3) + " GB/s" : ""));
        });
        rowName(plot, one.name, plot.label, null, "tier");
      }
    };
    const choose = chooser("lanes-of", parent, groups, "Hosts", (box, name) => {
      runBars(box);
      const kMostHosts = 64;
      if (!groups.length || name) {
        const own = groups.length ? groups.find((one) => one.name === name).members : members;
        for (const one of own.slice(0, kMostHosts)) draw(box, [one], one.name);
        if (own.length > kMostHosts) box.append(element("p", "hint", count(own.length - kMostHosts, "more host") + " of this group are not drawn."));
      } else {
        for (const block of blocksOf(groups)) draw(box, block.members, block.name, () => choose.set(block.first));
      }
      axis(box);
    });
    choose.put("");
    if (line.every > 1) parent.after(element("p", "hint", "The recording keeps the operations of every " + line.every + "th rank; the others are not drawn."));
  };

  // ---- the load of ports
  const arrow = (kind) => over.tiers[kind.tier] + " → " + over.tiers[kind.far_tier];
  const kSteps = [.02, .25, .5, .75, .95];
  const portName = (k) => { const cable = data.sides.cables[k >> 1]; return cable ? cable[k % 2] : "port " + k; };
  const drawLoads = () => {
    if (!loads || !over.parts || !loads.share.some((share) => share > 0)) return;
    charts.show(id("loads"));
    const parent = id("loads"), { parts } = over, all = Array.from({ length: loads.count }, (_, k) => k);
    legend(parent, ...kSteps.map((share, k) => ["heat-" + (k + 1), "from " + Math.round(100 * share) + " %"]), ["", "of several ports: above the busiest one, below their mean"]);
    const draw = (box, own, name, title, onClick) => {
      const value = (k) => { let most = 0, sum = 0; for (const port of own) { const share = loads.share[port * parts + k]; sum += share; if (share > most) most = share; } return [sum / own.length, most]; };
      const cells = Array.from({ length: parts }, (_, k) => value(k)), high = own.length > 1 ? 16 : 13, until = Math.max(1, Math.min(parts, Math.ceil((over.last - over.begin) / over.part)));
      const mean = Math.round(cells.reduce((sum, cell) => sum + cell[0], 0) / until), most = Math.max(...cells.map((cell) => cell[1]));
      const label = title + ": " + (own.length > 1 ? count(own.length, "port") + ", " : "") + "mean " + mean + " %, the busiest port at most " + most + " % of its rate in " + timeText(over.part);
      const rows = own.length > 1 ? [[1, "1h", 8], [0, "9h", 13]] : [[1, "1h", 12]];  // of a cell: the busiest port, the mean
      const plot = chart(box, high, label, (body) => {
        const shapes = kSteps.map(() => []);
        cells.forEach((cell, k) => {
          const from = over.begin + k * over.part, to = from + over.part;
          if (!isShown(from, to)) return;
          for (const [which, top, bottom] of rows) {
            const step = kSteps.findLastIndex((share) => cell[which] / 100 >= share);
            if (step >= 0) shapes[step].push("M" + x(from).toFixed(1) + " " + top + Math.max(.7, x(to) - x(from)).toFixed(1) + "V" + bottom + "H" + x(from).toFixed(1) + "z");
          }
        });
        shapes.forEach((paths, k) => { if (paths.length) body.append(svg("path", { class: "heat-" + (k + 1), d: paths.join("") })); });
      }, (t) => {
        const cell = cells[Math.floor((t - over.begin) / over.part)];
        return cell ? title + (own.length > 1 ? ": mean " + cell[0].toFixed(1) + " %, busiest port " + cell[1] + " %" : ": " + cell[1] + " % of " + loads.rate[own[0]] / 1e3 + " Gbit/s") : "";
      });
      rowName(plot, name, label, onClick);
    };
    const groups = loads.count > 2 * kMostSingle ? collect(all, (k) => over.groups[loads.group[k]]) : [];
    const choose = chooser("loads-of", parent, groups, "Ports", (box, name) => {
      over.classes.forEach((kind, number) => {
        const own = all.filter((k) => loads.kind[k] === number && (!name || over.groups[loads.group[k]] === name));
        if (!own.length) return;
        const kMostPorts = 64, isSingle = name || !groups.length;
        tierLine(box, arrow(kind) + (isSingle ? "" : ", " + count(own.length, "port")));
        if (!isSingle) {
          for (const block of blocksOf(collect(own, (k) => over.groups[loads.group[k]]))) {
            const isOne = !block.name.includes("…");
            draw(box, block.members, block.name + (isOne ? " (" + block.members.length + ")" : ""), block.name + ", " + arrow(kind), () => choose.set(block.first));
          }
          return;
        }
        const busiest = new Map(own.map((k) => { let sum = 0; for (let p = 0; p < parts; ++p) sum += loads.share[k * parts + p]; return [k, sum]; }));
        const shown = own.length > kMostPorts ? [...own].sort((a, b) => busiest.get(b) - busiest.get(a)).slice(0, kMostPorts) : own;
        for (const k of shown.sort((a, b) => byName(portName(a), portName(b)))) draw(box, [k], portName(k), portName(k));
        if (own.length > shown.length) box.append(element("p", "hint", "The " + kMostPorts + " busiest of " + count(own.length, "port") + " are drawn."));
      });
      axis(box);
    });
    choose.put("");
  };

  // ---- queues by tier
  const drawDepths = () => {
    if (!loads || !over.parts) return;
    const parent = id("depths"), { parts } = over, high = 46;
    const kinds = over.classes.map((kind, number) => ({ kind, number, most: Math.max(...loads.worst.subarray(number * parts, (number + 1) * parts)) })).filter((one) => one.most > 0);
    if (!kinds.length) return;
    charts.show(parent);
    legend(parent, ["is-between", "the port with the most bytes at a time"], ["is-load", "the port in the middle"], ["", "full height: the most of the tier in the run, at the left"]);
    for (const { kind, number, most } of kinds) {
      const pieces = (list) => Array.from({ length: parts }, (_, k) => ({ from: over.begin + k * over.part, to: over.begin + (k + 1) * over.part, value: list[number * parts + k] })).filter((one) => one.value > 0 && isShown(one.from, one.to));
      const plot = chart(parent, high, arrow(kind) + ", " + count(kind.ports, "port") + ": at most " + bytesText(most), (body) => {
        body.append(svg("line", { class: "axis", x1: charts.kLeft, x2: charts.kLeft + charts.kRoom, y1: high - 2, y2: high - 2 }),
          area(pieces(loads.worst), most, high, "load is-between"), area(pieces(loads.middle), most, high, "load"));
      }, (t) => {
        const k = Math.floor((t - over.begin) / over.part);
        return k < 0 || k >= parts ? "" : "at most " + bytesText(loads.worst[number * parts + k]) + ", in the middle " + bytesText(loads.middle[number * parts + k]);
      });
      names(plot, arrow(kind), bytesText(most));
    }
    axis(parent);
  };

  return { parts: over ? [drawFlows, drawCollectives, drawLoads, drawDepths] : [] };
};
