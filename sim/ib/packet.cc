#include "sim/ib/packet.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

#include "sim/core/check.h"
#include "sim/core/sanitizer.h"
#include "sim/ib/telemetry.h"

namespace verbatim::ib {

static_assert(offsetof(Packet, trail) + sizeof(Packet::trail) == kPacketLineBytes);
static_assert(offsetof(Packet, flow_hash) + sizeof(Packet::flow_hash) <= 2 * kPacketLineBytes);

namespace {

constexpr std::align_val_t kAlignment{alignof(Packet)};

// Free packets, the last freed one first. They are allocated in blocks of many, which are freed with the
// pool.
class PacketPool {
 public:
  ~PacketPool() {
    if (packets_out_ != 0) return;  // the thread ends before its packets: their memory stays
    while (blocks_ != nullptr) ::operator delete(std::exchange(blocks_, blocks_->next), kAlignment);
  }
  void* take() {
    if (kHasAddressSanitizer) return ::operator new(sizeof(Packet), kAlignment);
    if (free_ == nullptr) [[unlikely]] add_block();
    ++packets_out_;
    return std::exchange(free_, free_->next);
  }
  void give_back(void* packet) {
    if (kHasAddressSanitizer) return ::operator delete(packet, kAlignment);
    --packets_out_;
    free_ = ::new (packet) Free{free_};
  }

 private:
  struct Free {
    Free* next;
  };
  static_assert(sizeof(Free) <= sizeof(Packet));

  void add_block() {
    const std::size_t packets = std::min(kMostPackets, kLeastPackets + packets_);
    auto* const block = static_cast<std::byte*>(::operator new((packets + 1) * sizeof(Packet), kAlignment));
    blocks_ = ::new (block) Free{blocks_};
    for (std::size_t i = packets; i > 0; --i) free_ = ::new (block + i * sizeof(Packet)) Free{free_};
    packets_ += packets;
  }

  static constexpr std::size_t kLeastPackets = 15, kMostPackets = 1023;  // per block
  Free* free_ = nullptr;
  Free* blocks_ = nullptr;        // each block begins with its link
  std::size_t packets_ = 0;       // in all blocks
  std::ptrdiff_t packets_out_ = 0;  // taken from this pool minus given back to it
};

thread_local PacketPool packet_pool;

}  // namespace

void* Packet::operator new(std::size_t size) {
  CHECK(size == sizeof(Packet));
  return packet_pool.take();
}

void Packet::operator delete(void* packet) noexcept { packet_pool.give_back(packet); }

void Packet::delete_with_telemetry(Packet* packet) noexcept {
  auto* const whole = static_cast<TelemetryPacket*>(packet);
  whole->~TelemetryPacket();
  ::operator delete(static_cast<void*>(whole), kAlignment);
}

PacketPtr with_telemetry(PacketPtr packet, const Telemetry& telemetry) {
  void* const memory = ::operator new(sizeof(TelemetryPacket), kAlignment);
  auto* const whole = ::new (memory) TelemetryPacket{{std::move(*packet)}, telemetry};
  whole->has_telemetry.value = true;
  whole->telemetry_bytes = telemetry.kind == TelemetryKind::kRecords ? kTelemetryBytes : std::uint8_t{0};
  return PacketPtr(whole);
}

}  // namespace verbatim::ib
