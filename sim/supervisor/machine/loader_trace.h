// Traces a process by ptrace from its exec stop until the shim is in place. Before its first instruction it
// gets the same addresses (memory_places.h), the same stack and auxiliary vector, and no vDSO, on every
// machine. Every code mapping of the loader is patched (sim/supervisor/code) before it runs: the loader
// itself and IFUNC resolvers execute CPUID while libraries are linked.
//
// The loader's own mmap call stops at a breakpoint when it maps code. If that call is not found in a loader,
// every system call is examined instead. If it is found, ld.so.cache, whose length differs between machines,
// is mapped away from the libraries, also when the program loads libraries later.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstdint>
#include <functional>
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
  std::span<const protocol::CpuidEntry> cpuid;      // processor that the program sees
  std::uint32_t extended_control = 0;
  bool stops_at_memory_maps = true;  // false: every system call is examined
  bool removes_vdso = true;
  // built with ThreadSanitizer: its libraries are at other addresses (layout.h)
  bool has_thread_sanitizer = false;
  Credentials credentials;
  std::string seen_path;  // AT_EXECFN; empty: the native path
  // Native path of a path that the loader names, `use` as in FolderViews::prepare(). Empty: programs see the
  // machine's files. With it every system call is examined.
  std::function<std::string(const std::string& path, bool follows_last, std::int64_t use)> native_path;
  std::string program;  // target of /proc/self/exe, with `native_path`
};

class LoaderTrace {
 public:
  // `pid` is at its exec stop, traced by the caller.
  LoaderTrace(pid_t pid, const LoaderTraceParams& params, code::CodeFiles& files, code::CodePatches& patches);

  // False: the process could not be prepared, and is still traced; see error().
  bool prepare();
  // Returns when the shim is in place or the process has ended. Appends everything that arrives in `pipes`
  // meanwhile to `output`: nobody else reads them. False: the process could not be followed and is still traced, see error().
  bool run(std::span<const int> pipes, std::span<std::string> output);

  // Bytes of /proc/PID/auxv: the auxiliary vector with its last entry, AT_NULL. Empty before prepare().
  const std::string& auxiliary_vector() const { return auxiliary_vector_; }
  const std::string& error() const { return error_; }
  // With an error: whether the program cannot be simulated on any machine, because of its addresses.
  bool is_unsuitable() const { return is_unsuitable_; }

 private:
  // Initial stack by the kernel: argc, argv and envp with their zeros, and the auxiliary vector by type.
  struct FirstStack {
    std::vector<std::uint64_t> arrays;
    std::array<std::uint64_t, 64> auxiliary{};
  };

  std::optional<FirstStack> read_stack(std::uint64_t stack_pointer);
  std::optional<Places> find_places(const std::vector<Mapping>& all, const FirstStack& stack, std::uint64_t stack_pointer);
  std::optional<std::vector<Elf64_Phdr>> program_headers(std::uint64_t at, std::uint64_t count);
  std::uint64_t program_name_at(std::uint64_t given);
  bool write_stack(FirstStack stack, const Places& places, user_regs_struct& registers);
  bool make_room(std::vector<Mapping>& all, const Places& places, user_regs_struct& registers);
  static void move(const Move& part, std::vector<Mapping>& all, std::vector<RemoteCall>& calls);
  static void populate(const std::vector<Mapping>& all, std::uint64_t stack, std::vector<RemoteCall>& calls);
  void patch_mapped(const std::vector<Mapping>& all);
  void watch_memory_maps(const std::vector<Mapping>& all, const Places& places);
  void write_whole_file_stub(std::uint64_t at, std::uint64_t next);
  void follow(std::span<const int> pipes, std::span<std::string> output);
  // Notes the error of a ptrace call with this result, unless the process has ended.
  bool succeeds(long result);
  // Continues until the next stop. Returns the stop's signal; 0: the process has ended.
  int next_stop(int signal, std::span<const int> pipes, std::span<std::string> output);
  bool answer_trap(user_regs_struct& registers);
  void on_path_call(user_regs_struct& registers);
  void on_path_answer(user_regs_struct& registers);
  void on_mapped(std::uint64_t address, std::uint64_t length, int fd, std::uint64_t offset);
  void detach(int signal = 0);
  bool fail(std::string why) {
    error_ = std::move(why);
    return false;
  }
  bool fail_as_unsuitable(std::string why) {
    is_unsuitable_ = true;
    return fail(std::move(why));
  }

  pid_t pid_;
  LoaderTraceParams params_;
  code::CodeFiles& files_;
  code::CodePatches& patches_;
  ProcessMemory memory_;
  // The loader's mmap calls, their permanent stubs, and the breakpoints that last until the shim is in place.
  struct Watched {
    std::uint64_t site, stub, stop, stop_end;
  };
  std::vector<Watched> watched_;
  bool in_system_call_ = false;
  // A call whose path was replaced, until it returns: registers of its arguments, and whether it is answered here.
  std::optional<user_regs_struct> replaced_;
  bool answers_link_ = false;
  std::string auxiliary_vector_;
  std::uint64_t name_end_ = 0;  // end of the file name on the stack, if it is replaced
  std::string error_;
  bool is_unsuitable_ = false;
};

}  // namespace verbatim::supervisor
