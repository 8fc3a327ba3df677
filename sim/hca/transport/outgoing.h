// A packet that a queue pair has decided to send.
#pragma once

#include <cstdint>

#include "sim/hca/slot.h"
#include "sim/host/program_memory.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

class QueuePair;

// Contiguous bytes, in a program or in the adapter's memory, that are payload of a packet.
struct GatherPiece {
  host::ProgramAddress address = 0;
  std::uint32_t length = 0;
  std::uint32_t key = 0;     // L_Key, or R_Key of a READ, that names the memory
  std::uint32_t behind = 0;  // bytes of the same scatter entry behind them
};

struct Outgoing {
  ib::PacketPtr packet;
  Ref<QueuePair> qp;
  std::uint32_t epoch = 0;  // epoch of its requester or response queue; after a retry or reset it is not sent
  bool is_response = false;
  bool needs_gather = false;
  bool frees_resource = false;  // the last packet of a response
  std::uint32_t work = 0;       // SendWork::sequence of the request whose bytes it carries; responses: the R_Key
  std::uint32_t offset = 0;     // offset of its payload in the message
  host::ProgramAddress address = 0;  // responses: address of its payload in the program
};

}  // namespace verbatim::hca
