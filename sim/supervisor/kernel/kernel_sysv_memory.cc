// shmget(2) and related calls. A segment is a memfd of the simulator. A process that attaches it receives the
// descriptor through the passage and maps it natively.
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "sim/supervisor/kernel/sysv_calls.h"
#include "sim/supervisor/kernel/sysv_ipc.h"

namespace verbatim::supervisor {

namespace {

constexpr std::uint64_t kSegmentPage = 4096;
constexpr HugePagePool::File::first_type kNoDevice = ~0ull;  // device number of segments in the pool
constexpr std::uint32_t kNoProcess = 0;

std::optional<unsigned> huge_kind(std::int64_t flags) {
  const std::int64_t logarithm = flags >> 26 & 0x3f;  // SHM_HUGE_SHIFT
  if (logarithm == 0) return 0;
  for (unsigned kind = 0; kind < protocol::kHugePageKinds; ++kind) {
    if (protocol::kHugePageSize[kind] == 1ull << logarithm) return kind;
  }
  return std::nullopt;
}

// nullptr, and an errno in `error`.
std::shared_ptr<const RealFile> make_memory(std::uint64_t size, int* error) {
  const int fd = memfd_create("sysv", MFD_CLOEXEC);
  *error = fd < 0 ? errno : 0;
  if (fd < 0) return nullptr;
  auto memory = std::make_shared<const RealFile>(fd);
  if (ftruncate(fd, static_cast<off_t>(size)) == 0) return memory;
  *error = ENOMEM;
  return nullptr;
}

}  // namespace

// Pages of the host's pool that a segment holds; returned when it is destroyed.
struct HeldHugePages {
  HugePagePool& pool;
  unsigned kind;
  HugePagePool::File file;
  ~HeldHugePages() { pool.give_file(kind, kNoProcess, file); }
};

CallOutcome sys_shmget(CallContext& call) {
  const auto& a = call.arguments;
  Process& process = call.process;
  SysvIpc& ipc = call.host.sysv_ipc;
  const auto size = call.length(1);
  const auto flags = static_cast<std::int64_t>(call.as_int(2));
  const auto make = [&]() -> std::int64_t {
    if (size < 1 || size > SharedSegment::kLargest) return -EINVAL;
    const bool is_huge = (flags & SHM_HUGETLB) != 0;
    const auto kind = is_huge ? huge_kind(flags) : 0;
    if (!kind) return -EINVAL;
    const std::uint64_t page = is_huge ? protocol::kHugePageSize[*kind] : kSegmentPage;
    if (size > (1ull << 46)) return -ENOMEM;
    auto segment = std::make_shared<SharedSegment>(
        SharedSegment{{static_cast<key_t>(a[0]), static_cast<std::uint32_t>(flags), call.thread.credentials},
                      size,
                      page,
                      nullptr,
                      process.pid()});
    segment->changed_at = call.seconds();
    if (is_huge) {
      HugePagePool& pool = call.host.huge_pages;
      const HugePagePool::File file = {kNoDevice, ++call.host.huge_segments};
      if (!pool.take_file(*kind, kNoProcess, segment->length() / page, file)) return -ENOMEM;
      segment->pages = std::make_shared<HeldHugePages>(HeldHugePages{pool, *kind, file});
    }
    int error;
    segment->memory = make_memory(segment->length(), &error);
    if (segment->memory == nullptr) {
      call.warn("the machine has no room for one more segment of shared memory (see ulimit -n)", true);
      return -error;
    }
    return ipc.segments.add(segment);
  };
  return Answer{get_ipc(ipc.segments, static_cast<key_t>(a[0]), flags, call.thread.credentials, make,
                        [&](const SharedSegment& found) { return size <= found.size; })};
}

// First part: the process gets the memory, maps it, and reports the address (sys_attached).
CallOutcome sys_shmat(CallContext& call, RealDescriptors& descriptors, const MachineHugePages& machine) {
  const auto address = call.address(1);
  const bool rounds = (call.flags(2) & SHM_RND) != 0, replaces = (call.flags(2) & SHM_REMAP) != 0;
  if (address % kSegmentPage != 0 && !rounds) return Answer{-EINVAL};
  if (address < kSegmentPage && replaces) return Answer{-EINVAL};
  const auto segment = call.host.sysv_ipc.segments.find(call.as_int(0));
  if (segment == nullptr) return Answer{-EINVAL};
  std::uint32_t wanted = (call.flags(2) & SHM_RDONLY) != 0 ? 0444 : 0666;
  if ((call.flags(2) & SHM_EXEC) != 0) wanted |= 0111;
  if (!segment->permissions.allow(call.thread.credentials, wanted)) return Answer{-EACCES};
  if ((call.flags(2) & SHM_EXEC) != 0) {
    call.warn("shared memory that is executable is not simulated; the program got EINVAL from shmat");
    return Answer{-EINVAL};
  }
  descriptors.passage().clear();
  if (!descriptors.passage().put(*segment->memory)) return Answer{-ENOMEM};
  const std::uint64_t page = segment->page | (machine.are_slow ? protocol::kSlowHugePages : 0);
  return Answer{0, protocol::Action::kMapSegment,
                {static_cast<std::int64_t>(segment->length()), static_cast<std::int64_t>(page)}};
}

CallOutcome sys_attached(CallContext& call, MachineHugePages& machine) {
  const auto& a = call.arguments;
  machine.are_slow |= a[2] != 0;
  SysvIpc& ipc = call.host.sysv_ipc;
  const auto segment = ipc.segments.find(call.as_int(0));
  if (segment == nullptr) return Answer{-EIDRM};  // removed while it was being mapped
  ipc.attach(call.process.pid(), call.address(1), segment, call.seconds());
  return Answer{a[1]};
}

CallOutcome sys_shmdt(CallContext& call) {
  const auto address = call.address(0);
  if (address % kSegmentPage != 0) return Answer{-EINVAL};
  const auto segment = call.host.sysv_ipc.detach(call.process.pid(), address, call.seconds());
  if (segment == nullptr) return Answer{-EINVAL};
  return Answer{0, protocol::Action::kUnmapSegment,
                {static_cast<std::int64_t>(address), static_cast<std::int64_t>(segment->length())}};
}

CallOutcome sys_shmctl(CallContext& call) {
  ProcessMemory& memory = call.process.memory();
  SysvIpc& ipc = call.host.sysv_ipc;
  const auto id = call.as_int(0);
  const auto command = call.as_int(1);
  const auto address = call.address(2);
  if (id < 0 || command < 0) return Answer{-EINVAL};
  if (command == IPC_INFO) {
    const shminfo limits{SharedSegment::kLargest, 1, SharedSegment::kMost, SharedSegment::kMost, SharedSegment::kLargest};
    return Answer{memory.store(address, limits) ? ipc.segments.highest_slot() : -EFAULT};
  }
  if (command == SHM_INFO) {
    shm_info use{};
    use.used_ids = static_cast<int>(ipc.segments.slots().size());
    use.shm_tot = use.shm_rss = ipc.pages_of_all_segments();
    return Answer{memory.store(address, use) ? ipc.segments.highest_slot() : -EFAULT};
  }
  const bool by_slot = command == SHM_STAT || command == SHM_STAT_ANY;
  const auto segment = by_slot ? ipc.segments.at(id) : ipc.segments.find(id);
  std::optional<shmid_ds> given;
  if (command == IPC_SET) given = memory.load<shmid_ds>(address);
  if (command == IPC_SET && !given) return Answer{-EFAULT};
  if (segment == nullptr) return Answer{-EINVAL};
  const Credentials& who = call.thread.credentials;
  switch (command) {
    case IPC_STAT:
    case SHM_STAT:
    case SHM_STAT_ANY: {
      if (command != SHM_STAT_ANY && !segment->permissions.allow(who, 0444)) return Answer{-EACCES};
      shmid_ds state{};
      state.shm_perm = segment->permissions.to_ipc_perm(segment->state_bits());
      state.shm_segsz = segment->size;
      state.shm_atime = segment->attached_at;
      state.shm_dtime = segment->detached_at;
      state.shm_ctime = segment->changed_at;
      state.shm_cpid = static_cast<pid_t>(segment->creator_pid);
      state.shm_lpid = static_cast<pid_t>(segment->last_pid);
      state.shm_nattch = segment->attachments;
      return Answer{!memory.store(address, state) ? -EFAULT : by_slot ? segment->permissions.id : 0};
    }
    case IPC_SET: {
      const int error = segment->permissions.set(who, given->shm_perm);
      if (error == 0) segment->changed_at = call.seconds();
      return Answer{error};
    }
    case IPC_RMID:
      if (!segment->permissions.belong_to(who)) return Answer{-EPERM};
      segment->is_doomed = true;
      segment->permissions.key = IPC_PRIVATE;
      ipc.remove_if_unused(segment);
      return Answer{0};
    case SHM_LOCK:
    case SHM_UNLOCK: {
      const UserId user = who.users().effective;
      if (!who.may(kCapIpcLock) && user != segment->permissions.owner && user != segment->permissions.creator)
        return Answer{-EPERM};
      segment->is_locked = command == SHM_LOCK;
      return Answer{0};
    }
    default:
      return Answer{-EINVAL};
  }
}

}  // namespace verbatim::supervisor
