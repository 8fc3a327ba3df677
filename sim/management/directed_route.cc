#include "sim/management/directed_route.h"

#include "sim/ib/lid_ranges.h"
#include "sim/mad/smp.h"

namespace verbatim::management {

namespace {

using mad::smp::DirectedRoute;

constexpr Hop kHopHere{Hop::Action::kHere, 0, {}};
constexpr Hop by_port(std::uint8_t port) { return {Hop::Action::kByPort, port, {}}; }
constexpr Hop by_lid(std::uint16_t lid) { return {Hop::Action::kByLid, 0, ib::Lid{lid}}; }
constexpr bool is_permissive(std::uint16_t lid) { return lid == ib::kPermissiveLid.value; }

Hop depart_on(DirectedRoute& route, ib::Lid reply_to) {
  if (!route.is_return) {
    // To the node where the directed part begins.
    if (!is_permissive(route.drslid)) return by_lid(reply_to.value);
    if (route.hop_pointer != 0) return {};
    route.hop_pointer = 1;
    if (route.hop_count > 0) return by_port(route.initial_path[1]);
    return is_permissive(route.drdlid) ? kHopHere : by_lid(route.drdlid);
  }
  if (route.hop_pointer != route.hop_count + 1) return {};
  if (!is_permissive(route.drdlid)) return by_lid(reply_to.value);
  if (--route.hop_pointer > 0) return by_port(route.return_path[route.hop_pointer]);
  return is_permissive(route.drslid) ? kHopHere : by_lid(route.drslid);
}

Hop arrive_on(DirectedRoute& route, std::uint8_t in_port, std::uint8_t ports) {
  const bool forwards = ports > 0;
  std::uint8_t& at = route.hop_pointer;
  if (!route.is_return) {
    if (at > route.hop_count) return at == route.hop_count + 1 ? kHopHere : Hop{};
    if (at > 0) route.return_path[at] = in_port;
    ++at;
    if (at <= route.hop_count) return forwards ? by_port(route.initial_path[at]) : Hop{};
    if (is_permissive(route.drdlid)) return kHopHere;
    return forwards ? by_lid(route.drdlid) : Hop{};
  }
  if (at == 0) return kHopHere;
  if (at > route.hop_count + 1) return {};
  if (--at > 0) return forwards ? by_port(route.return_path[at]) : Hop{};
  if (is_permissive(route.drslid)) return kHopHere;
  return forwards ? by_lid(route.drslid) : Hop{};
}

// The hop count exceeds the paths of the datagram.
bool is_too_long(const DirectedRoute& route) {
  return route.hop_count >= DirectedRoute::kHops || route.hop_pointer > DirectedRoute::kHops;
}

}  // namespace

Hop depart(ib::Mad& mad, ib::Lid reply_to) {
  DirectedRoute route = DirectedRoute::of(mad);
  if (is_too_long(route)) return {};
  const Hop hop = depart_on(route, reply_to);
  route.put(mad);
  return hop;
}

Hop arrive(ib::Mad& mad, std::uint8_t in_port, std::uint8_t ports) {
  DirectedRoute route = DirectedRoute::of(mad);
  if (is_too_long(route)) return {};
  const Hop hop = arrive_on(route, in_port, ports);
  if (hop.action == Hop::Action::kByPort && (hop.port == 0 || hop.port > ports)) return {};
  route.put(mad);
  return hop;
}

}  // namespace verbatim::management
