#include "sim/hca/adapter.h"

#include <cerrno>
#include <cstring>

#include "sim/hca/queues/queue_pair.h"

namespace verbatim::hca {

Adapter::Adapter(Engine& engine, Tracer& tracer, Choices& choices, ComponentId id, const HcaProfile& profile,
                 const PortAddress& address)
    : engine(engine),
      tracer(tracer),
      choices(choices),
      id(id),
      profile(profile),
      address(address),
      clock(profile.core_clock_hz),
      dma(engine, id, profile.pcie),
      memory(profile.max_dm_size),
      contexts(*this, profile.context_cache),
      protections(*this, profile.protection_cache),
      translations(*this, profile.translation_cache),
      notifier(*this),
      completions(*this),
      placements(*this),
      payloads(*this),
      atomics(*this),
      fetcher(*this),
      sender(*this),
      receiver(*this),
      steering(*this) {}

int Adapter::check_global_path(const protocol::AddressVector& path) const {
  if (path.is_global == 0) return address.roce ? EINVAL : 0;
  if (path.sgid_index >= address.gids.size())
    return path.sgid_index < profile.gid_table_length ? ENODATA : EINVAL;
  if (!address.roce) return 0;
  ib::Gid to;
  std::memcpy(to.raw, path.dgid, sizeof(to.raw));
  constexpr std::uint8_t kMulticast = 0xff;
  if (to.raw[0] == kMulticast) return EOPNOTSUPP;  // there are no groups on Ethernet
  if (ib::is_ipv4_mapped(to) != ib::is_ipv4_mapped(address.gids[path.sgid_index])) return EINVAL;
  if (to == ib::Gid{}) return EINVAL;
  // What a kernel answers when nobody answers its own question for the address.
  return address.neighbours->find(to) ? 0 : ETIMEDOUT;
}

}  // namespace verbatim::hca
