#include "verbs_shim/runtime/async_io.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "verbs_shim/protocol/async_io.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/runtime.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

constexpr long kPage = 4096;

}  // namespace

// A context id is the address of an event ring, which libaio reads directly if it has the kernel's magic
// number. The page mapped here has none.
long async_context_call(long number, const long (&a)[6]) {
  using protocol::Request;
  if (number == SYS_io_destroy) {
    const long result = exchange(Request::kSystemCall, SYS_io_destroy, a);
    if (result == 0) native(SYS_munmap, a[0], kPage);
    return result;
  }
  const long page = native(SYS_mmap, 0, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page < 0 && page > -kPage) return page;
  const long result = exchange(Request::kSystemCall, SYS_io_setup, {a[0], a[1], page, 0, 0, 0});
  if (result != 0) native(SYS_munmap, page, kPage);
  return result;
}

long carry_out_transfers(const long (&a)[6], std::int64_t count, std::int64_t before) {
  unsigned char* const first = my_mailbox().bytes + protocol::kTransfersAt;
  for (std::int64_t i = 0; i < count; ++i) {
    protocol::Transfer transfer;
    memcpy(&transfer, first + i * static_cast<std::int64_t>(sizeof transfer), sizeof transfer);
    long arguments[6];
    for (int k = 0; k < 6; ++k) arguments[k] = transfer.arguments[k];
    transfer.result = dispatch(transfer.number, arguments, nullptr);
    memcpy(first + i * static_cast<std::int64_t>(sizeof transfer), &transfer, sizeof transfer);
  }
  return exchange(protocol::Request::kSystemCall, protocol::kTransfersDoneCall,
                  {a[0], a[1], a[2], before, count, 0});
}

}  // namespace verbatim::shim
