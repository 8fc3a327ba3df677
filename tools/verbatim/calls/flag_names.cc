#include "tools/verbatim/calls/flag_names.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tools/verbatim/calls/call_text.h"

namespace verbatim::cli {

namespace {

#define NAMED(name) \
  { static_cast<std::uint64_t>(name), #name }

constexpr FlagName kOpenFlags[] = {
    {O_CREAT, "O_CREAT"},       {O_EXCL, "O_EXCL"},       {O_NOCTTY, "O_NOCTTY"},
    {O_TRUNC, "O_TRUNC"},       {O_APPEND, "O_APPEND"},   {O_NONBLOCK, "O_NONBLOCK"},
    {O_SYNC, "O_SYNC"},         {O_DSYNC, "O_DSYNC"},     {O_DIRECT, "O_DIRECT"},
    {0100000, "O_LARGEFILE"},   {O_TMPFILE, "O_TMPFILE"}, {O_DIRECTORY, "O_DIRECTORY"},
    {O_NOFOLLOW, "O_NOFOLLOW"}, {O_NOATIME, "O_NOATIME"}, {O_CLOEXEC, "O_CLOEXEC"},
    {O_PATH, "O_PATH"},         {O_ASYNC, "O_ASYNC"}};
constexpr FlagName kMapFlags[] = {NAMED(MAP_FIXED),     NAMED(MAP_ANONYMOUS), NAMED(MAP_GROWSDOWN),
                                  NAMED(MAP_DENYWRITE), NAMED(MAP_LOCKED),    NAMED(MAP_NORESERVE),
                                  NAMED(MAP_POPULATE),  NAMED(MAP_NONBLOCK),  NAMED(MAP_STACK),
                                  NAMED(MAP_HUGETLB),   NAMED(MAP_SYNC),      NAMED(MAP_FIXED_NOREPLACE),
                                  NAMED(MAP_32BIT)};
constexpr FlagName kCloneFlags[] = {NAMED(CLONE_VM),
                                    NAMED(CLONE_FS),
                                    NAMED(CLONE_FILES),
                                    NAMED(CLONE_SIGHAND),
                                    NAMED(CLONE_PTRACE),
                                    NAMED(CLONE_VFORK),
                                    NAMED(CLONE_PARENT),
                                    NAMED(CLONE_THREAD),
                                    NAMED(CLONE_NEWNS),
                                    NAMED(CLONE_SYSVSEM),
                                    NAMED(CLONE_SETTLS),
                                    NAMED(CLONE_PARENT_SETTID),
                                    NAMED(CLONE_CHILD_CLEARTID),
                                    NAMED(CLONE_DETACHED),
                                    NAMED(CLONE_UNTRACED),
                                    NAMED(CLONE_CHILD_SETTID)};
constexpr FlagName kSocketTypes[] = {NAMED(SOCK_STREAM), NAMED(SOCK_DGRAM), NAMED(SOCK_RAW), NAMED(SOCK_RDM),
                                     NAMED(SOCK_SEQPACKET)};
constexpr FlagName kFutexOperations[] = {
    NAMED(FUTEX_WAIT),        NAMED(FUTEX_WAKE),       NAMED(FUTEX_REQUEUE),   NAMED(FUTEX_CMP_REQUEUE),
    NAMED(FUTEX_WAKE_OP),     NAMED(FUTEX_LOCK_PI),    NAMED(FUTEX_UNLOCK_PI), NAMED(FUTEX_TRYLOCK_PI),
    NAMED(FUTEX_WAIT_BITSET), NAMED(FUTEX_WAKE_BITSET)};

constexpr FlagName kProtectionNames[] = {NAMED(PROT_READ), NAMED(PROT_WRITE), NAMED(PROT_EXEC)};
constexpr FlagName kFamilyNames[] = {NAMED(AF_UNIX), NAMED(AF_INET), NAMED(AF_INET6), NAMED(AF_NETLINK),
                                     NAMED(AF_PACKET)};
constexpr FlagName kWhenceNames[] = {
    NAMED(SEEK_SET), NAMED(SEEK_CUR), NAMED(SEEK_END), {3, "SEEK_DATA"}, {4, "SEEK_HOLE"}};
constexpr FlagName kEpollOperationNames[] = {NAMED(EPOLL_CTL_ADD), NAMED(EPOLL_CTL_DEL),
                                             NAMED(EPOLL_CTL_MOD)};
constexpr FlagName kEpollEventNames[] = {
    NAMED(EPOLLIN),    NAMED(EPOLLPRI), NAMED(EPOLLOUT),     NAMED(EPOLLERR),    NAMED(EPOLLHUP),
    NAMED(EPOLLRDHUP), NAMED(EPOLLET),  NAMED(EPOLLONESHOT), NAMED(EPOLLWAKEUP), NAMED(EPOLLEXCLUSIVE)};
constexpr FlagName kPollEventNames[] = {NAMED(POLLIN),  NAMED(POLLPRI),  NAMED(POLLOUT),       NAMED(POLLERR),
                                        NAMED(POLLHUP), NAMED(POLLNVAL), {0x2000, "POLLRDHUP"}};
constexpr FlagName kClockNames[] = {
    NAMED(CLOCK_REALTIME),          NAMED(CLOCK_MONOTONIC),     NAMED(CLOCK_PROCESS_CPUTIME_ID),
    NAMED(CLOCK_THREAD_CPUTIME_ID), NAMED(CLOCK_MONOTONIC_RAW), NAMED(CLOCK_REALTIME_COARSE),
    NAMED(CLOCK_MONOTONIC_COARSE),  NAMED(CLOCK_BOOTTIME),      NAMED(CLOCK_TAI)};
constexpr FlagName kMessageFlagNames[] = {NAMED(MSG_OOB),          NAMED(MSG_PEEK),     NAMED(MSG_TRUNC),
                                          NAMED(MSG_DONTWAIT),     NAMED(MSG_EOR),      NAMED(MSG_WAITALL),
                                          NAMED(MSG_ERRQUEUE),     NAMED(MSG_NOSIGNAL), NAMED(MSG_MORE),
                                          NAMED(MSG_CMSG_CLOEXEC), NAMED(MSG_CTRUNC)};
constexpr FlagName kAccessModeNames[] = {NAMED(R_OK), NAMED(W_OK), NAMED(X_OK)};
constexpr FlagName kFileCommandNames[] = {
    NAMED(F_DUPFD),         NAMED(F_GETFD),        NAMED(F_SETFD),         NAMED(F_GETFL),
    NAMED(F_SETFL),         NAMED(F_GETLK),        NAMED(F_SETLK),         NAMED(F_SETLKW),
    NAMED(F_SETOWN),        NAMED(F_GETOWN),       NAMED(F_DUPFD_CLOEXEC), {1031, "F_SETPIPE_SZ"},
    {1032, "F_GETPIPE_SZ"}, {1033, "F_ADD_SEALS"}, {1034, "F_GET_SEALS"}};
constexpr FlagName kMaskChangeNames[] = {NAMED(SIG_BLOCK), NAMED(SIG_UNBLOCK), NAMED(SIG_SETMASK)};
constexpr FlagName kAdviceNames[] = {NAMED(MADV_NORMAL),    NAMED(MADV_RANDOM),   NAMED(MADV_SEQUENTIAL),
                                     NAMED(MADV_WILLNEED),  NAMED(MADV_DONTNEED), NAMED(MADV_FREE),
                                     NAMED(MADV_DONTFORK),  NAMED(MADV_DOFORK),   NAMED(MADV_HUGEPAGE),
                                     NAMED(MADV_NOHUGEPAGE)};

#undef NAMED

void add(std::string& text, const std::string& more) { text += (text.empty() ? "" : "|") + more; }

}  // namespace

constexpr std::span<const FlagName> kProtections = kProtectionNames;
constexpr std::span<const FlagName> kFamilies = kFamilyNames;
constexpr std::span<const FlagName> kWhences = kWhenceNames;
constexpr std::span<const FlagName> kEpollOperations = kEpollOperationNames;
constexpr std::span<const FlagName> kEpollEvents = kEpollEventNames;
constexpr std::span<const FlagName> kPollEvents = kPollEventNames;
constexpr std::span<const FlagName> kClocks = kClockNames;
constexpr std::span<const FlagName> kMessageFlags = kMessageFlagNames;
constexpr std::span<const FlagName> kAccessModes = kAccessModeNames;
constexpr std::span<const FlagName> kFileCommands = kFileCommandNames;
constexpr std::span<const FlagName> kMaskChanges = kMaskChangeNames;
constexpr std::span<const FlagName> kAdvices = kAdviceNames;

std::string flag_text(std::uint64_t value, std::span<const FlagName> names, const char* none) {
  if (value == 0) return none;
  std::string text;
  for (const FlagName& flag : names) {
    if (flag.bits == 0 || (value & flag.bits) != flag.bits) continue;
    add(text, flag.name);
    value &= ~flag.bits;
  }
  if (value != 0) add(text, in_hex(value));
  return text;
}

std::string constant_text(std::int64_t value, std::span<const FlagName> names) {
  for (const FlagName& one : names) {
    if (one.bits == static_cast<std::uint64_t>(value)) return one.name;
  }
  return std::to_string(value);
}

std::string open_flags_text(std::uint64_t flags) {
  constexpr const char* kModes[] = {"O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"};
  std::string text = kModes[flags & O_ACCMODE];
  if (const std::uint64_t others = flags & ~std::uint64_t{O_ACCMODE}; others != 0)
    add(text, flag_text(others, kOpenFlags));
  return text;
}

std::string socket_type_text(std::uint64_t type) {
  constexpr std::uint64_t kOptions = SOCK_CLOEXEC | SOCK_NONBLOCK;
  std::string text = constant_text(static_cast<std::int64_t>(type & ~kOptions), kSocketTypes);
  if ((type & SOCK_CLOEXEC) != 0) add(text, "SOCK_CLOEXEC");
  if ((type & SOCK_NONBLOCK) != 0) add(text, "SOCK_NONBLOCK");
  return text;
}

std::string futex_operation_text(std::uint64_t operation) {
  constexpr std::uint64_t kOptions = FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME;
  std::string text = constant_text(static_cast<std::int64_t>(operation & ~kOptions), kFutexOperations);
  if ((operation & FUTEX_PRIVATE_FLAG) != 0) text += "_PRIVATE";
  if ((operation & FUTEX_CLOCK_REALTIME) != 0) add(text, "FUTEX_CLOCK_REALTIME");
  return text;
}

std::string map_flags_text(std::uint64_t flags) {
  constexpr const char* kKinds[] = {"MAP_FILE", "MAP_SHARED", "MAP_PRIVATE", "MAP_SHARED_VALIDATE"};
  std::string text = kKinds[flags & 3];
  if (const std::uint64_t others = flags & ~std::uint64_t{3}; others != 0)
    add(text, flag_text(others, kMapFlags));
  return text;
}

// The lowest byte is the child's termination signal.
std::string clone_flags_text(std::uint64_t flags) {
  std::string text =
      (flags & ~std::uint64_t{0xff}) != 0 ? flag_text(flags & ~std::uint64_t{0xff}, kCloneFlags) : "";
  if (const std::uint64_t signal = flags & 0xff; signal != 0)
    add(text, signal_text(static_cast<std::int64_t>(signal)));
  return text.empty() ? "0" : text;
}

std::string signal_text(std::int64_t signal) {
  const char* const name = signal > 0 && signal < 32 ? sigabbrev_np(static_cast<int>(signal)) : nullptr;
  return name != nullptr ? std::string("SIG") + name : std::to_string(signal);
}

}  // namespace verbatim::cli
