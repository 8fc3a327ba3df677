#include "sim/config/headroom.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/core/check.h"
#include "sim/fabric/priority_flow_control.h"

namespace verbatim::config {

namespace {

std::uint64_t in_cells(std::uint64_t bytes, std::uint32_t cell_bytes) {
  return (bytes + cell_bytes - 1) / cell_bytes * cell_bytes;
}

std::uint32_t framing_bytes(const fabric::LinkParams& link) { return link.bytes_before + link.bytes_after; }

// From the start of the packet whose head causes the decision to the end of the last instant at which the far
// end may start a packet.
Duration sending_time(const fabric::LinkParams& link, std::uint32_t largest) {
  const std::uint64_t bytes = link.bytes_before + link.header_bytes  // until the decision, plus a propagation delay
                              + framing_bytes(link) + largest        // the packet ahead of the pause frame
                              + link.bytes_before +
                              fabric::kPauseFrameBytes;  // up to the frame's last byte, plus a propagation delay
  return link.byte_time.time_for(bytes) + 2 * link.propagation + link.pause_response;
}

}  // namespace

std::uint32_t headroom_of_equal_packets(const fabric::LinkParams& link, std::uint32_t wire_bytes,
                                        std::uint32_t largest, std::uint32_t cell_bytes) {
  const Duration each = link.byte_time.time_for(wire_bytes + framing_bytes(link));
  const std::int64_t packets = (sending_time(link, largest) + each - Duration(1)) / each;
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(packets) * in_cells(wire_bytes, cell_bytes));
}

std::uint32_t headroom_bound(const fabric::LinkParams& link, std::uint32_t smallest, std::uint32_t largest,
                             std::uint32_t cell_bytes) {
  CHECK(smallest > 0 && smallest <= largest);
  // The size with the most cell bytes per byte on the line: the smallest packet, or one that needs one byte
  // of a further cell.
  std::uint64_t cells = in_cells(smallest, cell_bytes), line = smallest + framing_bytes(link);
  for (std::uint64_t size = in_cells(smallest, cell_bytes) + 1; size <= largest; size += cell_bytes) {
    const std::uint64_t its_cells = in_cells(size, cell_bytes), its_line = size + framing_bytes(link);
    if (its_cells * line > cells * its_line) std::tie(cells, line) = std::pair(its_cells, its_line);
  }
  const auto time = static_cast<unsigned __int128>(sending_time(link, largest).count());
  const auto bytes = static_cast<std::uint64_t>(
      (time * link.byte_time.denominator + link.byte_time.ps_numerator - 1) / link.byte_time.ps_numerator);
  const std::uint64_t between = (bytes * cells + line - 1) / line;
  return static_cast<std::uint32_t>(in_cells(between, cell_bytes) + in_cells(largest, cell_bytes));
}

std::uint32_t pause_response_quanta(std::uint64_t rate_mbps) {
  static constexpr std::pair<std::uint64_t, std::uint32_t> kQuanta[] = {
      {10'000, 67},   {25'000, 80},   {40'000, 118},  {50'000, 147},
      {100'000, 394}, {200'000, 453}, {400'000, 905}, {800'000, 905}};
  for (const auto& [rate, quanta] : kQuanta) {
    if (rate == rate_mbps) return quanta;
  }
  return 0;
}

std::uint32_t sonic_headroom(const SonicHeadroom& port) {
  const std::uint64_t quanta = pause_response_quanta(port.rate_mbps);
  if (quanta == 0) return 0;
  // In thousandths of a byte. Signal speed 198,000 km/s; twice the cable's delay times the rate, over 8 x
  // 1,024.
  constexpr std::uint64_t kThousand = 1'000, kKib = 1'024;
  const auto cable = static_cast<std::uint64_t>(static_cast<unsigned __int128>(2) * port.cable_mm *
                                                port.rate_mbps * 1'000'000'000u / 198'000'000u / (8 * kKib));
  constexpr std::uint64_t kMacAndPhy = 819'200;  // 0.8 KiB
  const std::uint64_t propagation =
      port.port_mtu * kThousand + cable + kMacAndPhy + quanta * fabric::kPauseQuantumBytes * kThousand;
  // Cell bytes per byte of a small packet.
  const std::uint64_t cell = port.cell_bytes;
  const std::uint64_t small_numerator = cell > 2 * 64 ? cell : 2 * cell,
                      small_denominator = cell > 2 * 64 ? 64 : 1 + cell;
  const std::uint64_t percent = port.small_packet_percent;
  const std::uint64_t occupancy_numerator = (100 - percent) * small_denominator + percent * small_numerator;
  const auto occupied = static_cast<std::uint64_t>(static_cast<unsigned __int128>(propagation) *
                                                   occupancy_numerator / (100 * small_denominator));
  const std::uint64_t bytes = port.lossless_mtu * kThousand + occupied;
  return static_cast<std::uint32_t>((bytes + kKib * kThousand - 1) / (kKib * kThousand) * kKib);
}

}  // namespace verbatim::config
