#include "verbs_shim/runtime/repeated_call.h"

#include <string.h>

#include "verbs_shim/runtime/program_memory.h"

namespace verbatim::shim {

void RepeatedCalls::keep(std::uint32_t place, std::uint32_t number, const long (&arguments)[6], long result,
                         std::int64_t extra_ps) {
  if (place >= protocol::kMostKnownCalls) return;
  known_ &= ~(1u << place);
  RepeatedCall& call = calls_[place];
  const protocol::CallMemory read = protocol::memory_of_call(number, arguments);
  if (read.length > sizeof call.memory || extra_ps < 0) return;
  if (read.length != 0 && !copy_bytes(call.memory, reinterpret_cast<const void*>(read.address), read.length)) return;
  known_ |= 1u << place;
  call.number = number;
  for (int i = 0; i < 6; ++i) call.arguments[i] = arguments[i];
  call.result = result;
  call.extra_ps = extra_ps;
}

const RepeatedCall* RepeatedCalls::find(std::uint32_t number, const long (&arguments)[6]) const {
  for (std::uint32_t place = 0; place < protocol::kMostKnownCalls; ++place) {
    const RepeatedCall& call = calls_[place];
    if ((known_ >> place & 1) == 0 || call.number != number) continue;
    if (!protocol::ask_the_same(number, arguments, call.arguments)) continue;
    const protocol::CallMemory read = protocol::memory_of_call(number, arguments);
    // poll(2) reads its descriptors and writes `revents`; the memory already holds the empty result.
    unsigned char now[protocol::kMostCallMemory];
    const bool is_same = read.length == 0 || (read.length <= sizeof now &&
                                              copy_bytes(now, reinterpret_cast<const void*>(read.address), read.length) &&
                                              memcmp(now, call.memory, read.length) == 0);
    if (is_same) return &call;
  }
  return nullptr;
}

}  // namespace verbatim::shim
