// Memory that a child of vfork or posix_spawn shares with its parent until it executes a program or ends. It
// leaves results there: above the parent's stack pointer or in variables of the program. The simulated child
// is a copy, so its writes are copied back. Variables are copied only while the parent has one live thread
// and no device contexts of its own: otherwise another thread or an adapter may write to them, and the stack
// alone is the child's.
#pragma once

namespace verbatim::supervisor {

class Process;
class ProcessList;

// `child` is about to execute a program or to end; without effect if it is no such child.
void return_memory(Process& child, const ProcessList& processes);

}  // namespace verbatim::supervisor
