// A program that waits asks the same again and again: is there a byte, an event, a connection. When the supervisor has said
// that there is nothing, the thread knows the answer by itself until its slice ends, as nothing outside can change it before.
#pragma once

#include <cstdint>

#include "verbs_shim/protocol/repeated_calls.h"

namespace verbatim::shim {

struct RepeatedCall {
  bool is_known = false;
  std::uint32_t number = 0;
  long arguments[6] = {};
  long result = 0;
  std::int64_t extra_ps = 0;                              // that a sleep takes beyond what any call costs
  unsigned char memory[protocol::kMostCallMemory] = {};  // that it reads, as its answer has left it

  void forget() { is_known = false; }
  void keep(std::uint32_t call, const long (&a)[6], long answer, std::int64_t time_ps);
  // Whether that call has the same answer.
  bool answers(std::uint32_t call, const long (&a)[6]) const;
};

}  // namespace verbatim::shim
