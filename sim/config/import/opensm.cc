#include "sim/config/import/opensm.h"

#include <algorithm>
#include <set>

#include "sim/config/import/subnet_nodes.h"
#include "sim/config/quantity.h"

namespace verbatim::config::imports {

namespace {

constexpr std::uint32_t kMostPorts = 254, kMostLid = 0xbfff;

// One end of a link: the text in a pair of braces.
struct LinkEnd {
  SubnetNode node;
  SubnetPort port;
};

class LinkReader {
 public:
  LinkReader(std::string_view text, LineFindings& findings) : lines_(text), findings_(findings) {}

  std::optional<Fabric> read() {
    while (lines_.next() && !findings_.is_full()) {
      if (!trimmed(lines_.text()).empty()) line(trimmed(lines_.text()));
    }
    if (findings_.count() == 0 && order_.empty()) findings_.add(0, "there is no link", kForm);
    if (findings_.count() > 0) return std::nullopt;
    std::vector<SubnetNode> nodes;
    for (const std::string& id : order_) nodes.push_back(std::move(nodes_.at(id)));
    return fabric_of(nodes, "opensm-subnet.lst", findings_);
  }

 private:
  static constexpr const char* kForm =
      "a link is `{ CA Ports:01 … {node01 mlx5_0} LID:0007 PN:01 } { SW … } PHY=4x LOG=ACT SPD=25`";

  void refuse(std::string text) { findings_.add(lines_.number(), std::move(text), kForm); }

  void line(std::string_view text) {
    LinkEnd ends[2];
    for (LinkEnd& end : ends) {
      const auto group = braces(text);
      if (!group) return refuse("this is not a link between two nodes in braces");
      if (!read_end(*group, end)) return;
    }
    std::string width, speed;
    for (const std::string_view word : words_of(text)) {
      if (word.starts_with("PHY=")) width = word.substr(4);
      if (word.starts_with("SPD=")) speed = word.substr(4);
    }
    const std::string rate = rate_of(width, speed);
    for (std::size_t i = 0; i < 2; ++i) {
      SubnetPort& port = ends[i].port;
      port.rate = rate;
      port.line = lines_.number();
      port.far_id = ends[1 - i].node.id;
      port.far_port = ends[1 - i].port.number;
    }
    for (LinkEnd& end : ends) keep(end);
  }

  // Takes a group in braces, with nested groups, off the front of the text.
  static std::optional<std::string_view> braces(std::string_view& text) {
    text = trimmed(text);
    if (!text.starts_with('{')) return std::nullopt;
    std::size_t depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '{') ++depth;
      if (text[i] != '}' || --depth != 0) continue;
      const std::string_view group = text.substr(1, i - 1);
      text = text.substr(i + 1);
      return group;
    }
    return std::nullopt;
  }

  bool read_end(std::string_view group, LinkEnd& end) {
    const std::size_t open = group.find('{'), close = group.rfind('}');
    if (open == group.npos || close == group.npos || close < open) {
      refuse("a node has no description in braces");
      return false;
    }
    end.node.device.description = std::string(trimmed(group.substr(open + 1, close - open - 1)));
    auto words = words_of(group.substr(0, open));
    for (const std::string_view word : words_of(group.substr(close + 1))) words.push_back(word);
    if (words.empty() || (!words[0].starts_with("CA") && !words[0].starts_with("SW"))) {
      refuse("a node is neither CA nor SW");
      return false;
    }
    end.node.is_switch = words[0].starts_with("SW");
    std::uint64_t lid = 0;
    const auto take = [&](std::string_view key, std::uint64_t most, std::uint64_t& to) {
      for (const std::string_view word : words) {
        if (!word.starts_with(key)) continue;
        const auto number = hex_number(word.substr(key.size()));
        if (!number || *number > most) {
          refuse(in_quotes(word) + " is not a hexadecimal number, or is out of range");
          return false;
        }
        to = *number;
        return true;
      }
      refuse("a node has no " + std::string(key));
      return false;
    };
    std::uint64_t ports = 0, number = 0, device = 0;
    Device& node = end.node.device;
    if (!take("Ports:", kMostPorts, ports) || !take("SystemGUID:", ~0ull, node.system_guid) ||
        !take("NodeGUID:", ~0ull, node.guid) || !take("PortGUID:", ~0ull, node.port_guid) ||
        !take("DevID:", 0xffff'ffff, device) || !take("LID:", kMostLid, lid) || !take("PN:", kMostPorts, number))
      return false;
    if (number == 0 || number > ports) {
      refuse("a node with " + std::to_string(ports) + " ports has no port " + std::to_string(number));
      return false;
    }
    node.is_switch = end.node.is_switch;
    // OpenSM writes the far end's 16 bits as the upper half of 32.
    node.device_id = static_cast<std::uint32_t>(device > 0xffff ? device >> 16 : device);
    if (node.is_switch) node.lid = static_cast<std::uint32_t>(lid);
    end.node.ports = static_cast<std::uint32_t>(ports);
    end.node.line = lines_.number();
    end.node.id = id_text(node.guid);
    node.name = end.node.id;
    set_names(node);
    end.port.number = static_cast<std::uint32_t>(number);
    end.port.guid = node.port_guid;
    end.port.lid = static_cast<std::uint32_t>(lid);
    return true;
  }

  static std::string id_text(std::uint64_t guid) {
    char text[24];
    std::snprintf(text, sizeof(text), "0x%016llx", static_cast<unsigned long long>(guid));
    return text;
  }

  static std::string rate_of(const std::string& width, const std::string& speed) {
    constexpr std::pair<std::string_view, const char*> kSpeeds[] = {{"2.5", "SDR"},     {"5", "DDR"},   {"10", "QDR"},
                                                                    {"FDR10", "FDR10"}, {"14", "FDR"},  {"25", "EDR"},
                                                                    {"50", "HDR"},      {"100", "NDR"}, {"200", "XDR"}};
    const auto known = std::ranges::find(kSpeeds, std::string_view(speed), &std::pair<std::string_view, const char*>::first);
    if (known == std::end(kSpeeds)) return {};
    return rate_of_port(width + known->second);
  }

  // Each link is listed from both ends.
  void keep(LinkEnd& end) {
    const auto [node, is_new] = nodes_.try_emplace(end.node.id, end.node);
    if (is_new) order_.push_back(end.node.id);
    const auto [port, is_first] = node->second.cabled.try_emplace(end.port.number, end.port);
    if (is_first || (port->second.far_id == end.port.far_id && port->second.far_port == end.port.far_port)) return;
    refuse("port " + std::to_string(end.port.number) + " of " + in_quotes(end.node.device.description) +
           " has another cable in line " + std::to_string(port->second.line));
  }

  Lines lines_;
  LineFindings& findings_;
  std::map<std::string, SubnetNode> nodes_;
  std::vector<std::string> order_;  // identifiers, in the order of the file
};

// The GUID after "guid " or "Switch ".
std::optional<std::uint64_t> guid_behind(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == text.npos) return std::nullopt;
  const std::string_view rest = trimmed(text.substr(at + word.size()));
  return hex_number(rest.substr(0, rest.find_first_not_of("0123456789abcdefABCDEFx")));
}

}  // namespace

std::optional<Fabric> read_opensm_links(std::string_view text, LineFindings& findings) {
  return LinkReader(text, findings).read();
}

std::optional<ForwardingTables> read_forwarding_tables(std::string_view text, LineFindings& findings) {
  ForwardingTables tables;
  std::vector<TableEntry>* table = nullptr;
  Lines lines(text);
  while (lines.next() && !findings.is_full()) {
    const std::string_view line = trimmed(lines.text());
    const bool is_lfts = line.starts_with("Unicast lids"), is_routes = line.find("dump_ucast_routes: Switch ") != line.npos;
    if (is_lfts || is_routes) {
      const auto guid = guid_behind(line, is_lfts ? "guid " : "Switch ");
      if (!guid) {
        findings.add(lines.number(), "the GUID of the switch is missing",
                     "write `Unicast lids [0x1-0x7] of switch Lid 3 guid 0x0002c90200000001 (leaf1):`");
        continue;
      }
      table = &tables[*guid];
      continue;
    }
    // Headings, counts at the end, and comments do not begin with a LID.
    if (!line.starts_with("0x")) continue;
    const auto words = words_of(line);
    const std::size_t at = words.size() > 1 && words[1] == ":" ? 2 : 1;
    const auto lid = hex_number(words[0]);
    if (!lid || *lid == 0) {
      findings.add(lines.number(), in_quotes(words[0]) + " is not a LID", "an entry is `0x0007 001`, a LID and a port");
      continue;
    }
    if (*lid > kMostLid || at >= words.size() || words[at] == "UNREACHABLE") continue;  // multicast, or no route
    const auto port = whole_number(words[at], 255);
    if (!port || table == nullptr) {
      findings.add(
          lines.number(), table == nullptr ? "this entry has no switch" : in_quotes(words[at]) + " is not a port",
          table == nullptr
              ? "a line such as `Unicast lids [0x1-0x7] of switch Lid 3 guid 0x0002c90200000001 (leaf1):` comes first"
              : "an entry is `0x0007 001`, a LID and a port");
      continue;
    }
    if (*port != 255) table->push_back({static_cast<std::uint32_t>(*lid), static_cast<std::uint32_t>(*port)});
  }
  if (findings.count() == 0 && tables.empty())
    findings.add(0, "there is no forwarding table", "a table begins with `Unicast lids [0x1-0x7] of switch Lid 3 guid 0x…`");
  if (findings.count() > 0) return std::nullopt;
  return tables;
}

void give_tables(const ForwardingTables& tables, Fabric& fabric, LineFindings& findings) {
  std::set<std::uint32_t> lids;
  std::map<std::uint64_t, Device*> switches;
  for (Device& device : fabric.devices) {
    if (device.lid != 0) lids.insert(device.lid);
    if (device.is_switch && device.guid != 0) switches[device.guid] = &device;
  }
  std::size_t foreign = 0;
  for (const auto& [guid, table] : tables) {
    char text[24];
    std::snprintf(text, sizeof(text), "0x%016llx", static_cast<unsigned long long>(guid));
    const auto found = switches.find(guid);
    if (found == switches.end()) {
      findings.add(0, "the table of switch " + std::string(text) + " is of no switch of the fabric",
                   "give the links and tables of one fabric at one time");
      continue;
    }
    std::map<std::uint32_t, std::uint32_t> entries;
    for (const TableEntry& entry : table) {
      if (entry.port > found->second->ports) {
        findings.add(0,
                     "the table of switch " + std::string(text) + " leads to port " + std::to_string(entry.port) +
                         " for LID " + std::to_string(entry.lid),
                     "the switch has " + std::to_string(found->second->ports) + " ports");
        return;
      }
      if (lids.contains(entry.lid))
        entries[entry.lid] = entry.port;
      else
        ++foreign;
    }
    found->second->table.clear();
    for (const auto& [lid, port] : entries) found->second->table.push_back({lid, port});
  }
  for (const auto& [guid, device] : switches) {
    if (tables.contains(guid)) continue;
    findings.add(0, "there is no forwarding table of the switch " + in_quotes(device->name),
                 "give the tables of all switches, or none");
  }
  if (foreign > 0)
    fabric.assumptions.push_back(
        {std::to_string(foreign) + " entries of forwarding tables are for LIDs of no node here, and left out",
         "\"forwarding_table\" of the switches"});
}

}  // namespace verbatim::config::imports
