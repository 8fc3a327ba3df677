#include "sim/hca/light/light_delays.h"

#include "sim/core/engine.h"
#include "sim/hca/queues/source_side.h"
#include "sim/host/dma_engine.h"
#include "sim/ib/types.h"
#include "verbs_shim/protocol/rings.h"

namespace verbatim::hca {

namespace {

// The PCI Express connection of an idle adapter, at time 0.
class IdleConnection {
 public:
  explicit IdleConnection(const host::PcieProfile& profile) : profile_(profile) {}

  Duration ring() {
    Trail none;
    host::DmaEngine dma(engine_, ComponentId{0}, profile_);
    return dma.ring(none) - Instant{};
  }
  Duration read(std::uint32_t bytes) {
    struct Reader final : host::DmaClient {
      Instant done = kNever;
      void on_dma_read(std::uint64_t, Instant at_adapter) override { done = at_adapter; }
      void on_dma_write(std::uint64_t) override {}
    } reader;
    Engine engine;  // a new one, at time 0
    host::DmaEngine dma(engine, ComponentId{0}, profile_);
    dma.read(bytes, reader, 0);
    engine.run();
    CHECK(reader.done != kNever);
    return reader.done - Instant{};
  }
  Duration write(std::uint32_t bytes) {
    host::DmaEngine dma(engine_, ComponentId{0}, profile_);
    const host::DmaPiece piece(bytes);
    return dma.write_length({&piece, 1}).visible - Instant{};
  }

 private:
  const host::PcieProfile& profile_;
  Engine engine_;
};

}  // namespace

LightDelays::LightDelays(const HcaProfile& profile) {
  IdleConnection pcie(profile.pcie);
  const ClockDomain clock(profile.core_clock_hz);
  const auto time_of = [&clock](const Stage& stage) { return clock.edge(stage.latency_cycles) - Instant{}; };
  request = pcie.ring() + time_of(profile.doorbell) + pcie.read(SourceSide::fetched_bytes(profile)) +
            time_of(profile.wqe_decode);
  receive = time_of(profile.icrc) + time_of(profile.receive_check);
  acknowledge = time_of(profile.acknowledge) + time_of(profile.icrc);
  complete = time_of(profile.completion) + pcie.write(sizeof(protocol::Cqe));
  packetize_ = time_of(profile.packetize) + time_of(profile.icrc);
  most_ = ib::mtu_bytes(profile.max_mtu);
  first_byte_ = pcie.read(1);
  more_ = pcie.read(static_cast<std::uint32_t>(most_)) - first_byte_;
}

}  // namespace verbatim::hca
