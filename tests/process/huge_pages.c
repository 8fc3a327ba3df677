// Huge pages like Linux', on a host that has 8 of 2 MiB and 1 of 1 GiB. Not one of the programs that also run
// natively: the machine need not have any.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

enum { kMiB = 1 << 20, kHuge = 2 * kMiB };
#define HUGE_1GB (30 << 26)
#define HUGE_2MB (21 << 26)
#define FAILS(call, error) EXPECT((errno = 0, (call)) < 0 && errno == (error))
#define NO_MAP(call, error) EXPECT((errno = 0, (call)) == MAP_FAILED && errno == (error))

static long value_in(const char* path, const char* name) {
  static char text[65536];
  FILE* const file = fopen(path, "r");
  EXPECT(file != NULL);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  const char* const line = strstr(text, name);
  EXPECT(line != NULL);
  return strtol(line + strlen(name), NULL, 10);
}
static long free_pages(void) {
  const long pages = value_in("/proc/meminfo", "HugePages_Free:");
  EXPECT(pages == value_in("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", ""));
  EXPECT(pages == value_in("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", ""));
  return pages;
}
static void* map_at(void* at, size_t size, int flags) {
  return mmap(at, size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_HUGETLB | flags, -1, 0);
}
static char* map(size_t size, int flags) {
  char* const pages = map_at(NULL, size, flags);
  EXPECT(pages != MAP_FAILED);
  EXPECT((uintptr_t)pages % kHuge == 0);
  for (size_t i = 0; i < size; i += 4096) {
    EXPECT(pages[i] == 0);
    pages[i] = (char)(i / 4096);
  }
  return pages;
}

static void anonymous(void) {
  EXPECT(value_in("/proc/meminfo", "HugePages_Total:") == 8 && free_pages() == 8);
  EXPECT(value_in("/proc/meminfo", "Hugepagesize:") == 2048);
  EXPECT(value_in("/proc/meminfo", "Hugetlb:") == 8 * 2048 + (1 << 20));
  EXPECT(value_in("/proc/sys/vm/nr_hugepages", "") == 8);
  char* const one = map(5, MAP_PRIVATE);  // a size is rounded up
  one[kHuge - 1] = 1;
  EXPECT(free_pages() == 7);
  FAILS(munmap(one, 4096), EINVAL);
  FAILS(munmap(one + 4096, kHuge - 4096), EINVAL);
  EXPECT(one[kHuge - 1] == 1 && free_pages() == 7);
  EXPECT(munmap(one, kHuge) == 0 && free_pages() == 8);
  char* const three = map(3 * kHuge, MAP_SHARED | MAP_POPULATE | HUGE_2MB);
  EXPECT(free_pages() == 5);
  EXPECT(munmap(three + kHuge, kHuge) == 0 && free_pages() == 6);
  NO_MAP(map_at(NULL, 7 * kHuge, MAP_PRIVATE), ENOMEM);
  three[2 * kHuge] = 7;
  EXPECT(munmap(three, 3 * kHuge) == 0 && free_pages() == 8);
  NO_MAP(map_at(NULL, 0, MAP_PRIVATE), EINVAL);
  NO_MAP(map_at(NULL, kHuge, MAP_PRIVATE | 16 << 26), EINVAL);  // this host has none of 64 KiB
  NO_MAP(map_at((void*)(0x7000000000 + 4096), kHuge, MAP_PRIVATE | MAP_FIXED), EINVAL);
  NO_MAP(mmap(NULL, kHuge, PROT_READ, MAP_PRIVATE | MAP_HUGETLB, 77, 0), EBADF);
  printf("anonymous\n");
}

static void large(void) {
  char* const pages = map_at(NULL, 1, MAP_PRIVATE | HUGE_1GB);
  EXPECT(pages != MAP_FAILED && (uintptr_t)pages % (1 << 30) == 0);
  pages[(1 << 30) - 1] = 1;
  EXPECT(value_in("/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "") == 0);
  NO_MAP(map_at(NULL, 1, MAP_PRIVATE | HUGE_1GB), ENOMEM);
  FAILS(munmap(pages, kHuge), EINVAL);
  EXPECT(munmap(pages, 1 << 30) == 0);
  EXPECT(value_in("/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "") == 1);
  printf("large\n");
}

static void remapped(void) {
  char* const pages = map(3 * kHuge, MAP_PRIVATE);
  NO_MAP(mremap(pages, kHuge, 2 * kHuge, MREMAP_MAYMOVE), EINVAL);
  NO_MAP(mremap(pages + 4096, kHuge, kHuge, MREMAP_MAYMOVE), EINVAL);
  EXPECT(mremap(pages, 3 * kHuge, 2 * kHuge, 0) == pages && free_pages() == 6);
  char* const place = mmap(NULL, 4 * kHuge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* const to = (char*)(((uintptr_t)place + kHuge - 1) / kHuge * kHuge);
  NO_MAP(mremap(pages, 2 * kHuge, 2 * kHuge, MREMAP_MAYMOVE | MREMAP_FIXED, to + 4096), EINVAL);
  EXPECT(mremap(pages, 2 * kHuge, 2 * kHuge, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
  EXPECT(to[4096] == 1 && free_pages() == 6);
  FAILS(munmap(to + 4096, kHuge), EINVAL);
  // Maps other memory over huge pages, and huge pages over other memory.
  EXPECT(mmap(to, kHuge, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == to && free_pages() == 7);
  EXPECT(map_at(to, kHuge, MAP_PRIVATE | MAP_FIXED) == to && free_pages() == 6);
  EXPECT(munmap(place, 4 * kHuge) == 0 && free_pages() == 8);
  printf("remapped\n");
}

static void files(void) {
  struct statfs system;
  EXPECT(statfs("/dev/hugepages", &system) == 0 && system.f_type == HUGETLBFS_MAGIC && system.f_bsize == kHuge);
  const int named = open("/dev/hugepages/segment", O_RDWR | O_CREAT, 0600);
  const int unnamed = memfd_create("name", MFD_HUGETLB | MFD_CLOEXEC | HUGE_2MB);
  EXPECT(named >= 0 && unnamed >= 0);
  const int fds[2] = {named, unnamed};
  for (int i = 0; i < 2; ++i) {
    FAILS(ftruncate(fds[i], 4096), EINVAL);
    NO_MAP(mmap(NULL, kHuge, PROT_READ, MAP_SHARED, fds[i], 4096), EINVAL);
    char* const pages = mmap(NULL, 2 * kHuge, PROT_READ | PROT_WRITE, MAP_SHARED, fds[i], 0);
    EXPECT(pages != MAP_FAILED && (uintptr_t)pages % kHuge == 0);
    struct stat status;
    EXPECT(fstat(fds[i], &status) == 0 && status.st_size == 2 * kHuge);
    char* const again = mmap(NULL, 2 * kHuge, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_HUGETLB, fds[i], 0);
    EXPECT(again != MAP_FAILED && free_pages() == 6);
    pages[kHuge] = 5;
    EXPECT(again[kHuge] == 5);
    EXPECT(munmap(pages, 2 * kHuge) == 0 && free_pages() == 6);
    EXPECT(munmap(again, 2 * kHuge) == 0 && free_pages() == 8);
    EXPECT(close(fds[i]) == 0);
  }
  FAILS(memfd_create("name", MFD_HUGETLB | 16 << 26), EINVAL);
  EXPECT(unlink("/dev/hugepages/segment") == 0);
  const int small = memfd_create("name", 0);
  char link[64], name[64] = {0};
  const int large = memfd_create("name", MFD_HUGETLB);
  sprintf(link, "/proc/self/fd/%d", large);
  EXPECT(readlink(link, name, sizeof name - 1) > 0);
  printf("%s\n", name);
  NO_MAP(mmap(NULL, kHuge, PROT_READ, MAP_SHARED | MAP_HUGETLB, small, 0), EINVAL);
  printf("files\n");
}

// A process owns what it has mapped until it ends; memory inherited by fork is not counted twice.
static void processes(void) {
  char* const mine = map(2 * kHuge, MAP_PRIVATE);
  int ready[2], go_on[2];
  EXPECT(pipe(ready) == 0 && pipe(go_on) == 0);
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(free_pages() == 6 && mine[4096] == 1);
    EXPECT(munmap(mine, 2 * kHuge) == 0 && free_pages() == 6);
    map(5 * kHuge, MAP_PRIVATE);
    EXPECT(write(ready[1], "", 1) == 1);
    char byte;
    EXPECT(read(go_on[0], &byte, 1) == 1);
    _exit(0);
  }
  char byte;
  EXPECT(read(ready[0], &byte, 1) == 1 && free_pages() == 1);
  NO_MAP(map_at(NULL, 2 * kHuge, MAP_PRIVATE), ENOMEM);
  EXPECT(write(go_on[1], "", 1) == 1);
  int status;
  EXPECT(waitpid(child, &status, 0) == child && status == 0 && free_pages() == 6);
  EXPECT(munmap(mine, 2 * kHuge) == 0 && free_pages() == 8);
  printf("processes\n");
}

int main(void) {
  anonymous();
  large();
  remapped();
  files();
  processes();
  return 0;
}
