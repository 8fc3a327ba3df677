// Results of repeated polling calls. A waiting program repeats a call: is there a byte, an event, a
// connection? Once the supervisor has answered that there is none, the thread repeats the answer by itself
// until its slice ends, because nothing outside can change it earlier.
#pragma once

#include <cstdint>

#include "verbs_shim/protocol/repeated_calls.h"

namespace verbatim::shim {

struct RepeatedCall {
  std::uint32_t number = 0;
  long arguments[6] = {};
  long result = 0;
  std::int64_t extra_ps = 0;                              // a sleep's time beyond the cost of a call
  unsigned char memory[protocol::kMostCallMemory] = {};  // program memory that the call reads, as its answer left it
};

class RepeatedCalls {
 public:
  void forget() { known_ = 0; }
  // The known answers, one bit per place.
  std::uint32_t known() const { return known_; }
  void keep_only(std::uint32_t places) { known_ &= places; }
  void keep(std::uint32_t place, std::uint32_t number, const long (&arguments)[6], long result, std::int64_t extra_ps);
  // The known answer to this call; nullptr: none.
  const RepeatedCall* find(std::uint32_t number, const long (&arguments)[6]) const;

 private:
  std::uint32_t known_ = 0;
  RepeatedCall calls_[protocol::kMostKnownCalls];
};

}  // namespace verbatim::shim
