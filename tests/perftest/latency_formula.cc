#include "tests/perftest/latency_formula.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/config/load.h"
#include "verbs_shim/protocol/rings.h"

namespace verbatim::perftest {

namespace {

constexpr std::uint64_t kLrh = 8, kBth = 12, kReth = 16, kIcrc = 4, kVcrc = 2;
constexpr std::uint64_t kSendEntryHeader = 64, kSendEntryUnit = 64;

std::uint64_t pieces(std::uint64_t bytes, std::uint64_t piece) { return (bytes + piece - 1) / piece; }

std::int64_t period_of(std::uint64_t hertz) { return 1'000'000'000'000 / static_cast<std::int64_t>(hertz); }

// Work that arrives at `t` leaves `cycles` cycles after the next edge.
std::int64_t after(std::int64_t t, std::uint64_t hertz, std::int64_t cycles) {
  const std::int64_t period = period_of(hertz);
  return ((t + period - 1) / period + cycles) * period;
}

}  // namespace

LatencyFormula::LatencyFormula(const std::string& topology_file) {
  config::Diagnostics diagnostics;
  auto topology =
      config::load_topology(topology_file, {{VERBATIM_SOURCE_DIR "/topologies/profiles"}}, diagnostics);
  EXPECT_TRUE(topology.has_value()) << topology_file;
  if (!topology) return;
  topology_ = std::move(*topology);
  hca_ = topology_.hosts[*topology_.host("client")].hca_profile;
  cpu_ = topology_.hosts[*topology_.host("client")].cpu_profile;
}

std::int64_t LatencyFormula::pcie(std::uint64_t bytes) const {
  return to_ps(host::pcie_byte_time(hca_.pcie.generation, hca_.pcie.lanes).time_for(bytes));
}

// On an idle connection: the first request, memory, then all completions one after the other.
std::int64_t LatencyFormula::dma_read(std::uint64_t bytes) const {
  const std::uint64_t completions = pieces(bytes, hca_.pcie.max_payload_bytes);
  return pcie(hca_.pcie.read_header_bytes) + 2 * to_ps(hca_.pcie.one_way_latency) +
         to_ps(hca_.pcie.memory_read_latency) + pcie(bytes + completions * hca_.pcie.completion_header_bytes);
}

std::int64_t LatencyFormula::stage(std::int64_t t, const hca::Stage& stage) const {
  return after(t, hca_.core_clock_hz, stage.latency_cycles);
}

std::int64_t LatencyFormula::wire(const config::LinkSpec& link, std::uint64_t bytes) const {
  return to_ps(link.rate.byte_time.time_for(link.start_bytes + bytes));
}

std::int64_t LatencyFormula::write_visible(std::int64_t posted, std::uint32_t bytes,
                                           std::uint32_t max_inline) const {
  const std::uint64_t entry =
      pieces(kSendEntryHeader + std::max<std::uint64_t>(sizeof(protocol::Sge), max_inline), kSendEntryUnit) *
      kSendEntryUnit;
  const std::uint64_t padded = pieces(bytes, 4) * 4;  // IBA 9.2.5: PadCnt
  std::int64_t t = posted + to_ps(hca_.pcie.one_way_latency);
  t = stage(t, hca_.doorbell) + dma_read(entry);
  t = stage(t, hca_.wqe_decode);
  if (bytes > max_inline) t += dma_read(bytes);
  t = stage(stage(t, hca_.packetize), hca_.icrc);
  const config::LinkSpec& last = topology_.links.back();
  for (std::size_t i = 0; i < topology_.switches.size(); ++i) {
    // A switch starts processing a packet when its local routing header has arrived.
    const config::LinkSpec& link = topology_.links[i];
    const fabric::SwitchProfile& profile = topology_.switches[i].switch_profile;
    t = after(t + wire(link, kLrh) + to_ps(link.propagation()), profile.core_clock_hz,
              profile.cut_through_cycles);
  }
  t += wire(last, kLrh + kBth + kReth + padded + kIcrc + kVcrc) + to_ps(last.propagation());
  t = stage(stage(t, hca_.icrc), hca_.receive_check);
  const std::uint64_t writes = pieces(bytes, hca_.pcie.max_payload_bytes);
  return t + pcie(bytes + writes * hca_.pcie.write_header_bytes) + to_ps(hca_.pcie.one_way_latency) +
         to_ps(hca_.pcie.memory_write_latency);
}

std::int64_t LatencyFormula::half_round_trip(std::uint32_t bytes, std::uint32_t max_inline) const {
  const protocol::CallCosts& costs = cpu_.costs;
  std::int64_t answer =
      costs.timestamp_counter_ps + costs.post_send_ps + costs.post_send_wqe_ps + costs.doorbell_ps;
  if (bytes <= max_inline) answer += static_cast<std::int64_t>(pieces(bytes, 64)) * costs.inline_line_ps;
  std::int64_t t = 0, before = 0;
  for (int i = 0; i < 10; ++i) {
    before = t;
    t = write_visible(t + answer, bytes, max_inline);
  }
  return t - before;
}

std::int64_t LatencyFormula::switch_and_cable() const {
  const fabric::SwitchProfile& profile = topology_.switches.front().switch_profile;
  return wire(topology_.links.front(), kLrh) + to_ps(topology_.links.front().propagation()) +
         profile.cut_through_cycles * period_of(profile.core_clock_hz);
}

std::int64_t LatencyFormula::clock_period() const {
  std::int64_t period = period_of(hca_.core_clock_hz);
  for (const config::SwitchSpec& each : topology_.switches) {
    period = std::max(period, period_of(each.switch_profile.core_clock_hz));
  }
  return period;
}

std::int64_t LatencyFormula::poll_period() const { return cpu_.costs.poll_empty_ps; }

double LatencyFormula::cycles(std::int64_t ps) const {
  return static_cast<double>(ps) * static_cast<double>(cpu_.timestamp_counter_hz) / 1e12;
}

}  // namespace verbatim::perftest
