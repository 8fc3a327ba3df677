// Requests of one queue pair that have come although one before them is missing, by PSN (selective repeat). They have left the
// port's input buffer; the responder bounds how many there are by its window.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "sim/hca/datapath/receive_pipeline.h"

namespace verbatim::hca {

class KeptPackets {
 public:
  bool empty() const { return packets_.empty(); }

  void keep(Incoming&& incoming) {
    const std::uint32_t psn = incoming.packet->bth.psn.value;
    packets_.emplace(psn, std::move(incoming));
  }
  std::optional<Incoming> take(ib::Psn psn) {
    const auto found = packets_.find(psn.value);
    if (found == packets_.end()) return std::nullopt;
    Incoming incoming = std::move(found->second);
    packets_.erase(found);
    return incoming;
  }

  // They are no longer for anyone.
  void drop_all(ReceivePipeline& receiver) {
    for (auto& [psn, incoming] : packets_) receiver.drop(incoming, DropReason::kWrongState);
    packets_.clear();
  }

 private:
  std::map<std::uint32_t, Incoming> packets_;
};

}  // namespace verbatim::hca
