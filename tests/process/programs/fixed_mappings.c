// Maps memory where frameworks of user space want theirs: DPDK at 4 GiB, SPDK at 32 TiB.
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

int main(void) {
  static const uint64_t kWanted[] = {0x100000000, 0x200000000000};
  for (unsigned i = 0; i < sizeof kWanted / sizeof *kWanted; ++i) {
    void* const wanted = (void*)kWanted[i];
    void* const reserved = mmap(wanted, 64ull << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved != wanted) return printf("%p instead of %p\n", reserved, wanted), 1;
    char* const used = mmap(wanted, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (used != wanted) return perror("mmap"), 1;
    used[0] = 1;
  }
  puts("mapped");
  return 0;
}
