// A program that waits asks the same again and again: is there a byte, an event, a connection. When the supervisor has said
// that there is nothing, the thread knows the answer by itself until its slice ends, as nothing outside can change it before.
#pragma once

#include <cstdint>

#include "verbs_shim/protocol/repeated_calls.h"

namespace verbatim::shim {

struct RepeatedCall {
  std::uint32_t number = 0;
  long arguments[6] = {};
  long result = 0;
  std::int64_t extra_ps = 0;                              // that a sleep takes beyond what any call costs
  unsigned char memory[protocol::kMostCallMemory] = {};  // that it reads, as its answer has left it
};

class RepeatedCalls {
 public:
  void forget() { known_ = 0; }
  // Which answers are known: a bit for each place.
  std::uint32_t known() const { return known_; }
  void keep_only(std::uint32_t places) { known_ &= places; }
  void keep(std::uint32_t place, std::uint32_t number, const long (&arguments)[6], long result, std::int64_t extra_ps);
  // The same call, if its answer is known; else nullptr.
  const RepeatedCall* find(std::uint32_t number, const long (&arguments)[6]) const;

 private:
  std::uint32_t known_ = 0;
  RepeatedCall calls_[protocol::kMostKnownCalls];
};

}  // namespace verbatim::shim
