// Instructions of a program at which a thread may be late: those that access memory which others may access
// as well. The supervisor finds them in the program's file and writes them into the process, in ascending
// address order. The runtime makes them trap (verbs_shim/runtime/accesses.h).
#pragma once

#include <cstdint>
#include <type_traits>

namespace verbatim::protocol {

inline constexpr std::uint32_t kMostAccessPlaces = 16384;

// State in which a thread is late at such an instruction.
enum class AccessLateness : std::int64_t {
  kBefore = 0,      // it has accessed nothing
  kReadNotWritten,  // it has read, and writes when it continues
  kMayBeBuffered,   // it has accessed nothing, but its store may stay in the processor's store buffer instead
  kBuffered,        // its store is in the store buffer, and it has executed the load behind the store
  kHalfCopied,      // it calls memcpy or memmove, and the first half is copied
};

struct AccessPlace {
  static constexpr std::uint8_t kNoRegister = 16, kNextInstruction = 17;
  static constexpr std::uint16_t kMostBuffered = 64;  // bytes of the largest such store

  std::uint64_t address = 0;
  std::int32_t displacement = 0;
  std::uint8_t base = kNoRegister;   // general register in encoding order, kNoRegister, or kNextInstruction (rip)
  std::uint8_t index = kNoRegister;  // the same
  std::uint8_t scale = 0;
  std::uint8_t length = 0;   // bytes of the instruction
  std::uint8_t divided = 0;  // bytes that it reads and then writes non-atomically; 0: none
  std::uint8_t original = 0;  // the byte that the trap replaces
  std::uint16_t size = 0;     // bytes that it accesses
  bool only_stores = false;   // its store may stay in the processor's store buffer
  bool copies = false;        // a call of memcpy or memmove
  std::uint8_t reserved[2] = {};
};
static_assert(sizeof(AccessPlace) == 24);
static_assert(std::has_unique_object_representations_v<AccessPlace>);  // without padding, whose bytes would
                                                                       // be undefined and readable by
                                                                       // programs

}  // namespace verbatim::protocol
