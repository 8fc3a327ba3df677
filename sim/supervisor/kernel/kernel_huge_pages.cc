// Huge pages that a program maps and unmaps.
#include <cerrno>

#include "sim/supervisor/kernel/kernel.h"

namespace verbatim::supervisor {

Kernel::Outcome Kernel::sys_huge_pages(Thread& thread) {
  const auto& a = thread.call().arguments;
  HugePagePool& pool = host_of(thread.process()).huge_pages;
  const std::uint32_t pid = thread.process().pid();
  const auto kind = static_cast<std::uint64_t>(a[1]), pages = static_cast<std::uint64_t>(a[2]);
  const HugePagePool::File file = {static_cast<std::uint64_t>(a[3]), static_cast<std::uint64_t>(a[4])};
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
