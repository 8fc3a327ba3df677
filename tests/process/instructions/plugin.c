// A library that is loaded at run time and executes machine-dependent instructions.
#include <stdint.h>
#include <x86intrin.h>

uint64_t plugin_counter(void) { return __rdtsc(); }

uint64_t plugin_random(void) {
  uint64_t value;
  unsigned char ok;
  __asm__ volatile("rdrand %0; setc %1" : "=r"(value), "=qm"(ok) : : "cc");
  return ok ? value : 0;
}

// Candidates of another library's choice of functions: the resolver runs while the library is linked.
static int with_avx(void) { return 3; }
static int without_avx(void) { return 2; }
// clang 14 does not count an ifunc as a use.
__attribute__((used)) static int (*choose(void))(void) {
  unsigned a = 1, b, c = 0, d;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return (c >> 28 & 1) ? with_avx : without_avx;
}
int plugin_level(void) __attribute__((ifunc("choose")));
