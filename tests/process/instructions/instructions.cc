// Every instruction whose result depends on the machine, in the program's own code, in a library loaded at
// run time, in code generated at run time, in a second thread and in a copy of the process; and their use by
// the C and C++ libraries. Prints the results. Arguments: the library; "writable" to end with code in memory
// that stays writable.
#include <cpuid.h>
#include <dlfcn.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#include <initializer_list>
#include <random>
#include <set>
#include <thread>

namespace {

std::set<uint64_t> drawn;
void random(const char* what, uint64_t value) {
  printf("%s %016lx%s\n", what, value, drawn.insert(value).second ? "" : " AGAIN");
}

uint64_t rdrand() {
  uint64_t value;
  unsigned char ok;
  asm volatile("rdrand %0; setc %1" : "=r"(value), "=qm"(ok) : : "cc");
  return ok ? value : 0;
}
uint32_t rdseed() {
  uint32_t value;
  unsigned char ok;
  asm volatile("rdseed %0; setc %1" : "=r"(value), "=qm"(ok) : : "cc");
  return ok ? value : 0;
}

void processor() {
  for (const unsigned leaf : {0u, 1u, 2u, 7u, 0xdu, 0x15u, 0x80000000u, 0x80000001u, 0x80000006u, 0x80000007u}) {
    unsigned a, b, c, d;
    __cpuid_count(leaf, 0, a, b, c, d);
    printf("cpuid %x: %08x %08x %08x %08x\n", leaf, a, b, c, d);
  }
  printf("supports: popcnt %d sse4.2 %d avx %d avx2 %d avx512f %d\n", !!__builtin_cpu_supports("popcnt"),
         !!__builtin_cpu_supports("sse4.2"), !!__builtin_cpu_supports("avx"), !!__builtin_cpu_supports("avx2"),
         !!__builtin_cpu_supports("avx512f"));
  printf("caches: %ld %ld %ld %ld\n", sysconf(_SC_LEVEL1_DCACHE_SIZE), sysconf(_SC_LEVEL1_DCACHE_LINESIZE),
         sysconf(_SC_LEVEL2_CACHE_SIZE), sysconf(_SC_LEVEL3_CACHE_SIZE));
  printf("auxiliary: hwcap %lx hwcap2 %lx minsigstksz %lu vdso %lx\n", getauxval(AT_HWCAP), getauxval(AT_HWCAP2),
         getauxval(AT_MINSIGSTKSZ), getauxval(AT_SYSINFO_EHDR));
}

void which_processor() {
  unsigned id, limit = 99, cpu = 99, node = 99;
  unsigned long rdpid;
  __rdtscp(&id);
  asm volatile("rdpid %0" : "=r"(rdpid));
  asm volatile("lsl %1, %0" : "=r"(limit) : "r"(0x7b) : "cc");
  getcpu(&cpu, &node);
  printf("rdtscp %u rdpid %lu lsl %u getcpu %u %u sched_getcpu %d\n", id, rdpid, limit, cpu, node, sched_getcpu());
}

void counters() {
  const uint64_t first = __rdtsc();
  uint64_t last = first;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t now = __rdtsc();
    if (now <= last) printf("the counter went back: %lu %lu\n", last, now);
    last = now;
  }
  printf("counter %lu, %lu later\n", first, last - first);
}

// Code that is written first and made executable then.
void* make_code(const void* bytes, size_t size, int protection) {
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(page, 0x90, 4096);
  memcpy(page, bytes, size);
  mprotect(page, 4096, protection);
  return page;
}
const unsigned char kReadCounter[] = {0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0xc3};
const unsigned char kReadRandom[] = {0x48, 0x0f, 0xc7, 0xf0, 0xc3};

// One instruction after the other in the same memory, which is writable and executable.
void writable(unsigned char* code) {
  const auto result_of = [code](std::initializer_list<unsigned char> bytes) {
    memcpy(code, std::data(bytes), bytes.size());
    return reinterpret_cast<uint64_t (*)()>(code)();
  };
  const uint64_t features = result_of({0x53, 0xb8, 1, 0, 0, 0, 0x31, 0xc9, 0x0f, 0xa2, 0x89, 0xc8, 0x5b, 0xc3});
  unsigned a, b, c, d;
  __cpuid_count(1, 0, a, b, c, d);
  printf("writable: cpuid %08lx %s\n", features, features == c ? "as elsewhere" : "NOT as elsewhere");
  printf("writable: xgetbv %lx rdpid %lu lsl %lu\n", result_of({0x31, 0xc9, 0x0f, 0x01, 0xd0, 0xc3}),
         result_of({0xf3, 0x0f, 0xc7, 0xf8, 0xc3}),
         result_of({0xb9, 0x7b, 0, 0, 0, 0xb8, 99, 0, 0, 0, 0x0f, 0x03, 0xc1, 0xc3}));
  random("writable rdrand", result_of({0x48, 0x0f, 0xc7, 0xf0, 0xc3}));
  random("writable rdrand of another register", result_of({0x49, 0x0f, 0xc7, 0xf2, 0x4c, 0x89, 0xd0, 0xc3}));
  random("writable rdseed", result_of({0x0f, 0xc7, 0xf8, 0xc3}));
  uint64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    const uint64_t now = result_of({0x0f, 0x01, 0xf9, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0xc3});
    if (now <= last) printf("the counter went back: %lu %lu\n", last, now);
    last = now;
  }
  printf("writable: counter %lu\n", last);
}

void library(const char* path) {
  for (int i = 0; i < 3; ++i) {
    void* const handle = dlopen(path, RTLD_NOW);
    if (handle == nullptr) {
      printf("%s\n", dlerror());
      return;
    }
    printf("library: level %d counter %lu\n", reinterpret_cast<int (*)()>(dlsym(handle, "plugin_level"))(),
           reinterpret_cast<uint64_t (*)()>(dlsym(handle, "plugin_counter"))());
    random("library", reinterpret_cast<uint64_t (*)()>(dlsym(handle, "plugin_random"))());
    dlclose(handle);
  }
}

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  int on_stack;
  printf("stack %p libc %p program %p\n", static_cast<void*>(&on_stack), reinterpret_cast<void*>(&puts),
         reinterpret_cast<void*>(&main));
  processor();
  which_processor();
  counters();
  for (int i = 0; i < 3; ++i) {
    random("rdrand", rdrand());
    random("rdseed", rdseed());
  }
  for (const char* token : {"default", "rdseed", "rdrand", "rdrnd", "hw", "getentropy", "/dev/urandom"}) {
    try {
      std::random_device device(token);
      random(token, uint64_t{device()} << 32 | device());
    } catch (const std::exception& error) {
      printf("%s: %s\n", token, error.what());
    }
  }
  if (argc > 1) library(argv[1]);
  printf("made: counter %lu\n",
         reinterpret_cast<uint64_t (*)()>(make_code(kReadCounter, sizeof kReadCounter, PROT_READ | PROT_EXEC))());
  const auto draw =
      reinterpret_cast<uint64_t (*)()>(make_code(kReadRandom, sizeof kReadRandom, PROT_READ | PROT_EXEC));
  random("made", draw());
  std::thread([] {
    counters();
    which_processor();
    random("thread", rdrand());
  }).join();
  if (fork() == 0) {
    counters();
    random("child", rdrand());
    return 0;
  }
  wait(nullptr);
  random("parent", rdrand());
  if (argc > 2) {
    const auto code =
        make_code(kReadCounter, sizeof kReadCounter, PROT_READ | PROT_WRITE | PROT_EXEC);
    printf("writable: counter %lu\n", reinterpret_cast<uint64_t (*)()>(code)());
    writable(static_cast<unsigned char*>(code));
  }
  return 0;
}
