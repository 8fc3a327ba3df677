#include "sim/hca/datapath/adapter.h"

#include <cerrno>
#include <cstring>

#include "sim/hca/datapath/queue_pair.h"
#include "sim/ib/addressee.h"
#include "sim/ib/group_address.h"

namespace verbatim::hca {

Adapter::Adapter(Engine& engine, Tracer& tracer, Choices& choices, ComponentId id, const HcaProfile& profile,
                 const PortAddress& address)
    : AdapterBase(engine, tracer, choices, id, profile, address),
      dma(engine, id, profile.pcie),
      memory(profile.max_dm_size),
      input(*this),
      contexts(*this, dma, profile.context_cache),
      caches(*this, dma),
      notifier(*this, dma, keys),
      completions(*this, dma, payloads, counters),
      records(*this),
      placements(*this, caches),
      payloads(*this, dma, memory, keys, notifier),
      atomics(*this, dma, memory, payloads, notifier),
      fetcher(*this, dma, contexts),
      recoveries(RecoveryDelays<Ref<QueuePair>>::of<&Adapter::on_recovery>(engine, id, this)),
      sender(*this, dma, caches, payloads, receiver, steering, multicast),
      receiver(*this, input, contexts, caches, counters, steering, services, multicast, qps),
      steering(*this, input),
      services(*this, dma, sender, key_guard) {}

void Adapter::on_recovery() {
  take_due(recoveries, engine.now(), [](const PutOff<Ref<QueuePair>>& step) {
    if (QueuePair* const qp = step.qp.get()) qp->executor.recover(step);
  });
}

int Adapter::check_global_path(const protocol::AddressVector& path, bool may_lead_to_group) const {
  if (path.is_global == 0) {
    return address.roce ? diagnoses.refuse(EINVAL, "a path on Ethernet needs a GRH (ah_attr.is_global)") : 0;
  }
  if (path.sgid_index >= address.gids.size()) {
    return diagnoses.refuse(path.sgid_index < profile.gid_table_length ? ENODATA : EINVAL, "sgid_index ", path.sgid_index,
                            ": the GID table has entries 0 to ", address.gids.size() - 1);
  }
  if (address.gids[path.sgid_index] == ib::Gid{}) {
    return diagnoses.refuse(ENODATA, "sgid_index ", path.sgid_index, ": that entry of the GID table is empty");
  }
  if (!address.roce) return 0;
  ib::Gid to;
  std::memcpy(to.raw, path.dgid, sizeof(to.raw));
  const ib::Gid& from = address.gids[path.sgid_index];
  if (ib::is_ipv4_mapped(to) != ib::is_ipv4_mapped(from)) {
    return diagnoses.refuse(EINVAL, "sgid_index ", path.sgid_index, " is ", ib::text_of(from), " and dgid is ", ib::text_of(to),
                            ": one is of IPv4, the other of IPv6; another sgid_index may be of the right type");
  }
  if (to == ib::Gid{}) return diagnoses.refuse(EINVAL, "dgid is all zeros");
  if (ib::is_multicast(to)) {
    return may_lead_to_group ? 0 : diagnoses.refuse(EINVAL, "dgid ", ib::text_of(to), " is a multicast GID; a connection needs the GID of one port");
  }
  // The kernel's errno when address resolution gets no answer.
  if (address.neighbours->find(to)) return 0;
  return diagnoses.refuse(ETIMEDOUT, "address resolution got no answer for dgid ", ib::text_of(to));
}

}  // namespace verbatim::hca
