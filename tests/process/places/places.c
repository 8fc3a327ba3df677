// Prints the addresses of all parts of a program, and those that remain the same in threads, children, and
// programs that it executes.
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int in_data = 1, in_bss;
static char large_bss[3 << 20];
extern char** environ;

static void tell(const char* what, const void* where) { printf("%s %p\n", what, where); }

static void* in_thread(void* unused) {
  (void)unused;
  char here;
  tell("stack of a thread", &here);
  tell("heap of a thread", malloc(100));
  return NULL;
}

static void tell_low_mappings(void) {
  static const struct {
    size_t hint, size;
  } kLow[] = {{0, 4096},          {0, 300000},        {0, 8192},    {0x50000000, 4096},
              {0x50000000, 4096}, {0x7fffffff, 4096}, {0, 3 << 20}, {0, 1ul << 31}};
  char* last = NULL;
  for (size_t i = 0; i < sizeof kLow / sizeof *kLow; ++i) {
    char* const low =
        mmap((void*)kLow[i].hint, kLow[i].size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    tell("low mapping", low);
    if (low != MAP_FAILED) low[kLow[i].size - 1] = 1;
    if (i == 2) munmap(last, kLow[1].size);
    last = low;
  }
  tell("low mapping in a gap", mmap(NULL, 300000, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0));
  tell("low mapping of nothing", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_32BIT, -1, 0));
}

static void tell_mappings(void) {
  static const size_t kSizes[] = {1, 100000, 300000, 900000, 1 << 20, (2 << 20) - 4096, 2 << 20, 5 << 20};
  char* maps[sizeof kSizes / sizeof *kSizes];
  for (size_t i = 0; i < sizeof kSizes / sizeof *kSizes; ++i) {
    maps[i] = mmap(NULL, kSizes[i], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tell("mapping", maps[i]);
  }
  munmap(maps[2], kSizes[2]);
  tell("mapping in a gap", mmap(NULL, 200000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  tell("mapping that grew", mremap(maps[1], kSizes[1], 50 * kSizes[1], MREMAP_MAYMOVE));
  tell("mapping with a hint", mmap((void*)0x600000000000, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  tell_low_mappings();
}

static void use_stack(int depth) {
  char room[65536];
  memset(room, depth, sizeof room);
  if (depth > 0) use_stack(depth - 1);
  else tell("deep in the stack", room);
  __asm__ volatile("" : : "r"(room) : "memory");
}

int main(int argc, char** argv) {
  char here;
  tell("code", (const void*)main);
  tell("data", &in_data);
  tell("bss", &in_bss);
  tell("large bss", large_bss);
  tell("break", sbrk(0));
  tell("heap", malloc(100));
  tell("large piece", malloc(1 << 20));
  tell("stack", &here);
  tell("argument", argv[0]);
  tell("last environment", environ[0] == NULL ? NULL : environ[0]);
  tell("library", dlsym(RTLD_DEFAULT, "puts"));
  static const unsigned long kTold[] = {AT_PHDR, AT_BASE, AT_ENTRY, AT_RANDOM, AT_EXECFN, AT_PLATFORM, AT_SYSINFO_EHDR};
  for (size_t i = 0; i < sizeof kTold / sizeof *kTold; ++i) printf("told %lu %#lx\n", kTold[i], getauxval(kTold[i]));
  printf("random %016lx %s %s\n", *(unsigned long*)getauxval(AT_RANDOM), (char*)getauxval(AT_PLATFORM),
         (char*)getauxval(AT_EXECFN));
  tell_mappings();
  // As far as the limit lets it, and no room is left near its end by what is mapped.
  use_stack(110);
  pthread_attr_t attributes;
  void* stack;
  size_t size;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &stack, &size);
  printf("stack %p and %zu\n", stack, size);
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
  }
  fflush(stdout);
  if (fork() == 0) {
    tell("break of a child", sbrk(1 << 20));
    tell("mapping of a child", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    fflush(stdout);
    _exit(0);
  }
  wait(NULL);
  if (argc > 1) execl(argv[1], argv[1], NULL);
  return 0;
}
