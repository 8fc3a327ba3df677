#include "sim/config/import/sonic.h"

#include <algorithm>
#include <map>
#include <set>

#include "sim/config/import/lines.h"
#include "sim/config/import/sonic_values.h"
#include "sim/config/json_text.h"
#include "sim/config/quantity.h"

namespace verbatim::config::imports {

namespace {

constexpr std::uint64_t kUsualMtu = 1500;  // of interfaces for which a topology gives none

// A port's name; sorts by prefix and then by number.
struct PortName {
  std::string prefix;
  std::uint64_t number = 0;
  friend auto operator<=>(const PortName&, const PortName&) = default;
};

PortName name_of(const std::string& text) {
  const std::size_t digits = text.find_last_not_of("0123456789") + 1;
  return {text.substr(0, digits),
          whole_number(std::string_view(text).substr(digits), 1'000'000'000).value_or(0)};
}

struct Neighbour {
  std::string name, port;
};

struct SwitchFile {
  const Source* source = nullptr;
  std::string name;
  std::map<std::string, std::uint32_t> ports;  // port numbers, by name
  std::map<std::string, std::string> speeds, lengths, lossless;
  std::set<std::string> down;  // ports that the administrator has switched off
  std::uint64_t most_mtu = 0;  // of all ports; 0: not in the file
  std::map<std::string, Neighbour> neighbours;
  std::shared_ptr<const SonicValues> values;
};

class SonicReader {
 public:
  explicit SonicReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  std::optional<Fabric> read(std::span<const Source> sources) {
    for (const Source& source : sources) file(source);
    if (found_ > 0) return std::nullopt;
    fabric_.format = "SONiC config_db.json";
    fabric_.link_layer = "roce";
    fabric_.hca = "edr_roce";
    fabric_.switch_profile = "spectrum";
    for (const auto& [name, one] : files_) {
      devices_[name] = fabric_.devices.size();
      Device& device = fabric_.devices.emplace_back();
      device.name = name;
      device.is_switch = true;
      device.ports = static_cast<std::uint32_t>(one.ports.size());
      if (one.values->profile.empty() && !one.values->pool_bytes) continue;
      device.values = one.values;
      for (const auto& [port, neighbour] : one.neighbours) device.cabled_ports.push_back(port);
    }
    for (const auto& [name, one] : files_) {
      for (const auto& [port, neighbour] : one.neighbours) cable(one, port, neighbour);
    }
    if (found_ > 0) return std::nullopt;
    if (fabric_.cables.empty()) {
      add(sources.empty() ? "" : sources.front().path, "/DEVICE_NEIGHBOR", "no port has a neighbour",
          "SONiC's table DEVICE_NEIGHBOR says which cable leads where");
      return std::nullopt;
    }
    note_left_out();
    std::uint64_t most_mtu = 0;
    for (const auto& [name, one] : files_) most_mtu = std::max(most_mtu, one.most_mtu);
    if (most_mtu > kUsualMtu)
      fabric_.assumptions.push_back(
          {"an MTU of " + std::to_string(kUsualMtu) +
               " of all adapters' interfaces, as the files are of switches, whose ports have up to " +
               std::to_string(most_mtu),
           "/interface_mtu"});
    return std::move(fabric_);
  }

 private:
  void add(const std::string& path, const std::string& pointer, std::string text, std::string hint) {
    ++found_;
    diagnostics_.add(path, pointer, std::move(text), std::move(hint));
  }

  // Adds a sentence for each kind of value that is ignored or changed, with its switches.
  void note_left_out() {
    std::map<std::string, std::vector<std::string>> switches;  // by sentence
    for (const auto& [name, one] : files_)
      for (const std::string& sentence : one.values->left_out) switches[sentence].push_back(name);
    for (const auto& [sentence, names] : switches) {
      const std::string others =
          names.size() == 1 ? "" : " and " + std::to_string(names.size() - 1) + " more";
      fabric_.assumptions.push_back({"left out of account, of " + names.front() + others + ": " + sentence,
                                     "the profiles of these switches"});
    }
  }

  // The string at a key of a table's entry; empty if absent.
  static std::string text_at(const Json& json, const char* key) {
    const auto found = json.is_object() ? json.find(key) : json.end();
    if (!json.is_object() || found == json.end()) return {};
    return found->is_string()           ? found->get<std::string>()
           : found->is_number_integer() ? found->dump()
                                        : std::string();
  }

  static const Json& table_of(const Json& json, const char* key) {
    static const Json kEmpty = Json::object();
    const auto found = json.find(key);
    return found != json.end() && found->is_object() ? *found : kEmpty;
  }

  void file(const Source& source) {
    const std::size_t before = diagnostics_.findings().size();
    const auto json = parse_json(source.text, source.path, diagnostics_);
    found_ += diagnostics_.findings().size() - before;
    if (!json) return;
    if (!json->is_object())
      return add(source.path, "", "this is no configuration of a switch",
                 "a config_db.json has tables such as PORT and DEVICE_NEIGHBOR");
    SwitchFile one;
    one.source = &source;
    const Json& metadata = table_of(*json, "DEVICE_METADATA");
    one.name = text_at(table_of(metadata, "localhost"), "hostname");
    if (one.name.empty())
      return add(source.path, "/DEVICE_METADATA/localhost/hostname", "the switch has no name",
                 R"(add "DEVICE_METADATA": {"localhost": {"hostname": "leaf1"}})");
    std::set<PortName> names;
    for (const auto& [port, entry] : table_of(*json, "PORT").items()) {
      names.insert(name_of(port));
      one.speeds[port] = text_at(entry, "speed");
      if (text_at(entry, "admin_status") == "down") one.down.insert(port);
      one.most_mtu = std::max(one.most_mtu, whole_number(text_at(entry, "mtu"), 65'535).value_or(0));
    }
    for (const auto& [port, entry] : table_of(*json, "DEVICE_NEIGHBOR").items()) {
      names.insert(name_of(port));
      one.neighbours[port] = {text_at(entry, "name"), text_at(entry, "port")};
      if (one.neighbours[port].name.empty())
        add(source.path, join_pointer("/DEVICE_NEIGHBOR", port), "the neighbour has no name",
            R"(write {"name": "leaf2", "port": "Ethernet0"})");
    }
    constexpr std::size_t kMostPorts = 254;
    if (names.size() > kMostPorts)
      return add(source.path, "/PORT", "the switch has " + std::to_string(names.size()) + " ports",
                 "a switch has at most 254");
    for (const PortName& name : names)
      one.ports[name.prefix + std::to_string(name.number)] = static_cast<std::uint32_t>(one.ports.size() + 1);
    for (const auto& [profile, lengths] : table_of(*json, "CABLE_LENGTH").items()) {
      if (!lengths.is_object()) continue;
      for (const auto& [port, length] : lengths.items()) {
        if (length.is_string()) one.lengths[port] = length.get<std::string>();
      }
    }
    for (const auto& [port, entry] : table_of(*json, "PORT_QOS_MAP").items())
      one.lossless[port] = text_at(entry, "pfc_enable");
    std::vector<std::string> in_order;
    for (const PortName& name : names) in_order.push_back(name.prefix + std::to_string(name.number));
    one.values = std::make_shared<const SonicValues>(values_of_sonic(*json, in_order));
    if (!files_.try_emplace(one.name, one).second)
      add(source.path, "/DEVICE_METADATA/localhost/hostname",
          "there are two switches named " + in_quotes(one.name), "give each file a name of its own");
  }

  std::uint32_t number_of(const SwitchFile& file, const std::string& port) const {
    const PortName name = name_of(port);
    const auto found = file.ports.find(name.prefix + std::to_string(name.number));
    return found == file.ports.end() ? 0 : found->second;
  }

  void cable(const SwitchFile& here, const std::string& port, const Neighbour& neighbour) {
    const std::string pointer = join_pointer("/DEVICE_NEIGHBOR", port);
    if (here.down.contains(port)) return leave_out_cable(here.name, port);
    const End near{devices_.at(here.name), number_of(here, port)};
    End far;
    std::optional<std::int64_t> length = length_of(here, port);
    if (const auto there = files_.find(neighbour.name); there != files_.end()) {
      const std::uint32_t number = number_of(there->second, neighbour.port);
      if (number == 0)
        return add(here.source->path, pointer,
                   in_quotes(neighbour.name) + " has no port " + in_quotes(neighbour.port),
                   "see the table PORT of " + there->second.source->path);
      if (there->first == here.name)
        return add(here.source->path, pointer, "the switch is its own neighbour", "remove the entry");
      const auto back = there->second.neighbours.find(neighbour.port);
      if (back == there->second.neighbours.end() || back->second.name != here.name ||
          name_of(back->second.port) != name_of(port))
        return add(here.source->path, pointer,
                   "port " + in_quotes(neighbour.port) + " of " + in_quotes(neighbour.name) +
                       " does not name this port as its neighbour",
                   "correct one of the two files; the other is " + there->second.source->path);
      if (there->second.down.contains(neighbour.port)) return;  // told from the other end, as are these
      if (there->first < here.name) return;
      compare_ends(here, port, there->second, neighbour.port, pointer);
      length = std::max(length, length_of(there->second, neighbour.port));
      far = {devices_.at(there->first), number};
    } else {
      far = {fabric_.devices.size(), 1};
      fabric_.devices.push_back({.name = neighbour.name});
    }
    Cable cable{near, far, rate_of(here, port, pointer), std::nullopt, length};
    if (const auto lossless = here.lossless.find(port); lossless != here.lossless.end())
      cable.lossless_priorities = lossless->second;
    if (const auto headroom = here.values->headrooms.find(port); headroom != here.values->headrooms.end())
      cable.headroom_bytes = headroom->second.bytes;
    fabric_.cables.push_back(std::move(cable));
  }

  void leave_out_cable(const std::string& name, const std::string& port) {
    fabric_.assumptions.push_back(
        {"left out of account, of " + name + ": the cable of port " + port + ", whose admin_status is down",
         "/links"});
  }

  // Adds a finding for each value that the two ends of a cable must share and do not.
  void compare_ends(const SwitchFile& here, const std::string& port, const SwitchFile& there,
                    const std::string& far_port, const std::string& pointer) {
    const auto compare = [&](const char* what, const auto& values, const auto& far_values) {
      const auto near = values.find(port), far = far_values.find(far_port);
      if (near == values.end() || far == far_values.end() || near->second.empty() || far->second.empty() ||
          near->second == far->second)
        return;
      add(here.source->path, pointer,
          std::string("the ends of this cable differ in ") + what + ": " + in_quotes(near->second) +
              " here, " + in_quotes(far->second) + " at " + there.name + " " + far_port,
          "correct one of the two files; the other is " + there.source->path);
    };
    compare("speed", here.speeds, there.speeds);
    compare("pfc_enable", here.lossless, there.lossless);
    const auto length = length_of(here, port), far_length = length_of(there, far_port);
    if (length && far_length && *length != *far_length)
      fabric_.assumptions.push_back({"the greater length of the cable of " + here.name + " " + port +
                                         ": CABLE_LENGTH has " + here.lengths.at(port) + ", and " +
                                         there.lengths.at(far_port) + " at the other end",
                                     "/links/…/length"});
  }

  // SONiC's speeds are in Mbps.
  std::string rate_of(const SwitchFile& file, const std::string& port, const std::string& pointer) {
    const auto found = file.speeds.find(port);
    if (found == file.speeds.end() || found->second.empty()) return {};
    std::string problem, hint;
    const auto rate = whole_number(found->second, 10'000'000)
                          ? parse_link_rate(found->second + " Mbps", &problem, &hint)
                          : std::nullopt;
    if (rate) return format_quantity(bits_per_second(*rate), Dimension::kRate);
    add(file.source->path, join_pointer("/PORT", port) + "/speed",
        in_quotes(found->second) + " is not a rate that links have here (seen from " + pointer + ")",
        "rates in Mbps are 10000, 25000, 40000, 50000, 100000, 200000, 400000 and 800000");
    return {};
  }

  // "40m"
  static std::optional<std::int64_t> length_of(const SwitchFile& file, const std::string& port) {
    const auto found = file.lengths.find(port);
    if (found == file.lengths.end()) return std::nullopt;
    std::string problem, hint;
    return parse_quantity(found->second, Dimension::kLength, &problem, &hint);
  }

  Diagnostics& diagnostics_;
  std::size_t found_ = 0;
  std::map<std::string, SwitchFile> files_;  // by switch name
  std::map<std::string, std::size_t> devices_;
  Fabric fabric_;
};

}  // namespace

std::optional<Fabric> read_sonic(std::span<const Source> sources, Diagnostics& diagnostics) {
  return SonicReader(diagnostics).read(sources);
}

}  // namespace verbatim::config::imports
