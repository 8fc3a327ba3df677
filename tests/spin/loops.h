// Loops of existing programs, compiled with -O0 and with -O2. Each waits for something that does not happen
// during the analysis, unless its name says otherwise.
#pragma once

#include <cstdint>

struct LoopState {
  volatile char flag;
  volatile int state;
  volatile int lock;
  volatile long counter;
  volatile long toggle;
  volatile long iterations;
  alignas(32) volatile char block[64];
  int (*poll)(void* cq, int count, void* wc);
  int (*yield)();
  long (*time)(long* seconds);
  int (*timeofday)(long* time, void* zone);
  void* cq[2];
  char wc[64];
};

#define DECLARE_LOOPS(space)                   \
  namespace space {                            \
  void flag_spin(LoopState*);                  \
  void two_locations(LoopState*, long rcnt);   \
  void pause_spin(LoopState*);                 \
  void call_spin(LoopState*);                  \
  void xchg_lock(LoopState*);                  \
  void cmpxchg_lock(LoopState*);               \
  void vector_spin(LoopState*);                \
  void toggling_spin(LoopState*);              \
  void thread_local_spin();                    \
  void counted(LoopState*, long n);            \
  void register_counter(LoopState*);           \
  void memory_counter(LoopState*);             \
  void copy(char* to, const char* from, long); \
  void clock_spin(LoopState*);                 \
  void yield_spin(LoopState*);                 \
  void cpuid_spin(LoopState*);                 \
  void float_spin(LoopState*);                 \
  void poll_until(LoopState*);                 \
  void poll_two(LoopState*);                   \
  void poll_counting(LoopState*);              \
  void poll_calling(LoopState*);               \
  void poll_with_flag(LoopState*);             \
  void poll_limited(LoopState*, long limit);   \
  void poll_two_counting(LoopState*);          \
  void poll_with_credits(LoopState*);          \
  void poll_testing_a_bit(LoopState*);         \
  void poll_copying_credits(LoopState*);       \
  void poll_carrying_credits(LoopState*);      \
  void poll_with_moving_limit(LoopState*);     \
  void poll_deviating(LoopState*);             \
  void poll_comparing_counters(LoopState*);    \
  void poll_comparing_with_memory(LoopState*); \
  void poll_comparing_registers(LoopState*);   \
  void poll_with_counted_argument(LoopState*); \
  void poll_giving_up(LoopState*, long each);  \
  void poll_looking_elsewhere(LoopState*, long each); \
  void poll_every_thousandth(LoopState*);      \
  void poll_and_read(LoopState*, long fd);     \
  void poll_doubling(LoopState*);              \
  void poll_walking(LoopState*);               \
  void poll_shuffling(LoopState*);             \
  void poll_reading_a_half(LoopState*);        \
  void poll_keeping_nothing(LoopState*);       \
  void poll_inserting(LoopState*);             \
  void poll_packing(LoopState*);               \
  void poll_with_clock(LoopState*);            \
  void poll_timed(LoopState*, long end);        \
  void poll_yielding(LoopState*);              \
  void poll_until_second(LoopState*, long end); \
  void poll_six_until_second(LoopState*, long end); \
  void poll_between_times(LoopState*, long most); \
  void poll_until_millisecond(LoopState*, long end); \
  void poll_until_floating(LoopState*, long end); \
  void poll_until_scaled(LoopState*, long end); \
  void poll_until_distance(LoopState*, long end); \
  void poll_until_halves(LoopState*, long end); \
  void poll_writing_over(LoopState*, long end); \
  void poll_keeping_millisecond(LoopState*, long end); \
  void poll_until_difference(LoopState*, long end); \
  void poll_leaving_early_times(LoopState*, long end); \
  void poll_until_quotient(LoopState*, long end, long divisor); \
  void poll_with_two_buffers(LoopState*);      \
  void poll_nested(LoopState*);                \
  void poll_reading_scratch(LoopState*);       \
  void poll_reading_flags(LoopState*);         \
  void poll_reading_stack(LoopState*);         \
  void poll_reading_old_stack(LoopState*);     \
  void poll_writing_below_stack(LoopState*, long step); \
  void poll_alternating(LoopState*);           \
  void poll_popping_stack(LoopState*, long step);\
  void poll_popping_for_nothing(LoopState*); \
  void poll_storing_popped(LoopState*);      \
  void poll_comparing_popped(LoopState*);    \
  void poll_looking_where_popped(LoopState*);\
  void poll_keeping_popped(LoopState*);      \
  void poll_asking_with_popped(LoopState*);  \
  void poll_reading_vector(LoopState*);        \
  void poll_without_arguments(LoopState*);     \
  void poll_with_temporary(LoopState*);        \
  extern thread_local volatile int own;        \
  }
DECLARE_LOOPS(loops_o0)
DECLARE_LOOPS(loops_o2)
