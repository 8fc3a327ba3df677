// Exit codes of the command line, with their meaning. Help, manual pages and guides are generated from this table.
#pragma once

#include <string_view>

namespace verbatim::cli {

enum ExitCode : int {
  kAsExpected = 0,
  kProgramFailed = 1,
  kUsage = 2,
  kDeadlock = 3,
  kLimit = 4,
  kInterrupted = 5,
  kInternalError = 70,
  kMachineFault = 71,
};

struct ExitCodeText {
  ExitCode code;
  std::string_view summary;  // half a sentence, for one line
  std::string_view details;  // whole sentences; may be empty
};

// In ascending order.
inline constexpr ExitCodeText kExitCodes[] = {
    {kAsExpected, "everything ended as expected", ""},
    {kProgramFailed, "a program failed, or an expectation of the scenario was not met",
     "A sentence on standard error says which. A check with level error gives this code too, and so does an output file that cannot be "
     "written."},
    {kUsage, "the command line or a file is wrong; nothing was started", "Every mistake is reported at once."},
    {kDeadlock, "deadlock: every thread waits, and nothing can wake one, or packets block each other in the fabric",
     "For each blocked thread the report says what it waits for, where in the program, and why that cannot happen; of the fabric it "
     "names the circle of switch outputs."},
    {kLimit, "a limit was reached, such as --time-limit", ""},
    {kInterrupted, "interrupted by SIGINT, SIGTERM or SIGHUP",
     "The report covers what happened before the signal; --seeds reports the seeds that had ended. SIGHUP that was ignored at the "
     "start, as under nohup(1), stays ignored. Every command ends within two seconds, also while its programs are stopped. SIGQUIT "
     "ends it at once, without a report."},
    {kInternalError, "a bug of verbatim", "Please report it, with the command line."},
    {kMachineFault, "the machine ended a program, or had no room for the run",
     "The kernel was short of memory, refused a thread, a process or the start of a program, or somebody sent a signal to a program "
     "from outside. The run says nothing about the program; try again with more memory or fewer jobs. A machine without Landlock refuses "
     "--confine with this code."},
};

}  // namespace verbatim::cli
