#include "tests/fuzz/puppet.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/fuzz/bytes.h"
#include "verbs_shim/protocol/commands.h"
#include "verbs_shim/protocol/region.h"

namespace verbatim::fuzz {

namespace {

using protocol::Request;
using protocol::ThreadSlot;

// Target of its pointers: a few pages, followed by unmapped memory.
constexpr std::uint64_t kMemory = 0x1000'0000, kMemoryBytes = 4 * 4096;
constexpr std::uint32_t kSlots = 8;  // that it checks for its token

class Puppet {
 public:
  Puppet(std::byte* region, std::span<const std::uint8_t> input) : region_(region), bytes_(input) {
    mmap(reinterpret_cast<void*>(kMemory), kMemoryBytes, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    // Words of what a call may be given, at places that an input finds easily.
    constexpr const char* kTexts[] = {"/proc/self/maps", "/dev/urandom", "/sys/class/infiniband", "socket",
                                      "/bin/true",       "..",           "/dev/infiniband/uverbs0"};
    for (std::size_t i = 0; i < std::size(kTexts); ++i) std::strcpy(memory(i * 64), kTexts[i]);
    slot(0).native_tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  }

  [[noreturn]] void play() {
    ask(0, Request::kAttach);
    while (!bytes_.at_end()) step();
    _exit(0);
  }

  [[noreturn]] void keep_to_the_rules() {
    ask(0, Request::kAttach);
    for (int i = 0; i < 5; ++i) {
      slot(0).arguments[0] = 1'000'000;
      ask(0, Request::kSpend);
    }
    _exit(kHonestExit);
  }

 private:
  ThreadSlot& slot(std::uint64_t index) {
    return part(index).slot;
  }
  protocol::RegionHeader& header() { return *reinterpret_cast<protocol::RegionHeader*>(region_); }
  protocol::ThreadPart& part(std::uint64_t index) {
    return reinterpret_cast<protocol::ThreadPart*>(region_ + protocol::kThreadsOffset)[index];
  }
  std::byte* mailbox(std::uint64_t index) {
    return reinterpret_cast<std::byte*>(part(index).mailbox.bytes);
  }
  static char* memory(std::uint64_t offset) { return reinterpret_cast<char*>(kMemory + offset); }

  // Small, large, negative, or a pointer.
  std::int64_t number() {
    switch (bytes_.below(8)) {
      case 0:
      case 1:
        return static_cast<std::int64_t>(bytes_.below(16));
      case 2:
        return static_cast<std::int64_t>(bytes_.below(65536));
      case 3:
        return static_cast<std::int64_t>(bytes_.next());
      case 4:
        return -static_cast<std::int64_t>(bytes_.below(256));
      case 5:
        return static_cast<std::int64_t>(kMemory + kMemoryBytes - bytes_.below(256));  // ends soon
      default:
        return static_cast<std::int64_t>(kMemory + 64 * bytes_.below(kMemoryBytes / 64));
    }
  }

  void scribble(std::byte* start, std::uint64_t length) {
    const std::uint64_t at = bytes_.below(length);
    const std::uint64_t value = static_cast<std::uint64_t>(number());
    std::memcpy(start + at, &value, std::min<std::uint64_t>(8, length - at));
  }

  void step() {
    ThreadSlot& own = slot(current_);
    switch (bytes_.below(24)) {
      case 0:
        return scribble(reinterpret_cast<std::byte*>(&own) + sizeof own.go, sizeof own - sizeof own.go);
      case 1:
        return scribble(region_, sizeof(protocol::RegionHeader));
      case 2:
      case 3:
        return scribble(mailbox(current_), bytes_.chance(1, 2) ? 128 : protocol::kMailboxSize);
      case 4:
        return scribble(region_ + protocol::kArenaOffset, 1 << 16);
      case 5:
      case 6:
      case 7:
        return scribble(reinterpret_cast<std::byte*>(memory(0)), kMemoryBytes);
      case 8: {  // a clock, and doorbells before it
        own.clock_ps += static_cast<std::int64_t>(bytes_.below(65536));
        own.doorbell_count = static_cast<std::uint32_t>(bytes_.below(40));
        for (std::uint32_t i = 0; i < own.doorbell_count && i < protocol::kMaxQueuedDoorbells; ++i) {
          own.doorbells[i] = {own.clock_ps - static_cast<std::int64_t>(bytes_.below(256)),
                              static_cast<protocol::DoorbellKind>(bytes_.below(4)),
                              static_cast<std::uint32_t>(bytes_.below(3)),
                              static_cast<std::uint32_t>(number()),
                              0,
                              static_cast<std::uint64_t>(number()),
                              static_cast<std::int64_t>(bytes_.below(65536))};
        }
        return;
      }
      case 9:
      case 10:
      case 11:
        return command();
      case 12:
        return ask_with_numbers(static_cast<Request>(bytes_.below(14)));
      default:
        own.number = static_cast<std::uint32_t>(bytes_.below(460));
        return ask_with_numbers(Request::kSystemCall);
    }
  }

  // One that could be right.
  void command() {
    protocol::CommandHeader header{};
    header.type = static_cast<protocol::CommandType>(bytes_.below(60));
    header.size = static_cast<std::uint32_t>(bytes_.below(65536) % 2048);
    header.context = static_cast<std::uint32_t>(bytes_.below(3));
    std::memcpy(mailbox(current_), &header, sizeof header);
    slot(current_).arguments[0] = bytes_.chance(7, 8) ? header.size : number();
    ask(current_, Request::kCommand);
  }

  void ask_with_numbers(Request request) {
    for (std::int64_t& argument : slot(current_).arguments) argument = number();
    ask(current_, request);
  }

  // Gives the token back as thread `index` and waits until one of its threads has it again.
  void ask(std::uint32_t index, Request request) {
    ThreadSlot& own = slot(index);
    own.request = request;
    header().message_slot = bytes_.chance(1, 64) ? static_cast<std::uint32_t>(number()) : index;
    protocol::hand_over(header().message);
    syscall(SYS_futex, &header().message, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    const bool ends = request == Request::kSystemCall &&
                      (own.number == SYS_exit_group || own.number == SYS_exit);
    while (true) {
      for (std::uint32_t i = 0; i < kSlots; ++i) {
        protocol::Baton given = protocol::Baton::kHandedOver;
        if (!slot(i).go.compare_exchange_strong(given, protocol::Baton::kNothing)) continue;
        if (ends && i == index) _exit(0);
        current_ = i;
        return;
      }
      const timespec moment{0, 100'000};
      // The supervisor wakes only a process that announced its sleep.
      syscall(SYS_futex, &own.go, FUTEX_WAIT, static_cast<std::uint32_t>(protocol::Baton::kNothing), &moment, nullptr, 0);
    }
  }

  std::byte* region_;
  Bytes bytes_;
  std::uint32_t current_ = 0;
};

[[noreturn]] void become(const supervisor::LaunchRequest& request, std::span<const std::uint8_t> input,
                         bool is_honest) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(protocol::kPokeSignal, SIG_IGN);
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGINT, SIGTERM, SIGALRM}) ::signal(signal, SIG_DFL);
  void* region = mmap(nullptr, protocol::kRegionSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      request.region_fd, 0);
  if (region == MAP_FAILED) _exit(1);
  Puppet puppet(static_cast<std::byte*>(region), input);
  if (is_honest) puppet.keep_to_the_rules();
  puppet.play();
}

supervisor::LaunchedProcess launch(const supervisor::LaunchRequest& request,
                                   std::span<const std::uint8_t> input, bool is_honest) {
  supervisor::LaunchedProcess launched;
  launched.pid = fork();
  if (launched.pid == 0) become(request, input, is_honest);
  if (launched.pid < 0) std::abort();
  for (const auto& [number, ours] : request.descriptors) close(ours);
  return launched;
}

bool write_text(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  const bool written = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) close(fd);
  return written;
}

}  // namespace

supervisor::LaunchedProcess launch_puppet(const supervisor::LaunchRequest& request,
                                          std::span<const std::uint8_t> input) {
  return launch(request, input, false);
}

supervisor::LaunchedProcess launch_honest(const supervisor::LaunchRequest& request) {
  return launch(request, {}, true);
}

void confine() {
  constexpr unsigned kNobody = 65534;
  if (geteuid() == 0) {
    const bool done = setgroups(0, nullptr) == 0 && setresgid(kNobody, kNobody, kNobody) == 0 &&
                      setresuid(kNobody, kNobody, kNobody) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
    if (done) return;
  } else {
    const std::string identity = std::to_string(getuid()), group = std::to_string(getgid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) == 0 && write_text("/proc/self/setgroups", "deny") &&
        write_text("/proc/self/uid_map", identity + " " + identity + " 1") &&
        write_text("/proc/self/gid_map", group + " " + group + " 1")) {
      const pid_t child = fork();
      if (child > 0) {
        int status = 0;
        waitpid(child, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
      }
      if (child == 0 && mount("proc", "/proc", "proc", 0, nullptr) == 0) return;
    }
  }
  std::fprintf(stderr, "this machine gives the fuzzer no process namespace of its own; nothing was run\n");
  _exit(kSkipped);
}

}  // namespace verbatim::fuzz
