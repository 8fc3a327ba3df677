// What a responder asks while it looks at a packet: of memory keys, of shared receive queues, of receives.
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
  // Where the bytes lie that the peer names, when it may use them so; `access` is the right that it needs (ib::kRemote…). Of an
  // XRC receiver they are those of the owner of `target`, or, null, of the present one.
  virtual std::optional<host::ProgramAddress> check_remote(const Ref<SharedReceiveQueue>* target, std::uint32_t rkey,
                                                           std::uint64_t va, std::uint32_t length,
                                                           std::uint32_t access) = 0;
  // Ends the use of a memory window; false when the peer may not.
  virtual bool invalidate(std::uint32_t rkey) = 0;

  // The queue that the queue pair takes receives from when it is not its own; an XRC request names it (IBA A14).
  virtual const Ref<SharedReceiveQueue>& target_ref() const = 0;
  virtual void set_target(const Ref<SharedReceiveQueue>& target) = 0;
  // The queue of the domain that has this number; none if there is no such.
  virtual Ref<SharedReceiveQueue> find_target(std::uint32_t number) const = 0;
  // Receives of the queue pair's own queue that no message has taken.
  virtual std::uint32_t unused_receives() const = 0;
  // How many bytes of a receive an Ethernet frame takes.
  virtual std::uint32_t placed_bytes(const ib::Packet& frame) const = 0;

 protected:
  ~ResponderSurroundings() = default;
};

}  // namespace verbatim::hca
