// Requests of one queue pair that have come although one before them is missing, by PSN (selective repeat, or a fabric whose
// switches give each packet a way of its own). They have left the port's input buffer; the responder bounds how many there are
// by its window.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "sim/ib/psn.h"

namespace verbatim::hca {

// In trails: of a packet that was kept.
inline constexpr char kMissingPackets[] = "responder: earlier packets are missing";

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

  // They are no longer for anyone: drop(Packet&) for each.
  template <class Drop>
  void drop_all(Drop drop) {
    for (auto& [psn, packet] : packets_) drop(packet);
    packets_.clear();
  }

 private:
  std::map<std::uint32_t, Packet> packets_;
};

}  // namespace verbatim::hca
