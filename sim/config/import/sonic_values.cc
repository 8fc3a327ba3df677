#include "sim/config/import/sonic_values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <set>

#include "sim/config/import/lines.h"
#include "sim/config/quantity.h"
#include "sim/config/words.h"

namespace verbatim::config::imports {

namespace {

constexpr std::uint64_t kMostPoolBytes = std::uint64_t{1} << 32, kMostLaneBytes = kMostPoolBytes / 1024;
constexpr std::uint32_t kLanes = 8;

// A member of an object, as text; empty if absent.
std::string member_text(const Json& json, const std::string& key) {
  if (!json.is_object()) return {};
  const auto found = json.find(key);
  if (found == json.end()) return {};
  return found->is_string()           ? found->get<std::string>()
         : found->is_number_integer() ? found->dump()
                                      : std::string();
}

// The name in a reference of a table: "x", or "[TABLE|x]" in older files.
std::string referred(const std::string& text) {
  if (!text.starts_with('[') || !text.ends_with(']')) return text;
  const std::size_t bar = text.find('|');
  return bar == std::string::npos ? std::string() : text.substr(bar + 1, text.size() - bar - 2);
}

// Bits of "3" or "3-4".
std::uint8_t lanes_named(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = whole_number(text.substr(0, dash), kLanes - 1);
  const auto last = dash == std::string_view::npos ? first : whole_number(text.substr(dash + 1), kLanes - 1);
  if (!first || !last || *last < *first) return 0;
  return static_cast<std::uint8_t>((2u << *last) - (1u << *first));
}

// "3,4" for these bits.
std::string lanes_text(std::uint8_t lanes) {
  std::string text;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) != 0) text += (text.empty() ? "" : ",") + std::to_string(lane);
  }
  return text;
}

std::string size_text(std::uint64_t bytes) {
  return format_quantity(static_cast<std::int64_t>(bytes), Dimension::kSize);
}

Json sourced(Json value, const std::string& source) {
  return {{"value", std::move(value)}, {"source", source}};
}

// The entry for each lane, from a table with keys "PORT|LANES" or "PORT,PORT|LANES". If ports differ, it is
// the entry of the first port that has one.
struct LaneEntries {
  std::array<const Json*, kLanes> entries{};
  bool do_ports_differ = false;
};

class SonicTables {
 public:
  SonicTables(const Json& config, const std::vector<std::string>& ports) : config_(config), ports_(ports) {}

  SonicValues read() {
    read_buffers();
    read_queues();
    read_priorities();
    read_watchdog();
    name_others();
    return std::move(values_);
  }

 private:
  const Json& table(const char* name) {
    static const Json kNone = Json::object();
    known_.insert(name);
    const auto found = config_.find(name);
    return found != config_.end() && found->is_object() ? *found : kNone;
  }
  // An entry of a table by its name; null if absent.
  const Json* entry(const char* name, const std::string& key) {
    const Json& of = table(name);
    const auto found = of.find(key);
    return key.empty() || found == of.end() || !found->is_object() ? nullptr : &*found;
  }
  void leave_out(std::string sentence) {
    if (std::ranges::find(values_.left_out, sentence) == values_.left_out.end())
      values_.left_out.push_back(std::move(sentence));
  }
  std::optional<std::uint64_t> bytes(const Json& of, const char* key, std::uint64_t most) {
    const std::string text = member_text(of, key);
    if (text.empty()) return std::nullopt;
    const auto number = whole_number(text, most);
    if (!number)
      leave_out(std::string(key) + " " + in_quotes(text) +
                ", which is no number of bytes that a profile takes");
    return number;
  }
  // Exponent of a dynamic threshold.
  std::optional<int> threshold(const Json& of) {
    const std::string text = member_text(of, "dynamic_th");
    if (text.empty()) return std::nullopt;
    const bool is_negative = text.starts_with('-');
    const auto number = whole_number(std::string_view(text).substr(is_negative ? 1 : 0), 8);
    if (number && (is_negative || *number < 8))
      return is_negative ? -static_cast<int>(*number) : static_cast<int>(*number);
    leave_out("dynamic_th " + in_quotes(text) + ", which is not from -8 to 7");
    return std::nullopt;
  }

  // The entries of each port's lanes, by port.
  std::map<std::string, std::array<const Json*, kLanes>> by_port(const char* name) {
    std::map<std::string, std::array<const Json*, kLanes>> all;
    for (const auto& [key, entry] : table(name).items()) {
      const std::size_t bar = key.find('|');
      if (bar == std::string::npos || !entry.is_object()) continue;
      const std::uint8_t lanes = lanes_named(std::string_view(key).substr(bar + 1));
      for (std::size_t at = 0; at < bar;) {
        const std::size_t end = std::min(key.find(',', at), bar);
        auto& of = all[key.substr(at, end - at)];
        for (std::uint32_t lane = 0; lane < kLanes; ++lane)
          if ((lanes >> lane & 1) != 0) of[lane] = &entry;
        at = end + 1;
      }
    }
    return all;
  }
  LaneEntries entries(const char* name) {
    const auto all = by_port(name);
    LaneEntries found;
    bool has_first = false;
    for (const std::string& port : ports_) {
      const auto of = all.find(port);
      if (of == all.end()) continue;
      if (!has_first) found.entries = of->second;
      for (std::uint32_t lane = 0; has_first && lane < kLanes; ++lane) {
        const Json *one = found.entries[lane], *other = of->second[lane];
        if ((one == nullptr) != (other == nullptr) || (one != nullptr && *one != *other))
          found.do_ports_differ = true;
      }
      has_first = true;
    }
    return found;
  }

  void set(const char* object, const char* key, Json value, const std::string& source) {
    values_.profile[object][key] = sourced(std::move(value), "config_db.json: " + source);
  }

  void read_buffers() {
    if (const Json* const pool = entry("BUFFER_POOL", "ingress_lossless_pool"))
      values_.pool_bytes = bytes(*pool, "size", kMostPoolBytes);
    bool has_lossless = false, has_lossy = false;
    std::set<std::string> differing;
    const auto groups = by_port("BUFFER_PG");
    for (const std::string& port : ports_) {
      const auto of = groups.find(port);
      if (of == groups.end()) continue;
      for (const Json* const group : of->second) {
        if (group == nullptr) continue;
        const std::string name = referred(member_text(*group, "profile"));
        const Json* const profile = entry("BUFFER_PROFILE", name);
        if (profile == nullptr) {
          if (!name.empty()) leave_out("BUFFER_PG: there is no BUFFER_PROFILE " + in_quotes(name));
          continue;
        }
        const std::string source = "BUFFER_PROFILE " + name;
        if (profile->contains("static_th"))
          leave_out(source + ": static_th; thresholds here are dynamic, those of the switch profile");
        const auto xoff = bytes(*profile, "xoff", kMostLaneBytes);
        if (member_text(*profile, "pool").find("lossless") != std::string::npos &&
            !profile->contains("xoff") && !profile->contains("static_th"))
          leave_out(source + " of a lossless pool has no xoff; the headroom is that of the cable");
        if (xoff && *xoff > 0) {
          SonicValues::Headroom& headroom = values_.headrooms[port];
          headroom.bytes = std::max(headroom.bytes, *xoff);
          ++headroom.groups;
          take_lossless(*profile, *xoff, source, has_lossless, differing);
        } else if (const auto alpha = threshold(*profile); alpha && !has_lossy) {
          set("shared_memory", "lossy_alpha_log2", *alpha, source);
          has_lossy = true;
        }
      }
    }
    for (const std::string& what : differing)
      leave_out("ports that differ in " + what + " of their lossless priority groups");
    const LaneEntries queues = entries("BUFFER_QUEUE");
    for (const Json* const queue : queues.entries) {
      const std::string name = queue == nullptr ? "" : referred(member_text(*queue, "profile"));
      const Json* const profile = entry("BUFFER_PROFILE", name);
      if (profile == nullptr) continue;
      const auto alpha = threshold(*profile);
      if (!alpha) continue;  // lossless queues may fill the whole pool
      set("shared_memory", "output_alpha_log2", *alpha, "BUFFER_PROFILE " + name);
      break;
    }
  }

  void take_lossless(const Json& profile, std::uint64_t xoff, const std::string& source, bool& has_lossless,
                     std::set<std::string>& differing) {
    // Some vendors include the headroom in the size.
    const auto size = bytes(profile, "size", kMostLaneBytes);
    const auto xon = bytes(profile, "xon", kMostLaneBytes),
               offset = bytes(profile, "xon_offset", kMostLaneBytes);
    const auto take = [&](const char* key, std::optional<Json> value) {
      if (!value) return;
      const auto& shared = values_.profile["shared_memory"];
      if (!has_lossless)
        set("shared_memory", key, *value, source);
      else if (!shared.contains(key) || shared[key]["value"] != *value)
        differing.insert(key);
    };
    if (xon && size && *xon > *size)
      leave_out(source + ": xon " + std::to_string(*xon) + " is more than its size " + std::to_string(*size));
    const auto text = [](std::uint64_t bytes) { return std::optional<Json>(size_text(bytes)); };
    take("reserved", size ? text(*size > xoff ? *size - xoff : *size) : std::nullopt);
    const auto alpha = threshold(profile);
    take("lossless_alpha_log2", alpha ? std::optional<Json>(*alpha) : std::nullopt);
    take("resume_offset", offset && *offset > 0 ? text(*offset)
                          : xon && *xon > 0     ? text(*xon)
                                                : std::nullopt);
    has_lossless = true;
  }

  bool describes_queues() const {
    constexpr const char* kTables[] = {"QUEUE", "WRED_PROFILE", "BUFFER_PG", "BUFFER_QUEUE", "SCHEDULER"};
    return std::ranges::any_of(kTables, [this](const char* name) { return config_.contains(name); });
  }

  void read_queues() {
    const LaneEntries queues = entries("QUEUE");
    if (queues.do_ports_differ) leave_out("ports that differ in QUEUE");
    std::map<std::string, std::uint8_t> marked;
    std::string strict;
    Json shares = Json::array();
    for (std::uint32_t lane = kLanes; lane-- > 0;) {
      if (queues.entries[lane] == nullptr) continue;
      const std::string wred = referred(member_text(*queues.entries[lane], "wred_profile"));
      if (entry("WRED_PROFILE", wred) != nullptr) marked[wred] |= static_cast<std::uint8_t>(1 << lane);
      const Json* const scheduler =
          entry("SCHEDULER", referred(member_text(*queues.entries[lane], "scheduler")));
      if (scheduler == nullptr) continue;
      const auto weight = whole_number(member_text(*scheduler, "weight"), 255);
      if (member_text(*scheduler, "type") == "STRICT")
        strict += (strict.empty() ? "" : ",") + std::to_string(lane);
      else if (weight && *weight > 0)
        shares.insert(shares.begin(), Json(Json::object({{"lane", lane}, {"weight", *weight}})));
    }
    if (!strict.empty() || !shares.empty()) {
      add_usual_shares(strict, shares);
      Json& arbitration = values_.profile["arbitration"] = Json::object();
      arbitration["high_limit"] = 0;
      if (!strict.empty()) arbitration["strict"] = strict;
      if (!shares.empty()) arbitration["shares"] = std::move(shares);
      arbitration["source"] = "config_db.json: QUEUE and SCHEDULER";
    }
    Json curves = Json::array();
    for (const auto& [name, lanes] : marked) add_curve(name, lanes, curves);
    // A queue without a WRED profile that marks does not mark, whatever other switches of this kind do.
    if (describes_queues()) values_.profile["marking"]["queues"] = std::move(curves);
  }

  // Gives every queue a share, so that each can send.
  void add_usual_shares(const std::string& strict, Json& shares) {
    std::string lanes;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      const auto is_it = [lane](const Json& share) { return share["lane"] == lane; };
      if (strict.find(std::to_string(lane)) != std::string::npos || std::ranges::any_of(shares, is_it))
        continue;
      shares.push_back(Json::object({{"lane", lane}, {"weight", 1}}));
      lanes += (lanes.empty() ? "" : ", ") + std::to_string(lane);
    }
    if (!lanes.empty()) leave_out("that queues " + lanes + " have no scheduler with a weight; theirs is 1");
  }

  void add_curve(const std::string& name, std::uint8_t lanes, Json& curves) {
    const Json& profile = *entry("WRED_PROFILE", name);
    const std::string ecn = member_text(profile, "ecn");
    if (ecn != "ecn_all" && ecn.find("green") == std::string::npos)
      return leave_out("WRED_PROFILE " + name + ": it drops, and does not mark");
    const auto least = bytes(profile, "green_min_threshold", kMostPoolBytes),
               most = bytes(profile, "green_max_threshold", kMostPoolBytes);
    const auto percent = whole_number(member_text(profile, "green_drop_probability"), 100);
    if (!least || !most || *least > *most || !percent || *percent == 0)
      return leave_out("WRED_PROFILE " + name + ": its thresholds for green packets are no curve");
    curves.push_back({{"priorities", lanes_text(lanes)},
                      {"kmin", size_text(*least)},
                      {"kmax", size_text(*most)},
                      {"pmax_percent", *percent},
                      {"source", "config_db.json: WRED_PROFILE " + name}});
  }

  void read_priorities() {
    const Json& ports = table("PORT_QOS_MAP");
    std::string map;
    for (const std::string& port : ports_) {
      const auto found = ports.find(port);
      const std::string name = found == ports.end() ? "" : referred(member_text(*found, "dscp_to_tc_map"));
      if (map.empty()) map = name;
      if (!name.empty() && name != map) leave_out("ports that differ in dscp_to_tc_map");
    }
    const Json* const priorities = entry("DSCP_TO_TC_MAP", map);
    if (priorities == nullptr) return;
    values_.profile["trust"] = sourced("dscp", "config_db.json: PORT_QOS_MAP");
    // Adapters must use the same map, and the files do not describe adapters.
    constexpr std::uint64_t kDscps = 64, kUsual = 8;
    for (std::uint64_t dscp = 0; dscp < kDscps; ++dscp) {
      const auto priority = whole_number(member_text(*priorities, std::to_string(dscp)), kLanes - 1);
      if (priority && *priority != dscp / kUsual)
        return leave_out("DSCP_TO_TC_MAP " + map + ": priorities are DSCP / 8, as those of adapters");
    }
  }

  void read_watchdog() {
    const Json& table_of_ports = table("PFC_WD");
    for (const std::string& port : ports_) {
      const auto found = table_of_ports.find(port);
      if (found == table_of_ports.end()) continue;
      const std::string action = member_text(*found, "action");
      constexpr std::uint64_t kMostMs = 1'000'000;
      const auto detection = whole_number(member_text(*found, "detection_time"), kMostMs);
      const auto restoration = whole_number(member_text(*found, "restoration_time"), kMostMs);
      const std::string source = "PFC_WD " + port;
      if (action == "drop" || action == "forward" || action == "alert")
        set("pfc_watchdog", "action", action, source);
      if (detection && *detection > 0)
        set("pfc_watchdog", "detection_time", std::to_string(*detection) + " ms", source);
      if (restoration && *restoration > 0)
        set("pfc_watchdog", "restoration_time", std::to_string(*restoration) + " ms", source);
      return;
    }
  }

  // Notes the other tables of the same kind, which are not used.
  void name_others() {
    std::string names;
    for (const auto& table : config_.items()) {
      const std::string& name = table.key();
      constexpr std::array<std::string_view, 9> kKinds = {"BUFFER_", "QUEUE", "WRED", "SCHEDULER", "DSCP_",
                                                          "DOT1P_",  "TC_",   "PFC",  "MAP_PFC"};
      if (known_.contains(name) ||
          std::ranges::none_of(kKinds, [&](std::string_view kind) { return name.starts_with(kind); }))
        continue;
      names += (names.empty() ? "" : ", ") + name;
    }
    if (!names.empty()) leave_out("the tables " + names);
  }

  const Json& config_;
  const std::vector<std::string>& ports_;
  SonicValues values_;
  std::set<std::string> known_;  // names of the tables that are used
};

// Bytes at a key of a profile's object; 0 if absent.
std::uint64_t bytes_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return 0;
  const Json& value = found->is_object() && found->contains("value") ? (*found)["value"] : *found;
  std::string problem, hint;
  if (!value.is_string()) return 0;
  const auto size = parse_quantity(value.get<std::string>(), Dimension::kSize, &problem, &hint);
  return size && *size > 0 ? static_cast<std::uint64_t>(*size) : 0;
}

}  // namespace

SonicValues values_of_sonic(const Json& config, const std::vector<std::string>& ports) {
  return SonicTables(config, ports).read();
}

std::string profile_with(const std::string& base, const SonicValues& values, const std::string& switch_name,
                         const std::vector<std::string>& cabled) {
  Diagnostics ignored;
  std::optional<Json> profile = parse_json(base, "", ignored);
  if (!profile || !profile->is_object()) return {};
  for (const auto& [key, value] : values.profile.items()) {
    if (!value.is_object() || value.contains("value") || key == "arbitration") {
      (*profile)[key] = value;
      continue;
    }
    if (!profile->contains(key) || !(*profile)[key].is_object()) (*profile)[key] = Json::object();
    for (const auto& [inner, of_key] : value.items()) (*profile)[key][inner] = of_key;
  }
  if (values.pool_bytes && profile->contains("shared_memory")) {
    // The memory of a profile includes reserves and headrooms, in whole cells.
    Json& shared = (*profile)["shared_memory"];
    const std::uint64_t cell = std::max<std::uint64_t>(1, bytes_in(shared, "cell"));
    const auto in_cells = [cell](std::uint64_t bytes) { return (bytes + cell - 1) / cell * cell; };
    std::uint64_t all = *values.pool_bytes + cabled.size() * kLanes * in_cells(bytes_in(shared, "reserved"));
    for (const std::string& port : cabled) {
      const auto headroom = values.headrooms.find(port);
      if (headroom != values.headrooms.end())
        all += headroom->second.groups * in_cells(headroom->second.bytes);
    }
    if (all <= kMostPoolBytes)
      shared["size"] =
          sourced(size_text(all),
                  "config_db.json: BUFFER_POOL ingress_lossless_pool, and reserves and headrooms of its " +
                      std::to_string(cabled.size()) + " ports");
  }
  const std::string name = member_text(*profile, "name");
  (*profile)["name"] = name + ", as " + switch_name;
  (*profile)["description"] =
      "Imported: " + name + " with buffers, marks and schedulers of SONiC's config_db.json of " + switch_name;
  profile->erase("$schema");
  return profile->dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace verbatim::config::imports
