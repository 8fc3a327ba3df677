// Only the loader has used the memory below the stack pointer when main() begins: a program that reads an
// uninitialised variable finds the same value in any simulator.
#include <stdint.h>
#include <stdio.h>

enum { kBytes = 60000 };

int main(void) {
  const volatile uint64_t* const top = __builtin_frame_address(0);
  int words = 0;
  // A foreign frame would contain addresses of libraries that the program did not load. The loader leaves values of the
  // time stamp counter, which may look like them.
  const uint64_t now = __builtin_ia32_rdtsc(), second = 1ull << 34;
  for (int i = 64; i < kBytes / 8; ++i) {
    const uint64_t word = top[-i];
    if (word >= 0x400000000000 && word < 0x410000000000 && (word > now || now - word > second)) ++words;
  }
  printf("words of a foreign frame: %d\n", words);
  return 0;
}
