// The program cannot change mappings of the runtime: the call fails, and the program continues.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/process/expect.h"

enum { kPage = 4096 };

static void* const kPlaces[] = {
    (void*)0x400200044000,  // code
    (void*)0x400200120000,  // data of replaced code
    (void*)0x400200180000,  // the region
    (void*)0x402000000000,  // the heap
    (void*)0x400200000000,  // stacks of handlers
};

static void refused(const char* call, long result) {
  EXPECT(result == -1 && errno == EINVAL);
  (void)call;
}
#define REFUSED(call) refused(#call, (long)(call))

int main(void) {
  char* const mine = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (size_t i = 0; i < sizeof kPlaces / sizeof *kPlaces; ++i) {
    char* const at = kPlaces[i];
    REFUSED(munmap(at, kPage));
    REFUSED(munmap(at - kPage, 2 * kPage));
    REFUSED(mprotect(at, kPage, PROT_NONE));
    REFUSED(mprotect(at, kPage, PROT_READ | PROT_WRITE | PROT_EXEC));
    REFUSED(syscall(SYS_pkey_mprotect, at, kPage, PROT_READ, -1));
    REFUSED(mremap(at, kPage, 2 * kPage, MREMAP_MAYMOVE));
    REFUSED(mremap(mine, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, at));
    REFUSED(mmap(at, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    REFUSED(mmap(at, 2 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    for (const int* advice = (int[]){MADV_DONTNEED, MADV_DONTFORK, MADV_WIPEONFORK, MADV_FREE, -1}; *advice >= 0; ++advice) {
      REFUSED(madvise(at, kPage, *advice));
    }
  }
  REFUSED(munmap(NULL, 1ul << 47));
  REFUSED(munmap((void*)0x1000, 0x500000000000));
  REFUSED(mprotect((void*)0x1000, 0x500000000000, PROT_READ));
  // A hint address and adjacent memory are not changes.
  EXPECT(mmap(kPlaces[0], kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
  EXPECT(munmap(mine, kPage) == 0);
  EXPECT(getppid() >= 0);
  printf("goes on\n");
  return 0;
}
