// The work source of a queue pair that belongs to no program, and the adapter's state for it.
#pragma once

#include <cstdint>

#include "sim/hca/hca_profile.h"
#include "sim/hca/queues/work_request.h"
#include "sim/hca/work_source.h"

namespace verbatim::hca {

struct SourceSide {
  // Bytes of the scatter list of a program's request with one buffer.
  static constexpr std::uint32_t kScatterBytes = sizeof(protocol::Sge);
  // Bytes of a source's request in a ring, and bytes that an adapter reads to fetch a single one.
  static std::uint32_t ring_entry_bytes() { return send_entry_bytes(kScatterBytes); }
  static std::uint32_t fetched_bytes(const HcaProfile& profile);

  static constexpr std::uint32_t kAccess = ib::kLocalWrite | ib::kRemoteWrite | ib::kRemoteRead;  // rights to its memory

  WorkSource& source;
  std::uint32_t key = 0;        // R_Key of the memory without bytes on this side
  std::uint32_t peer_key = 0;   // R_Key of that of the peer
  std::uint64_t capacity = 0;   // bytes of either memory
  std::uint32_t producer = 0;   // requests announced
  std::uint32_t received = 0;   // SENDs begun

  // The next request of the source, which gets this number.
  SendWork next_work(std::uint32_t qpn, std::uint32_t number) const;
  // A receive for a SEND whose first packet has arrived.
  RecvWork take_receive();
};

// Attributes of a source's queue pair: the connection and its retries. The peer may write and read its
// memory.
protocol::QpAttributes attributes_of(const SourcePath& path);

}  // namespace verbatim::hca
