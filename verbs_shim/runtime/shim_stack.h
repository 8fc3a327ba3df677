// Code of the shim that runs on the thread's shim stack. The memory below the program's stack pointer then has the same
// contents whether a call was answered by the thread itself or by the supervisor: a program that reads an
// uninitialised variable would see the difference.
#pragma once

#include "verbs_shim/runtime/thread_state.h"

namespace verbatim::shim {

// Calls function(argument) on the upper half of the thread's shim stack. A thread that is on its shim stack, or has none,
// stays on its stack.
extern "C" __attribute__((visibility("hidden"))) void verbatim_call_on_shim_stack(const void* argument,
                                                                                  void (*function)(const void*));

// Runs `body`. No signal of the program may be raised there, because its handler would run on the shim's stack.
template <class Body>
void on_shim_stack(const Body& body) {
  if (has_foreign_bases) [[unlikely]] return body();
  verbatim_call_on_shim_stack(&body, [](const void* argument) { (*static_cast<const Body*>(argument))(); });
}

}  // namespace verbatim::shim
