#include "sim/config/resolve_routing.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

namespace verbatim::config {

namespace {

constexpr std::string_view kNoFallback = "no_fallback";

std::vector<std::string> words_of(std::string_view text, std::string_view separators) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    if (end > begin) words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

class RoutingResolver {
 public:
  RoutingResolver(TopologySpec& topology, Diagnostics& diagnostics) : topology_(topology), diagnostics_(diagnostics) {}

  void run() {
    if (refuse_without_manager()) return;
    engines();
    groups();
    topology_.routing.roots = switches("/root_switches", topology_.root_switches);
    torus();
    tables();
    sweep();
  }

 private:
  void add(const std::string& pointer, std::string text, std::string hint) {
    diagnostics_.add(topology_.file, pointer, std::move(text), std::move(hint));
  }

  // Refuses keys that only the simulated subnet manager would use.
  bool refuse_without_manager() {
    if (!topology_.is_roce() && topology_.manages_subnet()) return false;
    const std::string text = topology_.is_roce() ? "there is no subnet manager on Ethernet" : "the simulation manages no subnet here";
    const std::string hint =
        topology_.is_roce() ? "leave it out, or choose the link layer \"infiniband\"" : "leave it out, and give OpenSM its own options, such as -R updn";
    const TopologySpec usual;
    if (topology_.routing_engine != usual.routing_engine) add("/routing_engine", text, hint);
    if (!topology_.root_switches.empty()) add("/root_switches", text, hint);
    if (!topology_.torus_2qos.shape.empty()) add("/torus_2qos", text, hint);
    if (topology_.sweep_time != usual.sweep_time) add("/sweep_time", text, hint);
    for (const SwitchSpec& one : topology_.switches) {
      if (!one.forwarding_table.empty()) add(one.pointer + "/forwarding_table", text, hint);
    }
    topology_.sweep.reset();
    return true;
  }

  void engines() {
    topology_.routing.engines.clear();
    for (const std::string& word : words_of(topology_.routing_engine, ", \t")) {
      if (word == kNoFallback) {
        topology_.routing.no_fallback = true;
      } else if (const auto engine = subnet::engine_named(word)) {
        topology_.routing.engines.push_back(*engine);
      } else if (const auto adaptive = adaptive_engine_named(word)) {
        topology_.routing.engines.push_back(*adaptive);
        topology_.load_balancing.by = "packet";
      } else {
        unknown(word);
      }
    }
    if (topology_.routing.engines.empty()) topology_.routing.engines = {subnet::Engine::kMinhop};
  }

  // NVIDIA's OpenSM prefixes engines with adaptive routing by "ar_".
  static std::optional<subnet::Engine> adaptive_engine_named(std::string_view word) {
    constexpr std::string_view kPrefix = "ar_";
    if (!word.starts_with(kPrefix)) return std::nullopt;
    const auto engine = subnet::engine_named(word.substr(kPrefix.size()));
    return engine && subnet::has_groups(*engine) ? engine : std::nullopt;
  }

  void groups() {
    if (!topology_.load_balancing.is_by_packet()) return;
    for (const subnet::Engine engine : topology_.routing.engines) {
      if (subnet::has_groups(engine)) continue;
      add("/load_balancing/by", "the routing engine " + std::string(subnet::name_of(engine)) + " computes one path to each destination, and no groups of ports",
          "choose minhop, updn, dnup, ftree or dor, or leave \"load_balancing\" out");
    }
  }

  void unknown(const std::string& word) {
    std::vector<std::string> names{std::string(kNoFallback)};
    std::string all;
    for (const subnet::EngineName& one : subnet::kEngineNames) {
      names.emplace_back(one.name);
      all += (all.empty() ? "" : ", ") + std::string(one.name);
    }
    const std::string near = nearest(word, names);
    add("/routing_engine", "there is no routing engine " + in_quotes(word),
        near.empty() ? "there are " + all : "did you mean \"" + near + "\"?");
  }

  // Indices among the subnet's nodes, where adapters precede switches.
  std::vector<std::size_t> switches(const std::string& pointer, const std::vector<std::string>& names) {
    std::vector<std::size_t> found;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string at = pointer + "/" + std::to_string(i);
      const auto named = std::ranges::find(topology_.switches, names[i], &SwitchSpec::name);
      if (named == topology_.switches.end()) {
        std::vector<std::string> all;
        for (const SwitchSpec& one : topology_.switches) all.push_back(one.name);
        const std::string near = nearest(names[i], all);
        add(at, "there is no switch " + in_quotes(names[i]), near.empty() ? "name one of \"switches\"" : "did you mean \"" + near + "\"?");
      } else if (!seen.insert(names[i]).second) {
        add(at, in_quotes(names[i]) + " is named twice", "name each switch once");
      } else {
        found.push_back(topology_.adapters.size() + static_cast<std::size_t>(named - topology_.switches.begin()));
      }
    }
    return found;
  }

  void torus() {
    const TorusSpec& spec = topology_.torus_2qos;
    const bool is_asked =
        std::ranges::find(topology_.routing.engines, subnet::Engine::kTorus2Qos) != topology_.routing.engines.end();
    if (spec.shape.empty()) {
      if (is_asked) add("/torus_2qos", "the engine torus-2QoS needs to know the torus", R"(add, for example, {"shape": "torus 4 4", "switches": [...]})");
      return;
    }
    const auto dimensions = parse_torus(spec.shape);
    if (!dimensions) {
      add("/torus_2qos/shape", in_quotes(spec.shape) + " is no shape of a torus", R"(write, for example, "torus 4 4" or "mesh 3 4t 2")");
      return;
    }
    std::size_t count = 1;
    for (const auto& one : *dimensions) count *= one.size;
    topology_.routing.torus = {*dimensions, switches("/torus_2qos/switches", spec.switches)};
    if (spec.switches.size() == count) return;
    add("/torus_2qos/switches", in_quotes(spec.shape) + " has " + std::to_string(count) + " places, and there are " + std::to_string(spec.switches.size()) +
            " switches", "name the switch of each place; the last size counts fastest");
  }

  // Reads the tables of the engine `file`.
  void tables() {
    const bool is_asked = std::ranges::find(topology_.routing.engines, subnet::Engine::kFile) != topology_.routing.engines.end();
    topology_.routing.tables.clear();
    for (std::size_t i = 0; i < topology_.switches.size(); ++i) {
      const SwitchSpec& one = topology_.switches[i];
      if (one.forwarding_table.empty() && is_asked)
        add(one.pointer, "the switch has no \"forwarding_table\", which the routing engine file reads", "give each switch one, or choose another engine");
      if (one.forwarding_table.empty()) continue;
      if (!is_asked) {
        add("/routing_engine", in_quotes(one.name) + " has a \"forwarding_table\", which only the routing engine file reads",
            R"(write "routing_engine": "file")");
        return;
      }
      subnet::GivenTable given{topology_.adapters.size() + i, {}};
      for (std::size_t n = 0; n < one.forwarding_table.size(); ++n) {
        if (!read_entry(one.forwarding_table[n], one.ports, given))
          add(one.pointer + "/forwarding_table/" + std::to_string(n), in_quotes(one.forwarding_table[n]) + " is not an entry of this switch",
              R"(write "LID:PORT" or "LID-LID:PORT", such as "7:1"; ports are 0 (the switch itself) to )" + std::to_string(one.ports));
      }
      topology_.routing.tables.push_back(std::move(given));
    }
  }

  static bool read_entry(std::string_view text, std::uint32_t ports, subnet::GivenTable& table) {
    constexpr std::uint32_t kMostLid = 0xbfff;
    const std::size_t colon = text.find(':'), dash = text.find('-');
    if (colon == text.npos) return false;
    const auto first = number(text.substr(0, std::min(dash, colon)), kMostLid);
    const auto last = dash < colon ? number(text.substr(dash + 1, colon - dash - 1), kMostLid) : first;
    const auto port = number(text.substr(colon + 1), ports);
    if (!first || !last || !port || *first == 0 || *last < *first) return false;
    for (std::uint32_t lid = *first; lid <= *last; ++lid)
      table.entries.emplace_back(static_cast<std::uint16_t>(lid), static_cast<std::uint8_t>(*port));
    return true;
  }

  static std::optional<std::uint32_t> number(std::string_view text, std::uint32_t most) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > most) return std::nullopt;
    return value;
  }

  void sweep() {
    topology_.sweep.reset();
    if (topology_.sweep_time == "off") return;
    std::string problem, hint;
    const auto duration = parse_quantity(topology_.sweep_time, Dimension::kDuration, &problem, &hint);
    if (duration && *duration >= 0 && *duration <= 1'000'000 * kSecondPs) topology_.sweep = Duration(*duration);
    else add("/sweep_time", in_quotes(topology_.sweep_time) + " is neither \"off\" nor a duration", R"(write, for example, "100 ms")");
  }

  static constexpr std::int64_t kSecondPs = 1'000'000'000'000;

  TopologySpec& topology_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::optional<std::vector<subnet::Torus::Dimension>> parse_torus(std::string_view text) {
  constexpr std::size_t kMostDimensions = 3, kMostDigits = 3;
  const std::vector<std::string> words = words_of(text, " \t");
  if (words.size() < 2 || words.size() > 1 + kMostDimensions || (words[0] != "torus" && words[0] != "mesh")) return std::nullopt;
  std::vector<subnet::Torus::Dimension> dimensions;
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string word = words[i];
    bool is_closed = words[0] == "torus";
    if (const std::size_t letter = std::string_view("mMtT").find(word.back()); letter != std::string_view::npos) {
      is_closed = letter >= 2;
      word.pop_back();
    }
    const bool is_number = !word.empty() && word.size() <= kMostDigits && word.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number || word.front() == '0') return std::nullopt;
    dimensions.push_back({static_cast<std::uint32_t>(std::stoul(word)), is_closed});
  }
  return dimensions;
}

void resolve_routing(TopologySpec& topology, Diagnostics& diagnostics) { RoutingResolver(topology, diagnostics).run(); }

}  // namespace verbatim::config
