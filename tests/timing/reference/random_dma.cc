#include "sim/core/rng.h"
#include "tests/timing/reference/dma_case.h"

namespace verbatim::timing {
namespace {

class TransferGenerator {
 public:
  explicit TransferGenerator(std::uint64_t seed) : rng_(seed, "timing/dma") {}

  DmaCase generate() {
    profile();
    const std::uint32_t count = 2 + below(24);
    // In most cases the lanes are congested; in some each transfer is alone.
    const std::uint32_t pace = rng_.chance(1, 4) ? 1'000'000 : rng_.chance(1, 2) ? 50'000 : 3'000;
    large_ = rng_.chance(1, 10);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!rng_.chance(1, 3)) now_ += below(pace);
      transfer();
    }
    return dma_;
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(rng_.below(bound)); }
  Duration up_to(std::uint32_t ps) { return Duration(rng_.chance(1, 6) ? 0 : below(ps)); }

  void profile() {
    host::PcieProfile& p = dma_.profile;
    p.generation = 2 + below(4);
    p.lanes = 1u << below(5);
    static constexpr std::uint32_t kPayloads[] = {64, 128, 256, 512};
    p.max_payload_bytes = kPayloads[below(4)];
    static constexpr std::uint32_t kRequests[] = {16, 64, 128, 256, 512, 4096};
    p.max_read_request_bytes = kRequests[below(6)];
    const std::uint32_t kBoundaries[] = {16, 64, p.max_payload_bytes};
    p.read_completion_boundary_bytes = kBoundaries[below(3)];
    p.write_header_bytes = 1 + below(40);
    p.read_header_bytes = 1 + below(40);
    p.completion_header_bytes = below(40);
    p.outstanding_reads = 1 + (rng_.chance(1, 3) ? below(256) : below(6));
    p.dllp_interval_bytes = rng_.chance(1, 2) ? 0 : 100 + below(500);
    p.write_combining_delay = up_to(60'000);
    p.one_way_latency = up_to(150'000);
    p.memory_read_latency = up_to(200'000);
    p.memory_write_latency = up_to(rng_.chance(1, 2) ? 100'000 : 500'000);
  }

  std::uint32_t size() {
    // Sizes near whole requests and payloads, where the number of TLPs changes.
    if (rng_.chance(1, 4)) return dma_.profile.max_payload_bytes * (1 + below(2)) - 1 + below(3);
    if (rng_.chance(1, 6)) return dma_.profile.max_read_request_bytes - 1 + below(3);
    return 1 + (large_ && rng_.chance(1, 2) ? below(4096) : below(rng_.chance(1, 2) ? 64 : 600));
  }

  PieceCase piece() {
    // At the beginning of a page, near its end, or anywhere.
    const std::uint32_t place = below(3);
    return {size(), place == 0 ? 0 : place == 1 ? 4096 - below(10) * 32 - below(2) : below(4096)};
  }

  void transfer() {
    TransferCase transfer;
    transfer.ask_ps = now_;
    const std::uint32_t kind = below(10);
    transfer.ask = kind < 4 ? Ask::kRead : kind < 7 ? Ask::kWrite : kind < 9 ? Ask::kPush : Ask::kRing;
    if (transfer.ask != Ask::kRing) transfer.pieces.push_back(piece());
    if (transfer.ask == Ask::kRead || transfer.ask == Ask::kWrite) {
      for (std::uint32_t more = rng_.chance(1, 3) ? below(4) : 0; more > 0; --more) transfer.pieces.push_back(piece());
    }
    dma_.transfers.push_back(transfer);
  }

  Rng rng_;
  DmaCase dma_;
  std::int64_t now_ = 0;
  bool large_ = false;
};

}  // namespace

DmaCase random_dma(std::uint64_t seed) { return TransferGenerator(seed).generate(); }

std::string describe(const DmaCase& dma) {
  const host::PcieProfile& p = dma.profile;
  std::string text = "generation " + std::to_string(p.generation);
  const auto say = [&](std::string_view name, auto value) {
    text += " " + std::string(name) + "=" + std::to_string(value);
  };
  say("lanes", p.lanes);
  say("mps", p.max_payload_bytes);
  say("mrrs", p.max_read_request_bytes);
  say("rcb", p.read_completion_boundary_bytes);
  say("write_header", p.write_header_bytes);
  say("read_header", p.read_header_bytes);
  say("completion_header", p.completion_header_bytes);
  say("tags", p.outstanding_reads);
  say("dllp", p.dllp_interval_bytes);
  say("combining", to_ps(p.write_combining_delay));
  say("one_way", to_ps(p.one_way_latency));
  say("read", to_ps(p.memory_read_latency));
  say("write", to_ps(p.memory_write_latency));
  static constexpr const char* kNames[] = {"read", "write", "doorbell", "push"};
  for (std::size_t i = 0; i < dma.transfers.size(); ++i) {
    const TransferCase& t = dma.transfers[i];
    text += "\n" + std::to_string(i) + " " + kNames[static_cast<int>(t.ask)];
    say("at", t.ask_ps);
    for (const PieceCase& piece : t.pieces) {
      text += " " + std::to_string(piece.bytes) + "@" + std::to_string(piece.address);
    }
  }
  return text + "\n";
}

}  // namespace verbatim::timing
