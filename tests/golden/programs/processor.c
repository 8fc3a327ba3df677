// Processor properties visible to programs: CPUID, the C library's use of it, and the current CPU.
#include <cpuid.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void leaf(unsigned number, unsigned part) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  __cpuid_count(number, part, a, b, c, d);
  printf("leaf %08x %u: %08x %08x %08x %08x\n", number, part, a, b, c, d);
}

int main(void) {
  for (unsigned number = 0; number <= 7; ++number) leaf(number, 0);
  for (unsigned part = 0; part < 4; ++part) leaf(4, part);
  for (unsigned part = 0; part < 3; ++part) leaf(0xb, part);
  for (unsigned number = 0x80000000; number <= 0x80000008; ++number) leaf(number, 0);
  printf("sse4.2 %d avx %d avx2 %d fma %d bmi2 %d avx512f %d\n", !!__builtin_cpu_supports("sse4.2"),
         !!__builtin_cpu_supports("avx"), !!__builtin_cpu_supports("avx2"), !!__builtin_cpu_supports("fma"),
         !!__builtin_cpu_supports("bmi2"), !!__builtin_cpu_supports("avx512f"));
  printf("caches: %ld %ld %ld %ld\n", sysconf(_SC_LEVEL1_DCACHE_SIZE), sysconf(_SC_LEVEL1_DCACHE_LINESIZE),
         sysconf(_SC_LEVEL2_CACHE_SIZE), sysconf(_SC_LEVEL3_CACHE_SIZE));
  unsigned processor = 99, node = 99;
  const int sched = sched_getcpu();
  // One after the other: a compiler chooses the order of arguments.
  const int got = getcpu(&processor, &node);
  const long configured = sysconf(_SC_NPROCESSORS_CONF);
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  printf("processors: %ld of %ld; getcpu %d: %u of node %u, sched_getcpu %d\n", online, configured, got, processor, node,
         sched);
  return 0;
}
