#include "tests/spin/loops.h"

#include <emmintrin.h>
#include <x86intrin.h>

namespace LOOPS {

void flag_spin(LoopState* s) {
  while (s->flag != 1) {
  }
}

// perftest's ib_write_lat: while (*poll_buf != (char)rcnt && user_param->state != END_STATE);
void two_locations(LoopState* s, long rcnt) {
  while (s->flag != static_cast<char>(rcnt) && s->state != 3) {
  }
}

void pause_spin(LoopState* s) {
  while (s->flag != 1) _mm_pause();
}

static __attribute__((noinline)) int check(LoopState* s, int wanted) {
  asm volatile("");
  return s->flag == wanted;
}

void call_spin(LoopState* s) {
  while (!check(s, 1)) {
  }
}

void xchg_lock(LoopState* s) {
  while (__atomic_exchange_n(&s->lock, 1, __ATOMIC_ACQUIRE)) {
  }
}

void cmpxchg_lock(LoopState* s) {
  int expected;
  do {
    expected = 0;
  } while (!__atomic_compare_exchange_n(&s->lock, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
}

void vector_spin(LoopState* s) {
  const __m128i one = _mm_set1_epi8(1);
  while (true) {
    __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(const_cast<const char*>(s->block)));
    asm volatile("" : "+x"(v) : : "memory");
    if (_mm_movemask_epi8(_mm_cmpeq_epi8(v, one)) & 1) break;
  }
}

// Writes 1 and 0 alternately: memory differs at the same instruction with the same registers.
void toggling_spin(LoopState* s) {
  while (s->flag != 1) {
    asm volatile("xorl $1, %0" : "+m"(s->toggle) : : "cc");
    asm volatile("cmpl $77, %0" : : "m"(s->state) : "cc");
  }
}

thread_local volatile int own = 0;

void thread_local_spin() {
  while (own != 1) {
  }
}

void counted(LoopState* s, long n) {
  for (long i = 0; i < n && s->flag != 1; ++i) _mm_pause();
}

void register_counter(LoopState* s) {
  unsigned long n = 0;
  while (s->flag != 1) {
    ++n;
    asm volatile("" : : "r"(n));
  }
}

void memory_counter(LoopState* s) {
  while (s->flag != 1) s->counter = s->counter + 1;
}

void copy(char* to, const char* from, long n) {
  for (long i = 0; i < n; ++i) {
    to[i] = from[i];
    asm volatile("" : : : "memory");
  }
}

void clock_spin(LoopState* s) {
  while (s->flag != 1 && __rdtsc() != 0) {
  }
}

void yield_spin(LoopState* s) {
  while (s->flag != 1) {
    long result;
    asm volatile("syscall" : "=a"(result) : "a"(24) : "rcx", "r11", "memory");
  }
}

void cpuid_spin(LoopState* s) {
  while (s->flag != 1) {
    int a = 0, b, c = 0, d;
    asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  }
}

void float_spin(LoopState* s) {
  double x = 1;
  while (s->flag != 1) {
    x = x * 1.0000001;
    asm volatile("" : "+x"(x));
  }
}

void poll_until(LoopState* s) {
  int n;
  do {
    n = s->poll(s->cq[0], 16, s->wc);
  } while (n == 0);
}

void poll_two(LoopState* s) {
  while (true) {
    if (s->poll(s->cq[0], 1, s->wc) != 0) break;
    if (s->poll(s->cq[1], 2, s->wc) != 0) break;
  }
}

void poll_counting(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) s->iterations = s->iterations + 1;
}

static __attribute__((noinline)) long kept_in_its_frame(long number) {
  volatile long copy = number;
  return copy;
}

// The frame of a call between two polls has a value that grows.
void poll_calling(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    s->iterations = s->iterations + 1;
    s->counter = kept_in_its_frame(s->iterations);
  }
}

void poll_with_flag(LoopState* s) {
  while (s->flag != 1) {
    if (s->poll(s->cq[0], 1, s->wc) != 0) break;
  }
}

void poll_limited(LoopState* s, long limit) {
  for (long i = 0; i < limit; ++i) {
    if (s->poll(s->cq[0], 1, s->wc) != 0) break;
  }
}

void poll_two_counting(LoopState* s) {
  do {
    s->counter = s->counter + 3;
    if (s->poll(s->cq[0], 1, s->wc) != 0) break;
    s->iterations = s->iterations + 1;
  } while (s->poll(s->cq[1], 2, s->wc) == 0);
}

// The second queue is asked for another number of entries in each turn.
void poll_with_counted_argument(LoopState* s) {
  int count = 1;
  while (s->poll(s->cq[0], 1, s->wc) == 0 && s->poll(s->cq[1], count, s->wc) == 0) ++count;
}

// A repeated timeout by a number of iterations.
void poll_giving_up(LoopState* s, long each) {
  for (;;) {
    s->counter = s->counter + 3;
    for (long i = 0; i < each; ++i) {
      if (s->poll(s->cq[0], 1, s->wc) != 0) return;
      s->iterations = s->iterations + 1;
    }
  }
}

void poll_looking_elsewhere(LoopState* s, long each) {
  for (long i = 1; s->poll(s->cq[0], 1, s->wc) == 0; ++i) {
    s->toggle = i % each;
    if (s->toggle == 0 && s->poll(s->cq[1], 2, s->wc) != 0) return;
    s->iterations = i;
  }
}

// Division by a constant, as compilers implement it.
void poll_every_thousandth(LoopState* s) {
  for (unsigned i = 1; s->poll(s->cq[0], 1, s->wc) == 0; ++i) {
    if (i % 1000 == 0) s->counter = s->counter + 1;
    s->iterations = i;
  }
}

// read(fd, s->wc, 8) until the result is not EAGAIN.
void poll_and_read(LoopState* s, long fd) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    long result;
    asm volatile("syscall" : "=a"(result) : "0"(0L), "D"(fd), "S"(s->wc), "d"(8L) : "rcx", "r11", "memory");
    if (result != -11) return;
    s->iterations = s->iterations + 1;
  }
}

void poll_doubling(LoopState* s) {
  s->iterations = 1;
  while (s->poll(s->cq[0], 1, s->wc) == 0) s->iterations = s->iterations * 2;
}

void poll_walking(LoopState* s) {
  for (long i = 0; s->poll(s->cq[0], 1, s->wc) == 0; ++i) s->block[i] = 1;
}

void poll_shuffling(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) s->iterations = (s->iterations + 1) ^ 0x55;
}

void poll_reading_a_half(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    s->iterations = s->iterations + 1;
    s->state = reinterpret_cast<volatile short*>(&s->iterations)[1];
  }
}

// BSF of 0 leaves its result undefined.
void poll_keeping_nothing(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) asm volatile("xor %%ecx, %%ecx\n bsf %%rcx, %%rbx" : : : "rcx", "rbx", "cc");
}

void poll_inserting(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    s->iterations = s->iterations + 1;
    asm volatile("pxor %%xmm5, %%xmm5\n pinsrd $1, %k0, %%xmm5" : : "r"(s->iterations) : "xmm5");
  }
}

// Two counters that are next to each other in memory, as GCC stores them.
void poll_packing(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    s->iterations = s->iterations + 1;
    s->counter = s->counter - 3;
    asm volatile("movq %0, %%xmm5\n pinsrq $1, %1, %%xmm5\n movdqu %%xmm5, %2"
                 :
                 : "r"(s->iterations), "r"(s->counter), "m"(s->block)
                 : "xmm5", "memory");
  }
}

void poll_with_clock(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0 && __rdtsc() != 0) {
  }
}

// A timeout, and the time spent so far.
void poll_timed(LoopState* s, long end) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    const long now = static_cast<long>(__rdtsc());
    if (now > end) break;
    s->iterations = s->iterations + now - s->counter;
    s->counter = now;
  }
}

void poll_yielding(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0 && s->flag == 0) s->yield();
}

void poll_until_second(LoopState* s, long end) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    s->yield();
    if (s->time(nullptr) >= end) break;
  }
}

void poll_six_until_second(LoopState* s, long end) {
  while (true) {
    for (int queue = 0; queue < 6; ++queue) {
      if (s->poll(const_cast<char*>(s->block) + queue, 1, s->wc) != 0) return;
      if (queue == 0 && s->time(nullptr) >= end) return;
    }
  }
}

static __attribute__((noinline)) int look(LoopState* s) { return s->poll(s->cq[0], 1, s->wc) + (s->flag != 0); }

// A register keeps the first time of a turn until the next turn writes it again.
void poll_between_times(LoopState* s, long most) {
  long first[2], second[2];
  while (look(s) == 0) {
    s->timeofday(first, nullptr);
    const long before = first[1];
    s->timeofday(second, nullptr);
    if (second[1] - before > most) break;
  }
}

// Times from gettimeofday: divided, and as floating point.
void poll_until_millisecond(LoopState* s, long end) {
  long now[2];
  while (look(s) == 0) {
    s->timeofday(now, nullptr);
    if (now[0] * 1000 + now[1] / 1000 >= end) break;
  }
}

void poll_until_floating(LoopState* s, long end) {
  long now[2];
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    s->timeofday(now, nullptr);
    if (static_cast<double>(now[0]) * 1e3 + static_cast<double>(now[1]) / 1e3 >= static_cast<double>(end)) break;
  }
}

// Products and differences of numbers that have bounds.
void poll_until_scaled(LoopState* s, long end) {
  long now[2];
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    s->timeofday(now, nullptr);
    if (static_cast<double>(now[1]) * 1e-3 - 2.0 >= static_cast<double>(end) - 2.0) break;
  }
}

// Signs cleared and set in vector registers.
void poll_until_distance(LoopState* s, long end) {
  long now[2];
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    s->timeofday(now, nullptr);
    const double left = static_cast<double>(now[0]) * 1e3 + static_cast<double>(now[1]) / 1e3 - 1e3;
    if (-__builtin_fabs(left) >= static_cast<double>(end) - 1e3) break;
  }
}

// Seconds and fractions in the two halves of one vector register.
void poll_until_halves(LoopState* s, long end) {
  alignas(16) long now[2];
  alignas(16) volatile long start[2] = {0, 1'000};
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    s->timeofday(now, nullptr);
    const __m128i passed = _mm_sub_epi64(_mm_load_si128(reinterpret_cast<__m128i*>(now)),
                                         _mm_set_epi64x(start[1], start[0]));
    const long seconds = _mm_cvtsi128_si64(passed), part = _mm_cvtsi128_si64(_mm_unpackhi_epi64(passed, passed));
    if (seconds * 1000 + (part + start[1]) / 1000 >= end) break;
  }
}

// Bytes overwrite a time that is no longer used.
void poll_writing_over(LoopState* s, long end) {
  long now[2];
  union {
    volatile long whole;
    volatile char bytes[8];
  } slot;
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    s->timeofday(now, nullptr);
    slot.whole = now[0] * 1000 + now[1] / 1000;
    const bool is_over = slot.whole >= end;
    slot.bytes[2] = 7;
    if (is_over && slot.bytes[2] == 7) break;
    slot.whole = now[1];
    slot.bytes[7] = 1;
    if (slot.bytes[7] == 2) break;
  }
}

// Each turn reads values left by the previous one.
void poll_keeping_millisecond(LoopState* s, long end) {
  long now[2];
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    s->timeofday(now, nullptr);
    if (s->counter >= end) break;
    s->counter = now[1] / 1000;
  }
}

// Like timersub: borrows a second if the fraction is smaller than at the start.
void poll_until_difference(LoopState* s, long end) {
  long now[2], passed[2];
  while (look(s) == 0) {
    s->timeofday(now, nullptr);
    passed[0] = now[0];
    passed[1] = now[1] - s->counter;
    if (passed[1] < 0) {
      --passed[0];
      passed[1] += 1'000'000;
    }
    if (passed[0] >= end) break;
  }
}

// Values written by turns in the first part of a second remain in the second part.
void poll_leaving_early_times(LoopState* s, long end) {
  long now[2];
  while (look(s) == 0) {
    s->timeofday(now, nullptr);
    if (now[1] < s->counter) s->iterations = now[1];
    if (now[0] >= end) break;
  }
}

// Microseconds since a start, which may be in the future, divided by the processor's division.
void poll_until_quotient(LoopState* s, long end, long divisor) {
  long now[2];
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    s->timeofday(now, nullptr);
    long quotient = now[0] * 1'000'000 + now[1] - s->counter, rest;
    asm volatile("cqto\n idivq %[divisor]" : "+a"(quotient), "=&d"(rest) : [divisor] "r"(divisor) : "cc");
    if (quotient >= end) break;
  }
}

// Two buffers of an allocator alternately, with some work in each.
void poll_with_two_buffers(LoopState* s) {
  volatile char *mine = s->block, *other = s->block + 32;
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    for (int i = 0; i < 100; ++i) mine[i % 32] = static_cast<char>(i);
    volatile char* const last = mine;
    mine = other;
    other = last;
  }
}

// UCX's loop: progress functions called through pointers, which check memory between polls.
static __attribute__((noinline)) int progress(LoopState* s, int number) {
  int done = s->poll(s->cq[number], 16, s->wc);
  asm volatile("" : "+r"(done));
  return done + (s->state == 9);
}

void poll_nested(LoopState* s) {
  int (*volatile function)(LoopState*, int) = progress;
  int count;
  do {
    count = function(s, 0);
    count += function(s, 1);
  } while (count == 0);
}

// Writes memory before reading it: its previous content does not matter.
void poll_with_temporary(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    s->counter = 5;
    if (s->counter != 5) break;
  }
}

// Loops that no compiler generates: they use values left by a call.
void poll_reading_scratch(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    asm volatile("mov %%r10, %0" : "=m"(s->counter) : : "memory");
  }
}

void poll_reading_flags(LoopState* s) {
  while (true) {
    long count = 1, result;
    void* cq = s->cq[0];
    void* wc = s->wc;
    asm volatile("call *%[poll]\n setc %[carry]"
                 : "=a"(result), "+D"(cq), "+S"(count), "+d"(wc), [carry] "=m"(s->block[0])
                 : [poll] "m"(s->poll)
                 : "rcx", "r8", "r9", "r10", "r11", "cc", "memory");
    if (result != 0) break;
  }
}

void poll_reading_stack(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    asm volatile("mov -256(%%rsp), %%rax\n mov %%rax, %0" : "=m"(s->counter) : : "rax", "memory");
  }
}

void poll_reading_old_stack(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    asm volatile("movq $5, -256(%%rsp)" : : : "memory");
    if (s->poll(s->cq[1], 1, s->wc) != 0) break;
    asm volatile("mov -256(%%rsp), %%rax" : : : "rax", "memory");
  }
}

// Data below a small stack.
void poll_writing_below_stack(LoopState* s, long step) {
  for (long i = 0; s->poll(s->cq[0], 1, s->wc) == 0; i += step) {
    asm volatile("mov %0, -4096(%%rsp)" : : "r"(i) : "memory");
  }
}

// `state` has a value of its own at each poll, and `lock` the same at both.
void poll_alternating(LoopState* s) {
  for (;;) {
    s->state = 1;
    s->lock = 1;
    s->lock = 0;
    if (s->poll(s->cq[0], 1, s->wc) != 0) break;
    s->state = 2;
    s->toggle = 5;
    if (s->poll(s->cq[1], 1, s->wc) != 0) break;
  }
}

// glibc's code for a system call that is a cancellation point (__syscall_cancel, glibc 2.41): it pops a word
// that it has not written. A growing value is below the stack pointer.
void poll_popping_stack(LoopState* s, long step) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    asm volatile(
        "push $202\n call 1f\n pop %%rdx\n jmp 3f\n"
        "1: sub $16, %%rsp\n push 0x18(%%rsp)\n call 2f\n pop %%rdx\n pop %%rcx\n"
        "cmp $0xfffffffffffff000, %%rax\n ja 2f\n add $8, %%rsp\n"
        "2: ret\n"
        "3: push %[grows]\n push %[grows]\n push %[grows]\n push %[grows]\n add $32, %%rsp"
        :
        : [grows] "r"(s->iterations), "a"(0L)
        : "rcx", "rdx", "cc", "memory");
    s->iterations = s->iterations + step;
  }
}

#define POLL_POPPING(name, then)                                                                                      \
  void name(LoopState* s) {                                                                                           \
    while (s->poll(s->cq[0], 1, s->wc) == 0) {                                                                        \
      asm volatile("mov $7, %%ecx\n sub $8, %%rsp\n pop %%rcx\n" then                                                 \
                   : "=m"(s->counter) : : "rcx", "rdx", "rbx", "cc", "memory");                                       \
    }                                                                                                                 \
  }
POLL_POPPING(poll_popping_for_nothing, "mov $5, %%ecx\n mov %%rcx, %0")
POLL_POPPING(poll_storing_popped, "mov %%rcx, %0")
POLL_POPPING(poll_comparing_popped, "cmp $1, %%rcx")
POLL_POPPING(poll_looking_where_popped, "mov (%%rcx), %%rdx")
POLL_POPPING(poll_keeping_popped, "sub $8, %%rsp\n pop %%rbx")

void poll_asking_with_popped(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    asm volatile("mov $7, %%edi\n sub $8, %%rsp\n pop %%rdi\n mov $1, %%esi\n lea %[wc], %%rdx\n call *%[poll]"
                 :
                 : [poll] "m"(s->poll), [wc] "m"(s->wc)
                 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
  }
}

void poll_reading_vector(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    asm volatile("pxor %%xmm5, %%xmm5" : : : "xmm5");
    if (s->poll(s->cq[1], 1, s->wc) != 0) break;
    asm volatile("movq %%xmm5, %0" : "=m"(s->counter) : : "memory");
  }
}

void poll_without_arguments(LoopState* s) {
  while (true) {
    void* cq = s->cq[0];
    long count = 1, result;
    asm volatile("call *%[poll]"
                 : "=a"(result), "+D"(cq), "+S"(count)
                 : [poll] "m"(s->poll)
                 : "rcx", "rdx", "r8", "r9", "r10", "r11", "cc", "memory");
    if (result != 0) break;
  }
}

}  // namespace LOOPS
