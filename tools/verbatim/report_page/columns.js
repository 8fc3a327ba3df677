"use strict";
// The columns of the ladder. If there are too many, columns of a host share a lane, and hosts are grouped by
// switch or by prefix of their names. A click on a lane's head opens or closes it.
const verbatimColumns = (data) => {
  const kMostColumns = 8, kMostHosts = 8, kGroupHosts = 8;
  const byName = new Intl.Collator("en", { numeric: true }).compare;  // h2 before h12
  const nodeNames = new Set(data.sides.nodes.map((node) => node[0]));
  const nodeOf = (endpoint) => endpoint.slice(0, endpoint.lastIndexOf(":"));
  // Adapters of a host with several are named after the host.
  const hostOf = (name) => {
    let host = name;
    while (!nodeNames.has(host) && host.includes("-")) host = host.slice(0, host.lastIndexOf("-"));
    return nodeNames.has(host) ? host : name;
  };
  const nameOf = (c) => data.columns[c].qp ? "QP " + data.columns[c].qp : "programs";
  const fullName = (c) => data.columns[c].host + ", " + nameOf(c);
  const pairsOf = new Map();  // queue pairs of a host
  for (const column of data.columns) if (column.qp) pairsOf.set(column.host, (pairsOf.get(column.host) || 0) + 1);

  // ---- groups of hosts
  const switches = new Set(data.sides.nodes.filter((node) => node[1]).map((node) => node[0])), leafOf = new Map();
  for (const [a, b] of data.sides.cables) for (const [own, far] of [[nodeOf(a), nodeOf(b)], [nodeOf(b), nodeOf(a)]]) {
    const host = hostOf(own);
    if (switches.has(own) || !switches.has(far)) continue;
    if (!leafOf.has(host) || byName(far, leafOf.get(host)) < 0) leafOf.set(host, far);
  }
  const collect = (hosts, key) => {
    const groups = new Map();
    for (const host of hosts) {
      const name = key(host);
      groups.has(name) ? groups.get(name).push(host) : groups.set(name, [host]);
    }
    return groups;
  };
  const isUseful = (groups, hosts) => groups.size > 1 && groups.size < hosts.length;
  // Name of each host's group; null: few hosts, no groups.
  const groupsOf = (hosts) => {
    if (hosts.length <= kMostHosts) return null;
    let groups = collect(hosts, (host) => leafOf.get(hostOf(host)) || "");
    if (!isUseful(groups, hosts) || groups.has("")) groups = collect(hosts, (host) => host.replace(/[0-9]+$/, ""));
    if (!isUseful(groups, hosts)) groups = collect(hosts, (host) => "part " + (1 + Math.floor(hosts.indexOf(host) / kGroupHosts)));
    const names = new Map();
    for (const [name, own] of groups) for (const host of own) names.set(host, name);
    return names;
  };

  // ---- lanes
  const opened = new Set();  // "group leaf0", "host h3"
  let lanes = [], laneOf = [], closable = [], hasGroups = false;
  const few = (names) => names.length <= 2 ? names.join(", ") : names[0] + " … " + names[names.length - 1];
  // `columns`: the shown ones.
  const arrange = (columns) => {
    const hosts = [...new Set(columns.map((c) => data.columns[c].host))];
    const groups = groupsOf(hosts), closesHosts = columns.length > kMostColumns;
    hasGroups = groups !== null;
    lanes = [];
    closable = [];
    const add = (own, group, host, title, note) => lanes.push({ columns: own, group, host, title, note });
    const addHost = (host, group) => {
      const own = columns.filter((c) => data.columns[c].host === host), key = "host " + host;
      if (closesHosts && own.length > 1) closable.push(key);
      if (!closesHosts || opened.has(key) || own.length === 1) own.forEach((c) => add([c], group, host, nameOf(c), ""));
      else add(own, group, host, "", own.length > 3 ? own.length - 1 + " queue pairs" : own.map(nameOf).join(", "));
    };
    for (const [group, own] of groups ? collect(hosts, (host) => groups.get(host)) : [["", hosts]]) {
      if (groups) closable.push("group " + group);
      if (!groups || opened.has("group " + group)) own.forEach((host) => addHost(host, group));
      else add(columns.filter((c) => own.includes(data.columns[c].host)), group, "", "", few(own) + (own.length > 2 ? " (" + own.length + ")" : ""));
    }
    laneOf = [];
    lanes.forEach((lane, k) => lane.columns.forEach((c) => { laneOf[c] = k; }));
  };
  const toggle = (key) => opened.has(key) ? opened.delete(key) : opened.add(key);
  // Opens all lanes; if all are open, closes them.
  const toggleAll = () => {
    const closed = closable.filter((key) => !opened.has(key));
    if (closed.length) for (const key of closed) opened.add(key);
    else for (const key of closable) opened.delete(key);
  };

  // Name of a column within its lane; empty if the lane has only one. `c`: a column.
  const exact = (c) => {
    const lane = lanes[laneOf[c]], column = data.columns[c];
    if (!lane || lane.columns.length === 1) return "";
    const hasPairs = column.qp && pairsOf.get(column.host) > 1;
    return lane.host ? (hasPairs ? nameOf(c) : "") : column.host + (hasPairs ? " " + nameOf(c) : "");
  };

  return { nameOf, fullName, hostOf, nodeOf, byName, arrange, toggle, toggleAll, exact, lanes: () => lanes, shown: () => lanes.flatMap((lane) => lane.columns), laneOf: (c) => laneOf[c],
    isOpen: (key) => opened.has(key), canClose: (key) => closable.includes(key), hasGroups: () => hasGroups };
};
