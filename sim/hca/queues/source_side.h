// The work source of a queue pair that belongs to no program, and what the adapter keeps for it.
#pragma once

#include <cstdint>

#include "sim/hca/hca_profile.h"
#include "sim/hca/queues/work_request.h"
#include "sim/hca/work_source.h"

namespace verbatim::hca {

struct SourceSide {
  // The size of the scatter list that a program's request for one buffer has.
  static constexpr std::uint32_t kScatterBytes = sizeof(protocol::Sge);
  // Bytes that a request of a source takes of a ring, and bytes that an adapter reads to fetch one alone.
  static std::uint32_t ring_entry_bytes() { return send_entry_bytes(kScatterBytes); }
  static std::uint32_t fetched_bytes(const HcaProfile& profile);

  static constexpr std::uint32_t kAccess = ib::kLocalWrite | ib::kRemoteWrite | ib::kRemoteRead;  // to its memory

  WorkSource& source;
  std::uint32_t key = 0;        // of the memory without bytes here
  std::uint32_t peer_key = 0;   // and at the peer
  std::uint64_t capacity = 0;   // of either, bytes
  std::uint32_t producer = 0;   // requests announced
  std::uint32_t received = 0;   // SENDs begun

  // The request with this number, which is the source's next.
  SendWork next_work(std::uint32_t qpn, std::uint32_t number) const;
  // A receive for the SEND that begins now.
  RecvWork take_receive();
};

// Attributes of a source's queue pair, whose memory its peer may write and read: the connection and its retries.
protocol::QpAttributes attributes_of(const SourcePath& path);

}  // namespace verbatim::hca
