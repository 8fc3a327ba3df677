// The topology's key `congestion_control`: settings of InfiniBand congestion control that the simulation's
// own subnet manager makes, named like OpenSM's options.
#include <charconv>

#include "sim/config/resolve_congestion.h"
#include "sim/config/tables.h"
#include "sim/config/words.h"

namespace verbatim::config {

namespace {

using C = SubnetCongestionSpec;
using Level = ib::InjectionSetting::Level;

// A number that is the whole text; decimal, or hexadecimal after 0x.
std::optional<std::uint32_t> parse_number(std::string_view text, std::uint32_t most) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  if (is_hex) text.remove_prefix(2);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

std::optional<std::bitset<256>> parse_mask(std::string_view text) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return std::nullopt;
  text.remove_prefix(2);
  constexpr std::size_t kDigits = 64;
  if (text.empty() || text.size() > kDigits) return std::nullopt;
  std::bitset<256> mask;
  for (const char digit : text) {
    const auto value = parse_number(std::string("0x") + digit, 15);
    if (!value) return std::nullopt;
    mask = mask << 4 | std::bitset<256>(*value);
  }
  return mask;
}

class SubnetCongestionResolver {
 public:
  SubnetCongestionResolver(TopologySpec& topology, Diagnostics& diagnostics)
      : topology_(topology), spec_(topology.congestion_control), diagnostics_(diagnostics) {}

  void run() {
    if (!spec_.is_given()) return;
    if (topology_.is_roce()) {
      return add("", "is congestion control of InfiniBand", "on Ethernet it is the key of profiles, and the switches' marking");
    }
    if (!topology_.manages_subnet()) {
      return add("", "says what the simulation's own subnet manager sets, and there is none",
                 "give OpenSM a configuration file with congestion_control TRUE and these options");
    }
    if (const auto mask = parse_mask(spec_.victim_mask)) {
      spec_.victims = *mask;
    } else {
      add("/cc_sw_cong_setting_victim_mask", in_quotes(spec_.victim_mask) + " is not a mask of ports",
          "write hexadecimal digits, bit n for port n, such as \"0x1e\" for ports 1 to 4");
    }
    level_values("/cc_ca_cong_setting_ccti_timer", spec_.ccti_timer, 0xffff,
                 [](Level& level, std::uint32_t value) { level.timer = static_cast<std::uint16_t>(value); });
    level_values("/cc_ca_cong_setting_ccti_increase", spec_.ccti_increase, 0xff,
                 [](Level& level, std::uint32_t value) { level.increase = static_cast<std::uint8_t>(value); });
    level_values("/cc_ca_cong_setting_trigger_threshold", spec_.trigger_threshold, 0xff,
                 [](Level& level, std::uint32_t value) { level.trigger_threshold = static_cast<std::uint8_t>(value); });
    level_values("/cc_ca_cong_setting_ccti_min", spec_.ccti_min, 0xff,
                 [](Level& level, std::uint32_t value) { level.least = static_cast<std::uint8_t>(value); });
    spec_.injection.is_by_level = (spec_.port_control & 1) != 0;
    if (!table()) return;
    for (std::size_t level = 0; level < ib::kServiceLevels; ++level) check_least(level);
  }

 private:
  void add(const std::string& key, std::string text, std::string hint) {
    diagnostics_.add(topology_.file, spec_.pointer + key, std::move(text), std::move(hint));
  }

  // "0 150" for service level 0.
  template <class Set>
  void level_values(const std::string& key, const std::vector<std::string>& texts, std::uint32_t most, Set set) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string_view text = texts[i];
      const std::size_t blank = text.find(' ');
      const auto level = parse_number(text.substr(0, blank), ib::kServiceLevels - 1);
      const auto value = blank == std::string_view::npos ? std::nullopt : parse_number(text.substr(blank + 1), most);
      if (level && value) {
        set(spec_.injection.levels[*level], *value);
        continue;
      }
      add(key + "/" + std::to_string(i), in_quotes(texts[i]) + " is not a service level, 0 to 15, and a value, 0 to " + std::to_string(most),
          "as OpenSM has it, such as \"0 150\"");
    }
  }

  // "0:0,0:1,1:3"
  bool table() {
    std::string_view rest = spec_.cct;
    std::size_t count = 0;
    while (!rest.empty()) {
      const std::string_view one = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(one.size() + 1, rest.size()));
      const std::size_t colon = one.find(':');
      constexpr std::uint32_t kMostShift = 3, kMostMultiplier = 0x3fff;
      const auto shift = parse_number(one.substr(0, colon), kMostShift);
      const auto multiplier =
          colon == std::string_view::npos ? std::nullopt : parse_number(one.substr(colon + 1), kMostMultiplier);
      if (!shift || !multiplier) {
        add("/cc_cct", in_quotes(std::string(one)) + " is not shift:multiplier, 0 to 3 and 0 to 16383",
            "such as \"0:0,0:1,0:2\", the delay behind a packet as a multiple of its time >> shift");
        return false;
      }
      if (count == ib::InjectionSetting::kEntries) {
        add("/cc_cct", "the table has more than " + std::to_string(count) + " entries, which adapters have",
            "leave out what is behind entry " + std::to_string(count - 1));
        return false;
      }
      spec_.injection.table[count++] = {static_cast<std::uint8_t>(*shift), static_cast<std::uint16_t>(*multiplier)};
    }
    spec_.injection.limit = static_cast<std::uint16_t>(count == 0 ? 0 : count - 1);
    return true;
  }

  void check_least(std::size_t level) {
    const std::uint32_t least = spec_.injection.levels[level].least;
    if (least <= spec_.injection.limit) return;
    add("/cc_ca_cong_setting_ccti_min", "service level " + std::to_string(level) + " has at least index " + std::to_string(least) +
        ", and the last entry of the table is " + std::to_string(spec_.injection.limit), "give cc_cct more entries");
  }

  TopologySpec& topology_;
  C& spec_;
  Diagnostics& diagnostics_;
};

template <auto Member>
Field level_row(std::string_view key, std::string_view doc) {
  return bind<Member>({.key = key, .kind = Kind::kTextList, .doc = doc});
}

}  // namespace

void resolve_subnet_congestion(TopologySpec& topology, Diagnostics& diagnostics) {
  SubnetCongestionResolver(topology, diagnostics).run();
}

const Object& subnet_congestion_table() {
  static const Object table = make_object<C>(
      "congestion control of a subnet",
      "on InfiniBand, what the simulation's own subnet manager sets (IBA annex A10), by the names of OpenSM's options; as there, all "
      "is off unless a value says otherwise",
      {for_people("description", "for people"),
       bind<&C::threshold>({.key = "cc_sw_cong_setting_threshold",
                            .kind = Kind::kInteger,
                            .doc = "threshold of every output of a switch: 0: no packet is marked; else packets are marked while more than (16 - this) / 16 of "
                                   "a lane's input buffer waits behind them",
                            .max = 15}),
       bind<&C::packet_size>({.key = "cc_sw_cong_setting_packet_size",
                              .kind = Kind::kInteger,
                              .doc = "shorter packets are not marked; in units of 64 bytes",
                              .max = 255}),
       bind<&C::marking_rate>({.key = "cc_sw_cong_setting_marking_rate",
                               .kind = Kind::kInteger,
                               .doc = "mean number of packets that are not marked between two that are, of those that could be",
                               .max = 65535}),
       bind<&C::victim_mask>({.key = "cc_sw_cong_setting_victim_mask",
                              .kind = Kind::kText,
                              .doc = "ports of switches, bit n for port n, that mark also without credits to send, which is when the "
                                     "congestion is elsewhere"}),
       bind<&C::port_control>({.key = "cc_ca_cong_setting_port_control",
                               .kind = Kind::kInteger,
                               .doc = "0: adapters slow down single queue pairs; 1: all of a service level",
                               .max = 1}),
       level_row<&C::ccti_increase>("cc_ca_cong_setting_ccti_increase",
                                    "service level and value, such as \"0 1\": by how many entries a notification raises the index of the table"),
       level_row<&C::ccti_timer>("cc_ca_cong_setting_ccti_timer",
                                 "likewise: after so many units of 1.024 us the index falls by one"),
       level_row<&C::ccti_min>("cc_ca_cong_setting_ccti_min", "likewise: the index does not fall below"),
       level_row<&C::trigger_threshold>("cc_ca_cong_setting_trigger_threshold",
                                        "likewise: a notification with an index of no less is logged; 0: none is"),
       bind<&C::cct>({.key = "cc_cct",
                      .kind = Kind::kText,
                      .doc = "table of delays behind a packet, shift:multiplier each: its time on the line >> shift, times multiplier; up to "
                             "128 entries"})});
  return table;
}

}  // namespace verbatim::config
