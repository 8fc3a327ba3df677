// The state of a random program, and its two sources of chance: one that runs alike at both ends and decides
// what happens between them, one of this end's own that decides how it is done.
#pragma once

#include <pthread.h>
#include <stdarg.h>
#include <sys/time.h>
#include <time.h>

#include "tests/equality/rc_pair.h"

enum {
  kQps = 2,
  kOwnQp = kQps,  // of a round with memory of its own; it may fail
  kMessagesMax = 8,
  kSlot = 32768,  // room for one message
  kFlags = 4096,  // one flag every 64 bytes
  kArea = kQps * kMessagesMax * kSlot,
  kMemory = kFlags + 2 * kArea,  // flags, destinations of messages, sources of messages
  kInlineMax = 128,
  kFirstReceive = 0x1000,  // ids of receives; those of sends are lower
};

struct chance {
  uint64_t state;
};

static inline uint64_t draw(struct chance* chance, uint64_t below) {
  uint64_t z = (chance->state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return (z ^ (z >> 31)) % below;
}

struct connection {
  struct ibv_qp* qp;
  struct ibv_qp_ex* extended;  // NULL: made without operations of its own
  struct ibv_cq* cq;
  struct rc_address theirs;
  // Ever posted here and ever seen completed; threads may book each other's completions.
  uint64_t sends_posted, receives_posted;
  uint64_t sends_done, receives_done;
};

struct program {
  int is_client;
  int tcp;
  int with_threads;  // more than one thread is running
  struct chance shared, own;
  struct ibv_context* context;
  struct ibv_comp_channel* channel;
  struct ibv_mr* mr;
  uint8_t* memory;
  struct ibv_pd* pd;
  struct rc_options options;
  struct connection connections[kQps + 1];
};

extern struct program my;

// The main thread draws from my.own, a second one from a source made for it.
extern __thread struct chance* mine;

static inline volatile uint32_t* flag(int index) { return (volatile uint32_t*)(my.memory + 64 * index); }
static inline uint8_t* arrival(int qp, int message) {
  return my.memory + kFlags + (size_t)(qp * kMessagesMax + message) * kSlot;
}
static inline uint8_t* departure(int qp, int message) { return arrival(qp, message) + kArea; }
static inline uint64_t their(const struct connection* c, const void* place) {
  return c->theirs.address + (uint64_t)((const uint8_t*)place - my.memory);
}

struct job {
  enum ibv_wr_opcode opcode;
  uint8_t* local;
  uint64_t remote;
  uint32_t length;
  unsigned flags;
};
// Posts a work request by one of the interfaces; wr_id is the number posted so far. An atomic's operands are drawn.
void post(struct connection* c, struct job job);
// Connects the queue pair of that index in `my.connections`, and sends the other end key and address of memory.
void connect_queue_pair(int index, struct ibv_cq* cq, int access, uint32_t rkey, uint64_t address);
// Waits until both ends are here.
void barrier(void);

// A round of messages, writes, reads and atomics with memory that one end registers for it: what is behind it, and what
// happens to it meanwhile, is drawn.
void place_round(void);

// A line of output.
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));
// FNV-1a over the bytes.
uint32_t checksum(const void* bytes, size_t length);
// Something small that only this end does: reads a clock, sleeps, looks at memory, polls for nothing.
void dawdle(int times);

int64_t now_ns(void);
void nap(uint64_t ns);
// Polls up to `max` completions, prints them, and returns their number.
int look(struct ibv_cq* cq, int max);

// Waits by one of many methods until *counter, of a connection, has reached `target`.
void wait_for_completions(struct connection* c, const uint64_t* counter, uint64_t target);
// Waits until the flag, written by the other end, is at least `value`, mostly without any call.
void wait_for_flag(int index, uint32_t value);
