// The system-call gate: a page of this library, the only code that the seccomp filter lets enter the kernel
// with a call that traps elsewhere. Never called through the PLT; never touches errno.
#pragma once

#include "verbs_shim/protocol/layout.h"

extern "C" __attribute__((visibility("hidden"))) const unsigned char verbatim_gate[];

namespace verbatim::shim {

inline unsigned long gate() { return reinterpret_cast<unsigned long>(verbatim_gate); }

using GateFunction = long (*)(long number, long a0, long a1, long a2, long a3, long a4, long a5);

template <class... Arguments>
inline long native(long number, Arguments... arguments) {
  const long a[6] = {(long)arguments...};
  return reinterpret_cast<GateFunction>(gate())(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

// A system call from the shim's own text, for use before the filter is installed.
inline long raw_system_call(long number, long a0 = 0, long a1 = 0, long a2 = 0, long a3 = 0, long a4 = 0,
                            long a5 = 0) {
  long result;
  register long r10 asm("r10") = a3;
  register long r8 asm("r8") = a4;
  register long r9 asm("r9") = a5;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a0), "S"(a1), "d"(a2), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

// clone(flags, stack, parent_tid, child_tid, tls); the child pops its argument from `stack` and calls `entry` with it.
inline constexpr unsigned long kCloneOffset = 128;
using CloneFunction = long (*)(unsigned long flags, void* stack, long parent_tid, long child_tid, unsigned long tls,
                               void (*entry)(void* argument));
inline CloneFunction clone_gate() { return reinterpret_cast<CloneFunction>(gate() + kCloneOffset); }

// Address of the sigreturn trampoline on the gate page, the restorer of the shim's handlers.
inline constexpr unsigned long kRestorerOffset = 64;
inline unsigned long restorer() { return gate() + kRestorerOffset; }

}  // namespace verbatim::shim
