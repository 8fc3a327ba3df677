// The sums of Breaking Band: a message pushed through a model whose stages take what the paper measures for
// its components and nothing else, so that the latency is their sum when every component is counted once.
#include <cmath>

#include "tests/fidelity/target.h"
#include "tests/hca/driver.h"

namespace verbatim::fidelity {
namespace {

// Components in ns (Zambre et al., ICPP 2019), quoted from memory.
constexpr double kMdSetup = 27.78, kBarrierMd = 17.33, kBarrierDoorbell = 21.07, kPioCopy = 94.25,
                 kMisc = 14.99;
constexpr double kLlpProg = 61.63, kBusyPost = 8.99, kMeasurement = 49.69;
constexpr double kPcie = 137.49, kWire = 274.81, kSwitch = 108.00, kRcToMemory = 240.96;
constexpr double kHlpPost = 26.56, kHlpReceive = 224.66;
// Shares of LLP_prog and HLP_prog in a message of the overall injection, if several complete at a time.
constexpr double kPostProgress = 59.82, kOverallMisc = 3.17;

constexpr double kLlpPost = kMdSetup + kBarrierMd + kBarrierDoorbell + kPioCopy + kMisc;

Duration ns(double value) { return Duration(std::llround(value * 1000)); }

// Lanes and lines whose bytes take 1 fs: components are measured with their bytes' time in them.
constexpr ByteTime kNoTime{1, 1'000'000};

// From the doorbell that pushes 8 bytes until the receiver's completion is visible, in ns.
double fabric_ns() {
  test::PairOptions options;
  hca::HcaProfile& profile = options.world.profile;
  profile = {};
  profile.core_clock_hz = 1'000'000'000'000;  // edges at every picosecond: no waits for them
  for (hca::Stage* stage : {&profile.doorbell, &profile.wqe_decode, &profile.packetize,
                            &profile.receive_check, &profile.acknowledge, &profile.completion})
    *stage = {0, 1};
  profile.blueflame_bytes = 256;
  profile.pcie.generation = 5;
  profile.pcie.one_way_latency = ns(kPcie);
  profile.pcie.memory_write_latency = ns(kRcToMemory);
  options.world.link.byte_time = kNoTime;
  options.world.link.propagation = ns(kWire + kSwitch);
  test::Pair pair(options);
  // Components also include the time on the lanes of PCI Express: the pushed line, the payload, a request for
  // the record of receives, the entry.
  const std::uint32_t header = profile.pcie.write_header_bytes;
  const ByteTime lane = host::pcie_byte_time(profile.pcie.generation, profile.pcie.lanes);
  const std::uint32_t pushed = 64 + header,
                      written = 8 + header + sizeof(protocol::Cqe) + header + profile.pcie.read_header_bytes;
  pair.b.program.post_recv(pair.b.qp, 0, {pair.b.sge(0, 64)});
  pair.world.run();
  const std::int64_t start = pair.world.now_ps();
  pair.a.program.post_send(pair.a.qp, {.flags = protocol::kWqeSignaled | protocol::kWqeInline,
                                       .inline_data = std::vector<std::byte>(8)});
  pair.world.run();
  const auto completion = pair.b.program.poll(pair.b.recv_cq);
  if (!completion) return -1;
  const Duration lanes = lane.time_for(pushed) + lane.time_for(written);
  return static_cast<double>(completion->visible_at_ps - start - to_ps(lanes)) / 1000;
}

}  // namespace

Simulated measure_breaking_band(const Wanted&) {
  const double latency = kLlpPost + fabric_ns() + kLlpProg;
  const double end_to_end = latency + kHlpPost + kHlpReceive;
  const double injection = kLlpPost + kLlpProg + kBusyPost + kMeasurement;
  const double overall = kLlpPost + kHlpPost + kPostProgress + kOverallMisc;
  return {{"sum.llp_post", kLlpPost},
          {"sum.network", kWire + kSwitch},
          {"sum.llp_latency", latency},
          {"sum.end_to_end_latency", end_to_end},
          {"sum.llp_injection", injection},
          {"sum.overall_injection", overall},
          {"observed.llp_latency", latency},
          {"observed.llp_injection", injection},
          {"observed.overall_injection", overall}};
}

}  // namespace verbatim::fidelity
