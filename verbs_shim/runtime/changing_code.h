// Memory that the program may both write and execute, memory whose code cannot be distinguished from data,
// and shared memory with code. A page of it is natively either writable or executable
// (protocol/changing_code.h). When the program jumps to a page that is not executable, the page is searched:
// without bytes that may be an instruction whose result depends on the machine, it becomes executable until
// it is written to; otherwise its instructions are executed one by one, and those that depend on the machine
// are emulated. Nothing is replaced in such memory.
//
// The program sees the rights that it has set. While there is such memory, calls that change mappings trap.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

namespace verbatim::shim {

bool has_changing_code();

// mmap, mprotect or pkey_mprotect with these arguments makes such memory of the kind `rights`. The mapping is
// made with native_rights() in place of the protection, and watched afterwards.
enum class CodeRights {
  kNone,      // memory of another kind
  kChanging,  // private memory without contents of a file, or whose protection is changed: first writable
  kOfFile,    // private mapping of a file: first executable, because its file is searched
  kShared,
};
CodeRights code_rights(long number, const long (&arguments)[6]);
long native_rights(CodeRights rights, long protection);
// The range that a successful call with these arguments has changed.
struct CodeRange {
  unsigned long start, end;
};
CodeRange changed_range(long number, const long (&arguments)[6], long result);
// The range has other contents or rights.
void forget_code(CodeRange range);
// Watches the range, which natively has native_rights(). If it cannot be watched, the run is reported as
// weak.
void watch_code(CodeRange range, long protection, CodeRights rights);
// Code that was searched, and cannot be distinguished from data: removes the native right to execute it.
void watch_searched_code(CodeRange range, long protection, bool is_shared);
// Whether the program's file asks for an executable first stack. `environment`: the array on that stack,
// unchanged.
bool has_executable_stack(char* const* environment);
// Watches that stack; `address` is in it.
void watch_first_stack(unsigned long address);

// Before a call with these arguments: makes the pages writable to which it may write.
void prepare_code_for_call(long number, const long (&arguments)[6]);
// Makes all pages writable that the program may write to. False: they were.
bool make_code_writable();
// After a successful munmap, mremap or brk. `heap_end`: end of the heap before a brk.
void follow_changed_mapping(long number, const long (&arguments)[6], long result, unsigned long heap_end);
// After the token was away: the supervisor may have written to code.
void follow_foreign_writes();
// In a copy of the process.
void introduce_changing_code();

// A fault of the program at `address`; `error` is the processor's error code.
enum class CodeFault {
  kNone,      // not caused by the rules above
  kResolved,  // the instruction can be executed again
  kByStep,    // the instruction has to be executed by itself
};
inline constexpr unsigned long kWriteFault = 2, kFetchFault = 16;  // of the processor's error code
CodeFault resolve_code_fault(unsigned long address, unsigned long error, unsigned long rip);
// The program continues at `rip`. kNone: natively.
CodeFault resolve_code_at(unsigned long rip);

// Single steps. While one is under way, nothing of the shim runs but the handler that ends it.
inline bool steps_code = false;
// The native handler of `context` returns to one instruction, after which SIGTRAP arrives. `pushes_flags`: it
// stores the flags. `writes`: it writes to its own page, which is searched again afterwards.
void begin_step(ucontext_t* context, bool pushes_flags, bool writes);
// Whether the next instruction can be executed in the same pages as the last one.
bool steps_on(const ucontext_t* context);
// The same for that instruction.
void continue_step(ucontext_t* context, bool pushes_flags);
// After the instruction: removes the trap flag from flags that it has stored.
void correct_step(const ucontext_t* context);
void end_step(ucontext_t* context);

}  // namespace verbatim::shim
