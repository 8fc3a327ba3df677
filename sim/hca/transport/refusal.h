// Why a responder refuses a request: more than its NAK tells the requester. For people; the wire carries ib::NakCode.
#pragma once

#include <cstdint>

#include "sim/ib/packet.h"

namespace verbatim::hca {

struct Refusal {
  enum Why : std::uint8_t {
    kOperation,            // the service has no such request
    kSequence,             // FIRST or ONLY within a message, MIDDLE or LAST outside of one of their kind
    kSharedReceiveQueue,   // an XRC request names none of the domain
    kRight,                // the queue pair does not let its peer do this
    kResponderResources,   // more READs and atomics at a time than it has resources for
    kPacketLength,         // the payload does not agree with the path MTU
    kMessageLength,        // longer than messages may be
    kAnnouncedLength,      // not the length that the first packet announced
    kAlignment,            // the address of an atomic is not a multiple of 8
    kRemoteKey,            // key, range, right or protection domain
    kReceiveLength,        // the message is longer than the receive it has taken
    kReceiveKey,           // the keys of the receive do not allow it
    kReceiveEntry,         // the receive is nonsense
    kInvalidatedKey,       // the key to invalidate is no window of this queue pair
    kReceiveQueue,         // it failed before
  };

  Why why;
  // For refusals about lengths: the bytes of the packet or message, and the bytes that it may or must have.
  std::uint64_t bytes, limit;
  // For kRemoteKey: the memory of the message, which only its first packet names.
  ib::Reth memory;

  Refusal() {}  // written before it is read
  Refusal(Why why, std::uint64_t bytes = 0, std::uint64_t limit = 0) : why(why), bytes(bytes), limit(limit) {}
  Refusal(Why why, const ib::Reth& memory) : why(why), memory(memory) {}
};

}  // namespace verbatim::hca
