// Bandwidths of PCI Express: the DMA engine alone, with as many transfers as keep a lane busy.
#include <utility>

#include "sim/host/dma_engine.h"
#include "tests/fidelity/target.h"

namespace verbatim::fidelity {
namespace {

using host::DmaEngine;
using host::PcieProfile;

// A connection on which only the lanes take time.
PcieProfile lanes_only(std::uint32_t generation, std::uint32_t lanes) {
  PcieProfile profile;
  profile.generation = generation;
  profile.lanes = lanes;
  profile.outstanding_reads = 1024;
  profile.one_way_latency = profile.memory_read_latency = profile.memory_write_latency = Duration::zero();
  return profile;
}

// Kalia et al., figure 2a: headers, and completions of C_rc = 128 bytes.
PcieProfile kalia() {
  PcieProfile profile = lanes_only(3, 16);
  profile.max_payload_bytes = 128;
  profile.write_header_bytes = profile.read_header_bytes = 26;
  profile.completion_header_bytes = 22;
  return profile;
}

struct Transfers final : host::DmaClient {
  Instant last{};
  void on_dma_read(std::uint64_t, Instant at_adapter) override { last = at_adapter; }
  void on_dma_write(std::uint64_t) override {}
};

constexpr std::uint32_t kTransfers = 1000;

double seconds(Duration duration) { return static_cast<double>(to_ps(duration)) * 1e-12; }

// Time until the data of `count` reads, requested at time 0, are all in the adapter.
Duration time_of_reads(const PcieProfile& profile, std::uint32_t count, std::uint32_t bytes) {
  Engine engine;
  Transfers transfers;
  DmaEngine dma(engine, ComponentId{0}, profile);
  for (std::uint32_t i = 0; i < count; ++i) dma.read(bytes, transfers, 0);
  engine.run();
  return transfers.last - Instant{};
}

// Bytes a second of many reads, without the time until the first completion begins.
double read_rate(const PcieProfile& profile, std::uint32_t bytes) {
  const Duration time =
      time_of_reads(profile, 2 * kTransfers, bytes) - time_of_reads(profile, kTransfers, bytes);
  return kTransfers * static_cast<double>(bytes) / seconds(time);
}

double write_rate(const PcieProfile& profile, std::uint32_t bytes) {
  Engine engine;
  Transfers transfers;
  DmaEngine dma(engine, ComponentId{0}, profile);
  Instant left{};
  for (std::uint32_t i = 0; i < kTransfers; ++i) left = dma.write(bytes, transfers, 0).left_adapter;
  return kTransfers * static_cast<double>(bytes) / seconds(left - Instant{});
}

// When `count` pushes of so many bytes have all arrived.
Duration time_of_pushes(const PcieProfile& profile, std::uint32_t count, std::uint32_t bytes) {
  Engine engine;
  DmaEngine dma(engine, ComponentId{0}, profile);
  Instant last{};
  Trail nobody;
  for (std::uint32_t i = 0; i < count; ++i) last = dma.push(bytes, nobody);
  return last - Instant{};
}

double bytes_in(const PcieProfile& profile, Duration time) {
  return seconds(time) / seconds(host::tlp_byte_time(profile).time_for(1'000'000)) * 1e6;
}

}  // namespace

Simulated measure_kalia_pcie(const Wanted&) {
  const PcieProfile profile = kalia();
  // Appendix A: ten WQEs of 65 bytes, which are two lines each.
  constexpr std::uint32_t kWqes = 10, kWqeLines = 128, kDoorbell = 8;
  const Duration requests = host::tlp_byte_time(profile).time_for(profile.read_header_bytes);
  const Duration doorbell = time_of_pushes(profile, 1, kDoorbell);
  const Duration fetches = time_of_reads(profile, kWqes, kWqeLines) - requests;
  return {
      {"mmio_lines", kTransfers / seconds(time_of_pushes(profile, kTransfers, 64)) / 1e6},
      {"dma_read", read_rate(profile, 4096) / 1e6},
      {"wqes_by_mmio", bytes_in(profile, time_of_pushes(profile, kWqes, kWqeLines))},
      {"wqes_by_doorbell", bytes_in(profile, doorbell + fetches)},
  };
}

Simulated measure_pcie_model(const Wanted&) {
  Simulated simulated;
  const struct {
    const char* name;
    std::uint32_t generation, lanes;
  } kConnections[] = {{"gen3_x8", 3, 8}, {"gen3_x16", 3, 16}, {"gen4_x16", 4, 16}, {"gen5_x16", 5, 16}};
  for (const auto& [name, generation, lanes] : kConnections) {
    PcieProfile profile = lanes_only(generation, lanes);
    // Bytes from ACK to ACK that the specification recommends for MPS 256 (table 3-7).
    profile.dllp_interval_bytes = lanes == 8 ? 203 : 168;
    const auto gigabits = [](double bytes_per_second) { return bytes_per_second * 8 / 1e9; };
    const std::string of = std::string(".") + name;
    simulated["tlp" + of] = gigabits(write_rate(profile, 256) * (256 + profile.write_header_bytes) / 256);
    simulated["write_256" + of] = gigabits(write_rate(profile, 256));
    simulated["write_64" + of] = gigabits(write_rate(profile, 64));
    simulated["read_256" + of] = gigabits(read_rate(profile, 256));
  }
  return simulated;
}

}  // namespace verbatim::fidelity
