// Tries, each in a process of its own, the facilities that a run needs of the machine or container, and
// judges them by their effect: some kernels and hypervisors report success and do nothing. Result 0: works;
// an errno; kKilled: the attempt died; kNoEffect.
#pragma once

#include <string>

namespace verbatim::supervisor {

inline constexpr int kKilled = 255;
inline constexpr int kNoEffect = 254;  // nothing was refused, and nothing happened

// wait4 reports the end of a child; without it no other probe can be judged.
int probe_waiting();
// PR_SET_TSC makes rdtsc trap.
int probe_timestamp_counter_trap();
// Code of another process is replaced through /proc/PID/mem and executed.
int probe_code_patches();
// HLT arrives as SIGSEGV with the registers, which can be changed.
int probe_instruction_faults();
// A filtered system call arrives as SIGSYS with its number and registers; the handler can set its result.
int probe_system_call_traps();
// A child stops at exec; its registers can be read and set, its code written.
int probe_tracing();
// process_vm_readv and process_vm_writev.
int probe_memory_calls();
// Reading and writing another process's memory through /proc/PID/mem.
int probe_memory_file();
// pidfd_open and pidfd_getfd duplicate a descriptor of a child.
int probe_descriptors();
// close_range with both of its flags.
int probe_close_range();
// socketpair for passing descriptors.
int probe_passage();
// Two processes that execute the same program have the same addresses.
int probe_layout();
// mremap moves memory to the end of the libraries' area, and PR_SET_MM_MAP sets the start of the heap.
int probe_moves();
// Fixed addresses are free: those of the patch areas if `areas`, otherwise the shim's.
int probe_addresses(bool areas);
// A futex in shared memory wakes a waiter in another process.
int probe_futex();
// Shared memory of the size of a process's region, to its last byte.
int probe_shared_memory();
// The data segment grows (brk), from which malloc allocates.
int probe_break();
// Address space of the size of the shim's heap can be reserved; most of it is never used.
int probe_reservation();
// CLOCK_MONOTONIC advances.
int probe_clock();
// The vDSO can be unmapped.
int probe_vdso();
// /proc shows maps, descriptors and tasks of another process.
int probe_proc();
// The loader's mmap call is found, so it can get a breakpoint.
int probe_loader();

}  // namespace verbatim::supervisor
