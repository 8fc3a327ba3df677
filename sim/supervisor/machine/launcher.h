// Starts a program as a Linux process with the same memory layout, environment and resources in every run:
// absolute path, fixed limits, no address-space randomisation, argument and environment strings padded to
// a constant size so that no path moves the stack. Everything else is set before the first instruction;
// see loader_trace.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/supervisor/machine/loader_trace.h"
#include "sim/supervisor/spec/resource_limits.h"

namespace verbatim::supervisor {

// PATH in a simulation; programs are looked up there.
inline constexpr const char* kProgramPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

struct Inspection {
  std::string reason;                  // why the program cannot be simulated; empty: it can
  bool is_refused_by_machine = false;  // its file could not be read: the reason says nothing about the file
};

// Resolves `name` as execvp would. `native_of`: path to read for an absolute path; empty: the path itself.
using NativeOf = std::function<std::string(const std::string& path)>;
Inspection inspect_program(const std::string& name, const std::string& working_directory, std::string* resolved,
                           const NativeOf& native_of = {});

// Whether execve(2) fails with `error` because of the file or the arguments. All other errors are the machine's.
bool is_error_of_file(int error);

// Interpreter and its one argument (the rest of the line) from a script's #! line; empty for other files. nullopt:
// the machine does not let the file be read.
std::optional<std::vector<std::string>> interpreter_of(const std::string& path);

// Whether the file has a set-user-id or set-group-id bit. The program runs with the caller's
// rights all the same.
bool asks_for_privilege(const std::string& path);

struct LaunchRequest {
  std::string path;  // absolute
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // "NAME=value"
  std::string first_library;             // preloaded before all others; empty: none
  std::string working_directory;
  int working_directory_fd = -1;  // its descriptor: its path may be too long, or it may be deleted; -1: go by the path
  std::string shim_directory;
  int region_fd = -1;
  int passage_fd = -1;  // see passage.h
  // first number of the shim's descriptors in the new process
  int own_descriptors = supervisor::own_descriptors().at_first;
  int ruleset_fd = -1;  // of Landlock, see confinement.h; -1: none
  int core = 0;
  bool switches_randomisation_off = true;  // false: all parts of the program are moved to their addresses
  LoaderTraceParams trace;
  code::CodeFiles* code_files = nullptr;
  code::CodePatches* patches = nullptr;  // of the new process; filled in
  // Inherited by exec; a first program inherits none of it.
  unsigned umask = 022;
  std::uint64_t signal_mask = 0;
  std::vector<int> ignored_signals;
  std::vector<int> placeholders;                  // descriptors that represent virtual ones
  // number in the process, and the simulator's duplicate, which launch() closes
  std::vector<std::pair<int, int>> descriptors;
};

struct LaunchedProcess {
  pid_t pid = -1;
  // written to 1 and 2 before the shim was in place; later nobody reads these pipes
  std::string early_output[2];
  std::string auxiliary_vector;  // see LoaderTrace
  std::string error;            // not empty: no process was started
  // The machine refused a call of the launch. False with an error: the program cannot be simulated.
  bool is_refused_by_machine = false;
  bool is_open_for_writing = false;  // ETXTBSY
};

// Adapts the request to sanitizers. AddressSanitizer: its runtime is preloaded first, and leak detection is
// off unless the environment decides. ThreadSanitizer: libraries get other addresses.
void adapt_to_sanitizers(LaunchRequest& request);

// Returns when the shim is in place in the process, or the process has ended.
LaunchedProcess launch(const LaunchRequest& request);

}  // namespace verbatim::supervisor
