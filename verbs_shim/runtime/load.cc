// Start of the shim in a process: runs before every other constructor (DF_1_INITFIRST), maps the region that
// the process shares with the supervisor, takes the first token, and installs the system-call filter. After
// that no system call of the program reaches the kernel unfiltered. Outside a simulation it does nothing.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "verbs_shim/protocol/environment.h"
#include "verbs_shim/runtime/accesses.h"
#include "verbs_shim/runtime/changing_code.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/runtime.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

constexpr long kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14 and later

// Ends the process with a sentence that the supervisor reports; the exit code is that of an internal error.
[[noreturn]] void give_up(const char* sentence) {
  raw_system_call(SYS_write, 2, reinterpret_cast<long>(sentence), static_cast<long>(strlen(sentence)));
  while (true) raw_system_call(SYS_exit_group, 70);
}

// First of the shim's own descriptors, derived from the path through which it is preloaded; -1: outside a
// simulation.
int find_own_descriptors(char** environment) {
  constexpr char kPreload[] = "LD_PRELOAD=", kThrough[] = "/proc/self/fd/";
  for (; *environment != nullptr; ++environment) {
    if (strncmp(*environment, kPreload, sizeof kPreload - 1) != 0) continue;
    const char* last = nullptr;
    for (const char* at = *environment; (at = strstr(at, kThrough)) != nullptr; at += sizeof kThrough - 1) last = at;
    if (last == nullptr) return -1;
    int directory = 0;
    for (const char* digit = last + sizeof kThrough - 1; *digit >= '0' && *digit <= '9'; ++digit) {
      directory = directory * 10 + (*digit - '0');
    }
    return directory - protocol::kShimDirectoryFd;
  }
  return -1;
}

bool map_region(int own_descriptors) {
  if (own_descriptors < 0) return false;
  const long base =
      raw_system_call(SYS_mmap, protocol::kRegionAddress, protocol::kRegionSize, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE, own_descriptors + protocol::kRegionFd, 0);
  if (base != static_cast<long>(protocol::kRegionAddress)) return false;
  ask_for_region_pages();
  if (region_header().magic == protocol::kMagic) return true;
  raw_system_call(SYS_munmap, protocol::kRegionAddress, protocol::kRegionSize);
  return false;
}

// glibc stores the thread id in its thread descriptor; programs must see the virtual one everywhere. The word
// is changed only if it holds the native id, so that an unknown glibc at worst keeps that.
void set_glibc_tid(std::uint32_t native_tid, std::uint32_t virtual_tid) {
  constexpr unsigned long kTidOffset = 0x2d0;  // struct pthread::tid, glibc 2.34 to 2.40 on x86-64
  unsigned long self;
  asm("mov %%fs:0x10, %0" : "=r"(self));
  auto* word = reinterpret_cast<std::uint32_t*>(self + kTidOffset);
  if (*word == native_tid) *word = virtual_tid;
}

// Removes the launcher's additions from the environment. The array keeps its length with null pointers at the
// end, so that code which looks for the auxiliary vector behind it finds AT_NULL.
void scrub_environment(char** environment) {
  static constexpr const char* kOwn[] = {"LD_PRELOAD=", "GLIBC_TUNABLES=", "VERBATIM_PAD="};
  const auto starts_with = [](const char* text, const char* start) { return strncmp(text, start, strlen(start)) == 0; };
  char** kept = environment;
  char** end = environment;
  for (; *end != nullptr; ++end) {
    bool own = false;
    for (const char* name : kOwn) own |= starts_with(*end, name);
    if (own) continue;
    *kept++ = starts_with(*end, protocol::kKeptVariable) ? *end + strlen(protocol::kKeptVariable) : *end;
  }
  while (kept != end) *kept++ = nullptr;
}

}  // namespace

void ask_for_pages(unsigned long address, unsigned long size) {
  native(SYS_madvise, address, size, kPopulateWrite);
}

void ask_for_region_pages() {
  ask_for_pages(protocol::kRegionAddress, protocol::kFirstPages);
  ask_for_pages(protocol::kRegionAddress + protocol::kThreadsOffset, protocol::kThreadPages);
}

void introduce_process() {
  begin_with_own_storage(slot_at(0));
  my_slot->native_tid = static_cast<std::uint32_t>(native(SYS_gettid));
  protocol::RegionHeader& header = region_header();
  header.gate = gate();
  header.yield_function = reinterpret_cast<std::uint64_t>(&verbatim_sched_yield);
  header.time_function = reinterpret_cast<std::uint64_t>(&verbatim_time);
  header.timeofday_function = reinterpret_cast<std::uint64_t>(&verbatim_gettimeofday);
}

namespace {

// The lowest touched page of the stack, at most 64 KiB below the caller's frame. If mincore() does not report
// the frame's own page, which is in use, its answer is distrusted and the full 64 KiB are assumed.
unsigned long lowest_touched_page() {
  constexpr unsigned long kPage = 4096, kMost = 16;
  const unsigned long here = reinterpret_cast<unsigned long>(__builtin_frame_address(0)) & ~(kPage - 1);
  unsigned char touched[kMost + 1] = {};
  // The stack mapping may not extend that far.
  for (unsigned long pages = kMost; pages > 0; --pages) {
    const unsigned long lowest = here - pages * kPage;
    const long asked = native(SYS_mincore, lowest, (pages + 1) * kPage, touched);
    if (asked == -ENOMEM) continue;
    if (asked != 0 || (touched[pages] & 1) == 0) return here - kMost * kPage;
    for (unsigned long i = 0; i < pages; ++i) {
      if ((touched[i] & 1) != 0) return lowest + i * kPage;
    }
    break;
  }
  return here;
}

bool attach(char** environment) {
  const int own_descriptors = find_own_descriptors(environment);
  if (!map_region(own_descriptors)) return false;
  protocol::RegionHeader& header = region_header();
  if (header.version != protocol::kVersion || header.region_header_size != sizeof header) {
    give_up("verbatim: the simulator and its shim libraries are of different versions; reinstall both\n");
  }
  if (gate() < protocol::kRuntimeImage || gate() >= protocol::kVerbsImage) {
    give_up("verbatim: the shim's addresses are taken in this program\n");
  }
  introduce_process();
  if (!map_heap() || !install_handlers()) give_up("verbatim: the shim's addresses are taken in this program\n");
  native(SYS_close, own_descriptors + protocol::kRegionFd);
  native(SYS_close, own_descriptors + protocol::kShimDirectoryFd);
  set_glibc_tid(my_slot->native_tid, my_slot->virtual_tid);
  const bool stack_is_executable = has_executable_stack(environment);
  scrub_environment(environment);
  // The loader's messages are written to descriptor 2, so it is open until here.
  for (long fd = 0; fd <= 2; ++fd) {
    if ((header.closed_standard >> fd & 1) != 0) native(SYS_close, fd);
  }
  is_attached = true;
  // The last possible message: the supervisor reads descriptor 2 only up to the mark below.
  if (!install_filter()) give_up("verbatim: this kernel refuses the system-call filter (seccomp)\n");
  if (header.traced_start != 0) {
    asm volatile("int3" : : "a"(protocol::kAttachMark), "D"(verbatim_patched_entry), "S"(verbatim_call_entry) : "memory");
  }
  if (header.is_zygote != 0) serve_copies();
  arm_accesses(exchange(protocol::Request::kAttach, 0, {room_for_access_places(), 0, 0, 0, 0, 0}));
  if (stack_is_executable) watch_first_stack(reinterpret_cast<unsigned long>(environment));
  return true;
}

}  // namespace

// Called by the library's constructor (start.cc), which clears the stack from the returned address up; ~0:
// nothing to clear.
extern "C" unsigned long verbatim_attach(int, char**, char** environment) {
  return attach(environment) ? lowest_touched_page() : ~0ul;
}

}  // namespace verbatim::shim
