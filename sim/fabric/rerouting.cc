#include "sim/fabric/rerouting.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "sim/fabric/flow_hash.h"

namespace verbatim::fabric {

namespace {

// All outputs to a destination; `only` provides the storage for a single one.
std::span<const PortNumber> outputs(const RouteTable& table, std::uint64_t destination, PortNumber& only) {
  const RouteTable::Entry entry = table.entry(destination);
  if (entry == RouteTable::kNone) return {};
  if (RouteTable::is_set(entry)) return table.ports_of(entry);
  only = PortNumber{static_cast<std::uint8_t>(entry)};
  return {&only, 1};
}

}  // namespace

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
    sweep_ = change.sweep.get();
  }
  std::erase_if(changed_, [&](const ChangedPort& changed) { return changed.is_up && now >= changed.since + delay_; });
  if (current_ == nullptr && changed_.empty()) normal_until_ = next_change();
}

PortNumber Rerouting::output(const RouteTable& all, std::uint64_t destination, std::uint64_t hash, std::uint64_t salt,
                             Instant now) {
  // Any nonzero number: makes the second choice independent of the first.
  constexpr std::uint64_t kSecondHash = 0x5ec0'4d00'0000'0001;
  catch_up(now);
  PortNumber only, only_own;
  const std::span<const PortNumber> routes = outputs(current_ == nullptr ? all : *current_->routes, destination, only);
  if (routes.empty()) return RouteTable::kNoRoute;
  const std::span<const PortNumber> own = outputs(all, destination, only_own);
  const auto place = [hash](std::size_t count, std::uint64_t of) {
    return ecmp_index(hash, of, static_cast<std::uint32_t>(count));
  };
  const auto may_take = [&](PortNumber port) { return is_in_use(port, now); };
  if (!own.empty()) {
    const PortNumber first = own[place(own.size(), salt)];
    if (may_take(first) && std::ranges::find(routes, first) != routes.end()) return first;
  }
  const auto in_use = static_cast<std::size_t>(std::ranges::count_if(routes, may_take));
  if (in_use == 0) return routes[place(routes.size(), salt)];
  std::uint32_t before = place(in_use, salt ^ kSecondHash);
  return *std::ranges::find_if(routes, [&](PortNumber port) { return may_take(port) && before-- == 0; });
}

std::vector<PortNumber> Rerouting::outputs_in_use(const RouteTable& all, std::uint64_t destination, Instant now) {
  catch_up(now);
  const std::vector<PortNumber> routes = (current_ == nullptr ? all : *current_->routes).ports_to(destination);
  std::vector<PortNumber> in_use;
  std::ranges::copy_if(routes, std::back_inserter(in_use), [&](PortNumber port) { return is_in_use(port, now); });
  return in_use.empty() ? routes : in_use;
}

const std::vector<PortNumber>* Rerouting::multicast_ports(Instant now) {
  if (now < normal_until_) return nullptr;
  catch_up(now);
  return current_ == nullptr ? nullptr : &current_->multicast_ports;
}

}  // namespace verbatim::fabric
