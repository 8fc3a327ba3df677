// Instructions of a program at which a thread may be late: those that touch memory which others may touch, too. The supervisor
// finds them in the program's file and writes them into the process, in the order of their addresses; the runtime has them trap
// (verbs_shim/runtime/accesses.h).
#pragma once

#include <cstdint>
#include <type_traits>

namespace verbatim::protocol {

inline constexpr std::uint32_t kMostAccessPlaces = 16384;

// How a thread is late that has come to such an instruction.
enum class AccessLateness : std::int64_t {
  kBefore = 0,      // it has touched nothing
  kReadNotWritten,  // it has read, and writes when it goes on
  kMayBeBuffered,   // it has touched nothing, and what it stores may wait in the processor's store buffer instead
  kBuffered,        // what it has stored waits there, and it has loaded what comes behind
};

struct AccessPlace {
  static constexpr std::uint8_t kNoRegister = 16, kNextInstruction = 17;
  static constexpr std::uint16_t kMostBuffered = 64;  // bytes of such a store

  std::uint64_t address = 0;
  std::int32_t displacement = 0;
  std::uint8_t base = kNoRegister;   // general register in encoding order, kNoRegister, or kNextInstruction (rip)
  std::uint8_t index = kNoRegister;  // the same
  std::uint8_t scale = 0;
  std::uint8_t length = 0;   // of the instruction, bytes
  std::uint8_t divided = 0;  // bytes that it reads and then writes, others coming between as they like; 0: it does not
  std::uint8_t original = 0;  // the byte that the trap takes the place of
  std::uint16_t size = 0;     // bytes that it touches
  bool only_stores = false;   // it may wait in the processor's store buffer
  std::uint8_t reserved[3] = {};
};
static_assert(sizeof(AccessPlace) == 24);
static_assert(std::has_unique_object_representations_v<AccessPlace>);  // no byte of it is left to chance: programs can read it

}  // namespace verbatim::protocol
