#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "tools/verbatim/calls/call_text.h"
#include "tools/verbatim/calls/flag_names.h"
#include "verbs_shim/protocol/remote_shell.h"
#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::cli {

namespace {

constexpr std::size_t kMostBytes = 32;  // of a buffer, as strace has it
constexpr std::size_t kMostPath = 4096;
constexpr std::int64_t kMostEntries = 8;  // of an array
constexpr std::int64_t kLastError = -4095;

// How the arguments of a call are shown, a letter each. What the kernel writes is an address until the call
// has succeeded.
//   d  int             D  number of 64 bits      u  number without sign   x  hexadecimal      f  descriptor,
//   or AT_FDCWD p  path            s  string                 B  bytes that it reads, their number is the next
//   argument b  bytes that it writes, the result says how many                     V  the same of an iovec,
//   and their number next v  an iovec that it writes                   A  address of a socket, and its length
//   next a  one that it writes, and where its length is next                   i  two descriptors that it
//   writes I  a number that it writes                   t  timespec              T  one that it writes G
//   strings of an array                       E  epoll_event           e  those that it writes, the result
//   says how many P  pollfds, their number is next             N  a set of signals the others name constants
//   and flags, see constant()
struct Shape {
  std::uint32_t number;
  const char* letters;
};

constexpr Shape kShapes[] = {
    {SYS_read, "fbu"},
    {SYS_write, "fBu"},
    {SYS_open, "poO"},
    {SYS_close, "f"},
    {SYS_stat, "px"},
    {SYS_fstat, "fx"},
    {SYS_lstat, "px"},
    {SYS_poll, "Pud"},
    {SYS_lseek, "fDw"},
    {SYS_mmap, "xurmfx"},
    {SYS_mprotect, "xur"},
    {SYS_munmap, "xu"},
    {SYS_brk, "x"},
    {SYS_rt_sigaction, "gxxu"},
    {SYS_rt_sigprocmask, "kNxu"},
    {SYS_ioctl, "fxx"},
    {SYS_pread64, "fbuD"},
    {SYS_pwrite64, "fBuD"},
    {SYS_readv, "fvu"},
    {SYS_writev, "fVu"},
    {SYS_access, "pR"},
    {SYS_pipe, "i"},
    {SYS_select, "dxxxx"},
    {SYS_sched_yield, ""},
    {SYS_mremap, "xuuxx"},
    {SYS_msync, "xux"},
    {SYS_mincore, "xux"},
    {SYS_madvise, "xuM"},
    {SYS_shmget, "xux"},
    {SYS_shmat, "dxx"},
    {SYS_shmctl, "ddx"},
    {SYS_dup, "f"},
    {SYS_dup2, "ff"},
    {SYS_pause, ""},
    {SYS_nanosleep, "tx"},
    {SYS_getitimer, "dx"},
    {SYS_alarm, "u"},
    {SYS_setitimer, "dxx"},
    {SYS_getpid, ""},
    {SYS_sendfile, "ffxu"},
    {SYS_socket, "FSd"},
    {SYS_connect, "fAu"},
    {SYS_accept, "fax"},
    {SYS_sendto, "fBuqAu"},
    {SYS_recvfrom, "fbuqax"},
    {SYS_sendmsg, "fxq"},
    {SYS_recvmsg, "fxq"},
    {SYS_shutdown, "fd"},
    {SYS_bind, "fAu"},
    {SYS_listen, "fd"},
    {SYS_getsockname, "fax"},
    {SYS_getpeername, "fax"},
    {SYS_socketpair, "FSdi"},
    {SYS_setsockopt, "fddxu"},
    {SYS_getsockopt, "fddxx"},
    {SYS_clone, "cxxxx"},
    {SYS_fork, ""},
    {SYS_vfork, ""},
    {SYS_execve, "pGx"},
    {SYS_exit, "d"},
    {SYS_wait4, "dIxx"},
    {SYS_kill, "dg"},
    {SYS_uname, "x"},
    {SYS_semget, "xdx"},
    {SYS_semop, "dxu"},
    {SYS_semctl, "dddx"},
    {SYS_shmdt, "x"},
    {SYS_msgget, "xx"},
    {SYS_msgsnd, "dxux"},
    {SYS_msgrcv, "dxudx"},
    {SYS_msgctl, "ddx"},
    {SYS_fcntl, "flx"},
    {SYS_flock, "fd"},
    {SYS_fsync, "f"},
    {SYS_fdatasync, "f"},
    {SYS_truncate, "pD"},
    {SYS_ftruncate, "fD"},
    {SYS_getdents, "fxu"},
    {SYS_getcwd, "xu"},
    {SYS_chdir, "p"},
    {SYS_fchdir, "f"},
    {SYS_rename, "pp"},
    {SYS_mkdir, "pO"},
    {SYS_rmdir, "p"},
    {SYS_creat, "pO"},
    {SYS_link, "pp"},
    {SYS_unlink, "p"},
    {SYS_symlink, "sp"},
    {SYS_readlink, "pbu"},
    {SYS_chmod, "pO"},
    {SYS_fchmod, "fO"},
    {SYS_chown, "pdd"},
    {SYS_fchown, "fdd"},
    {SYS_lchown, "pdd"},
    {SYS_umask, "O"},
    {SYS_gettimeofday, "Tx"},
    {SYS_getrlimit, "dx"},
    {SYS_getrusage, "dx"},
    {SYS_sysinfo, "x"},
    {SYS_times, "x"},
    {SYS_getuid, ""},
    {SYS_getgid, ""},
    {SYS_setuid, "d"},
    {SYS_setgid, "d"},
    {SYS_geteuid, ""},
    {SYS_getegid, ""},
    {SYS_setpgid, "dd"},
    {SYS_getppid, ""},
    {SYS_getpgrp, ""},
    {SYS_setsid, ""},
    {SYS_getpgid, "d"},
    {SYS_getsid, "d"},
    {SYS_rt_sigpending, "xu"},
    {SYS_rt_sigtimedwait, "Nxtu"},
    {SYS_rt_sigqueueinfo, "dgx"},
    {SYS_rt_sigsuspend, "Nu"},
    {SYS_sigaltstack, "xx"},
    {SYS_statfs, "px"},
    {SYS_fstatfs, "fx"},
    {SYS_getpriority, "dd"},
    {SYS_setpriority, "ddd"},
    {SYS_mlock, "xu"},
    {SYS_munlock, "xu"},
    {SYS_mlockall, "x"},
    {SYS_munlockall, ""},
    {SYS_prctl, "dxxxx"},
    {SYS_arch_prctl, "xx"},
    {SYS_setrlimit, "dx"},
    {SYS_sync, ""},
    {SYS_gettid, ""},
    {SYS_tkill, "dg"},
    {SYS_time, "x"},
    {SYS_sched_setaffinity, "dux"},
    {SYS_sched_getaffinity, "dux"},
    {SYS_io_setup, "ux"},
    {SYS_io_destroy, "x"},
    {SYS_io_getevents, "xddxt"},
    {SYS_io_submit, "xdx"},
    {SYS_epoll_create, "d"},
    {SYS_getdents64, "fxu"},
    {SYS_set_tid_address, "x"},
    {SYS_fadvise64, "fDud"},
    {SYS_timer_create, "Kxx"},
    {SYS_timer_settime, "dxxx"},
    {SYS_timer_gettime, "dx"},
    {SYS_timer_getoverrun, "d"},
    {SYS_timer_delete, "d"},
    {SYS_clock_gettime, "KT"},
    {SYS_clock_getres, "KT"},
    {SYS_clock_nanosleep, "Kxtx"},
    {SYS_exit_group, "d"},
    {SYS_epoll_wait, "fedd"},
    {SYS_epoll_ctl, "fCfE"},
    {SYS_tgkill, "ddg"},
    {SYS_waitid, "ddxxx"},
    {SYS_inotify_init, ""},
    {SYS_inotify_add_watch, "fpx"},
    {SYS_inotify_rm_watch, "fd"},
    {SYS_openat, "fpoO"},
    {SYS_mkdirat, "fpO"},
    {SYS_fchownat, "fpddx"},
    {SYS_newfstatat, "fpxx"},
    {SYS_unlinkat, "fpx"},
    {SYS_renameat, "fpfp"},
    {SYS_linkat, "fpfpx"},
    {SYS_symlinkat, "sfp"},
    {SYS_readlinkat, "fpbu"},
    {SYS_fchmodat, "fpO"},
    {SYS_faccessat, "fpR"},
    {SYS_pselect6, "dxxxtx"},
    {SYS_ppoll, "PutNu"},
    {SYS_set_robust_list, "xu"},
    {SYS_utimensat, "fpxx"},
    {SYS_epoll_pwait, "feddNu"},
    {SYS_signalfd, "fNu"},
    {SYS_timerfd_create, "Kx"},
    {SYS_eventfd, "u"},
    {SYS_fallocate, "fxDD"},
    {SYS_timerfd_settime, "fxxx"},
    {SYS_timerfd_gettime, "fx"},
    {SYS_accept4, "faxS"},
    {SYS_signalfd4, "fNux"},
    {SYS_eventfd2, "ux"},
    {SYS_epoll_create1, "o"},
    {SYS_dup3, "ffo"},
    {SYS_pipe2, "io"},
    {SYS_inotify_init1, "o"},
    {SYS_preadv, "fvuDD"},
    {SYS_pwritev, "fVuDD"},
    {SYS_rt_tgsigqueueinfo, "ddgx"},
    {SYS_recvmmsg, "fxuqt"},
    {SYS_prlimit64, "ddxx"},
    {SYS_sendmmsg, "fxuq"},
    {SYS_getcpu, "IIx"},
    {SYS_process_vm_readv, "dxuxux"},
    {SYS_process_vm_writev, "dxuxux"},
    {SYS_renameat2, "fpfpx"},
    {SYS_getrandom, "bux"},
    {SYS_memfd_create, "sx"},
    {SYS_execveat, "fpGxx"},
    {SYS_membarrier, "xxd"},
    {SYS_mlock2, "xux"},
    {SYS_copy_file_range, "fxfxux"},
    {SYS_statx, "fpxxx"},
    {SYS_rseq, "xuxx"},
    {SYS_clone3, "xu"},
    {SYS_close_range, "uux"},
    {SYS_faccessat2, "fpRx"},
    {SYS_epoll_pwait2, "fedtNu"},
};

const char* letters_of(std::uint32_t number, const std::int64_t (&a)[6]) {
  if (number == SYS_futex) {
    const auto operation = static_cast<int>(a[1]) & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
    if (operation == FUTEX_WAKE) return "xUu";
    if (operation == FUTEX_WAIT) return "xUut";
    if (operation == FUTEX_WAIT_BITSET) return "xUutxx";
    return "xUuxxx";
  }
  // What follows is of calls that create something alone.
  if (number == SYS_open && (a[1] & O_CREAT) == 0) return "po";
  if (number == SYS_openat && (a[2] & O_CREAT) == 0) return "fpo";
  if (number == VERBATIM_START_REMOTE_SHELL) return "xu";
  for (const Shape& shape : kShapes) {
    if (shape.number == number) return shape.letters;
  }
  return "xxxxxx";
}

// Programs that wait make these again and again, and none of them says more than those before it.
bool asks(std::uint32_t number) {
  switch (number) {
    case SYS_sched_yield:
    case SYS_clock_gettime:
    case SYS_gettimeofday:
    case SYS_time:
      return true;
    default:
      return false;
  }
}

std::string escaped(std::span<const std::byte> bytes, bool is_cut) {
  std::string text = "\"";
  for (const std::byte byte : bytes) {
    const auto c = std::to_integer<unsigned char>(byte);
    constexpr std::string_view kSpecial = "\n\t\r\v\f\"\\", kLetters = "ntrvf\"\\";
    if (const std::size_t at = kSpecial.find(static_cast<char>(c)); at != std::string_view::npos) {
      text += '\\';
      text += kLetters[at];
    } else if (c >= ' ' && c <= '~') {
      text += static_cast<char>(c);
    } else {
      constexpr const char* kDigits = "0123456789abcdef";
      text += {'\\', 'x', kDigits[c >> 4], kDigits[c & 15]};
    }
  }
  return text + (is_cut ? "\"..." : "\"");
}

std::string bytes_text(const ReadMemory& read, std::uint64_t address, std::uint64_t length) {
  std::array<std::byte, kMostBytes> bytes;
  const std::size_t wanted = std::min<std::uint64_t>(length, bytes.size());
  if (wanted == 0) return length == 0 && address != 0 ? "\"\"" : in_hex(address);
  const auto part = std::span(bytes).first(wanted);
  return read(address, part) == wanted ? escaped(part, length > wanted) : in_hex(address);
}

std::string string_text(const ReadMemory& read, std::uint64_t address) {
  if (address == 0) return "NULL";
  std::vector<std::byte> bytes(kMostPath);
  bytes.resize(read(address, bytes));
  const auto end = std::ranges::find(bytes, std::byte{});
  if (end == bytes.end() && bytes.size() < kMostPath) return in_hex(address);
  return escaped(std::span(bytes.begin(), end), end == bytes.end());
}

std::string list_text(std::int64_t count, std::uint64_t address,
                      const std::function<std::string(std::int64_t)>& one) {
  std::string text = "[";
  for (std::int64_t i = 0; i < std::min(count, kMostEntries); ++i) {
    const std::string entry = one(i);
    if (entry.empty()) return in_hex(address);
    text += (i == 0 ? "" : ", ") + entry;
  }
  return text + (count > kMostEntries ? ", ...]" : "]");
}

std::string strings_text(const ReadMemory& read, std::uint64_t address) {
  std::int64_t count = 0;
  while (count <= kMostEntries) {
    const auto string = value_at<std::uint64_t>(read, address + 8 * static_cast<std::uint64_t>(count));
    if (!string) return in_hex(address);
    if (*string == 0) break;
    ++count;
  }
  return list_text(count, address, [&](std::int64_t i) {
    const auto string = value_at<std::uint64_t>(read, address + 8 * static_cast<std::uint64_t>(i));
    return string ? string_text(read, *string) : "";
  });
}

// `left`: of the bytes that there are in all.
std::string vector_text(const ReadMemory& read, std::uint64_t address, std::int64_t count,
                        std::uint64_t left) {
  return list_text(count, address, [&](std::int64_t i) -> std::string {
    const auto part = value_at<iovec>(read, address + static_cast<std::uint64_t>(i) * sizeof(iovec));
    if (!part) return "";
    const std::uint64_t length = std::min<std::uint64_t>(part->iov_len, left);
    left -= length;
    return "{" + bytes_text(read, reinterpret_cast<std::uint64_t>(part->iov_base), length) + ", " +
           std::to_string(part->iov_len) + "}";
  });
}

std::string address_text(const ReadMemory& read, std::uint64_t address, std::uint64_t length) {
  sockaddr_storage storage{};
  if (address == 0) return "NULL";
  length = std::min<std::uint64_t>(length, sizeof storage);
  const auto bytes = std::as_writable_bytes(std::span(&storage, 1)).first(length);
  if (length < sizeof(sa_family_t) || read(address, bytes) != length) return in_hex(address);
  char text[INET6_ADDRSTRLEN] = "";
  const std::string family = "{" + constant_text(storage.ss_family, kFamilies);
  switch (storage.ss_family) {
    case AF_INET: {
      const auto& in = reinterpret_cast<const sockaddr_in&>(storage);
      return family + ", " + inet_ntop(AF_INET, &in.sin_addr, text, sizeof text) + ":" +
             std::to_string(ntohs(in.sin_port)) + "}";
    }
    case AF_INET6: {
      const auto& in = reinterpret_cast<const sockaddr_in6&>(storage);
      return family + ", [" + inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof text) +
             "]:" + std::to_string(ntohs(in.sin6_port)) + "}";
    }
    case AF_UNIX: {  // a name without a file begins with a zero
      const auto path = bytes.subspan(std::min<std::size_t>(offsetof(sockaddr_un, sun_path), bytes.size()));
      const bool is_abstract = !path.empty() && path.front() == std::byte{};
      const auto end = is_abstract ? path.end() : std::ranges::find(path, std::byte{});
      return family + ", " + escaped(std::span(path.begin(), end), false) + "}";
    }
    default:
      return family + "}";
  }
}

std::string time_text(const ReadMemory& read, std::uint64_t address, const char* unit) {
  if (address == 0) return "NULL";
  const auto time = value_at<timespec>(read, address);
  return time ? "{" + std::to_string(time->tv_sec) + " s, " + std::to_string(time->tv_nsec) + unit + "}"
              : in_hex(address);
}

std::string event_text(const ReadMemory& read, std::uint64_t address) {
  const auto event = value_at<epoll_event>(read, address);
  return event ? "{" + flag_text(event->events, kEpollEvents) + ", " + in_hex(event->data.u64) + "}" : "";
}

std::string polled_text(const ReadMemory& read, std::uint64_t address, std::int64_t count, bool has_ended) {
  return list_text(count, address, [&](std::int64_t i) -> std::string {
    const auto polled = value_at<pollfd>(read, address + static_cast<std::uint64_t>(i) * sizeof(pollfd));
    if (!polled) return "";
    std::string text = "{" + std::to_string(polled->fd) + ", " +
                       flag_text(static_cast<std::uint16_t>(polled->events), kPollEvents);
    if (has_ended && polled->revents != 0)
      text += " => " + flag_text(static_cast<std::uint16_t>(polled->revents), kPollEvents);
    return text + "}";
  });
}

std::string signals_text(const ReadMemory& read, std::uint64_t address) {
  if (address == 0) return "NULL";
  const auto set = value_at<std::uint64_t>(read, address);
  if (!set) return in_hex(address);
  std::string text;
  for (int signal = 1; signal <= 64; ++signal) {
    if ((*set >> (signal - 1) & 1) == 0) continue;
    if (*set == ~std::uint64_t{0} || text.size() > 40) return "[" + in_hex(*set) + "]";
    text += (text.empty() ? "" : " ") + signal_text(signal).substr(signal < 32 ? 3 : 0);
  }
  return "[" + text + "]";
}

std::string octal(std::uint64_t value) {
  std::string text;
  for (; value != 0; value /= 8) text.insert(text.begin(), static_cast<char>('0' + value % 8));
  return "0" + text;
}

std::string constant(char letter, std::int64_t value) {
  const auto word = static_cast<std::uint32_t>(value);
  switch (letter) {
    case 'd':
      return std::to_string(static_cast<std::int32_t>(value));
    case 'D':
      return std::to_string(value);
    case 'u':
      return std::to_string(static_cast<std::uint64_t>(value));
    case 'f':
      return static_cast<std::int32_t>(value) == AT_FDCWD ? "AT_FDCWD"
                                                          : std::to_string(static_cast<std::int32_t>(value));
    case 'o':
      return open_flags_text(word);
    case 'O':
      return octal(word);
    case 'r':
      return flag_text(word, kProtections, "PROT_NONE");
    case 'm':
      return map_flags_text(word);
    case 'M':
      return constant_text(static_cast<std::int32_t>(value), kAdvices);
    case 'w':
      return constant_text(static_cast<std::int32_t>(value), kWhences);
    case 'F':
      return constant_text(static_cast<std::int32_t>(value), kFamilies);
    case 'S':
      return socket_type_text(word);
    case 'q':
      return flag_text(word, kMessageFlags);
    case 'U':
      return futex_operation_text(word);
    case 'C':
      return constant_text(static_cast<std::int32_t>(value), kEpollOperations);
    case 'c':
      return clone_flags_text(static_cast<std::uint64_t>(value));
    case 'g':
      return signal_text(static_cast<std::int32_t>(value));
    case 'K':
      return constant_text(static_cast<std::int32_t>(value), kClocks);
    case 'k':
      return constant_text(static_cast<std::int32_t>(value), kMaskChanges);
    case 'l':
      return constant_text(static_cast<std::int32_t>(value), kFileCommands);
    case 'R':
      return flag_text(word, kAccessModes, "F_OK");
    default:
      return value == 0 ? "0" : in_hex(static_cast<std::uint64_t>(value));
  }
}

// `result`: of a call that has succeeded.
std::string argument(char letter, std::size_t i, const std::int64_t (&a)[6], const ReadMemory& read,
                     std::optional<std::int64_t> result) {
  const auto address = static_cast<std::uint64_t>(a[i]);
  const std::int64_t next = i < 5 ? a[i + 1] : 0;
  const auto elsewhere = [&] { return address == 0 ? std::string("NULL") : in_hex(address); };
  switch (letter) {
    case 'p':
    case 's':
      return string_text(read, address);
    case 'B':
      return bytes_text(read, address, static_cast<std::uint64_t>(next));
    case 'b':
      return result ? bytes_text(read, address, static_cast<std::uint64_t>(*result)) : elsewhere();
    case 'V':
      return vector_text(read, address, next, ~std::uint64_t{0});
    case 'v':
      return result ? vector_text(read, address, next, static_cast<std::uint64_t>(*result)) : elsewhere();
    case 'A':
      return address_text(read, address, static_cast<std::uint32_t>(next));
    case 'a': {
      const auto length = value_at<std::uint32_t>(read, static_cast<std::uint64_t>(next));
      return result && length && address != 0 ? address_text(read, address, *length) : elsewhere();
    }
    case 'i': {
      const auto both = value_at<std::array<std::int32_t, 2>>(read, address);
      return result && both ? "[" + std::to_string((*both)[0]) + ", " + std::to_string((*both)[1]) + "]"
                            : elsewhere();
    }
    case 'I': {
      const auto value = value_at<std::int32_t>(read, address);
      return result && *result >= 0 && value ? "[" + std::to_string(*value) + "]" : elsewhere();
    }
    case 't':
      return time_text(read, address, " ns");
    case 'T':
      return result ? time_text(read, address, i == 0 ? " us" : " ns") : elsewhere();
    case 'G':
      return strings_text(read, address);
    case 'E': {
      const std::string text = event_text(read, address);
      return text.empty() ? elsewhere() : text;
    }
    case 'e':
      if (!result) return elsewhere();
      return list_text(*result, address, [&](std::int64_t n) {
        return event_text(read, address + static_cast<std::uint64_t>(n) * sizeof(epoll_event));
      });
    case 'P':
      return polled_text(read, address, static_cast<std::uint32_t>(next), result.has_value());
    case 'N':
      return signals_text(read, address);
    case 'x':
      return address == 0 ? "0" : in_hex(address);
    default:
      return constant(letter, a[i]);
  }
}

bool is_written(char letter) { return std::string_view("bvaiITeP").find(letter) != std::string_view::npos; }

bool returns_address(std::uint32_t number) {
  return number == SYS_mmap || number == SYS_brk || number == SYS_mremap || number == SYS_shmat;
}

}  // namespace

CallText text_of_system_call(const protocol::ToldCall& call, const ReadMemory& read) {
  CallText text;
  const char* const name = protocol::system_call(call.number).name;
  text.name = call.number == VERBATIM_START_REMOTE_SHELL ? "start_remote_shell"
              : name != nullptr                          ? name
                                                         : "system_call_" + std::to_string(call.number);
  const char* const letters = letters_of(call.number, call.arguments);
  for (std::size_t i = 0; letters[i] != 0; ++i) {
    text.arguments.push_back(argument(letters[i], i, call.arguments, read, std::nullopt));
  }
  return text;
}

void add_result_of_system_call(CallText& text, const protocol::ToldCall& call, const ReadMemory& read) {
  if (call.step == protocol::ToldStep::kIsMadeAgain) {
    text.result = " = ? ERESTARTSYS (to be made again)";
    return;
  }
  if (asks(call.number)) text.subject = "calls of " + text.name;
  if (call.result < 0 && call.result >= kLastError) {
    text.result = " = -1 " + error_text(-call.result);
    return;
  }
  const char* const letters = letters_of(call.number, call.arguments);
  for (std::size_t i = 0; letters[i] != 0 && i < text.arguments.size(); ++i) {
    if (is_written(letters[i]))
      text.arguments[i] = argument(letters[i], i, call.arguments, read, call.result);
  }
  text.result = " = " + (returns_address(call.number) ? in_hex(static_cast<std::uint64_t>(call.result))
                                                      : std::to_string(call.result));
}

}  // namespace verbatim::cli
