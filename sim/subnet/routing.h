// Routing engines by OpenSM's names, and their parameters (opensm(8), opensm.conf). All engines work on the
// same addresses; ROUTING.md has their properties.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace verbatim::subnet {

enum class Engine : std::uint8_t { kMinhop, kUpdn, kDnup, kFtree, kLash, kDor, kTorus2Qos, kDfsssp, kFile };

struct EngineName {
  Engine engine;
  std::string_view name;
};
inline constexpr std::array<EngineName, 9> kEngineNames = {{{Engine::kMinhop, "minhop"},
                                                            {Engine::kUpdn, "updn"},
                                                            {Engine::kDnup, "dnup"},
                                                            {Engine::kFtree, "ftree"},
                                                            {Engine::kLash, "lash"},
                                                            {Engine::kDor, "dor"},
                                                            {Engine::kTorus2Qos, "torus-2QoS"},
                                                            {Engine::kDfsssp, "dfsssp"},
                                                            {Engine::kFile, "file"}}};

constexpr std::string_view name_of(Engine engine) {
  for (const EngineName& one : kEngineNames) {
    if (one.engine == engine) return one.name;
  }
  return "";
}
constexpr std::optional<Engine> engine_named(std::string_view name) {
  for (const EngineName& one : kEngineNames) {
    if (one.name == name) return one.engine;
  }
  return std::nullopt;
}

// Whether, if the engine's chosen paths are free of credit loops, all shortest paths that it permits are,
// too, so that adaptive routing may use any of them. Layers (lash, dfsssp), datelines and given tables hold
// for single paths only.
constexpr bool has_groups(Engine engine) {
  return engine == Engine::kMinhop || engine == Engine::kUpdn || engine == Engine::kDnup || engine == Engine::kFtree ||
         engine == Engine::kDor;
}

// A torus or mesh of switches, as in the first line of torus-2QoS.conf, and the positions of the switches.
struct Torus {
  struct Dimension {
    std::uint32_t size = 1;
    bool is_closed = true;  // the last switch has a cable to the first
    friend bool operator==(const Dimension&, const Dimension&) = default;
  };
  std::vector<Dimension> dimensions;  // at most 3; x first
  // Indices into the nodes; the last dimension changes fastest. The product of the sizes is their number.
  std::vector<std::size_t> switches;
};

// A given forwarding table of a switch: LID and port; 0 is the switch itself.
struct GivenTable {
  std::size_t node = 0;  // index into the nodes
  std::vector<std::pair<std::uint16_t, std::uint8_t>> entries;
};

struct Routing {
  // Tried in this order. If none can route the fabric, minhop is used unless `no_fallback`.
  std::vector<Engine> engines = {Engine::kMinhop};
  bool no_fallback = false;
  // For updn and ftree, indices into the nodes; empty: found from the cabling.
  std::vector<std::size_t> roots;
  Torus torus;                     // for torus-2QoS
  std::vector<GivenTable> tables;  // for file: one per switch
  std::uint32_t lanes = 1;         // data lanes of every cable between switches
};

}  // namespace verbatim::subnet
