// Huge pages (MAP_HUGETLB): each host has a pool as its description says, independent of the machine. They
// are ordinary memory, aligned as in Linux. The runtime places them; the supervisor counts them.
#pragma once

#include <cstdint>

namespace verbatim::protocol {

inline constexpr unsigned kHugePageKinds = 2;
inline constexpr std::uint64_t kHugePageSize[kHugePageKinds] = {2ull << 20, 1ull << 30};
inline constexpr std::uint64_t kMostHugePages[kHugePageKinds] = {1ull << 20, 1ull << 11};

// hugetlbfs; its files have pages of 2 MiB.
inline constexpr const char* kHugeFolder = "/dev/hugepages";
// Prefix, for each page size, of the native name of a memfd_create(MFD_HUGETLB) file.
inline constexpr const char* kHugeFileMark[kHugePageKinds] = {"/memfd:verbatim-2048kB:", "/memfd:verbatim-1048576kB:"};

// kHugePagesCall: takes or returns pages. arguments: [0] HugePageStep, [1] page size (index), [2] pages, and
// for a file its [3] device and [4] inode on the machine. Returns 0 or -ENOMEM.
enum class HugePageStep : std::uint32_t {
  kTake = 0,   // for a private mapping
  kGive,       // returns them
  kTakeFile,   // for a file with at least as many pages, which all its mappings share
  kGiveFile,   // the process has no mapping of the file left
};

// Bit of the page size in an answer Action::kMapSegment: another process of the run has found that the machine provides
// huge pages of its own slowly. kAttachedCall reports it (passing_calls.h). Decides real time only.
inline constexpr std::uint64_t kSlowHugePages = 1;

}  // namespace verbatim::protocol
