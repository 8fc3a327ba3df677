// Routing engines by OpenSM's names, and what they are given (opensm(8), opensm.conf). Each lays forwarding tables for the same
// addresses; README says what each promises.
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

// Whether all shortest ways that the engine allows are free of credit loops where those that it chooses are, so that adaptive
// routing may take any of them. Layers (lash, dfsssp), datelines and given tables are of one way each.
constexpr bool has_groups(Engine engine) {
  return engine == Engine::kMinhop || engine == Engine::kUpdn || engine == Engine::kDnup || engine == Engine::kFtree ||
         engine == Engine::kDor;
}

// A torus or mesh of switches, as the first line of torus-2QoS.conf says it, and who is where.
struct Torus {
  struct Dimension {
    std::uint32_t size = 1;
    bool is_closed = true;  // the last switch has a cable to the first
    friend bool operator==(const Dimension&, const Dimension&) = default;
  };
  std::vector<Dimension> dimensions;  // at most 3; x first
  // Indices into the nodes; the last dimension changes fastest. As many as the product of the sizes.
  std::vector<std::size_t> switches;
};

// A switch's forwarding table that is given: LID and port; 0 is the switch itself.
struct GivenTable {
  std::size_t node = 0;  // index into the nodes
  std::vector<std::pair<std::uint16_t, std::uint8_t>> entries;
};

struct Routing {
  // Tried in this order. If none of them can route the fabric, minhop does, unless `no_fallback`.
  std::vector<Engine> engines = {Engine::kMinhop};
  bool no_fallback = false;
  std::vector<std::size_t> roots;  // of updn and ftree, indices into the nodes; none: found from the cabling
  Torus torus;                     // of torus-2QoS
  std::vector<GivenTable> tables;  // of file: of every switch
  std::uint32_t lanes = 1;         // data lanes that every cable between switches has
};

}  // namespace verbatim::subnet
