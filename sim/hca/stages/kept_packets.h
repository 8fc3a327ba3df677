// Requests of one queue pair that arrived after a missing one, or answers that arrived after a missing
// response, by PSN (selective repeat, or per-packet routing in switches). They occupy no space in the port's
// input buffer; the window of PSNs limits their number.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "sim/ib/psn.h"

namespace verbatim::hca {

// Trail names of the time for which a packet was kept.
inline constexpr char kMissingPackets[] = "responder: earlier packets are missing";
inline constexpr char kMissingResponses[] = "requester: earlier responses are missing";

template <class Packet>
class KeptPackets {
 public:
  bool empty() const { return packets_.empty(); }

  void keep(ib::Psn psn, Packet&& packet) { packets_.emplace(psn.value, std::move(packet)); }
  std::optional<Packet> take(ib::Psn psn) {
    const auto found = packets_.find(psn.value);
    if (found == packets_.end()) return std::nullopt;
    Packet packet = std::move(found->second);
    packets_.erase(found);
    return packet;
  }

  // Removes all packets, and calls drop(Packet&) for each.
  template <class Drop>
  void drop_all(Drop drop) {
    for (auto& [psn, packet] : packets_) drop(packet);
    packets_.clear();
  }

 private:
  std::map<std::uint32_t, Packet> packets_;
};

}  // namespace verbatim::hca
