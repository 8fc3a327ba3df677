// System calls by other entries than that of x86-64: "32" by int 0x80, "x32" with the bit of that set of numbers.
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char** argv) {
  long result = 20;  // getpid by the numbers of 32 bits, writev by those of 64
  printf("begins\n");
  fflush(stdout);
  if (argc > 1 && strcmp(argv[1], "32") == 0) {
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  } else {
    result = syscall(0x40000000 | SYS_getpid);
  }
  printf("goes on: %ld\n", result);
  return 0;
}
