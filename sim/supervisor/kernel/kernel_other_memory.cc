// process_vm_readv(2) and process_vm_writev(2): memory of another process of the host.
#include <limits.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>

#include "sim/supervisor/kernel/memory_calls.h"
#include "sim/supervisor/kernel/transfers.h"
#include "verbs_shim/protocol/layout.h"

namespace verbatim::supervisor {

namespace {

constexpr std::uint64_t kVectorPage = 4096, kMostAtOnce = 256 << 10;
constexpr int kCapPtrace = 19;

// ptrace(2), "Ptrace access mode checking", PTRACE_MODE_ATTACH_REALCREDS.
bool may_attach(const Credentials& who, const Credentials& to) {
  if (who.may(kCapPtrace)) return true;
  const auto is_all = [](const Ids& ids, UserId id) { return ids.real == id && ids.effective == id && ids.saved == id; };
  const CapabilitySet more = to.capabilities().permitted & ~who.capabilities().permitted;
  return is_all(to.users(), who.users().real) && is_all(to.groups(), who.groups().real) && more == 0;
}

// Memory that the shim has mapped for itself is not accessible.
bool touches_shim_memory(std::uint64_t address, std::uint64_t length) {
  return address < protocol::kShimEnd && address + length > protocol::kShimStart;
}

// A position in a list of buffers.
struct Cursor {
  const std::vector<std::pair<std::uint64_t, std::uint64_t>>& parts;
  std::size_t part = 0;
  std::uint64_t offset = 0;
  bool at_end() {
    while (part < parts.size() && offset == parts[part].second) {
      ++part;
      offset = 0;
    }
    return part == parts.size();
  }
  std::uint64_t address() const { return parts[part].first + offset; }
  std::uint64_t left() const { return parts[part].second - offset; }
};

}  // namespace

bool may_look_into(Thread& thread, Process& other) {
  return &thread.process() == &other || may_attach(thread.credentials, other.credentials());
}

CallOutcome sys_other_memory(CallContext& call) {
  const auto& a = call.arguments;
  Process& self = call.process;
  const auto local_count = call.length(2), remote_count = call.length(4);
  if (a[5] != 0 || local_count > IOV_MAX || remote_count > IOV_MAX) return Answer{-EINVAL};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> lists[2];
  const std::pair<std::uint64_t, std::uint64_t> places[2] = {{call.address(1), local_count},
                                                             {call.address(3), remote_count}};
  for (int i = 0; i < 2; ++i) {
    const auto vector = load_vector(call, places[i].first, places[i].second);
    if (!vector) return Answer{-EFAULT};
    for (const Buffers::Part& part : vector->parts) {
      if (static_cast<std::int64_t>(part.length) < 0) return Answer{-EINVAL};
      lists[i].emplace_back(part.address, part.length);
    }
  }
  Cursor local{lists[0]}, remote{lists[1]};
  if (local.at_end()) return Answer{0};
  Thread* const other = call.find_thread(call.as_int(0));
  if (a[0] <= 0 || other == nullptr) return Answer{-ESRCH};
  Process& target = other->process();
  if (&target != &self && !may_attach(call.thread.credentials, other->credentials)) return Answer{-EPERM};

  const bool reads = call.number == SYS_process_vm_readv;
  std::int64_t done = 0;
  std::vector<std::byte> bytes;
  const auto move = [&](std::uint64_t n) {
    if (touches_shim_memory(remote.address(), n)) return false;
    bytes.resize(n);
    return reads ? target.memory().read(remote.address(), bytes) && self.memory().put(local.address(), bytes)
                 : self.memory().read(local.address(), bytes) && target.memory().put(remote.address(), bytes);
  };
  while (!local.at_end() && !remote.at_end()) {
    std::uint64_t n = std::min({local.left(), remote.left(), kMostAtOnce});
    if (!move(n)) {  // up to the first unmapped page
      n = std::min({n, kVectorPage - local.address() % kVectorPage, kVectorPage - remote.address() % kVectorPage});
      if (!move(n)) return Answer{done > 0 ? done : -EFAULT};
    }
    local.offset += n;
    remote.offset += n;
    done += static_cast<std::int64_t>(n);
  }
  return Answer{done};
}

}  // namespace verbatim::supervisor
