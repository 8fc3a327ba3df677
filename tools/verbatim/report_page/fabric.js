"use strict";
// The picture of the fabric: switches in rows by their distance from hosts, hosts at the bottom. It shows the
// selected time: rates of ports just before it, and packets dropped so far.
const verbatimFabric = ({ data, drops, id, svg, time, columns, charts }) => {
  const kMostNodes = 160;
  const { count, kWide } = charts;
  const { nodeOf, hostOf } = columns, sides = data.sides;
  const links = new Map(data.links.map((link, k) => [link.port.replace("port/", ""), { ...link, drops: drops[k] }]));
  let cables = [];

  const rowsOf = () => {
    const rank = new Map(sides.nodes.filter((node) => !node[1]).map((node) => [node[0], 0]));
    for (let changed = true; changed;) {
      changed = false;
      for (const [a, b] of sides.cables) for (const [from, to] of [[hostOf(nodeOf(a)), hostOf(nodeOf(b))], [hostOf(nodeOf(b)), hostOf(nodeOf(a))]]) {
        if (rank.has(from) && !rank.has(to)) { rank.set(to, rank.get(from) + 1); changed = true; }
      }
    }
    const rows = [];
    for (const [name] of sides.nodes) { const r = rank.get(name) || 0; (rows[r] = rows[r] || []).push(name); }
    return rows;
  };
  const draw = () => {
    const parent = id("fabric");
    if (!sides.nodes.length) return;
    charts.show(parent);
    if (sides.nodes.length > kMostNodes) { parent.textContent = "The fabric has " + sides.nodes.length + " nodes, too many to draw. The ports are listed below."; return; }
    const rows = rowsOf(), isSmall = rows[0].length > 8, high = 40 + 84 * (rows.length - 1) + (isSmall ? 40 : 10);
    const box = svg("svg", { viewBox: "0 0 " + kWide + " " + high, role: "img", "aria-label": "Fabric: " + count(sides.nodes.length, "node") + ", " + count(sides.cables.length, "cable") });
    const where = new Map();
    rows.forEach((row, r) => row.forEach((name, k) => where.set(name, [kWide * (k + .5) / row.length, 20 + 84 * (rows.length - 1 - r)])));
    const between = new Map();
    for (const [a, b, rate] of sides.cables) {
      const [from, to] = [hostOf(nodeOf(a)), hostOf(nodeOf(b))], key = from + "|" + to, nth = between.get(key) || 0;
      between.set(key, nth + 1);
      const [x1, y1] = where.get(from), [x2, y2] = where.get(to), shift = 5 * nth;
      // One line for each direction, from the sender to the middle.
      const xm = (x1 + x2) / 2 + shift, ym = (y1 + y2) / 2;
      for (const [port, x, y, far] of [[a, x1, y1, b], [b, x2, y2, a]]) {
        const line = svg("line", { class: "cable", x1: x + shift, y1: y, x2: xm, y2: ym }), words = svg("title", {}, port);
        const lost = svg("text", { class: "lost-count", x: (x + xm) / 2 + 4, y: (y + ym) / 2 });
        line.append(words);
        box.append(line, lost);
        cables.push({ port, far, rate, line, words, lost });
      }
    }
    for (const [name, isSwitch] of sides.nodes) {
      const [x, y] = where.get(name), isTurned = isSmall && !isSwitch, wide = isTurned ? Math.min(16, .7 * kWide / rows[0].length) : Math.max(30, 7 * name.length + 10);
      box.append(svg("rect", { class: isSwitch ? "node is-switch" : "node", x: x - wide / 2, y: y - 10, width: wide, height: 20, rx: isSwitch ? 2 : wide / 2 }),
        svg("text", isTurned ? { x: x, y: y + 20, transform: "rotate(40 " + x + " " + (y + 20) + ")", "text-anchor": "start", class: "small" } : { x, y: y + 4, "text-anchor": "middle" }, name));
    }
    charts.legend(parent, ["node-host", "host"], ["node-switch", "switch"], ["line-idle", "half a cable: nothing is sent from this end"],
      ["line-loaded", "something is sent; the thicker, the nearer to the busiest port in the shown time"], ["line-lost", "✕ number: packets dropped at this end so far"]);
    parent.append(box);
  };

  const show = (now) => {
    if (!cables.length) return;
    const length = charts.partOf(), from = Math.max(time.busyFrom, now - length), told = [];
    let lostInAll = 0;
    for (const cable of cables) {
      const link = links.get(cable.port), rate = link && now > from && from < time.busyTo ? charts.rateOf(link, from, now) : 0;
      let lost = 0;
      if (link) while (lost < link.drops.length && link.drops[lost] <= now) ++lost;
      lostInAll += lost;
      cable.line.style.strokeWidth = rate ? 1.5 + 5 * Math.min(1, rate / charts.peakRate()) : 1;
      cable.line.classList.toggle("is-loaded", rate > 0);
      cable.line.classList.toggle("has-lost", lost > 0);
      cable.lost.textContent = lost ? "✕ " + lost : "";
      cable.words.textContent = cable.port + " to " + cable.far + ", " + cable.rate + ": " + rate.toFixed(2) + " Gbit/s" + (lost ? ", " + lost + " dropped so far" : "");
      if (rate) told.push([rate, cable]);
    }
    // Adapters drop packets, too, but not at a cable.
    for (const [port, link] of links) if (port.startsWith("hca/")) lostInAll += link.drops.filter((t) => t <= now).length;
    told.sort((a, b) => b[0] - a[0]);
    id("fabric-now").textContent = "In the " + time.text(length) + " before " + time.text(now) + ": " +
      (told.length ? told.slice(0, 3).map(([rate, cable]) => cable.port + " sent " + rate.toFixed(2) + " Gbit/s").join(", ") : "nothing was sent") +
      ". Dropped so far: " + count(lostInAll, "packet") + ".";
  };
  return { draw, show };
};
