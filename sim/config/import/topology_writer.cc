// Writes a Fabric as the text of a topology: names, adapters of hosts, profiles, and one line for each host,
// switch and cable.
#include <algorithm>
#include <map>
#include <set>

#include "sim/config/fields.h"
#include "sim/config/import/import.h"
#include "sim/config/import/sonic_values.h"
#include "sim/config/json_text.h"
#include "sim/config/quantity.h"

namespace verbatim::config::imports {

namespace {

// Profiles by PCI device identifier; other devices get one by the rate of their fastest cable.
struct KnownDevice {
  std::uint32_t device_id;
  const char* profile;
};
constexpr KnownDevice kAdapters[] = {{26428, "qdr_hca"},      {4099, "connectx3"}, {4113, "connect_ib"},
                                     {4115, "connectx4_edr"}, {4119, "connectx5"}, {4123, "connectx6_hdr"},
                                     {4129, "connectx7_ndr"}};
constexpr KnownDevice kSwitches[] = {
    {48438, "infiniscale_iv"}, {51000, "switchx2"}, {53000, "switch_ib2"}, {54000, "quantum"}, {54002, "quantum2"}};
struct DeviceOfRate {
  const char* speed;
  const char* adapter;
  const char* switch_profile;
};
constexpr DeviceOfRate kByRate[] = {
    {"SDR", "qdr_hca", "infiniscale_iv"}, {"DDR", "qdr_hca", "infiniscale_iv"}, {"QDR", "qdr_hca", "infiniscale_iv"},
    {"FDR10", "connectx3", "switchx2"},   {"FDR", "connectx3", "switchx2"},     {"EDR", "edr_hca", "edr_switch"},
    {"HDR", "connectx6_hdr", "quantum"},  {"NDR", "connectx7_ndr", "quantum2"}, {"XDR", "connectx7_ndr", "quantum2"}};

// JSON objects on one line: {"a": "x", "b": 1}.
std::string one_line(const Json& json) {
  const auto joined = [](const Json& items, char open, char close, const auto& text_of) {
    std::string text(1, open);
    for (auto it = items.begin(); it != items.end(); ++it) text += (text.size() == 1 ? "" : ", ") + text_of(it);
    return text + close;
  };
  if (json.is_object())
    return joined(json, '{', '}', [](const auto& it) { return Json(it.key()).dump() + ": " + one_line(it.value()); });
  if (json.is_array()) return joined(json, '[', ']', [](const auto& it) { return one_line(*it); });
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string guid_text(std::uint64_t guid) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%016llx", static_cast<unsigned long long>(guid));
  return text;
}

// Letters, digits, '-', '_' and '.', beginning with a letter or digit.
std::string valid_name(std::string_view wanted) {
  constexpr std::size_t kMost = 56;  // leaves room for a number at the end
  std::string name;
  for (const char c : wanted.substr(0, kMost)) name += is_valid_name(std::string("x") + c) ? c : '-';
  if (!is_valid_name(name)) name.insert(0, "n");
  return name;
}

class Writer {
 public:
  Writer(const Fabric& fabric, const Defaults& defaults)
      : fabric_(fabric), defaults_(defaults), is_roce_(fabric.link_layer == "roce") {
    if (defaults_.rate.empty()) defaults_.rate = is_roce_ ? "100 Gbps" : "EDR 4x";
  }

  Written write() {
    result_.assumptions = fabric_.assumptions;
    name_devices();
    make_profiles();
    find_rates();
    Json links = Json::array();
    for (const Cable& cable : fabric_.cables) links.push_back(link(cable));
    Json hosts = Json::array(), switches = Json::array();
    for (const Host& one : hosts_) hosts.push_back(host(one));
    for (std::size_t i = 0; i < fabric_.devices.size(); ++i) {
      if (fabric_.devices[i].is_switch) switches.push_back(switch_of(i));
    }
    note();
    const bool has_tables = std::ranges::any_of(fabric_.devices, [](const Device& device) { return !device.table.empty(); });
    std::string& text = result_.text;
    text = "{\n  \"name\": " + one_line(valid_name(defaults_.name)) + ",\n  \"description\": " +
           one_line("Imported: " + fabric_.format + ", " + std::to_string(hosts.size()) + (hosts.size() == 1 ? " host, " : " hosts, ") +
                    std::to_string(switches.size()) + (switches.size() == 1 ? " switch" : " switches")) +
           ",\n  \"link_layer\": " + one_line(fabric_.link_layer) + (has_tables ? ",\n  \"routing_engine\": \"file\"" : "");
    list("hosts", hosts);
    if (!switches.empty()) list("switches", switches);
    list("links", links);
    text += "\n}\n";
    result_.hosts = hosts.size();
    result_.switches = switches.size();
    result_.links = links.size();
    for (std::size_t i = 0; i < defaults_.lengths.size(); ++i) {
      if (!used_lengths_.contains(i)) result_.unused_lengths.push_back(defaults_.lengths[i]);
    }
    return std::move(result_);
  }

 private:
  struct Host {
    std::string name;
    std::vector<std::size_t> adapters;  // devices; the first is the host's first adapter
  };

  void list(const char* key, const Json& items) {
    result_.text += std::string(",\n  \"") + key + "\": [";
    bool is_first = true;
    for (const Json& item : items) {
      result_.text += (is_first ? "\n    " : ",\n    ") + one_line(item);
      is_first = false;
    }
    result_.text += "\n  ]";
  }

  std::string unused(const std::string& wanted) {
    std::string name = valid_name(wanted);
    if (!used_.insert(name).second) {
      std::size_t& number = numbers_[name];
      number = std::max<std::size_t>(number, 1);
      std::string with_number;
      do with_number = name + "-" + std::to_string(++number);
      while (!used_.insert(with_number).second);
      name = with_number;
    }
    if (name != wanted) ++renamed_;
    return name;
  }

  void name_devices() {
    names_.resize(fabric_.devices.size());
    adapters_.resize(fabric_.devices.size());
    std::map<std::string, std::size_t> last;  // host, by the name in the file
    for (std::size_t i = 0; i < fabric_.devices.size(); ++i) {
      const Device& device = fabric_.devices[i];
      if (device.is_switch) {
        names_[i] = unused(device.name);
        continue;
      }
      const auto found = last.find(device.name);
      if (found != last.end() && takes(hosts_[found->second], device)) {
        hosts_[found->second].adapters.push_back(i);
        continue;
      }
      last[device.name] = hosts_.size();
      hosts_.push_back({unused(device.name), {i}});
    }
    for (Host& one : hosts_) name_adapters(one);
  }

  // Whether the adapter belongs to that host. InfiniBand nodes with one description are hosts with the same
  // name, unless their device names differ.
  bool takes(const Host& host, const Device& device) const {
    if (device.guid == 0) return true;
    if (device.adapter.empty()) return false;
    return std::ranges::none_of(host.adapters,
                                [&](std::size_t other) { return fabric_.devices[other].adapter == device.adapter; });
  }

  void name_adapters(Host& host) {
    std::ranges::stable_sort(host.adapters, [&](std::size_t a, std::size_t b) {
      const std::string &first = fabric_.devices[a].adapter, &second = fabric_.devices[b].adapter;
      return std::pair(first.empty(), first) < std::pair(second.empty(), second);
    });
    std::set<std::string> used;
    for (const std::size_t adapter : host.adapters) {
      std::string name = fabric_.devices[adapter].adapter;
      for (std::size_t number = 0; name.empty() || !used.insert(name).second; ++number) {
        name = "mlx5_" + std::to_string(number);
        if (!used.contains(name)) {
          used.insert(name);
          break;
        }
      }
      adapters_[adapter] = name;
      names_[adapter] = adapter == host.adapters.front() ? host.name : host.name + "/" + name;
    }
  }

  void find_rates() {
    fastest_.assign(fabric_.devices.size(), std::nullopt);
    for (const Cable& cable : fabric_.cables) {
      std::string problem, hint;
      const auto rate = parse_link_rate(cable.rate.empty() ? defaults_.rate : cable.rate, &problem, &hint);
      for (const std::size_t device : {cable.a.device, cable.b.device}) {
        auto& fastest = fastest_[device];
        if (rate && (!fastest || bits_per_second(*rate) > bits_per_second(*fastest))) fastest = rate;
      }
    }
  }

  // One profile for all switches with the same values.
  void make_profiles() {
    std::map<std::string, std::string> references;  // by text without a switch's name
    for (std::size_t i = 0; i < fabric_.devices.size(); ++i) {
      const Device& device = fabric_.devices[i];
      if (device.values == nullptr) continue;
      const std::string& base = defaults_.switch_profile_text;
      const std::string common = base.empty() ? "" : profile_with(base, *device.values, "", device.cabled_ports);
      if (common.empty()) {
        ++without_values_;
        continue;
      }
      const auto [place, is_new] = references.try_emplace(common, defaults_.profile_stem + "-" + names_[i]);
      made_profiles_[i] = place->second;
      if (is_new)
        result_.profiles.push_back({place->second + ".json", profile_with(base, *device.values, names_[i], device.cabled_ports)});
    }
  }

  // The length in the file of lengths.
  std::optional<std::int64_t> known_length(const Cable& cable) {
    const auto fits = [&](const std::string& text, const End& end) {
      return text == end_text(end) || text == names_[end.device];
    };
    if (lengths_.empty() && !defaults_.lengths.empty()) sort_lengths();
    const auto found = lengths_.find(std::minmax(names_[cable.a.device], names_[cable.b.device]));
    if (found == lengths_.end()) return std::nullopt;
    // A line that names ports precedes one that names nodes.
    const KnownLength* known = nullptr;
    for (const std::size_t i : found->second) {
      const KnownLength& one = defaults_.lengths[i];
      if (!(fits(one.a, cable.a) && fits(one.b, cable.b)) && !(fits(one.a, cable.b) && fits(one.b, cable.a))) continue;
      used_lengths_.insert(i);
      if (known == nullptr || one.a.size() + one.b.size() > known->a.size() + known->b.size()) known = &one;
    }
    return known == nullptr ? std::nullopt : std::optional(known->length_mm);
  }

  void sort_lengths() {
    const auto node = [](const std::string& end) { return end.substr(0, end.find(':')); };
    for (std::size_t i = 0; i < defaults_.lengths.size(); ++i) {
      const std::string a = node(defaults_.lengths[i].a), b = node(defaults_.lengths[i].b);
      lengths_[std::minmax(a, b)].push_back(i);
    }
  }

  std::string profile_of(std::size_t index) const {
    if (const auto made = made_profiles_.find(index); made != made_profiles_.end()) return made->second;
    const Device& device = fabric_.devices[index];
    const std::string& asked = device.is_switch ? defaults_.switch_profile : defaults_.hca;
    if (!asked.empty()) return asked;
    if (const std::string& usual = device.is_switch ? fabric_.switch_profile : fabric_.hca; !usual.empty()) return usual;
    for (const KnownDevice& known :
         device.is_switch ? std::span<const KnownDevice>(kSwitches) : std::span<const KnownDevice>(kAdapters)) {
      if (known.device_id == device.device_id) return known.profile;
    }
    for (const DeviceOfRate& one : kByRate) {
      if (fastest_[index] && fastest_[index]->speed == one.speed) return device.is_switch ? one.switch_profile : one.adapter;
    }
    return device.is_switch ? "edr_switch" : "edr_hca";
  }

  // Keys of the node's identity; empty if the file gives none.
  Json node_of(std::size_t index) const {
    const Device& device = fabric_.devices[index];
    Json node = Json::object();
    if (is_roce_) return node;
    if (device.guid != 0) node["guid"] = guid_text(device.guid);
    if (device.port_guid != 0 && !device.is_switch) node["port_guid"] = guid_text(device.port_guid);
    if (device.system_guid != 0) node["system_guid"] = guid_text(device.system_guid);
    if (device.lid != 0) node["lid"] = device.lid;
    if (!device.description.empty()) node["description"] = device.description.substr(0, 63);
    if (device.device_id != 0) node["device_id"] = device.device_id;
    return node;
  }

  void add_node(Json& to, std::size_t index) const {
    if (Json node = node_of(index); !node.empty()) to["node"] = std::move(node);
  }

  Json host(const Host& one) {
    Json json = {{"name", one.name}};
    const std::size_t first = one.adapters.front();
    json["hca"] = profile_of(first);
    profiles_.insert(profile_of(first));
    if (defaults_.cpu != "cpu") json["cpu"] = defaults_.cpu;
    if (adapters_[first] != "mlx5_0") json["device"] = adapters_[first];
    add_node(json, first);
    for (const std::size_t index : one.adapters) {
      if (index == first) continue;
      Json further = {{"device", adapters_[index]}, {"hca", profile_of(index)}};
      profiles_.insert(profile_of(index));
      add_node(further, index);
      json["further_adapters"].push_back(std::move(further));
    }
    return json;
  }

  Json switch_of(std::size_t index) {
    const Device& device = fabric_.devices[index];
    std::uint32_t ports = device.ports;
    for (const Cable& cable : fabric_.cables) {
      for (const End& end : {cable.a, cable.b}) ports = end.device == index ? std::max(ports, end.port) : ports;
    }
    profiles_.insert(profile_of(index));
    Json json = {{"name", names_[index]}, {"profile", profile_of(index)}, {"ports", std::max(1u, ports)}};
    add_node(json, index);
    if (device.table.empty()) return json;
    auto& table = json["forwarding_table"] = Json::array();
    for (std::size_t i = 0; i < device.table.size();) {
      std::size_t last = i;
      while (last + 1 < device.table.size() && device.table[last + 1].port == device.table[i].port &&
             device.table[last + 1].lid == device.table[last].lid + 1)
        ++last;
      const std::string range = last == i ? "" : "-" + std::to_string(device.table[last].lid);
      table.push_back(std::to_string(device.table[i].lid) + range + ":" + std::to_string(device.table[i].port));
      i = last + 1;
    }
    return json;
  }

  std::string end_text(const End& end) const {
    return fabric_.devices[end.device].is_switch ? names_[end.device] + ":" + std::to_string(end.port) : names_[end.device];
  }

  Json link(const Cable& cable) {
    Json json = {
        {"a", end_text(cable.a)}, {"b", end_text(cable.b)}, {"rate", cable.rate.empty() ? defaults_.rate : cable.rate}};
    if (cable.rate.empty()) ++without_rate_;
    if (const auto known = known_length(cable)) {
      json["length"] = format_quantity(*known, Dimension::kLength);
    } else if (cable.delay) {
      json["length"] = "0 m";
      json["transceiver_delay"] = format_quantity(to_ps(*cable.delay), Dimension::kDuration);
    } else {
      json["length"] = cable.length_mm ? format_quantity(*cable.length_mm, Dimension::kLength) : defaults_.length;
      if (!cable.length_mm) ++without_length_;
    }
    if (!cable.lossless_priorities.empty()) json["pfc"] = {{"lossless_priorities", cable.lossless_priorities}};
    if (cable.headroom_bytes != 0 && !made_profiles_.empty())
      json["pfc"]["headroom"] = format_quantity(static_cast<std::int64_t>(cable.headroom_bytes), Dimension::kSize);
    return json;
  }

  void note() {
    auto& notes = result_.assumptions;
    const auto cables = [](std::size_t n) { return std::to_string(n) + (n == 1 ? " cable" : " cables"); };
    if (without_rate_ > 0)
      notes.push_back({"rate " + defaults_.rate + " for " + cables(without_rate_) + " whose rate the file does not say",
                       "--rate, or \"rate\" of the links"});
    if (without_values_ > 0)
      notes.push_back({"thresholds of buffers, WRED profiles and scheduling of " + std::to_string(without_values_) +
                           (without_values_ == 1 ? " switch" : " switches") +
                           " are those of the switch profile, not of BUFFER_PROFILE, WRED_PROFILE and QUEUE",
                       "\"profile\" of the switches; with -o FILE profiles are written beside it"});
    if (without_length_ > 0)
      notes.push_back(
          {"length " + defaults_.length + " for " + cables(without_length_), "--length, --lengths, or \"length\" of the links"});
    if (std::ranges::any_of(fabric_.cables, [](const Cable& cable) { return cable.delay.has_value(); }))
      notes.push_back(
          {"cables have the delays of the file, as \"transceiver_delay\"", "\"transceiver_delay\" of the links"});
    if (profiles_.contains("hpcc_switch"))
      notes.push_back({"flows without a priority, such as those of connection matrices, have priority 0, which hpcc_switch does not mark",
                       "\"traffic_class\" of the flows: 96 for priority 3"});
    std::string profiles;
    for (const std::string& profile : profiles_) profiles += (profiles.empty() ? "" : ", ") + profile;
    notes.push_back({"latencies, buffers and lanes of the profiles " + profiles +
                         (defaults_.cpu.empty() ? "" : ", processors " + defaults_.cpu),
                     "--hca, --switch and --cpu, or \"hca\", \"profile\" and \"cpu\" of hosts and switches"});
    if (renamed_ > 0)
      notes.push_back(
          {std::to_string(renamed_) + (renamed_ == 1 ? " name was" : " names were") + " changed to be valid and unique",
           "\"name\" of hosts and switches"});
  }

  const Fabric& fabric_;
  Defaults defaults_;
  const bool is_roce_;
  Written result_;
  std::vector<Host> hosts_;
  std::vector<std::string> names_;     // by device: its name at an end of a cable
  std::vector<std::string> adapters_;  // by device: name of the adapter itself
  std::vector<std::optional<LinkRate>> fastest_;
  std::set<std::string> used_, profiles_;
  std::map<std::string, std::size_t> numbers_;
  std::map<std::size_t, std::string> made_profiles_;  // by device
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> lengths_;  // of the defaults, by both nodes
  std::set<std::size_t> used_lengths_;
  std::size_t renamed_ = 0, without_rate_ = 0, without_length_ = 0, without_values_ = 0;
};

}  // namespace

Written write_topology(const Fabric& fabric, const Defaults& defaults) { return Writer(fabric, defaults).write(); }

}  // namespace verbatim::config::imports
