// The supervisor's mapping of one process's region (verbs_shim/protocol/region.h): a memfd without a name in any file
// system, gone with the last process that maps it. The program can write anything into it at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "verbs_shim/protocol/region.h"

namespace verbatim::supervisor {

class ProcessRegion {
 public:
  ProcessRegion();  // throws std::system_error when memory or descriptors are exhausted
  // Maps the region that a process made for its copy; throws std::system_error when it cannot be opened or is none.
  explicit ProcessRegion(const std::string& path);
  ~ProcessRegion();
  ProcessRegion(const ProcessRegion&) = delete;
  ProcessRegion& operator=(const ProcessRegion&) = delete;

  int fd() const { return fd_; }
  protocol::RegionHeader& header() { return *reinterpret_cast<protocol::RegionHeader*>(base_); }
  protocol::ThreadSlot& slot(std::uint32_t index) {
    return reinterpret_cast<protocol::ThreadSlot*>(base_ + protocol::kSlotsOffset)[index];
  }
  std::span<std::byte> mailbox(std::uint32_t index) {
    return {base_ + protocol::kMailboxesOffset + std::size_t{index} * protocol::kMailboxSize, protocol::kMailboxSize};
  }
  protocol::PathView& path_view() {
    return *reinterpret_cast<protocol::PathView*>(base_ + protocol::kPathViewOffset);
  }
  std::span<std::byte> arena() { return {base_ + protocol::kArenaOffset, protocol::kArenaSize}; }

  protocol::HighDescriptors& high_descriptors() {
    return *reinterpret_cast<protocol::HighDescriptors*>(base_ + protocol::kHighDescriptorsOffset);
  }

  void set_virtual(int fd, bool is_virtual);
  // Gives up the mapping's descriptor; the mapping stays.
  void close_fd();

 private:
  void map();

  int fd_ = -1;
  std::byte* base_ = nullptr;
};

}  // namespace verbatim::supervisor
