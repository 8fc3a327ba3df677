// Terminals of a host, and job control.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/supervisor/files/terminal.h"
#include "sim/supervisor/kernel/call_context.h"
#include "sim/supervisor/kernel/transfers.h"

namespace verbatim::supervisor {

// Creates the next /dev/pts/N of host `index`.
std::shared_ptr<Terminal> make_terminal(ProcessTable& table, HostKernel& host, std::size_t index);
// Removes terminals that no process has open.
void forget_terminals(HostKernel& host);
// The controlling terminal of the process's session; nullptr: none.
std::shared_ptr<Terminal> controlling_terminal(HostKernel& host, Process& process);
// Fields 7 and 8 of /proc/PID/stat (proc(5)).
std::pair<std::uint32_t, std::int32_t> terminal_in_proc(HostKernel& host, Process& process);
// Makes the terminal the controlling terminal of the process's session, with its group in the foreground.
void control_session(Process& process, Terminal& terminal);
// The process has ended: if it led a session, hangs up its terminal.
void end_session(HostKernel& host, Process& process);
// False: `signal` must not stop the process, because its group is orphaned (setpgid(2)).
bool may_be_stopped(const ProcessTable& table, HostKernel& host, Process& process, int signal);

// Opens /dev/ptmx, /dev/tty or a path below /dev/pts; nullopt: another path.
std::optional<CallOutcome> open_terminal(CallContext& call, const std::string& path, int flags);
// Job control of a background process: signals its group with SIGTTIN or SIGTTOU, which stops it. EIO if the
// group is orphaned or ignores SIGTTIN. nullopt: the call proceeds (foreground, or SIGTTOU is ignored).
std::optional<CallOutcome> keep_in_background(CallContext& call, Terminal& terminal, int signal);
CallOutcome read_terminal(CallContext& call, const std::shared_ptr<TerminalFile>& file, const Buffers& to);
// ioctl_tty(2). nullopt: not a terminal, or a generic request.
std::optional<CallOutcome> control_terminal(CallContext& call, VirtualFile& file);

}  // namespace verbatim::supervisor
