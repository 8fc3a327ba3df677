// Memory that a program may both write and execute. The runtime keeps a table of it in each process
// (runtime/changing_code.h); the supervisor reads the table for /proc/PID/maps.
#pragma once

#include <cstdint>

namespace verbatim::protocol {

// Natively a page is either writable or executable, never both.
enum class CodeState : std::uint32_t {
  kWritable = 0,    // not executable: its contents have to be searched before they run
  kExecutable = 1,  // not writable: its present contents have been searched
};

struct ChangingRange {
  std::uint64_t start, end;  // page boundaries
  std::uint32_t rights;      // PROT_…, as the program has set them
  CodeState state;
  // 1: it may change without a write by this process, and is never natively executable. Its instructions are
  // executed one by one.
  std::uint32_t is_shared;
  std::uint32_t reserved;
};

inline constexpr std::uint32_t kMostChangingRanges = 1024;

struct ChangingCode {
  std::uint32_t count;
  std::uint32_t reserved;
  ChangingRange ranges[kMostChangingRanges];  // ascending, without overlaps
};

// Fifth argument of Request::kCode.
enum class CodeQuestion : std::int64_t {
  kSearch = 0,   // search and replace
  kJudge = 1,    // change nothing: is every byte that may be such an instruction known from its file
  kSharing = 2,  // is the memory shared
};

// Result of Request::kCode.
enum class NewCodeAnswer : std::int64_t {
  kSearched = 0,
  // Bytes that may be an instruction whose result depends on the machine could not be distinguished from
  // data.
  kDoubtful = 1,
  kShared = 2,  // the memory is shared: others may change it
};

}  // namespace verbatim::protocol
