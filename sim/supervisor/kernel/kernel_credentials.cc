// Credentials that a program reads or changes by system calls (spec/credentials.h).
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "sim/supervisor/kernel/process_calls.h"

namespace verbatim::supervisor {

namespace {

constexpr std::size_t kMostGroups = 65536;  // NGROUPS_MAX

UserId id_of(std::int64_t argument) { return static_cast<UserId>(argument); }

// Stores three ids at three addresses (getresuid, getresgid).
bool store_three(ProcessMemory& memory, const std::int64_t* addresses, const Ids& ids) {
  const UserId reported[3] = {ids.real, ids.effective, ids.saved};
  for (int i = 0; i < 3; ++i) {
    if (!memory.store(static_cast<std::uint64_t>(addresses[i]), reported[i])) return false;
  }
  return true;
}

}  // namespace

CallOutcome sys_user(CallContext& call) {
  const auto& a = call.arguments;
  Credentials& own = call.thread.credentials;
  ProcessMemory& memory = call.process.memory();
  const Credentials before = own;
  const auto done = [&](std::int64_t result) {
    if (!own.acts_as(before)) call.process.family().death_signal = 0;
    call.thread.publish_credentials();
    return Answer{result};
  };
  switch (call.number) {
    case SYS_getuid:
      return Answer{own.users().real};
    case SYS_geteuid:
      return Answer{own.users().effective};
    case SYS_getgid:
      return Answer{own.groups().real};
    case SYS_getegid:
      return Answer{own.groups().effective};
    case SYS_getresuid:
      return Answer{store_three(memory, a, own.users()) ? 0 : -EFAULT};
    case SYS_getresgid:
      return Answer{store_three(memory, a, own.groups()) ? 0 : -EFAULT};
    case SYS_setuid:
      return done(own.set_user(id_of(a[0])));
    case SYS_setgid:
      return done(own.set_group(id_of(a[0])));
    case SYS_setreuid:
      return done(own.set_real_effective_user(id_of(a[0]), id_of(a[1])));
    case SYS_setregid:
      return done(own.set_real_effective_group(id_of(a[0]), id_of(a[1])));
    case SYS_setresuid:
      return done(own.set_users(id_of(a[0]), id_of(a[1]), id_of(a[2])));
    case SYS_setresgid:
      return done(own.set_groups(id_of(a[0]), id_of(a[1]), id_of(a[2])));
    case SYS_setfsuid:
      return done(own.set_file_system_user(id_of(a[0])));
    default:
      return done(own.set_file_system_group(id_of(a[0])));
  }
}

CallOutcome sys_groups(CallContext& call) {
  ProcessMemory& memory = call.process.memory();
  const auto count = call.as_int(0);
  const auto address = call.address(1);
  if (call.number == SYS_getgroups) {
    const std::vector<UserId>& groups = call.thread.credentials.supplementary();
    const auto size = static_cast<std::int32_t>(groups.size());
    if (count < 0 || (count != 0 && count < size)) return Answer{-EINVAL};
    if (count == 0 || size == 0) return Answer{size};
    return Answer{memory.put(address, std::as_bytes(std::span(groups))) ? size : -EFAULT};
  }
  if (!call.thread.credentials.may(kCapSetGid)) return Answer{-EPERM};
  if (count < 0 || static_cast<std::size_t>(count) > kMostGroups) return Answer{-EINVAL};
  std::vector<UserId> groups(static_cast<std::size_t>(count));
  if (!memory.read(address, std::as_writable_bytes(std::span(groups))) && count != 0) return Answer{-EFAULT};
  const int result = call.thread.credentials.set_supplementary(std::move(groups));
  call.thread.publish_credentials();
  return Answer{result};
}

// capget and capset, all versions that Linux supports.
CallOutcome sys_capabilities(CallContext& call) {
  ProcessMemory& memory = call.process.memory();
  const auto header_at = call.address(0), data_at = call.address(1);
  auto header = memory.load<__user_cap_header_struct>(header_at);
  if (!header) return Answer{-EFAULT};
  const bool gets = call.number == SYS_capget;
  const bool old = header->version == _LINUX_CAPABILITY_VERSION_1;
  if (!old && header->version != _LINUX_CAPABILITY_VERSION_2 && header->version != _LINUX_CAPABILITY_VERSION_3) {
    header->version = _LINUX_CAPABILITY_VERSION_3;
    if (!memory.store(header_at, header->version)) return Answer{-EFAULT};
    return Answer{gets && data_at == 0 ? 0 : -EINVAL};
  }
  if (header->pid < 0) return Answer{gets ? -EINVAL : -EPERM};
  Thread* const meant = call.find_thread(header->pid);
  if (!gets && meant != &call.thread) return Answer{-EPERM};
  if (meant == nullptr) return Answer{-ESRCH};
  __user_cap_data_struct data[2] = {};
  const std::size_t size = old ? sizeof data[0] : sizeof data;
  if (gets) {
    if (data_at == 0) return Answer{0};
    const Credentials::Capabilities reported = meant->credentials.capabilities();
    for (int i = 0; i < 2; ++i) {
      data[i] = {static_cast<std::uint32_t>(reported.effective >> 32 * i),
                 static_cast<std::uint32_t>(reported.permitted >> 32 * i),
                 static_cast<std::uint32_t>(reported.inheritable >> 32 * i)};
    }
    return Answer{memory.put(data_at, std::as_bytes(std::span(data)).first(size)) ? 0 : -EFAULT};
  }
  if (!memory.read(data_at, std::as_writable_bytes(std::span(data)).first(size))) return Answer{-EFAULT};
  const auto joined = [&](auto member) {
    constexpr CapabilitySet kKnown = (2ull << kLastCapability) - 1;
    return (data[0].*member | static_cast<CapabilitySet>(data[1].*member) << 32) & kKnown;
  };
  const int result = call.thread.credentials.set_capabilities({joined(&__user_cap_data_struct::effective),
                                                               joined(&__user_cap_data_struct::permitted),
                                                               joined(&__user_cap_data_struct::inheritable)});
  call.thread.publish_credentials();
  return Answer{result};
}

// prctl(2) operations on credentials and relatives (verbs_shim/protocol/process_control.h).
CallOutcome sys_control(CallContext& call) {
  Family& family = call.process.family();
  const auto store = [&](int value) { return Answer{call.process.memory().store(call.address(1), value) ? 0 : -EFAULT}; };
  constexpr std::uint64_t kHighestSignal = 64;
  switch (call.as_int(0)) {
    case PR_SET_PDEATHSIG:
      if (call.address(1) > kHighestSignal) return Answer{-EINVAL};
      family.death_signal = call.as_int(1);
      return Answer{0};
    case PR_GET_PDEATHSIG:
      return store(family.death_signal);
    case PR_SET_CHILD_SUBREAPER:
      family.is_subreaper = call.address(1) != 0;
      return Answer{0};
    case PR_GET_CHILD_SUBREAPER:
      return store(family.is_subreaper ? 1 : 0);
    default:
      break;
  }
  const auto result = call.thread.credentials.control(call.as_int(0), call.address(1), call.address(2));
  return Answer{result.value_or(-EINVAL)};
}

}  // namespace verbatim::supervisor
