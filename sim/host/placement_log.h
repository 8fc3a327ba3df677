// The latest writes by adapters to a program's memory, for distinguishing them from the program's own writes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "sim/core/time.h"

namespace verbatim::host {

class PlacementLog {
 public:
  void add(std::uint64_t address, std::uint32_t length, Instant when) {
    if (entries_ == nullptr) entries_ = std::make_unique<Entries>();
    (*entries_)[count_++ % kEntries] = {address, length, when};
  }
  // Whether this was the last write.
  bool was_last(std::uint64_t address, std::uint64_t length, Instant when) const {
    if (count_ == 0) return false;
    const Entry& last = (*entries_)[(count_ - 1) % kEntries];
    return last.address == address && last.length == length && last.when == when;
  }
  // Whether an adapter may have written to any of the bytes at `since` or later; true if the log does not
  // reach back that far.
  bool may_have_written_since(std::uint64_t address, std::uint32_t length, Instant since) const {
    for (std::uint64_t i = 0; i < count_; ++i) {
      if (i == kEntries) return true;
      const Entry& entry = (*entries_)[(count_ - 1 - i) % kEntries];
      if (entry.when < since) return false;
      if (entry.address < address + length && address < entry.address + entry.length) return true;
    }
    return false;
  }
  // Calls visit(address, length, when) for the logged writes at `since` or later, the newest first, until it
  // returns false.
  template <class Visit>
  void visit_since(Instant since, Visit visit) const {
    for (std::uint64_t i = 0; i < count_ && i < kEntries; ++i) {
      const Entry& entry = (*entries_)[(count_ - 1 - i) % kEntries];
      if (entry.when < since || !visit(entry.address, entry.length, entry.when)) return;
    }
  }

 private:
  struct Entry {
    std::uint64_t address;
    std::uint32_t length;
    Instant when;
  };
  static constexpr std::size_t kEntries = 512;

  using Entries = std::array<Entry, kEntries>;

  std::unique_ptr<Entries> entries_;  // most programs have none
  std::uint64_t count_ = 0;
};

}  // namespace verbatim::host
