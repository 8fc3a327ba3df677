#include "sim/ib/packet.h"

#include <new>
#include <utility>

#include "sim/core/check.h"
#include "sim/core/sanitizer.h"
#include "sim/ib/telemetry.h"

namespace verbatim::ib {

static_assert(offsetof(Packet, ethernet) + sizeof(Packet::ethernet) == kPacketHotBytes);

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

void Packet::delete_with_telemetry(Packet* packet) noexcept {
  auto* const whole = static_cast<TelemetryPacket*>(packet);
  whole->~TelemetryPacket();
  ::operator delete(static_cast<void*>(whole));
}

PacketPtr with_telemetry(PacketPtr packet, const Telemetry& telemetry) {
  void* const memory = ::operator new(sizeof(TelemetryPacket));
  auto* const whole = ::new (memory) TelemetryPacket{{std::move(*packet)}, telemetry};
  whole->has_telemetry.value = true;
  whole->telemetry_bytes = telemetry.kind == TelemetryKind::kRecords ? kTelemetryBytes : std::uint8_t{0};
  return PacketPtr(whole);
}

}  // namespace verbatim::ib
