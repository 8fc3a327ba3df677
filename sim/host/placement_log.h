// The last bytes that adapters have written to a program's memory, for those who ask whether it was the program.
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
  // Whether this is what was written last.
  bool was_last(std::uint64_t address, std::uint64_t length, Instant when) const {
    if (count_ == 0) return false;
    const Entry& last = (*entries_)[(count_ - 1) % kEntries];
    return last.address == address && last.length == length && last.when == when;
  }
  // Whether an adapter may have written to any of the bytes at `since` or later: what is too long ago is not known.
  bool may_have_met(std::uint64_t address, std::uint32_t length, Instant since) const {
    for (std::uint64_t i = 0; i < count_; ++i) {
      if (i == kEntries) return true;
      const Entry& entry = (*entries_)[(count_ - 1 - i) % kEntries];
      if (entry.when < since) return false;
      if (entry.address < address + length && address < entry.address + entry.length) return true;
    }
    return false;
  }
  // The last that are known and came at `since` or later, the newest first: visit(address, length, when), which ends it by false.
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

  std::unique_ptr<Entries> entries_;  // few programs have any
  std::uint64_t count_ = 0;
};

}  // namespace verbatim::host
