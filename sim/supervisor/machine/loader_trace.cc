#include "sim/supervisor/machine/loader_trace.h"

#include <elf.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#include "sim/core/check.h"
#include "sim/supervisor/code/processor.h"
#include "sim/supervisor/code/stub.h"
#include "sim/supervisor/machine/child_status.h"
#include "verbs_shim/protocol/layout.h"
#include "verbs_shim/protocol/region.h"

namespace verbatim::supervisor {

namespace {

constexpr std::uint64_t kMapPage = 4096;
constexpr std::size_t kMapStubRoom = 64;
constexpr int kSystemCallStop = SIGTRAP | 0x80;

// What the kernel needs for a signal's frame differs with the registers that a machine has; this is enough for all, and
// programs that size a stack by it do so alike everywhere.
constexpr std::uint64_t kSignalFrameSize = 4096;
constexpr std::uint64_t kTicksPerSecond = 100;

bool in_reach(std::uint64_t area, std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t kReach = (1ull << 31) - protocol::kPatchAreaSize;
  return (begin > area ? begin - area : area - begin) < kReach && (end > area ? end - area : area - end) < kReach;
}

// Of what the kernel maps before the first instruction only the loader and the vDSO lie near the stack.
bool is_loader(std::uint64_t address) { return address >> 40 == protocol::kPatchAreas[2] >> 40; }

}  // namespace

// One system call of the stopped process, and the answer that is hoped for.
struct LoaderTrace::RemoteCall {
  std::uint64_t number;
  std::uint64_t arguments[6];
  std::uint64_t expected;
};

// The process makes all of them in one go, at the place where it stands: each stop costs two switches between processes.
std::optional<std::uint64_t> LoaderTrace::make_calls(std::span<const RemoteCall> calls) {
  // The table is at rbx, with r12 entries; rbp gets a bit for each call, the last one's lowest: it was answered otherwise.
  static constexpr std::uint8_t kLoop[] = {
      0x48, 0x8b, 0x03,        // mov rax, [rbx]
      0x48, 0x8b, 0x7b, 0x08,  // mov rdi, [rbx + 8]
      0x48, 0x8b, 0x73, 0x10,  // mov rsi, [rbx + 16]
      0x48, 0x8b, 0x53, 0x18,  // mov rdx, [rbx + 24]
      0x4c, 0x8b, 0x53, 0x20,  // mov r10, [rbx + 32]
      0x4c, 0x8b, 0x43, 0x28,  // mov r8, [rbx + 40]
      0x4c, 0x8b, 0x4b, 0x30,  // mov r9, [rbx + 48]
      0x0f, 0x05,              // syscall
      0x48, 0x3b, 0x43, 0x38,  // cmp rax, [rbx + 56]
      0x0f, 0x95, 0xc0,        // setne al
      0x0f, 0xb6, 0xc0,        // movzx eax, al
      0x48, 0x8d, 0x2c, 0x68,  // lea rbp, [rax + rbp * 2]
      0x48, 0x83, 0xc3, 0x40,  // add rbx, 64
      0x49, 0xff, 0xcc,        // dec r12
      0x75, 0xcc,              // jnz, to the first
      0xcc};                   // int3
  static_assert(sizeof(RemoteCall) == 64 && sizeof kLoop == 53);
  constexpr std::size_t kTable = 64;
  if (calls.empty()) return 0;
  CHECK(calls.size() <= 64);
  user_regs_struct saved;
  if (ptrace(PTRACE_GETREGS, pid_, nullptr, &saved) != 0) return std::nullopt;
  std::vector<std::byte> code(kTable + calls.size_bytes()), original(code.size());
  std::memcpy(code.data(), kLoop, sizeof kLoop);
  std::memcpy(code.data() + kTable, calls.data(), calls.size_bytes());
  user_regs_struct registers = saved;
  registers.orig_rax = ~0ull;
  registers.rbx = saved.rip + kTable, registers.rbp = 0, registers.r12 = calls.size();
  int status = 0;
  const bool made = memory_.read(saved.rip, original) && memory_.write_code(saved.rip, code) &&
                    ptrace(PTRACE_SETREGS, pid_, nullptr, &registers) == 0 &&
                    ptrace(PTRACE_CONT, pid_, nullptr, nullptr) == 0 && WIFSTOPPED(status = await_status(pid_)) &&
                    WSTOPSIG(status) == SIGTRAP &&
                    ptrace(PTRACE_GETREGS, pid_, nullptr, &registers) == 0 && registers.r12 == 0;
  const bool restored = memory_.write_code(saved.rip, original) && ptrace(PTRACE_SETREGS, pid_, nullptr, &saved) == 0;
  if (!made || !restored) return std::nullopt;
  return registers.rbp;
}

LoaderTrace::LoaderTrace(pid_t pid, const LoaderTraceParams& params, code::CodeFiles& files,
                         code::CodePatches& patches)
    : pid_(pid), params_(params), files_(files), patches_(patches), memory_(pid) {}

std::vector<LoaderTrace::Mapping> LoaderTrace::mappings() const {
  std::vector<Mapping> all;
  std::ifstream file(fmt::format("/proc/{}/maps", pid_));
  for (std::string line; std::getline(file, line);) {
    Mapping mapping{};
    char rights[5] = {};
    int name = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %*s %n", &mapping.begin, &mapping.end, rights, &mapping.offset,
                    &name) != 4) {
      continue;
    }
    mapping.writable = rights[1] == 'w';
    mapping.executable = rights[2] == 'x';
    if (name > 0) mapping.name = line.substr(static_cast<std::size_t>(name));
    all.push_back(std::move(mapping));
  }
  return all;
}

bool LoaderTrace::prepare() {
  if (ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD) != 0)
    return fail("it cannot be traced (ptrace)");
  user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, pid_, nullptr, &registers) != 0) return fail("its registers cannot be read (ptrace)");
  if (!fix_stack(registers)) return fail("its first stack is not as the kernel makes it");
  const std::vector<Mapping> all = mappings();
  if (!make_room(all, registers.rsp)) return false;
  patch_mapped(all);
  watch_memory_maps(all);
  return true;
}

// The block of argc, argv, envp and the auxiliary vector is written anew: what it tells of the machine and how long it is
// differ between kernels and processors, and with its length the address of everything that is put on the stack.
bool LoaderTrace::fix_stack(user_regs_struct& registers) {
  std::vector<std::uint64_t> words;
  const auto word = [&](std::size_t i) {
    while (words.size() <= i) {
      constexpr std::size_t kChunk = 512;
      const std::size_t before = words.size();
      words.resize(before + kChunk);
      // The end of the stack may come first; then the rest reads as zeros, and zeros end everything.
      memory_.read(registers.rsp + before * 8, std::as_writable_bytes(std::span(words).subspan(before)));
    }
    return words[i];
  };
  constexpr std::size_t kMostWords = 1 << 20;
  std::vector<std::uint64_t> block;
  std::size_t at = 0;
  block.push_back(word(at++));
  const std::uint64_t first_string = word(at);
  for (int arrays = 0; arrays < 2; ++arrays) {
    for (; word(at) != 0; ++at) {
      if (at > kMostWords) return false;
      block.push_back(word(at));
    }
    block.push_back(word(at++));
  }
  std::array<std::uint64_t, 64> given{};
  for (; word(at) != AT_NULL; at += 2) {
    if (at > kMostWords) return false;
    if (word(at) < given.size()) given[word(at)] = word(at + 1);
  }
  if (first_string == 0 || given[AT_ENTRY] == 0) return false;

  constexpr std::uint64_t kStringBytes = 32;  // AT_PLATFORM's and AT_RANDOM's
  constexpr std::uint64_t kGap = 48 << 10;    // below the strings
  const std::uint64_t own[][2] = {{AT_HWCAP, code::hardware_capabilities()},
                                  {AT_PAGESZ, kMapPage},
                                  {AT_CLKTCK, kTicksPerSecond},
                                  {AT_PHDR, given[AT_PHDR]},
                                  {AT_PHENT, given[AT_PHENT]},
                                  {AT_PHNUM, given[AT_PHNUM]},
                                  {AT_BASE, given[AT_BASE]},
                                  {AT_FLAGS, 0},
                                  {AT_ENTRY, given[AT_ENTRY]},
                                  {AT_UID, params_.credentials.users().real},
                                  {AT_EUID, params_.credentials.users().effective},
                                  {AT_GID, params_.credentials.groups().real},
                                  {AT_EGID, params_.credentials.groups().effective},
                                  {AT_SECURE, 0},  // nobody gains privilege
                                  {AT_RANDOM, 0},
                                  {AT_HWCAP2, 0},
                                  {AT_EXECFN, given[AT_EXECFN]},
                                  {AT_PLATFORM, 0},
                                  {AT_MINSIGSTKSZ, kSignalFrameSize},
                                  {AT_NULL, 0}};
  const std::size_t vector_at = block.size();
  for (const auto& [type, value] : own) block.insert(block.end(), {type, value});
  // The strings are the same everywhere; what the kernel has put below them is not.
  const std::uint64_t end = (first_string & ~(kMapPage - 1)) - kMapPage - kGap;
  const std::uint64_t begin = (end - kStringBytes - block.size() * 8) & ~15ull;
  const std::uint64_t platform = end - kStringBytes, random = platform + 16;
  for (std::size_t i = vector_at; i < block.size(); i += 2) {
    if (block[i] == AT_PLATFORM) block[i + 1] = platform;
    if (block[i] == AT_RANDOM) block[i + 1] = random;
  }
  char platform_name[16] = "x86_64";
  if (!memory_.write(begin, std::as_bytes(std::span(block))) ||
      !memory_.write(platform, std::as_bytes(std::span(platform_name))) ||
      !memory_.write(random, std::as_bytes(std::span(params_.random_bytes)))) {
    return false;
  }
  const std::string& seen = params_.seen_path;
  if (!seen.empty() && !memory_.write(given[AT_EXECFN], std::as_bytes(std::span(seen.c_str(), seen.size() + 1))))
    return false;
  registers.rsp = begin;
  return ptrace(PTRACE_SETREGS, pid_, nullptr, &registers) == 0;
}

// What every program uses of its own file, its loader and its stack is mapped by a call each: page faults cost more, on virtual
// machines many times as much. The loader's later mappings are populated as they are made.
void LoaderTrace::populate(const std::vector<Mapping>& all, std::uint64_t stack, std::vector<RemoteCall>& calls) {
  constexpr std::uint64_t kLongest = 2 << 20, kStack = 24 << 10;
  constexpr std::size_t kMost = 32;  // calls: a file may have any number of parts, and an answer has 64 bits
  for (const Mapping& mapping : all) {
    const std::uint64_t length = mapping.end - mapping.begin;
    if (!mapping.name.starts_with('/') || length > kLongest || calls.size() >= kMost) continue;
    const std::uint64_t advice = mapping.writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    calls.push_back({SYS_madvise, {mapping.begin, length, advice}, 0});
  }
  const std::uint64_t begin = (stack - kStack) & ~(kMapPage - 1);
  calls.push_back({SYS_madvise, {begin, (stack & ~(kMapPage - 1)) - begin, MADV_POPULATE_WRITE}, 0});
}

// The vDSO reads the machine's clocks: it is taken away, and where that cannot be (a kernel that seals it) nobody is told
// of it. Its size is another in every kernel, and libraries lie below it: a window below the loader that has room for
// any vDSO is taken, whatever is left of it.
bool LoaderTrace::make_room(const std::vector<Mapping>& all, std::uint64_t stack) {
  constexpr std::uint64_t kWindow = 64 * 1024;
  constexpr const char* kRefused = "its first system calls cannot be made for it (ptrace)";
  const auto failed = [](std::uint64_t answers, std::size_t call, std::size_t calls) {
    return (answers >> (calls - 1 - call) & 1) != 0;
  };
  std::uint64_t loader = ~0ull;
  std::vector<Mapping> clocks;
  std::vector<RemoteCall> calls;
  for (const Mapping& mapping : all) {
    if (is_loader(mapping.begin) && mapping.name.starts_with('/')) loader = std::min(loader, mapping.begin);
    if (mapping.name != "[vdso]" && !mapping.name.starts_with("[vvar")) continue;
    clocks.push_back(mapping);
    if (params_.removes_vdso) calls.push_back({SYS_munmap, {mapping.begin, mapping.end - mapping.begin}, 0});
  }
  const std::size_t removals = calls.size();
  const auto map = [&](std::uint64_t begin, std::uint64_t length, std::uint64_t protection) {
    constexpr std::uint64_t kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE;
    calls.push_back({SYS_mmap, {begin, length, protection, kFlags, ~0ull, 0}, begin});
    return calls.size() - 1;
  };
  // What is left of the window around the mappings for which `stays`.
  const auto take_window = [&](auto stays) {
    std::uint64_t free = loader - kWindow;
    const auto take_up_to = [&](std::uint64_t end) {
      if (end > free) map(free, end - free, PROT_NONE);
    };
    for (std::size_t i = 0; i < clocks.size(); ++i) {
      if (!stays(i)) continue;
      take_up_to(clocks[i].begin);
      free = clocks[i].end;
    }
    if (loader != ~0ull) take_up_to(loader);
  };
  take_window([&](std::size_t) { return removals == 0; });
  populate(all, stack, calls);
  constexpr std::uint64_t kDataSize = (sizeof(protocol::PatchData) + kMapPage - 1) & ~(kMapPage - 1);
  const std::size_t data = map(protocol::kPatchDataAddress, kDataSize, PROT_READ | PROT_WRITE);
  struct Area {
    std::uint64_t address;
    std::size_t header, code;  // calls
  };
  std::vector<Area> areas;
  for (const std::uint64_t area : protocol::kPatchAreas) {
    const bool wanted = std::any_of(all.begin(), all.end(), [&](const Mapping& mapping) {
      return mapping.executable && mapping.name.starts_with('/') && in_reach(area, mapping.begin, mapping.end);
    });
    if (!wanted) continue;
    const std::size_t header = map(area, kMapPage, PROT_READ | PROT_WRITE);
    areas.push_back({area, header, map(area + kMapPage, protocol::kPatchAreaSize - kMapPage, PROT_READ | PROT_EXEC)});
  }
  const std::size_t made = calls.size();
  const auto taken = make_calls(calls);
  if (!taken) return fail(kRefused);
  const auto remains = [&](std::size_t i) { return failed(*taken, i, made); };
  bool one_remains = false;
  for (std::size_t i = 0; i < removals; ++i) one_remains |= remains(i);
  if (one_remains) {  // so that the window was not free
    take_window(remains);
    if (!make_calls(std::span(calls).subspan(made))) return fail(kRefused);
  }
  if (failed(*taken, data, made) ||
      !memory_.write(protocol::kPatchDataAddress, std::as_bytes(std::span(params_.cpuid)))) {
    return fail("the addresses of the simulator's own memory are taken in it");
  }
  // Of an area that is taken, by a program linked to unusual addresses, there is none: its instructions trap.
  for (const Area& area : areas) {
    if (failed(*taken, area.header, made) || failed(*taken, area.code, made)) continue;
    if (!in_reach(area.address, loader, loader)) {
      patches_.add_area(area.address);
      continue;
    }
    if (!patches_.open_area(memory_, area.address))
      return fail("its executable memory cannot be written (/proc/PID/mem); `verbatim check --host` tells more");
  }
  return true;
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

void LoaderTrace::watch_memory_maps(const std::vector<Mapping>& all) {
  if (!params_.stops_at_memory_maps) return;
  for (const Mapping& mapping : all) {
    if (!mapping.executable || !is_loader(mapping.begin) || !mapping.name.starts_with('/')) continue;
    const code::FileCode* file = files_.of(mapping.name);
    if (file == nullptr) continue;
    for (const std::uint64_t offset : file->found.memory_maps) {
      if (offset < mapping.offset || offset - mapping.offset + code::kMemoryMapSize > mapping.end - mapping.begin)
        continue;
      const std::uint64_t site = mapping.begin + (offset - mapping.offset);
      const std::uint64_t room = patches_.take_room(kMapStubRoom);
      if (room == 0 || !in_reach(room, site, site + code::kMemoryMapSize)) continue;
      const std::vector<std::uint8_t> stub = code::make_memory_map_stub(site, room);
      Watched watched{site, room, room + stub.size(), std::vector<std::byte>(code::kMemoryMapSize)};
      memory_.read(site, watched.original);
      memory_.write_code(room, std::as_bytes(std::span(stub)));
      const std::vector<std::uint8_t> bytes = code::make_jump(site, code::kMemoryMapSize, room);
      memory_.write_code(site, std::as_bytes(std::span(bytes)));
      watched_.push_back(std::move(watched));
    }
  }
}

int LoaderTrace::next_stop(int signal, std::span<const int> pipes, std::span<std::string> output) {
  // The end of a wait is a SIGCHLD, which is let in while we sleep and at no other time.
  sigset_t child, before;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, &before);
  const bool continued = ptrace(watched_.empty() ? PTRACE_SYSCALL : PTRACE_CONT, pid_, nullptr, signal) == 0;
  siginfo_t info{};
  while (continued) {
    info = {};
    // Whoever has ended is left for the supervisor to wait for.
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

void LoaderTrace::run(std::span<const int> pipes, std::span<std::string> output) {
  int signal = 0;
  while ((signal = next_stop(signal, pipes, output)) != 0) {
    user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, pid_, nullptr, &registers) != 0) return;
    if (signal == kSystemCallStop) {
      signal = 0;
      in_system_call_ = !in_system_call_;
      if (in_system_call_ || registers.orig_rax != SYS_mmap || (registers.rdx & PROT_EXEC) == 0) continue;
      on_mapped(registers.rax, registers.rsi, static_cast<int>(registers.r8), registers.r9);
    } else if (signal == SIGTRAP) {
      const auto at = [&](const Watched& watched) {
        return registers.rip > watched.stub && registers.rip <= watched.stub_end;
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
  }
}

// An instruction of the loader, or of what runs before the shim, that no jump could take the place of.
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
    registers.rax = registers.rdx = 0;  // time has not begun
    if (instruction->kind == DecidedInstruction::kRdtscp) registers.rcx = 0;
  } else {
    return false;
  }
  registers.rip += instruction->length;
  return ptrace(PTRACE_SETREGS, pid_, nullptr, &registers) == 0;
}

void LoaderTrace::on_mapped(std::uint64_t address, std::uint64_t length, int fd, std::uint64_t offset) {
  if (address > ~4095ull || fd < 0) return;  // -errno
  if (address >= protocol::kShimStart && address < protocol::kShimEnd) return;  // what it executes it means
  if (const code::FileCode* file = files_.of(fmt::format("/proc/{}/fd/{}", pid_, fd)))
    patches_.patch_file(memory_, *file, address, length, offset);
}

void LoaderTrace::detach(int signal) {
  for (const Watched& watched : watched_) memory_.write_code(watched.site, watched.original);
  watched_.clear();
  ptrace(PTRACE_DETACH, pid_, nullptr, signal);
}

}  // namespace verbatim::supervisor
