// The first moments of a simulated process, from the exec stop until the shim is in place, watched by ptrace: before its first
// instruction the process gets the same addresses (memory_places.h), the same stack, the same auxiliary vector and no vDSO on
// every machine, and every piece of code that the loader maps has its patches (sim/supervisor/code) before it runs: the loader
// itself asks what the processor is, and so do functions that choose others (IFUNC) while the libraries are linked.
//
// The loader's own memory-mapping call is made to stop at a breakpoint when it maps code. Of a loader in which that call
// is not found, every system call is looked at instead. Where it is found, the loader's cache of libraries' names, which has
// another length on every machine, is mapped away from the libraries, then and whenever the program loads one later.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/supervisor/code/code_patches.h"
#include "sim/supervisor/spec/credentials.h"
#include "sim/supervisor/machine/memory_places.h"
#include "sim/supervisor/machine/process_memory.h"
#include "sim/supervisor/machine/remote_calls.h"
#include "verbs_shim/protocol/patches.h"

namespace verbatim::supervisor {

struct LoaderTraceParams {
  std::array<std::uint8_t, 16> random_bytes{};      // AT_RANDOM
  std::span<const protocol::CpuidEntry> cpuid;      // the processor that the program sees
  std::uint32_t extended_control = 0;
  bool stops_at_memory_maps = true;  // false: look at every system call
  bool removes_vdso = true;
  bool has_thread_sanitizer = false;  // the program is built with it, and its libraries lie elsewhere (layout.h)
  Credentials credentials;
  std::string seen_path;  // AT_EXECFN where it is not the file's own path, and no longer than it
};

class LoaderTrace {
 public:
  // `pid` is stopped at its exec stop and traced by the caller.
  LoaderTrace(pid_t pid, const LoaderTraceParams& params, code::CodeFiles& files, code::CodePatches& patches);

  // False: the process could not be prepared; it is still traced. error() says why.
  bool prepare();
  // Returns when the shim is in place or the process has ended. What it writes into `pipes` meanwhile, at the other
  // ends, is appended to `output`: nobody else reads them.
  void run(std::span<const int> pipes, std::span<std::string> output);

  const std::string& error() const { return error_; }

 private:
  // What the kernel has put on the stack: argc, argv and envp with their zeros, and the auxiliary vector by type.
  struct FirstStack {
    std::vector<std::uint64_t> arrays;
    std::array<std::uint64_t, 64> told{};
  };

  std::optional<FirstStack> read_stack(std::uint64_t stack_pointer);
  std::optional<Places> find_places(const std::vector<Mapping>& all, const FirstStack& stack, std::uint64_t stack_pointer);
  std::optional<std::vector<Elf64_Phdr>> program_headers(std::uint64_t at, std::uint64_t count);
  bool write_stack(FirstStack stack, const Places& places, user_regs_struct& registers);
  bool make_room(std::vector<Mapping>& all, const Places& places, user_regs_struct& registers);
  static void move(const Move& part, std::vector<Mapping>& all, std::vector<RemoteCall>& calls);
  static void populate(const std::vector<Mapping>& all, std::uint64_t stack, std::vector<RemoteCall>& calls);
  void patch_mapped(const std::vector<Mapping>& all);
  void watch_memory_maps(const std::vector<Mapping>& all, const Places& places);
  void write_whole_file_stub(std::uint64_t at, std::uint64_t next);
  // Continues until the next stop; 0: the process has ended. Otherwise the signal it stopped with.
  int next_stop(int signal, std::span<const int> pipes, std::span<std::string> output);
  bool answer_trap(user_regs_struct& registers);
  void on_mapped(std::uint64_t address, std::uint64_t length, int fd, std::uint64_t offset);
  void detach(int signal = 0);
  bool fail(std::string why) {
    error_ = std::move(why);
    return false;
  }

  pid_t pid_;
  LoaderTraceParams params_;
  code::CodeFiles& files_;
  code::CodePatches& patches_;
  ProcessMemory memory_;
  // The loader's memory-mapping calls, what stays in their place, and what has a breakpoint until the shim is there.
  struct Watched {
    std::uint64_t site, stub, stop, stop_end;
  };
  std::vector<Watched> watched_;
  bool in_system_call_ = false;
  std::string error_;
};

}  // namespace verbatim::supervisor
