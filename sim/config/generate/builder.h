// Adds hosts, switches and cables of a shape to a topology, with the names, profiles and rates that the generator's keys
// give them. Names and order follow from the keys alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/config/diagnostics.h"
#include "sim/config/generate/shapes.h"
#include "sim/config/spec.h"

namespace verbatim::config {

// Ratio of ports down to ports up, in lowest terms.
struct PortRatio {
  std::uint32_t down = 1, up = 1;
  std::uint32_t sum() const { return down + up; }
  std::string text() const { return std::to_string(down) + ":" + std::to_string(up); }
};
// "2:1", or "2" for "2:1"; parts are 1 to 253. nullopt if the text is not of this form.
std::optional<PortRatio> parse_port_ratio(std::string_view text);

class Builder {
 public:
  static constexpr std::uint32_t kMostPorts = 254;  // of a switch

  Builder(TopologySpec& topology, const Shape& shape, Diagnostics& diagnostics);

  const GeneratorSpec& spec() const { return spec_; }
  TopologySpec& topology() { return topology_; }
  std::uint32_t cables(Tier tier) const;        // parallel cables between two switches that this tier joins
  PortRatio oversubscription(Tier tier) const;  // of the key, whose text is valid

  // Adds a finding at a key of the generator; an empty `key` means the generator itself.
  void refuse(const std::string& key, std::string text, std::string hint);
  void refuse_without(std::string_view key, std::string hint);  // reports a missing key that this shape needs

  // Whether a shape of this size can be built and has places for all hosts; if so, reserves memory, else adds
  // a finding. `grow`: hint on how to make the shape larger.
  struct Size {
    std::uint64_t places, switches, ports;  // places for hosts; ports of the largest switch
    const char* grow;
  };
  bool fits(const Size& size);

  // `place` becomes the name if names show the place. Returns the switch's index.
  std::size_t add_switch(Tier tier, const std::string& place, std::uint32_t ports);
  const std::string& name(std::size_t of_switch) const { return topology_.switches[of_switch].name; }

  // Returns the host's number, from 0. `slot` is its number within the place.
  std::uint32_t add_host(const std::string& place, std::uint32_t slot);
  // Adds a cable from the adapter number `rail` of a host to a port of a switch.
  void attach(std::uint32_t host, std::uint32_t rail, std::size_t to_switch, std::uint32_t port);
  // Adds up to `most` of the remaining hosts at ports 1, 2, … of the switch.
  void add_hosts(std::size_t at_switch, std::uint32_t most);

  struct End {
    std::size_t of_switch;
    std::uint32_t port;  // of the first cable; further ones use the next ports
  };
  // Adds `cables` parallel cables between two switches.
  void join(Tier tier, const End& a, const End& b, std::uint32_t cables = 1);

 private:
  void add_link(Tier tier, std::string a, std::string b);

  TopologySpec& topology_;
  const GeneratorSpec spec_;
  const Shape& shape_;
  Diagnostics& diagnostics_;
  const bool shows_places_;
  std::size_t first_host_;
  std::uint32_t hosts_ = 0;                       // added so far
  std::array<std::uint32_t, 8> switch_counts_{};  // added so far, by tier
};

}  // namespace verbatim::config
