// Starts a program as a Linux process whose memory layout, environment and resources are the same in every run:
// absolute path, fixed limits, no address-space randomisation, argument and environment strings padded to a constant size
// so that no path moves the stack; the rest before the first instruction, see loader_trace.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/supervisor/machine/loader_trace.h"
#include "sim/supervisor/spec/resource_limits.h"

namespace verbatim::supervisor {

// PATH inside a simulation, and where programs are looked up.
inline constexpr const char* kProgramPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// Resolves `name` as execvp would. Returns why it cannot be simulated, or an empty string.
std::string inspect_program(const std::string& name, const std::string& working_directory, std::string* resolved);

// Whether the file has a set-user-id or set-group-id bit. Such a program runs with the caller's rights all the same.
bool asks_for_privilege(const std::string& path);

struct LaunchRequest {
  std::string path;  // absolute
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // "NAME=value"
  std::string first_library;             // preloaded before all others; empty: none
  std::string working_directory;
  std::string shim_directory;
  int region_fd = -1;
  int passage_fd = -1;  // see passage.h
  int own_descriptors = supervisor::own_descriptors().at_first;  // the shim's, in the new process
  int ruleset_fd = -1;  // Landlock's, see confinement.h; -1: none
  int core = 0;
  bool switches_randomisation_off = true;  // otherwise all parts of the program are moved to their places
  LoaderTraceParams trace;
  code::CodeFiles* code_files = nullptr;
  code::CodePatches* patches = nullptr;  // of the new process; filled in
  // What exec inherits; the first program of a process has none of it.
  unsigned umask = 022;
  std::uint64_t signal_mask = 0;
  std::vector<int> ignored_signals;
  std::vector<int> placeholders;                  // descriptors that stand for virtual ones
  std::vector<std::pair<int, int>> descriptors;   // number there, and the simulator's own, which launch() closes
};

struct LaunchedProcess {
  pid_t pid = -1;
  std::string early_output[2];  // at 1 and 2, before the shim was in place; later nobody listens there
  std::string error;            // not empty: nothing runs
  bool is_machines = false;  // the machine has no room for one more process
};

// What a program built with AddressSanitizer needs: its runtime before all libraries, and no search for leaks unless the
// environment decides about it; and whether ThreadSanitizer wants libraries elsewhere.
void suit_sanitizers(LaunchRequest& request);

// Returns when the shim is in place in the process, or the process has ended before.
LaunchedProcess launch(const LaunchRequest& request);

}  // namespace verbatim::supervisor
