#include "verbs_shim/runtime/repeated_call.h"

#include <string.h>

#include "verbs_shim/runtime/program_memory.h"

namespace verbatim::shim {

void RepeatedCall::keep(std::uint32_t call, const long (&a)[6], long answer, std::int64_t time_ps) {
  const protocol::CallMemory read = protocol::memory_of_call(call, a);
  if (read.length > sizeof memory || time_ps < 0) return;
  if (read.length != 0 && !copy_bytes(memory, reinterpret_cast<const void*>(read.address), read.length)) return;
  is_known = true;
  number = call;
  for (int i = 0; i < 6; ++i) arguments[i] = a[i];
  result = answer;
  extra_ps = time_ps;
}

bool RepeatedCall::answers(std::uint32_t call, const long (&a)[6]) const {
  if (!is_known || call != number || !protocol::ask_the_same(call, a, arguments)) return false;
  const protocol::CallMemory read = protocol::memory_of_call(call, a);
  if (read.length == 0) return true;
  // A poll reads its descriptors, and writes that nothing has come, which is there.
  unsigned char now[protocol::kMostCallMemory];
  return read.length <= sizeof now && copy_bytes(now, reinterpret_cast<const void*>(read.address), read.length) &&
         memcmp(now, memory, read.length) == 0;
}

}  // namespace verbatim::shim
