// Checks of faults that involve several values: the link, its direction, the host, and the keys that each
// kind of fault has.
#include "sim/config/load.h"
#include "sim/config/resolve_congestion.h"
#include "sim/config/tables.h"

namespace verbatim::config {

namespace {

// A host's only port can be written with or without its number.
std::string plain_name(const TopologySpec& topology, const Endpoint& end) {
  const std::string& name = topology.node_name(end);
  return end.is_switch ? name + ":" + std::to_string(end.port) : name;
}

class FaultResolver {
 public:
  FaultResolver(const TopologySpec& topology, const std::string& file, Diagnostics& diagnostics)
      : topology_(topology), file_(file), diagnostics_(diagnostics) {}

  void resolve(FaultSpec& fault) {
    if (fault.action.empty()) return;  // already a finding
    if (fault.action != "pause_storm") refuse(!fault.priorities.empty(), fault, "priorities", "\"pause_storm\"");
    if (fault.of_management()) {
      management_fault(fault);
    } else if (fault.action == "link_down") {
      link_fault(fault);
    } else if (fault.action == "pause_storm") {
      storm_fault(fault);
    } else if (fault.of_adapter()) {
      adapter_fault(fault);
    } else {
      packet_fault(fault);
    }
  }

 private:
  struct Found {
    Endpoint end, other;
    const LinkSpec* link = nullptr;
  };

  void add(const std::string& pointer, std::string text, std::string hint) {
    diagnostics_.add(file_, pointer, std::move(text), std::move(hint));
  }

  // The end of a link that `text` names.
  std::optional<Found> find(const std::string& text, const std::string& pointer) {
    std::vector<std::string> names;
    for (const LinkSpec& link : topology_.links) {
      for (const Found& found : {Found{link.end_a, link.end_b, &link}, Found{link.end_b, link.end_a, &link}}) {
        names.push_back(plain_name(topology_, found.end));
        if (text == names.back() || (!found.end.is_switch && text == names.back() + ":1")) return found;
      }
    }
    const std::string near = nearest(text, names);
    add(pointer, "no link has the end " + in_quotes(text),
        near.empty() ? "name an end as the topology's links do, such as " + in_quotes(names.front())
                     : "did you mean \"" + near + "\"?");
    return std::nullopt;
  }

  void refuse(bool given, const FaultSpec& fault, const char* key, const std::string& belongs_to) {
    if (!given) return;
    add(fault.pointer + "/" + key, "a fault with the action \"" + fault.action + "\" has no \"" + key + "\"",
        "it belongs to " + belongs_to);
  }

  void refuse_host(const FaultSpec& fault) {
    refuse(!fault.host.empty(), fault, "host", "\"device_fatal\"");
  }

  void refuse_chance(const FaultSpec& fault, const std::string& belongs_to) {
    const FaultSpec none;
    refuse(fault.is_random(), fault, "rate", belongs_to);
    refuse(fault.burst != none.burst, fault, "burst", belongs_to);
    refuse(fault.burst_lengths != none.burst_lengths, fault, "burst_lengths", belongs_to);
  }

  // Refuses keys that select packets or set what happens to them.
  void refuse_selection(const FaultSpec& fault, const std::string& packets) {
    const FaultSpec none;
    refuse(fault.protocol != none.protocol, fault, "protocol", "faults of the management network");
    refuse(fault.opcode != none.opcode, fault, "opcode", packets);
    refuse(fault.nth != none.nth, fault, "nth", packets);
    refuse(fault.every != none.every, fault, "every", packets);
    refuse(fault.count != none.count, fault, "count", packets);
    refuse_chance(fault, packets);
    refuse(fault.after != none.after, fault, "after", packets);
    refuse(fault.delay != none.delay, fault, "delay", "\"delay\"");
    refuse(fault.icrc != none.icrc, fault, "icrc", "\"corrupt\"");
    refuse(fault.byte != none.byte, fault, "byte", "\"corrupt\"");
  }

  // A fault of the management network: it names hosts instead of ends of links, and has fewer actions.
  void management_fault(FaultSpec& fault) {
    const FaultSpec none;
    if (fault.action != "drop" && fault.action != "delay") {
      add(fault.pointer + "/action", "the management network has no fault \"" + fault.action + "\"",
          "allowed: \"drop\" and \"delay\"");
    }
    const std::string fabric = "faults of the fabric";
    refuse(!fault.link.empty(), fault, "link", fabric);
    refuse_host(fault);
    refuse(fault.at != none.at, fault, "at", fabric);
    refuse(fault.until != none.until, fault, "until", fabric);
    refuse(fault.opcode != none.opcode, fault, "opcode", fabric);
    refuse_chance(fault, fabric);
    refuse(fault.icrc != none.icrc, fault, "icrc", fabric);
    refuse(fault.byte != none.byte, fault, "byte", fabric);
    check_delay(fault);
    const char* const joined = "the management network joins hosts";
    fault.from_host = find_host(fault.from, fault.pointer + "/from", joined);
    fault.to_host = find_host(fault.to, fault.pointer + "/to", joined);
  }

  // `kind` is the word for these hosts in the hint.
  std::optional<std::size_t> find_host(const std::string& name, const std::string& pointer, const std::string& kind) {
    if (name.empty()) return std::nullopt;
    return find_named(topology_.hosts, name, pointer, kind);
  }

  // Finds a host, or an adapter; the first adapter of a host has the host's name.
  template <class Named>
  std::optional<std::size_t> find_named(const std::vector<Named>& all, const std::string& name, const std::string& pointer,
                                        const std::string& kind) {
    std::vector<std::string> names;
    for (const Named& one : all) {
      if (one.name == name) return names.size();
      names.push_back(one.name);
    }
    const std::string near = nearest(name, names);
    add(pointer, "no host is named " + in_quotes(name),
        near.empty() ? kind + ", such as " + in_quotes(names.front())
                     : "did you mean \"" + near + "\"?");
    return std::nullopt;
  }

  void check_delay(const FaultSpec& fault) {
    const FaultSpec none;
    if (fault.action != "delay") refuse(fault.delay != none.delay, fault, "delay", "\"delay\"");
    if (fault.action != "delay" || fault.delay != none.delay) return;
    add(fault.pointer, "the key \"delay\" is missing",
        "give the delay of the packet, such as \"5 us\"");
  }

  void packet_fault(FaultSpec& fault) {
    const FaultSpec none;
    refuse(fault.protocol != none.protocol, fault, "protocol", "faults of the management network");
    refuse(!fault.link.empty(), fault, "link",
           "\"link_down\"; name an end of the link as \"from\" or \"to\"");
    refuse_host(fault);
    refuse(fault.at != none.at, fault, "at", "\"link_down\", \"pause_storm\" and \"device_fatal\"");
    refuse(fault.until != none.until, fault, "until", "\"link_down\" and \"pause_storm\"");
    if (fault.action != "corrupt") refuse(fault.icrc != none.icrc, fault, "icrc", "\"corrupt\"");
    if (fault.action != "corrupt") refuse(fault.byte != none.byte, fault, "byte", "\"corrupt\"");
    check_delay(fault);
    if (fault.is_random() && fault.every != none.every) {
      add(fault.pointer + "/every", "a fault has a \"rate\" or an \"every\", not both", "\"rate\" is a probability, \"every\" a number of packets");
    }
    if (const auto found = find_direction(fault, "packets")) fault.end = found->end;
  }

  // The output of a link that "from" and "to" name.
  std::optional<Found> find_direction(const FaultSpec& fault, const std::string& what) {
    if (fault.from.empty() && fault.to.empty()) {
      add(fault.pointer, "the link is missing",
          "name the end where " + what + " leave as \"from\", or where they arrive as \"to\"");
      return std::nullopt;
    }
    std::optional<Found> from, to;
    if (!fault.from.empty()) from = find(fault.from, fault.pointer + "/from");
    if (!fault.to.empty()) to = find(fault.to, fault.pointer + "/to");
    if (from && to && from->other != to->end) {
      add(fault.pointer, "no link joins " + in_quotes(fault.from) + " and " + in_quotes(fault.to),
          "the other end of " + in_quotes(fault.from) + " is " +
              in_quotes(plain_name(topology_, from->other)));
      return std::nullopt;
    }
    if (!from && to) return Found{to->other, to->end, to->link};
    return from;
  }

  void storm_fault(FaultSpec& fault) {
    const std::string packets = "faults of packets";
    refuse(!fault.link.empty(), fault, "link", "\"link_down\"; name the end that asks for pauses as \"from\"");
    refuse_host(fault);
    refuse_selection(fault, packets);
    check_end(fault, "the storm would be over");
    const auto found = find_direction(fault, "pauses");
    if (!found) return;
    fault.end = found->end;
    const std::string pointer = fault.pointer + (fault.from.empty() ? "/to" : "/from");
    if (!found->link->has_pauses_at(found->end) || !found->link->has_pauses_at(found->other)) {
      add(pointer, "the cable of " + in_quotes(plain_name(topology_, found->end)) + " has no pauses",
          R"(give it "flow_control": "pfc" at both ends, or a switch whose ports share memory)");
      return;
    }
    fault.storming_lanes = found->link->lossless_lanes;
    if (fault.priorities.empty()) return;
    const auto priorities = parse_priorities(fault.priorities);
    if (!priorities) {
      add(fault.pointer + "/priorities", in_quotes(fault.priorities) + " is not a list of priorities, 0 to 7", R"(write "3", "3,4" or "0-7")");
    } else if ((*priorities & ~found->link->lossless_lanes) != 0) {
      add(fault.pointer + "/priorities", in_quotes(fault.priorities) + " has priorities that the cable does not pause",
          "its lossless_priorities are " + in_quotes(found->link->pfc.lossless_priorities) + ", as far as both ends have lanes");
    } else {
      fault.storming_lanes = *priorities;
    }
  }

  void check_end(const FaultSpec& fault, const std::string& what) {
    if (fault.until == FaultSpec{}.until || fault.until > fault.at) return;
    const auto text = [](Duration time) { return format_quantity(time.count(), Dimension::kDuration); };
    add(fault.pointer + "/until", what + " at " + text(fault.until) + ", not after it " + (fault.action == "link_down" ? "fails" : "begins") + " at " + text(fault.at),
        "both are virtual times from the start of the run");
  }

  void link_fault(FaultSpec& fault) {
    const std::string packets = "faults of packets";
    refuse(!fault.from.empty(), fault, "from", packets + "; a link fails in both directions");
    refuse(!fault.to.empty(), fault, "to", packets + "; a link fails in both directions");
    refuse_host(fault);
    refuse_selection(fault, packets);
    check_end(fault, "the link would be up again");
    if (fault.link.empty()) {
      add(fault.pointer, "the key \"link\" is missing", "name one of the link's ends");
    } else if (const auto found = find(fault.link, fault.pointer + "/link")) {
      fault.end = found->end;
    }
  }

  void adapter_fault(FaultSpec& fault) {
    const FaultSpec none;
    const std::string packets = "faults of packets", links = "faults of links";
    refuse(!fault.from.empty(), fault, "from", packets + "; name the adapter's host as \"host\"");
    refuse(!fault.to.empty(), fault, "to", packets + "; name the adapter's host as \"host\"");
    refuse(!fault.link.empty(), fault, "link", links + "; name the adapter's host as \"host\"");
    refuse(fault.until != none.until, fault, "until", links + "; an adapter fails for good");
    refuse_selection(fault, packets);
    if (fault.host.empty()) {
      add(fault.pointer, "the key \"host\" is missing", "name the host whose adapter fails");
    } else if (const auto found =
                   find_named(topology_.adapters, fault.host, fault.pointer + "/host", "adapters are of hosts")) {
      fault.adapter_index = *found;
    }
  }

  const TopologySpec& topology_;
  const std::string& file_;
  Diagnostics& diagnostics_;
};

}  // namespace

void resolve_faults(const TopologySpec& topology, std::vector<FaultSpec>& faults, const std::string& file,
                    Diagnostics& diagnostics) {
  FaultResolver resolver(topology, file, diagnostics);
  for (FaultSpec& fault : faults) resolver.resolve(fault);
}

std::optional<FaultSpec> parse_fault(const std::string& text, const TopologySpec& topology,
                                     const std::string& file, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.findings().size();
  const auto json = parse_json(text, file, diagnostics);
  if (!json) return std::nullopt;
  std::vector<FaultSpec> faults(1);
  check_object(*json, fault_table(), &faults.front(), file, "", diagnostics);
  resolve_faults(topology, faults, file, diagnostics);
  if (diagnostics.findings().size() != before) return std::nullopt;
  return faults.front();
}

}  // namespace verbatim::config
