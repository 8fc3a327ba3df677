// Number of times that each outstanding PSN of a queue pair has been sent. Only observers of packets read it.
// Each return to an earlier PSN leaves a mark at the end of the packets sent by then; a PSN was sent before
// as often as there are marks beyond it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/ib/psn.h"

namespace verbatim::hca {

class TransmissionCount {
 public:
  void start(ib::Psn first) {
    marks_.clear();
    end_ = first;
  }

  // `count` packets from `first` on are sent. Returns how often the first of them was sent before.
  std::uint8_t on_transmit(ib::Psn first, std::uint32_t count) {
    // A packet that is repeated alone (selective repeat) leaves no mark.
    const bool is_alone = distance(first, end_) > 0;
    if (!is_alone) end_ = first + count;
    if (marks_.empty() && !is_alone) [[likely]]
      return 0;
    const auto marks = std::count_if(marks_.begin(), marks_.end(), [first](ib::Psn mark) { return distance(first, mark) > 0; });
    const auto before = marks + (is_alone ? 1 : 0);
    return static_cast<std::uint8_t>(std::min<std::ptrdiff_t>(before, 255));
  }

  // The next packet is `psn`; no packet before it is sent again.
  void go_back(ib::Psn psn) {
    std::erase_if(marks_, [psn](ib::Psn mark) { return distance(psn, mark) <= 0; });
    constexpr std::size_t kMarks = 255;  // limit, for unlimited retries
    if (distance(psn, end_) > 0 && marks_.size() < kMarks) marks_.push_back(end_);
    end_ = psn;
  }

 private:
  std::vector<ib::Psn> marks_;
  ib::Psn end_;  // one past the packets sent since the last return
};

}  // namespace verbatim::hca
