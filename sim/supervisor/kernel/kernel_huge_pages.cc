// Reservation of huge pages that a program maps and unmaps.
#include <cerrno>

#include "sim/supervisor/kernel/memory_calls.h"

namespace verbatim::supervisor {

CallOutcome sys_huge_pages(CallContext& call) {
  const auto& a = call.arguments;
  HugePagePool& pool = call.host.huge_pages;
  const std::uint32_t pid = call.process.pid();
  const auto kind = call.address(1), pages = call.address(2);
  const HugePagePool::File file = {call.address(3), call.address(4)};
  if (kind >= protocol::kHugePageKinds) return Answer{-EINVAL};
  const auto of_kind = static_cast<unsigned>(kind);
  switch (static_cast<protocol::HugePageStep>(a[0])) {
    case protocol::HugePageStep::kTake:
      return Answer{pool.take(of_kind, pid, pages) ? 0 : -ENOMEM};
    case protocol::HugePageStep::kGive:
      pool.give(of_kind, pid, pages);
      return Answer{0};
    case protocol::HugePageStep::kTakeFile:
      return Answer{pool.take_file(of_kind, pid, pages, file) ? 0 : -ENOMEM};
    case protocol::HugePageStep::kGiveFile:
      pool.give_file(of_kind, pid, file);
      return Answer{0};
  }
  return Answer{-EINVAL};
}

}  // namespace verbatim::supervisor
