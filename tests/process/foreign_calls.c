// System calls through other entries than x86-64's: "32" by int 0x80, "x32" with the number bit of x32.
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char** argv) {
  long result = 20;  // getpid by its 32-bit number, writev by its 64-bit one
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
