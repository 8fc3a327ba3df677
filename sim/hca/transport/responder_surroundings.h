// Questions of a responder about memory keys, shared receive queues and receives while it checks a packet.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/hca/slot.h"
#include "sim/host/program_memory.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

class SharedReceiveQueue;

class ResponderSurroundings {
 public:
  // Address in the program of the bytes that the peer names; none when it has no right to `access`
  // (ib::kRemote…). For an XRC receiver the memory is that of the owner of `target`; null: of the present
  // target.
  virtual std::optional<host::ProgramAddress> check_remote(const Ref<SharedReceiveQueue>* target, std::uint32_t rkey,
                                                           std::uint64_t va, std::uint32_t length,
                                                           std::uint32_t access) = 0;
  // Invalidates the key of a memory window; false when the peer may not.
  virtual bool invalidate(std::uint32_t rkey) = 0;

  // The shared receive queue that receives are taken from; none: the queue pair has its own. An XRC request
  // names it (IBA A14).
  virtual const Ref<SharedReceiveQueue>& target_ref() const = 0;
  virtual void set_target(const Ref<SharedReceiveQueue>& target) = 0;
  // The shared receive queue of the XRC domain with this number, or none.
  virtual Ref<SharedReceiveQueue> find_target(std::uint32_t number) const = 0;
  // Receives of the queue pair's own queue that no message has taken.
  virtual std::uint32_t unused_receives() const = 0;
  // Bytes of a receive that an Ethernet frame takes.
  virtual std::uint32_t placed_bytes(const ib::Packet& frame) const = 0;

 protected:
  ~ResponderSurroundings() = default;
};

}  // namespace verbatim::hca
