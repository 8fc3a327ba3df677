// What a run needs of the machine or container, each tried out in a process of its own and judged by its effect: there
// are kernels and hypervisors that answer "done" and do nothing. 0: it works; an errno; kKilled: the attempt died.
#pragma once

#include <string>

namespace verbatim::supervisor {

inline constexpr int kKilled = 255;
inline constexpr int kNoEffect = 254;  // nothing was refused, and nothing happened

// A child's end is told. Without it nothing of what follows can be judged.
int probe_waiting();
// PR_SET_TSC: rdtsc must not come through.
int probe_timestamp_counter_trap();
// Code of another process is replaced through /proc/PID/mem and executed.
int probe_code_patches();
// HLT arrives as SIGSEGV with the registers, which can be changed.
int probe_instruction_faults();
// A filtered system call arrives as SIGSYS with its number and registers, and gets its result from the handler.
int probe_system_call_traps();
// A child stops at exec; its registers can be read and set, its code written.
int probe_tracing();
// process_vm_readv and process_vm_writev.
int probe_memory_calls();
// Reading and writing another process's memory through /proc/PID/mem.
int probe_memory_file();
// A descriptor of a child is taken by its number, through pidfd_open and pidfd_getfd.
int probe_descriptors();
// close_range with both of its flags.
int probe_close_range();
// The socket that descriptors are handed on by.
int probe_passage();
// Two processes that execute the same program lie at the same addresses.
int probe_layout();
// A process's memory is moved to where libraries end, and its heap begins where the kernel is told.
int probe_moves();
// The addresses of the shim are free, those of patch areas too: `areas` tells which of the two is asked for.
int probe_addresses(bool areas);
// Whoever sleeps on a word in shared memory is woken by another process.
int probe_futex();
// Shared memory of the size of a process's region, to its last byte.
int probe_shared_memory();
// The data segment grows, where malloc takes its memory from.
int probe_break();
// A reservation of as much memory as the shim's heap takes, most of which is never used.
int probe_reservation();
// The machine's clock goes on.
int probe_clock();
// The vDSO can be taken away.
int probe_vdso();
// What /proc tells of another process: maps, descriptors, tasks.
int probe_proc();
// The loader's call that maps memory is one that can be stopped at.
int probe_loader();

}  // namespace verbatim::supervisor
