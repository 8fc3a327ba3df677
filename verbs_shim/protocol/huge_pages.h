// Huge pages (MAP_HUGETLB): every host has a pool of them as its description says, whatever the machine has. They are
// ordinary memory at addresses that are aligned as Linux aligns them; the runtime knows where, the supervisor counts.
#pragma once

#include <cstdint>

namespace verbatim::protocol {

inline constexpr unsigned kHugePageKinds = 2;
inline constexpr std::uint64_t kHugePageSize[kHugePageKinds] = {2ull << 20, 1ull << 30};
inline constexpr std::uint64_t kMostHugePages[kHugePageKinds] = {1ull << 20, 1ull << 11};

// hugetlbfs; a file in it has pages of 2 MiB.
inline constexpr const char* kHugeFolder = "/dev/hugepages";
// What the names of memfd_create(MFD_HUGETLB) begin with on the machine, before the program's own: one for each kind.
inline constexpr const char* kHugeFileMark[kHugePageKinds] = {"/memfd:verbatim-2048kB:", "/memfd:verbatim-1048576kB:"};

// kHugePagesCall: the runtime asks for pages. arguments: [0] HugePageStep, [1] kind, [2] pages, and of a file [3] its device and [4] its
// inode on the machine. Answered with 0 or -ENOMEM.
enum class HugePageStep : std::uint32_t {
  kTake = 0,   // for a mapping of the process's own
  kGive,       // back
  kTakeFile,   // the file has at least as many pages; whoever maps it shares them
  kGiveFile,   // the process maps nothing of the file any more
};

}  // namespace verbatim::protocol
