// A program that waits asks the same again and again: is there a byte, an event, a connection. When the supervisor has said
// that there is nothing, the thread knows the answer by itself until its slice ends, as nothing outside can change it before.
#pragma once

#include <poll.h>

#include <cstdint>

namespace verbatim::shim {

struct RepeatedCall {
  static constexpr unsigned kMostDescriptors = 8;  // of a poll(2)

  bool is_known = false;
  std::uint32_t number = 0;
  long arguments[6] = {};
  long result = 0;
  pollfd descriptors[kMostDescriptors] = {};  // of a poll(2), as its answer has left them

  void forget() { is_known = false; }
  void keep(std::uint32_t call, const long (&a)[6], long answer);
  // Whether that call has the same answer.
  bool answers(std::uint32_t call, const long (&a)[6]) const;
};

}  // namespace verbatim::shim
