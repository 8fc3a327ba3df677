#include "verbs_shim/runtime/repeated_call.h"

#include <string.h>
#include <sys/syscall.h>

#include "verbs_shim/protocol/repeated_calls.h"
#include "verbs_shim/runtime/program_memory.h"

namespace verbatim::shim {

void RepeatedCall::keep(std::uint32_t call, const long (&a)[6], long answer) {
  if (call == SYS_poll) {
    const auto count = static_cast<unsigned long>(a[1]);
    if (count > kMostDescriptors) return;
    if (!copy_bytes(descriptors, reinterpret_cast<const void*>(a[0]), count * sizeof(pollfd))) return;
  }
  is_known = true;
  number = call;
  for (int i = 0; i < 6; ++i) arguments[i] = a[i];
  result = answer;
}

bool RepeatedCall::answers(std::uint32_t call, const long (&a)[6]) const {
  if (!is_known || call != number || !protocol::ask_the_same(call, a, arguments)) return false;
  if (call != SYS_poll) return true;
  // The call reads its descriptors, and writes that nothing has come, which is there.
  pollfd now[kMostDescriptors];
  const unsigned long size = static_cast<unsigned long>(a[1]) * sizeof(pollfd);
  return copy_bytes(now, reinterpret_cast<const void*>(a[0]), size) && memcmp(now, descriptors, size) == 0;
}

}  // namespace verbatim::shim
