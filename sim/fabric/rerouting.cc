#include "sim/fabric/rerouting.h"

#include <algorithm>

#include "sim/fabric/flow_hash.h"

namespace verbatim::fabric {

void Rerouting::on_link(PortNumber port, bool up, Instant now) {
  auto changed = std::ranges::find(changed_, port, &ChangedPort::port);
  if (changed == changed_.end()) changed = changed_.insert(changed, ChangedPort{port});
  changed->was_in_use = is_in_use(*changed, now);
  changed->is_up = up;
  changed->since = now;
  normal_until_ = std::min(normal_until_, now + delay_);
}

bool Rerouting::is_in_use(PortNumber port, Instant now) const {
  const auto changed = std::ranges::find(changed_, port, &ChangedPort::port);
  return changed == changed_.end() || is_in_use(*changed, now);
}

void Rerouting::catch_up(Instant now) {
  while (now >= next_change()) {
    const RouteChange& change = changes_[next_++];
    current_ = change.routes == nullptr ? nullptr : &change;
  }
  std::erase_if(changed_, [&](const ChangedPort& changed) { return changed.is_up && now >= changed.since + delay_; });
  if (current_ == nullptr && changed_.empty()) normal_until_ = next_change();
}

PortNumber Rerouting::output(const RouteTable& all, std::uint64_t destination, std::uint64_t hash, std::uint64_t salt,
                             Instant now) {
  // Any number that differs from 0: the second choice has nothing to do with the first.
  constexpr std::uint64_t kSecondHash = 0x5ec0'4d00'0000'0001;
  catch_up(now);
  const auto choose = [hash](const std::vector<PortNumber>& ports, std::uint64_t of) {
    return ports[way_of(hash, of, static_cast<std::uint32_t>(ports.size()))];
  };
  const std::vector<PortNumber> routes = (current_ == nullptr ? all : *current_->routes).ports_to(destination);
  if (routes.empty()) return RouteTable::kNoRoute;
  std::vector<PortNumber> in_use = routes;
  std::erase_if(in_use, [&](PortNumber port) { return !is_in_use(port, now); });
  if (in_use.empty()) return choose(routes, salt);
  const std::vector<PortNumber> own = all.ports_to(destination);
  if (!own.empty()) {
    const PortNumber first = choose(own, salt);
    if (std::ranges::find(in_use, first) != in_use.end()) return first;
  }
  return choose(in_use, salt ^ kSecondHash);
}

const std::vector<PortNumber>* Rerouting::multicast_ports(Instant now) {
  if (now < normal_until_) return nullptr;
  catch_up(now);
  return current_ == nullptr ? nullptr : &current_->multicast_ports;
}

}  // namespace verbatim::fabric
