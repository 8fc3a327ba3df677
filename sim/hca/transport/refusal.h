// Reason why a responder refuses a request, in more detail than the NAK code that the requester gets. For
// diagnoses.
#pragma once

#include <cstdint>

#include "sim/ib/packet.h"

namespace verbatim::hca {

struct Refusal {
  enum Why : std::uint8_t {
    kOperation,            // the transport service has no such request
    kSequence,             // FIRST or ONLY within a message, MIDDLE or LAST outside of a message of their kind
    kSharedReceiveQueue,   // the XRC request's SRQ number is not in the domain
    kRight,                // the queue pair's access flags do not permit it
    kResponderResources,   // more outstanding READs and atomics than responder resources
    kPacketLength,         // the payload's length is wrong for the path MTU
    kMessageLength,        // longer than the maximum message
    kAnnouncedLength,      // not the length in the first packet
    kAlignment,            // the address of an atomic is not a multiple of 8
    kRemoteKey,            // key, range, right or protection domain
    kReceiveLength,        // the message is longer than its receive
    kReceiveKey,           // the keys of the receive do not permit it
    kReceiveEntry,         // the receive's ring entry is malformed
    kInvalidatedKey,       // the key to invalidate is no window of this queue pair
    kReceiveQueue,         // the receive queue has failed
  };

  Why why;
  // For refusals about lengths: the bytes of the packet or message, and the permitted or required number.
  std::uint64_t bytes, limit;
  // For kRemoteKey: the RETH of the message, which only its first packet has.
  ib::Reth memory;

  Refusal() {}  // uninitialised; written before it is read
  Refusal(Why why, std::uint64_t bytes = 0, std::uint64_t limit = 0) : why(why), bytes(bytes), limit(limit) {}
  Refusal(Why why, const ib::Reth& memory) : why(why), memory(memory) {}
};

}  // namespace verbatim::hca
