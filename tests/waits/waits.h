// Shared by the waiting loops. A case is a loop like those of existing programs: it waits until the other end has
// written `flag` and sent one message, both after the time on the command line. `waits CASE MICROSECONDS [server]`.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include <infiniband/verbs.h>

enum { kCounterOffset = 1024 };  // in the memory that begins with the flag

enum { kIdleQueues = 8 };

struct waits {
  struct ibv_context* context;
  struct ibv_cq* cq;                  // gets one completion: the message
  struct ibv_cq* idle[kIdleQueues];   // never gets a completion
  volatile uint32_t* flag;            // written just before the message arrives
  volatile uint32_t* mirror;          // the message, at another address than the adapter writes it to
  void* code;                         // writable: returns a constant, which in cases named code_… is the message
  int tcp;                            // connected to the other end, which sends nothing
  int64_t wait_ns;                    // approximate arrival of the message
  struct ibv_wc wc;                   // the completion
};
extern struct waits w;

struct wait_case {
  const char* name;
  int (*run)(void);  // its result is printed: counters must be those of executing every turn
};
extern const struct wait_case kPollCases[], kClockCases[], kCounterCases[], kLockCases[], kMemoryCases[], kKernelCases[],
    kObjectCases[], kContinuedCases[];

// Runs `function` in another thread.
void in_thread(void* (*function)(void*));
// Sleeps until about the time of the message.
void sleep_as_long(void);

#define POLL(queue) ibv_poll_cq(queue, 1, &w.wc)

#ifdef __cplusplus
}
#endif
