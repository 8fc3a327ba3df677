// What lies below the stack pointer when main() begins was left by the loader alone: a program that reads a variable
// which it never wrote finds the same there with any simulator.
#include <stdint.h>
#include <stdio.h>

enum { kBytes = 60000 };

int main(void) {
  const volatile uint64_t* const top = __builtin_frame_address(0);
  int words = 0;
  // Addresses of libraries that a program did not ask for are what a foreign frame would hold.
  for (int i = 64; i < kBytes / 8; ++i) {
    const uint64_t word = top[-i];
    if (word >= 0x200000000000 && word < 0x210000000000) ++words;
  }
  printf("words of a foreign frame: %d\n", words);
  return 0;
}
