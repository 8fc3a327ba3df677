#include "sim/supervisor/machine/loader_trace.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "sim/core/check.h"
#include "sim/supervisor/code/processor.h"
#include "sim/supervisor/code/stub.h"
#include "sim/supervisor/machine/child_status.h"
#include "sim/supervisor/machine/remote_calls.h"
#include "sim/supervisor/spec/resource_limits.h"
#include "verbs_shim/protocol/folder_view.h"
#include "verbs_shim/protocol/layout.h"
#include "verbs_shim/protocol/path_calls.h"
#include "verbs_shim/protocol/region.h"
#include "verbs_shim/protocol/signal_frame_size.h"

namespace verbatim::supervisor {

namespace {

constexpr std::uint64_t kMapPage = 4096;
constexpr std::size_t kMapStubRoom = 64;
constexpr int kSystemCallStop = SIGTRAP | 0x80;

constexpr std::uint64_t kTicksPerSecond = 100;

bool in_reach(std::uint64_t area, std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t kReach = (1ull << 31) - protocol::kPatchAreaSize;
  return (begin > area ? begin - area : area - begin) < kReach && (end > area ? end - area : area - end) < kReach;
}

std::string last_part_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_clock(const Mapping& mapping) { return mapping.name == "[vdso]" || mapping.name.starts_with("[vvar"); }

}  // namespace

LoaderTrace::LoaderTrace(pid_t pid, const LoaderTraceParams& params, code::CodeFiles& files,
                         code::CodePatches& patches)
    : pid_(pid), params_(params), files_(files), patches_(patches), memory_(pid) {}

bool LoaderTrace::prepare() {
  if (ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD) != 0)
    return fail("it cannot be traced (ptrace)");
  user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, pid_, nullptr, &registers) != 0) return fail("its registers cannot be read (ptrace)");
  const std::optional<FirstStack> stack = read_stack(registers.rsp);
  if (!stack) return fail("its first stack is not as the kernel makes it");
  std::vector<Mapping> all = mappings_of(pid_);
  if (all.empty()) return fail("its memory map cannot be read (/proc/PID/maps)");
  const std::optional<Places> places = find_places(all, *stack, registers.rsp);
  if (!places) return fail_as_unsuitable("its memory is not laid out as the kernel loads programs");
  if (places->were_random && !has_room_for_layout())
    return fail("the limit on address space leaves no room to choose the addresses of its libraries; raise it (ulimit -Hv)");
  if (!write_stack(*stack, *places, registers)) return fail("its first stack cannot be written");
  if (!make_room(all, *places, registers)) return false;
  patch_mapped(all);
  watch_memory_maps(all, *places);
  return true;
}

std::optional<LoaderTrace::FirstStack> LoaderTrace::read_stack(std::uint64_t stack_pointer) {
  std::vector<std::uint64_t> words;
  const auto word = [&](std::size_t i) {
    while (words.size() <= i) {
      constexpr std::size_t kChunk = 512;
      const std::size_t before = words.size();
      words.resize(before + kChunk);
      // Beyond the end of the stack the words read as zeros, which end every array.
      memory_.read(stack_pointer + before * 8, std::as_writable_bytes(std::span(words).subspan(before)));
    }
    return words[i];
  };
  constexpr std::size_t kMostWords = 1 << 20;
  FirstStack stack;
  std::size_t at = 0;
  stack.arrays.push_back(word(at++));
  for (int arrays = 0; arrays < 2; ++arrays) {
    for (; word(at) != 0; ++at) {
      if (at > kMostWords) return std::nullopt;
      stack.arrays.push_back(word(at));
    }
    stack.arrays.push_back(word(at++));
  }
  for (; word(at) != AT_NULL; at += 2) {
    if (at > kMostWords) return std::nullopt;
    if (word(at) < stack.auxiliary.size()) stack.auxiliary[word(at)] = word(at + 1);
  }
  if (stack.arrays[1] == 0 || stack.auxiliary[AT_ENTRY] == 0) return std::nullopt;
  return stack;
}

std::optional<std::vector<Elf64_Phdr>> LoaderTrace::program_headers(std::uint64_t at, std::uint64_t count) {
  constexpr std::uint64_t kMost = 65'536 / sizeof(Elf64_Phdr);  // limit of Linux on the program header table
  std::vector<Elf64_Phdr> headers(std::min(count, kMost));
  if (!memory_.read(at, std::as_writable_bytes(std::span(headers)))) return std::nullopt;
  return headers;
}

std::optional<Places> LoaderTrace::find_places(const std::vector<Mapping>& all, const FirstStack& stack,
                                               std::uint64_t stack_pointer) {
  const std::uint64_t base = stack.auxiliary[AT_BASE];
  Elf64_Ehdr loader;
  if (base == 0 || !memory_.read(base, std::as_writable_bytes(std::span(&loader, 1)))) return std::nullopt;
  const auto of_program = program_headers(stack.auxiliary[AT_PHDR], stack.auxiliary[AT_PHNUM]);
  const auto of_loader = program_headers(base + loader.e_phoff, loader.e_phnum);
  if (!of_program || !of_loader) return std::nullopt;
  return places_of(all, {.program_headers_at = stack.auxiliary[AT_PHDR],
                         .loader_base = base,
                         .stack_pointer = stack_pointer,
                         .program = *of_program,
                         .loader = *of_loader},
                   !has_room_for_layout()         ? protocol::kTakenEnd
                   : params_.has_thread_sanitizer ? protocol::kWatchedLibrariesEnd
                                                  : protocol::kLibrariesEnd);
}

// Writes argc, argv, envp and the auxiliary vector anew: the kernel's contents and length differ between
// kernels and processors, and the length moves the address of everything on the stack. Addresses in it are
// those after all parts have been moved.
bool LoaderTrace::write_stack(FirstStack stack, const Places& places, user_regs_struct& registers) {
  std::vector<std::uint64_t>& block = stack.arrays;
  const auto& given = stack.auxiliary;
  const std::uint64_t first_string = block[1];
  for (std::size_t i = 1; i < block.size(); ++i) block[i] = places.stack.moved(block[i]);
  constexpr std::uint64_t kStringBytes = 32;  // for AT_PLATFORM and AT_RANDOM
  constexpr std::uint64_t kGap = 48 << 10;    // below the strings
  const std::uint64_t own[][2] = {{AT_HWCAP, code::hardware_capabilities()},
                                  {AT_PAGESZ, kMapPage},
                                  {AT_CLKTCK, kTicksPerSecond},
                                  {AT_PHDR, places.program.moved(given[AT_PHDR])},
                                  {AT_PHENT, given[AT_PHENT]},
                                  {AT_PHNUM, given[AT_PHNUM]},
                                  {AT_BASE, places.loader.moved(given[AT_BASE])},
                                  {AT_FLAGS, 0},
                                  {AT_ENTRY, places.program.moved(given[AT_ENTRY])},
                                  {AT_UID, params_.credentials.users().real},
                                  {AT_EUID, params_.credentials.users().effective},
                                  {AT_GID, params_.credentials.groups().real},
                                  {AT_EGID, params_.credentials.groups().effective},
                                  {AT_SECURE, 0},  // no program gains privilege
                                  {AT_RANDOM, 0},
                                  {AT_HWCAP2, 0},
                                  {AT_EXECFN, places.stack.moved(program_name_at(given[AT_EXECFN]))},
                                  {AT_PLATFORM, 0},
                                  {AT_MINSIGSTKSZ, protocol::kSignalFrameSize},
                                  {AT_NULL, 0}};
  const std::size_t vector_at = block.size();
  for (const auto& [type, value] : own) block.insert(block.end(), {type, value});
  // The strings are the same everywhere; the kernel's data below them are not.
  const std::uint64_t end = (first_string & ~(kMapPage - 1)) - kMapPage - kGap;
  const std::uint64_t begin = (end - kStringBytes - block.size() * 8) & ~15ull;
  const std::uint64_t platform = end - kStringBytes, random = platform + 16;
  for (std::size_t i = vector_at; i < block.size(); i += 2) {
    if (block[i] == AT_PLATFORM) block[i + 1] = places.stack.moved(platform);
    if (block[i] == AT_RANDOM) block[i + 1] = places.stack.moved(random);
  }
  auxiliary_vector_.assign(reinterpret_cast<const char*>(block.data() + vector_at), (block.size() - vector_at) * sizeof block[0]);
  char platform_name[16] = "x86_64";
  if (!memory_.write(begin, std::as_bytes(std::span(block))) ||
      !memory_.write(platform, std::as_bytes(std::span(platform_name))) ||
      !memory_.write(random, std::as_bytes(std::span(params_.random_bytes)))) {
    return false;
  }
  if (const std::string& seen = params_.seen_path; !seen.empty()) {
    // The end of the padding before it is cut off if `seen` is the longer one.
    const std::string text = '\0' + seen;
    const auto bytes = std::as_bytes(std::span(text.c_str(), text.size() + 1));
    if (!memory_.write(program_name_at(given[AT_EXECFN]) - 1, bytes)) return false;
  }
  registers.rsp = places.stack.moved(begin);
  return true;
}

// The file name ends where the kernel's ends.
std::uint64_t LoaderTrace::program_name_at(std::uint64_t given) {
  if (params_.seen_path.empty()) return given;
  if (name_end_ == 0) {
    const auto name = memory_.load_string(given, PATH_MAX);
    name_end_ = given + (name ? name->size() + 1 : 0);
  }
  return name_end_ - params_.seen_path.size() - 1;
}

// Populates the file, loader and stack pages that every program uses, one call per mapping: page faults cost
// more, on virtual machines many times as much. Later mappings of the loader are populated when made.
void LoaderTrace::populate(const std::vector<Mapping>& all, std::uint64_t stack, std::vector<RemoteCall>& calls) {
  constexpr std::uint64_t kLongest = 2 << 20, kStack = 24 << 10;
  constexpr std::size_t kMost = 32;  // calls: a file may have any number of segments
  for (const Mapping& mapping : all) {
    const std::uint64_t length = mapping.end - mapping.begin;
    if (!mapping.name.starts_with('/') || length > kLongest || calls.size() >= kMost) continue;
    const std::uint64_t advice = mapping.writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    calls.push_back({SYS_madvise, {mapping.begin, length, advice}, 0});
  }
  const std::uint64_t begin = (stack - kStack) & ~(kMapPage - 1);
  calls.push_back({SYS_madvise, {begin, (stack & ~(kMapPage - 1)) - begin, MADV_POPULATE_WRITE}, 0});
}

// Unmaps the vDSO, which reads the machine's clocks; if the kernel seals it, the auxiliary vector does not
// mention it. Then code outside all parts moves them to their addresses, and the mappings at fixed
// addresses are made.
bool LoaderTrace::make_room(std::vector<Mapping>& all, const Places& places, user_regs_struct& registers) {
  constexpr const char* kRefused = "its first system calls cannot be made for it (ptrace)";
  constexpr const char* kTaken = "the addresses of the simulator's own memory are taken in it";
  std::vector<RemoteCall> calls;
  const auto map = [&](std::uint64_t begin, std::uint64_t length, std::uint64_t protection) {
    constexpr std::uint64_t kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE;
    calls.push_back({SYS_mmap, {begin, length, protection, kFlags, ~0ull, 0}, begin});
    return calls.size() - 1;
  };
  struct Area {
    std::uint64_t address;
    std::size_t header, code;  // calls
  };
  const auto map_area = [&](std::uint64_t address) {
    const std::size_t header = map(address, kMapPage, PROT_READ | PROT_WRITE);
    return Area{address, header, map(address + kMapPage, protocol::kPatchAreaSize - kMapPage, PROT_READ | PROT_EXEC)};
  };
  const Area nearest = map_area(places.libraries_end);
  std::vector<std::size_t> clocks;
  for (std::size_t i = 0; i < all.size() && params_.removes_vdso; ++i) {
    if (!is_clock(all[i])) continue;
    clocks.push_back(i);
    calls.push_back({SYS_munmap, {all[i].begin, all[i].end - all[i].begin}, 0});
  }
  // The kernel names the process after the file that it executes.
  if (name_end_ != 0)
    calls.push_back({SYS_prctl, {PR_SET_NAME, name_end_ - 1 - last_part_of(params_.seen_path).size()}, 0});
  auto made = make_calls(pid_, memory_, registers.rip, calls);
  if (!made) return fail(kRefused);
  if (!made->at(nearest.header) || !made->at(nearest.code)) return fail_as_unsuitable(kTaken);
  for (std::size_t i = clocks.size(); i-- > 0;) {
    if (made->at(nearest.code + 1 + i)) all.erase(all.begin() + static_cast<std::ptrdiff_t>(clocks[i]));
  }

  calls.clear();
  for (const Move* part : {&places.program, &places.loader, &places.stack}) move(*part, all, calls);
  const std::size_t moves = calls.size();
  if (places.were_random) {
    std::optional<prctl_mm_map> records = records_of(pid_);
    if (!records) return fail("/proc does not show its addresses");
    places.move_records(*records);
    if (!memory_.write(nearest.address, std::as_bytes(std::span(&*records, 1)))) return fail(kRefused);
    calls.push_back({SYS_prctl, {PR_SET_MM, PR_SET_MM_MAP, nearest.address, sizeof(prctl_mm_map)}, 0});
  }
  const std::size_t places_made = calls.size();
  std::ranges::sort(all, {}, &Mapping::begin);
  // If address space is limited, the room that the vDSO leaves is filled: its size differs between kernels,
  // and libraries are below it.
  constexpr std::uint64_t kWindow = 64 * 1024;
  const std::uint64_t loader = places.loader.target();
  const auto free = has_room_for_layout() ? free_ranges(all, places.libraries_end + protocol::kPatchAreaSize, protocol::kTakenEnd)
                                                : free_ranges(all, loader - kWindow, loader);
  for (const auto& [begin, end] : free) map(begin, end - begin, PROT_NONE);
  const std::size_t taken = calls.size();
  populate(all, registers.rsp, calls);
  constexpr std::uint64_t kDataSize = (sizeof(protocol::PatchData) + kMapPage - 1) & ~(kMapPage - 1);
  const std::size_t data = map(protocol::kPatchDataAddress, kDataSize, PROT_READ | PROT_WRITE);
  std::vector<Area> areas;
  for (const std::uint64_t area : protocol::kPatchAreas) {
    const bool wanted = std::any_of(all.begin(), all.end(), [&](const Mapping& mapping) {
      return mapping.executable && mapping.name.starts_with('/') && in_reach(area, mapping.begin, mapping.end);
    });
    if (wanted && area != nearest.address) areas.push_back(map_area(area));
  }
  registers.rip = places.loader.moved(registers.rip);
  made = make_calls(pid_, memory_, nearest.address + kMapPage, calls);
  if (!made || ptrace(PTRACE_SETREGS, pid_, nullptr, &registers) != 0) return fail(kRefused);
  for (std::size_t i = 0; i < taken; ++i) {
    if (made->at(i)) continue;
    if (i < moves) return fail("its memory cannot be moved to the addresses of every run (mremap)");
    if (i < places_made)
      return fail("the kernel does not accept the new addresses of its memory (PR_SET_MM_MAP, CONFIG_CHECKPOINT_RESTORE)");
    return fail_as_unsuitable(kTaken);
  }
  const prctl_mm_map none{};
  if (places.were_random && !memory_.write(nearest.address, std::as_bytes(std::span(&none, 1)))) return fail(kRefused);
  if (!made->at(data) || !memory_.write(protocol::kPatchDataAddress, std::as_bytes(std::span(params_.cpuid))))
    return fail_as_unsuitable(kTaken);
  // An area whose addresses are taken, by a program linked to unusual addresses, is not used:
  // instructions near it trap.
  for (const Area& area : areas) {
    if (made->at(area.header) && made->at(area.code)) patches_.add_area(area.address);
  }
  if (!patches_.open_area(memory_, nearest.address))
    return fail("its executable memory cannot be written (/proc/PID/mem); see `verbatim check --host`");
  return true;
}

// If old and new addresses overlap, moves through a free address range.
void LoaderTrace::move(const Move& part, std::vector<Mapping>& all, std::vector<RemoteCall>& calls) {
  if (part.by == 0) return;
  constexpr std::uint64_t kBetween = 0x3000'0000'0000;
  const bool overlaps = part.target() < part.end && part.begin < part.end + part.by;
  const auto add_moves = [&](std::uint64_t from_by, std::uint64_t to_by) {
    for (const Mapping& mapping : all) {
      if (!part.has(mapping.begin)) continue;
      const std::uint64_t length = mapping.end - mapping.begin, to = mapping.begin + to_by;
      calls.push_back({SYS_mremap, {mapping.begin + from_by, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, to}, to});
    }
  };
  if (overlaps) add_moves(0, kBetween - part.begin);
  add_moves(overlaps ? kBetween - part.begin : 0, part.by);
  for (Mapping& mapping : all) {
    if (part.has(mapping.begin)) mapping.begin += part.by, mapping.end += part.by;
  }
}

void LoaderTrace::patch_mapped(const std::vector<Mapping>& all) {
  for (const Mapping& mapping : all) {
    if (!mapping.executable || !mapping.name.starts_with('/')) continue;
    const code::FileCode* file = files_.of(mapping.name);
    if (file == nullptr) file = files_.of(fmt::format("/proc/{}/exe", pid_));
    if (file != nullptr)
      patches_.patch_file(memory_, *file, mapping.begin, mapping.end - mapping.begin, mapping.offset);
  }
}

void LoaderTrace::watch_memory_maps(const std::vector<Mapping>& all, const Places& places) {
  const std::uint64_t loader = places.loader.target();
  for (const Mapping& mapping : all) {
    const bool of_loader = mapping.begin >= loader && mapping.begin < places.libraries_end;
    if (!mapping.executable || !of_loader || !mapping.name.starts_with('/')) continue;
    const code::FileCode* file = files_.of(mapping.name);
    if (file == nullptr) continue;
    for (const std::uint64_t offset : file->found.memory_maps) {
      if (offset < mapping.offset || offset - mapping.offset + code::kMemoryMapSize > mapping.end - mapping.begin)
        continue;
      const std::uint64_t site = mapping.begin + (offset - mapping.offset);
      const std::uint64_t room = patches_.take_room(2 * kMapStubRoom);
      if (room == 0 || !in_reach(room, site, site + code::kMemoryMapSize)) continue;
      const std::uint64_t stop = room + kMapStubRoom;
      if (params_.stops_at_memory_maps) {
        const std::vector<std::uint8_t> stub = code::make_memory_map_stub(site, stop);
        memory_.write_code(stop, std::as_bytes(std::span(stub)));
        watched_.push_back({site, room, stop, stop + stub.size()});
      }
      write_whole_file_stub(room, params_.stops_at_memory_maps ? stop : site + code::kMemoryMapJump);
      const std::vector<std::uint8_t> jump = code::make_jump(site, code::kMemoryMapJump, room);
      memory_.write_code(site, std::as_bytes(std::span(jump)));
    }
  }
}

void LoaderTrace::write_whole_file_stub(std::uint64_t at, std::uint64_t next) {
  const std::vector<std::uint8_t> stub = code::make_whole_file_stub(at, next);
  CHECK(stub.size() <= kMapStubRoom);
  memory_.write_code(at, std::as_bytes(std::span(stub)));
}

int LoaderTrace::next_stop(int signal, std::span<const int> pipes, std::span<std::string> output) {
  // A SIGCHLD ends the wait: it is unblocked only in ppoll.
  sigset_t child, before;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, &before);
  const bool continued = succeeds(ptrace(watched_.empty() ? PTRACE_SYSCALL : PTRACE_CONT, pid_, nullptr, signal));
  siginfo_t info{};
  while (continued) {
    info = {};
    // The status of an ended process is left for the supervisor.
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WSTOPPED | WNOWAIT | WNOHANG) != 0 && errno != EINTR)
      break;
    if (info.si_pid == pid_) break;
    pollfd ends[2] = {{pipes[0], POLLIN, 0}, {pipes[1], POLLIN, 0}};
    constexpr timespec kGlance = {1, 0};
    if (ppoll(ends, 2, &kGlance, &before) <= 0) continue;
    for (int i = 0; i < 2; ++i) {
      char bytes[4096];
      const ssize_t n = (ends[i].revents & POLLIN) != 0 ? read(pipes[i], bytes, sizeof bytes) : 0;
      if (n > 0) output[i].append(bytes, static_cast<std::size_t>(n));
    }
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (info.si_pid != pid_ || info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
    return 0;
  const int status = await_status(pid_);
  return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

bool LoaderTrace::succeeds(long result) {
  // ESRCH: the process has been killed.
  if (result != 0 && errno != ESRCH) fail(fmt::format("its loader cannot be followed (ptrace: {})", std::strerror(errno)));
  return result == 0;
}

bool LoaderTrace::run(std::span<const int> pipes, std::span<std::string> output) {
  follow(pipes, output);
  return error_.empty();
}

void LoaderTrace::follow(std::span<const int> pipes, std::span<std::string> output) {
  int signal = 0;
  while ((signal = next_stop(signal, pipes, output)) != 0) {
    user_regs_struct registers;
    if (!succeeds(ptrace(PTRACE_GETREGS, pid_, nullptr, &registers))) return;
    if (signal == kSystemCallStop) {
      signal = 0;
      in_system_call_ = !in_system_call_;
      if (params_.native_path) in_system_call_ ? on_path_call(registers) : on_path_answer(registers);
      if (in_system_call_ || registers.orig_rax != SYS_mmap || (registers.rdx & PROT_EXEC) == 0) continue;
      on_mapped(registers.rax, registers.rsi, static_cast<int>(registers.r8), registers.r9);
    } else if (signal == SIGTRAP) {
      const auto at = [&](const Watched& watched) {
        return registers.rip > watched.stop && registers.rip <= watched.stop_end;
      };
      if (registers.rax == protocol::kAttachMark && registers.rip >= protocol::kRuntimeImage &&
          registers.rip < protocol::kVerbsImage) {
        patches_.set_entries(memory_, {registers.rdi, registers.rsi});
        return detach();
      }
      if (std::any_of(watched_.begin(), watched_.end(), at)) {
        on_mapped(registers.rax, registers.rsi, static_cast<int>(registers.r8), registers.r9);
        signal = 0;
      }
    } else if (signal == SIGSEGV && answer_trap(registers)) {
      signal = 0;
    }
    if (!error_.empty()) return;
  }
}

namespace {

// Argument `index` of a system call.
unsigned long long& argument_of(user_regs_struct& registers, int index) {
  unsigned long long* const arguments[] = {&registers.rdi, &registers.rsi, &registers.rdx,
                                           &registers.r10, &registers.r8,  &registers.r9};
  return *arguments[index];
}

}  // namespace

// Replaces the path of the loader's call by that of the file which the program sees. The shim's libraries, which
// are named by descriptors, stay as they are.
void LoaderTrace::on_path_call(user_regs_struct& registers) {
  const protocol::PathCall* const call = protocol::path_call(registers.orig_rax);
  if (call == nullptr) return;
  const protocol::PathArgument& path = call->paths[0];
  const auto text = memory_.load_string(argument_of(registers, path.path), PATH_MAX);
  if (!text || text->empty() || text->starts_with("/proc/self/fd/")) return;
  const bool is_relative = !text->starts_with('/');
  if (is_relative && path.folder >= 0 && static_cast<int>(argument_of(registers, path.folder)) != AT_FDCWD) return;
  const user_regs_struct before = registers;
  if ((registers.orig_rax == SYS_readlink || registers.orig_rax == SYS_readlinkat) && *text == "/proc/self/exe") {
    answers_link_ = true;
    registers.orig_rax = ~0ull;  // the kernel does nothing
  } else {
    std::array<long long, 6> arguments;
    for (int i = 0; i < 6; ++i) arguments[static_cast<std::size_t>(i)] = static_cast<long long>(argument_of(registers, i));
    const bool opens = path.use == protocol::PathUse::kOpen;
    const std::string native =
        params_.native_path(*text, protocol::follows(*call, path, arguments), opens ? protocol::kViewOpens : 0);
    constexpr std::uint64_t kBelowStack = 8192;  // free below the loader's frame
    const std::uint64_t at = registers.rsp - kBelowStack;
    const auto bytes = std::as_bytes(std::span(native.c_str(), native.size() + 1));
    if (native.size() >= PATH_MAX || !memory_.write(at, bytes)) return;
    argument_of(registers, path.path) = at;
  }
  replaced_ = before;
  succeeds(ptrace(PTRACE_SETREGS, pid_, nullptr, &registers));
}

void LoaderTrace::on_path_answer(user_regs_struct& registers) {
  if (!replaced_) return;
  for (int i = 0; i < 6; ++i) argument_of(registers, i) = argument_of(*replaced_, i);
  if (std::exchange(answers_link_, false)) {
    const int path = replaced_->orig_rax == SYS_readlink ? 0 : 1;
    const std::size_t size = std::min<std::size_t>(params_.program.size(), argument_of(registers, path + 2));
    const auto bytes = std::as_bytes(std::span(params_.program).first(size));
    registers.rax = memory_.write(argument_of(registers, path + 1), bytes) ? size : static_cast<unsigned long long>(-EFAULT);
  }
  replaced_.reset();
  succeeds(ptrace(PTRACE_SETREGS, pid_, nullptr, &registers));
}

// Emulates an instruction of the loader, or of other code before the shim, that no jump could replace.
bool LoaderTrace::answer_trap(user_regs_struct& registers) {
  const auto instruction = patches_.trap_at(registers.rip);
  if (!instruction) return false;
  using protocol::DecidedInstruction;
  if (instruction->kind == DecidedInstruction::kCpuid) {
    const protocol::CpuidEntry& answer = *std::find_if(
        params_.cpuid.begin(), params_.cpuid.end() - 1, [&](const protocol::CpuidEntry& entry) {
          return entry.leaf == static_cast<std::uint32_t>(registers.rax) &&
                 ((entry.flags & protocol::kAnySubleaf) != 0 ||
                  entry.subleaf == static_cast<std::uint32_t>(registers.rcx));
        });
    registers.rax = answer.eax, registers.rbx = answer.ebx, registers.rcx = answer.ecx, registers.rdx = answer.edx;
  } else if (instruction->kind == DecidedInstruction::kXgetbv) {
    registers.rax = params_.extended_control, registers.rdx = 0;
  } else if (instruction->kind == DecidedInstruction::kRdtsc || instruction->kind == DecidedInstruction::kRdtscp) {
    registers.rax = registers.rdx = 0;  // virtual time 0
    if (instruction->kind == DecidedInstruction::kRdtscp) registers.rcx = 0;
  } else {
    return false;
  }
  registers.rip += instruction->length;
  return succeeds(ptrace(PTRACE_SETREGS, pid_, nullptr, &registers));
}

void LoaderTrace::on_mapped(std::uint64_t address, std::uint64_t length, int fd, std::uint64_t offset) {
  if (address > ~4095ull || fd < 0) return;  // -errno
  // code of the shim is not patched
  if (address >= protocol::kShimStart && address < protocol::kShimEnd) return;
  if (const code::FileCode* file = files_.of(fmt::format("/proc/{}/fd/{}", pid_, fd)))
    patches_.patch_file(memory_, *file, address, length, offset);
}

void LoaderTrace::detach(int signal) {
  for (const Watched& watched : watched_) write_whole_file_stub(watched.stub, watched.site + code::kMemoryMapJump);
  watched_.clear();
  succeeds(ptrace(PTRACE_DETACH, pid_, nullptr, signal));
}

}  // namespace verbatim::supervisor
