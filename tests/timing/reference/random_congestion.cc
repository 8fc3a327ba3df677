// Random pauses, links without flow control, shared memory and marks for a fabric whose links have credits.
#include <algorithm>

#include "sim/config/headroom.h"
#include "sim/core/rng.h"
#include "tests/timing/reference/link_params.h"

namespace verbatim::timing {
namespace {

constexpr std::uint32_t kLargestPacket = kRoceOverheadBytes + 4096, kSmallestPacket = kInfiniBandOverheadBytes;
constexpr std::uint32_t kLeastBuffer = 66 * 64, kMostWithCredits = 2048 * 64;
constexpr std::uint32_t kFrameBytes = 64, kQuantumBytes = 64;

class Congestion {
 public:
  Congestion(FabricCase& fabric, std::uint64_t seed) : fabric_(fabric), rng_(seed, "timing/congestion") {}

  void add() {
    lanes();
    packets();
    for (LinkCase& link : fabric_.links) flow_control(link);
    for (std::uint32_t d = 0; d < fabric_.devices.size(); ++d) {
      DeviceCase& device = fabric_.devices[d];
      buffers(d);
      if (device.is_switch && rng_.chance(1, 2)) memory(d);
      if (device.is_switch && rng_.chance(2, 3)) marks(device);
    }
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(rng_.below(bound)); }

  // Usually all devices have the same maps, because a pause of a lane concerns the same lane of the far end.
  void lanes() {
    const bool same_maps = rng_.chance(3, 4), all_priorities = rng_.chance(1, 5);
    for (DeviceCase& device : fabric_.devices) {
      if (same_maps) device.lane_of_level = DeviceCase{}.lane_of_level;
      if (!all_priorities) continue;
      for (std::uint32_t lane = device.lanes; lane < 8; ++lane) device.low.push_back({lane, 1 + below(8)});
      device.lanes = 8;
    }
  }

  void packets() {
    const bool with_infiniband = rng_.chance(1, 6);
    const bool all_take_marks = rng_.chance(1, 2);
    const bool large = rng_.chance(1, 4);
    if (large && fabric_.packets.size() > 24) fabric_.packets.resize(24);
    for (PacketCase& packet : fabric_.packets) {
      if (packet.management || (with_infiniband && rng_.chance(1, 4))) continue;
      packet.is_roce = true;
      packet.takes_marks = all_take_marks || rng_.chance(2, 3);
      packet.level %= 8;
      packet.wire_bytes += kRoceOverheadBytes - kInfiniBandOverheadBytes;
      if (large && rng_.chance(1, 2)) packet.wire_bytes = kLargestPacket;
    }
  }

  std::int64_t time_of(const LinkCase& link, std::uint64_t bytes) const {
    return static_cast<std::int64_t>(bytes * link.rate.ps / link.rate.per_bytes);
  }

  void flow_control(LinkCase& link) {
    if (rng_.chance(1, 2)) link.header_bytes = 1 + below(kSmallestPacket);
    if (rng_.chance(1, 5)) return;
    link.control = rng_.chance(1, 5) ? Control::kNone : Control::kPauses;
    if (link.control == Control::kNone) return;
    link.lossless_lanes = rng_.chance(1, 2) ? 0xff : below(256);
    // A pause must be repeated before it ends: half of it is longer than a packet and a frame.
    const std::uint32_t frames = kLargestPacket + kFrameBytes + 2 * (link.bytes_before + link.bytes_after);
    const std::uint32_t least_quanta = 2 * frames / kQuantumBytes + 1;
    link.quanta = rng_.chance(1, 3) ? 65535 : least_quanta + below(rng_.chance(1, 2) ? 2 : 300);
    static constexpr std::uint32_t kIeeeQuanta[] = {67, 80, 118, 147, 394, 453, 905};
    if (rng_.chance(1, 3)) link.response_ps = time_of(link, std::uint64_t{kIeeeQuanta[below(7)]} * kQuantumBytes);
    if (rng_.chance(1, 3)) link.response_ps = below(rng_.chance(1, 2) ? 30'000 : 1'000'000);
    const bool bound = rng_.chance(1, 2);
    link.headroom_bytes = bound ? config::headroom_bound(link_params_of(link), kSmallestPacket, kLargestPacket, 64)
                                : below(rng_.chance(1, 2) ? 2'000 : 60'000);
  }

  // A lane's own buffer: headroom, and a reserve for few packets.
  void buffers(std::uint32_t d) {
    DeviceCase& device = fabric_.devices[d];
    bool has_credits = false;
    std::uint32_t headroom = 0;
    for_links_of(d, [&](LinkCase& link) {
      has_credits |= link.control == Control::kCredits;
      headroom = std::max(headroom, link.headroom_bytes);
    });
    const std::uint32_t reserve = 128 + below(rng_.chance(1, 2) ? 1'500 : 12'000);
    if (has_credits) headroom = std::min(headroom, kMostWithCredits - reserve);
    device.buffer_bytes = std::max(kLeastBuffer, headroom + reserve);
    for_links_of(d, [&](LinkCase& link) { link.headroom_bytes = std::min(link.headroom_bytes, headroom); });
  }

  void memory(std::uint32_t d) {
    DeviceCase& device = fabric_.devices[d];
    MemoryCase& memory = device.memory;
    static constexpr std::uint32_t kCells[] = {64, 96, 144, 208};
    memory.cell_bytes = kCells[below(4)];
    if (rng_.chance(2, 3)) memory.reserved_bytes = below(rng_.chance(1, 2) ? 300 : 3'000);
    if (rng_.chance(1, 2)) memory.resume_offset_bytes = below(rng_.chance(1, 2) ? 400 : 3'000);
    memory.lossless_alpha = alpha();
    memory.lossy_alpha = alpha();
    memory.output_alpha = alpha();
    std::uint64_t cells = rng_.chance(1, 8) ? below(4) : below(rng_.chance(1, 2) ? 60 : 600);
    for_links_of(d, [&](LinkCase& link) {
      if (link.control == Control::kCredits) return;
      const std::uint32_t lanes = std::min(fabric_.devices[link.device[0]].lanes, fabric_.devices[link.device[1]].lanes);
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        const bool is_lossless = link.control == Control::kPauses && (link.lossless_lanes >> lane & 1) != 0;
        const auto in_cells = [&](std::uint32_t bytes) { return (bytes + memory.cell_bytes - 1) / memory.cell_bytes; };
        cells += in_cells(memory.reserved_bytes) + (is_lossless ? in_cells(link.headroom_bytes) : 0);
      }
    });
    memory.bytes = cells * memory.cell_bytes + below(memory.cell_bytes);
  }

  int alpha() { return static_cast<int>(rng_.chance(1, 4) ? below(16) : 5 + below(6)) - 8; }

  void marks(DeviceCase& device) {
    device.marks_at_enqueue = rng_.chance(1, 2);
    device.mark_seed = rng_.next();
    static constexpr std::uint32_t kPpm[] = {0, 50'000, 200'000, 1'000'000, 1'000'000};
    for (std::uint32_t lane = 0; lane < std::min(device.lanes, 8u); ++lane) {
      const std::uint32_t least = rng_.chance(1, 4) ? 0 : below(rng_.chance(1, 2) ? 1'000 : 8'000);
      const std::uint32_t span = rng_.chance(1, 4) ? 0 : below(rng_.chance(1, 2) ? 2'000 : 20'000);
      device.marks.push_back({least, least + span, kPpm[below(5)]});
    }
  }

  template <class Use>
  void for_links_of(std::uint32_t d, Use use) {
    for (LinkCase& link : fabric_.links) {
      if (link.device[0] == d || link.device[1] == d) use(link);
    }
  }

  FabricCase& fabric_;
  Rng rng_;
};

}  // namespace

void add_congestion(FabricCase& fabric, std::uint64_t seed) { Congestion(fabric, seed).add(); }

}  // namespace verbatim::timing
