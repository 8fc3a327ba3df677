// The supervisor's mapping of a process's region (verbs_shim/protocol/region.h): a memfd without a name in a
// file system, freed with its last mapping. The program can write anything into it at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "verbs_shim/protocol/placements.h"
#include "verbs_shim/protocol/region.h"
#include "verbs_shim/protocol/touches.h"

namespace verbatim::supervisor {

class ProcessRegion {
 public:
  ProcessRegion();  // throws std::system_error if memory or descriptors are exhausted
  // Maps the region that a process has made for its copy. Throws std::system_error if it cannot be
  // opened or is no region.
  explicit ProcessRegion(const std::string& path);
  ~ProcessRegion();
  ProcessRegion(const ProcessRegion&) = delete;
  ProcessRegion& operator=(const ProcessRegion&) = delete;

  int fd() const { return fd_; }
  protocol::RegionHeader& header() { return *reinterpret_cast<protocol::RegionHeader*>(near_); }
  protocol::ThreadSlot& slot(std::uint32_t index) { return thread(index).slot; }
  std::span<std::byte> mailbox(std::uint32_t index) {
    return std::as_writable_bytes(std::span(thread(index).mailbox.bytes));
  }
  protocol::PathView& path_view() {
    return *reinterpret_cast<protocol::PathView*>(near_ + protocol::kPathViewOffset);
  }
  std::span<std::byte> arena() { return {whole_ + protocol::kArenaOffset, protocol::kArenaSize}; }

  protocol::HighDescriptors& high_descriptors() {
    return *reinterpret_cast<protocol::HighDescriptors*>(whole_ + protocol::kHighDescriptorsOffset);
  }

  protocol::TouchList& touches() { return *reinterpret_cast<protocol::TouchList*>(whole_ + protocol::kTouchesOffset); }
  protocol::PlacementList& placements() {
    return *reinterpret_cast<protocol::PlacementList*>(whole_ + protocol::kPlacementsOffset);
  }

  void set_virtual(int fd, bool is_virtual);
  // Closes the descriptor; the mapping stays.
  void close_fd();

 private:
  void map();
  protocol::ThreadPart& thread(std::uint32_t index) {
    const std::uint64_t end = protocol::kThreadsOffset + (std::uint64_t{index} + 1) * sizeof(protocol::ThreadPart);
    std::byte* const base = end <= protocol::kNearSize ? near_ : whole_;
    return reinterpret_cast<protocol::ThreadPart*>(base + protocol::kThreadsOffset)[index];
  }

  int fd_ = -1;
  // The whole region, and a second mapping of its beginning, which is all that most processes use: the
  // beginnings of thousands of regions share pages of the simulator's page tables.
  std::byte* near_ = nullptr;
  std::byte* whole_ = nullptr;
};

}  // namespace verbatim::supervisor
