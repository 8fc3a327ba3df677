#include "sim/ib/packet.h"

#include <new>
#include <utility>

#include "sim/core/check.h"
#include "sim/core/sanitizer.h"
#include "sim/ib/wire.h"

namespace verbatim::ib {

namespace {

class PacketPool {
 public:
  ~PacketPool() {
    while (free_ != nullptr) ::operator delete(std::exchange(free_, free_->next));
  }
  void* take() {
    if (free_ == nullptr) return ::operator new(sizeof(Packet));
    return std::exchange(free_, free_->next);
  }
  void give_back(void* packet) {
    if (kHasAddressSanitizer) return ::operator delete(packet);
    free_ = ::new (packet) Free{free_};
  }

 private:
  struct Free {
    Free* next;
  };
  static_assert(sizeof(Free) <= sizeof(Packet) && alignof(Packet) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

  Free* free_ = nullptr;
};

thread_local PacketPool packet_pool;

}  // namespace

void* Packet::operator new(std::size_t size) {
  CHECK(size == sizeof(Packet));
  return packet_pool.take();
}

void Packet::operator delete(void* packet) noexcept { packet_pool.give_back(packet); }

std::uint32_t Packet::wire_bytes() const {
  if (is_frame) [[unlikely]] return payload.length + kFrameCheckBytes;
  const std::uint32_t padded = (payload.length + 3) & ~3u;
  const std::uint32_t transport = kBthBytes + info(bth.opcode).extended_header_bytes + padded + kIcrcBytes;
  if (!ethernet) return kLrhBytes + (grh ? kGrhBytes : 0) + transport + kVcrcBytes;
  // Always more than the 64 bytes that a frame must have.
  return kEthernetBytes + (is_over_ipv4(*this) ? kIpv4Bytes : kIpv6Bytes) + kUdpBytes + transport +
         kFrameCheckBytes;
}

}  // namespace verbatim::ib
