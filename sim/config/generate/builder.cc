#include "sim/config/generate/builder.h"

#include <numeric>

namespace verbatim::config {

namespace {

std::optional<std::uint32_t> parse_part(std::string_view text) {
  constexpr std::size_t kMostDigits = 3;
  if (text.empty() || text.size() > kMostDigits || text.front() == '0' || text.find_first_not_of("0123456789") != text.npos)
    return std::nullopt;
  const auto part = static_cast<std::uint32_t>(std::stoul(std::string(text)));
  return part < Builder::kMostPorts ? std::optional(part) : std::nullopt;
}

std::string port_text(const std::string& of_switch, std::uint32_t port) { return of_switch + ":" + std::to_string(port); }

// Prefix of a switch's name before its number.
std::string_view number_prefix(Tier tier) { return tier == Tier::kSwitch ? "sw" : name_of(tier); }

}  // namespace

std::optional<PortRatio> parse_port_ratio(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto down = parse_part(text.substr(0, colon));
  const auto up = colon == text.npos ? std::optional(1u) : parse_part(text.substr(colon + 1));
  if (!down || !up) return std::nullopt;
  const std::uint32_t common = std::gcd(*down, *up);
  return PortRatio{*down / common, *up / common};
}

Builder::Builder(TopologySpec& topology, const Shape& shape, Diagnostics& diagnostics)
    : topology_(topology),
      spec_(topology.generate),
      shape_(shape),
      diagnostics_(diagnostics),
      shows_places_(spec_.names.empty() ? shape.has_place_names : spec_.names == "place"),
      first_host_(topology.hosts.size()) {}

std::uint32_t Builder::cables(Tier tier) const {
  const std::uint32_t own = tier_of(spec_.per_tier, tier).cables;
  return own != 0 ? own : spec_.cables != 0 ? spec_.cables : 1;
}

PortRatio Builder::oversubscription(Tier tier) const {
  const std::string& own = tier_of(spec_.per_tier, tier).oversubscription;
  return parse_port_ratio(own.empty() ? spec_.oversubscription : own).value_or(PortRatio{});
}

void Builder::refuse(const std::string& key, std::string text, std::string hint) {
  diagnostics_.add(topology_.file, key.empty() ? "/generate" : "/generate/" + key, std::move(text), std::move(hint));
}

void Builder::refuse_without(std::string_view key, std::string hint) {
  refuse("", "the key \"" + std::string(key) + "\" is missing", std::move(hint));
}

bool Builder::fits(const Size& size) {
  constexpr std::uint64_t kLids = 0xbfff;  // of a subnet (IBA 4.1.3)
  const std::string shape = in_quotes(shape_.name);
  if (size.ports > kMostPorts) {
    refuse("", "a switch of this " + shape + " would have " + std::to_string(size.ports) + " ports",
           "a switch has at most " + std::to_string(kMostPorts) + " ports; ask for fewer hosts or cables");
    return false;
  }
  if (spec_.hosts > size.places) {
    refuse("hosts",
           std::to_string(spec_.hosts) + " hosts are too many: this " + shape + " has places for " +
               std::to_string(size.places),
           "ask for fewer hosts, or " + std::string(size.grow));
    return false;
  }
  if (size.switches + spec_.hosts > kLids) {
    refuse("",
           "this " + shape + " would have " + std::to_string(size.switches) + " switches and " +
               std::to_string(spec_.hosts) + " hosts, which need more LIDs than a subnet has",
           "the limit is " + std::to_string(kLids));
    return false;
  }
  topology_.hosts.reserve(topology_.hosts.size() + spec_.hosts);
  topology_.switches.reserve(topology_.switches.size() + size.switches);
  return true;
}

std::size_t Builder::add_switch(Tier tier, const std::string& place, std::uint32_t ports) {
  const TierSpec& own = tier_of(spec_.per_tier, tier);
  SwitchSpec added;
  const std::uint32_t number = switch_counts_[static_cast<std::size_t>(tier)]++;
  added.name = shows_places_ ? place : std::string(number_prefix(tier)) + std::to_string(number);
  added.profile = own.switch_profile.empty() ? spec_.switch_profile : own.switch_profile;
  added.ports = ports;
  added.pointer = own.switch_profile.empty() ? "/generate" : own.pointer;
  topology_.switches.push_back(std::move(added));
  return topology_.switches.size() - 1;
}

std::uint32_t Builder::add_host(const std::string& place, std::uint32_t slot) {
  const bool shows_place = spec_.host_names == "place";
  HostSpec host;
  host.name =
      shows_place ? place + "-" + spec_.host_prefix + std::to_string(slot) : spec_.host_prefix + std::to_string(hosts_);
  host.hca = spec_.hca;
  host.cpu = spec_.cpu;
  host.pointer = "/generate";
  for (std::uint32_t rail = 1; rail < spec_.rails; ++rail)
    host.further_adapters.push_back({.device = further_device_name(rail), .hca = spec_.hca, .pointer = "/generate"});
  topology_.hosts.push_back(std::move(host));
  return hosts_++;
}

void Builder::attach(std::uint32_t host, std::uint32_t rail, std::size_t to_switch, std::uint32_t port) {
  const std::string& owner = topology_.hosts[first_host_ + host].name;
  add_link(Tier::kHost, rail == 0 ? owner : owner + "/" + further_device_name(rail), port_text(name(to_switch), port));
}

void Builder::add_hosts(std::size_t at_switch, std::uint32_t most) {
  for (std::uint32_t slot = 0; slot < most && hosts_ < spec_.hosts; ++slot)
    attach(add_host(name(at_switch), slot), 0, at_switch, slot + 1);
}

void Builder::join(Tier tier, const End& a, const End& b, std::uint32_t cables) {
  for (std::uint32_t c = 0; c < cables; ++c)
    add_link(tier, port_text(name(a.of_switch), a.port + c), port_text(name(b.of_switch), b.port + c));
}

void Builder::add_link(Tier tier, std::string a, std::string b) {
  const TierSpec& own = tier_of(spec_.per_tier, tier);
  LinkSpec link;
  link.a = std::move(a);
  link.b = std::move(b);
  link.rate = own.rate.width == 0 ? spec_.rate : own.rate;
  link.length_mm = own.length_mm == TierSpec::kOfGenerator ? spec_.length_mm : own.length_mm;
  link.flow_control = spec_.flow_control;
  link.pfc = spec_.pfc;
  link.delay_fs_per_mm = own.delay_fs_per_mm == TierSpec::kOfGenerator ? spec_.delay_fs_per_mm : own.delay_fs_per_mm;
  link.pointer = "/generate";
  topology_.links.push_back(std::move(link));
}

}  // namespace verbatim::config
