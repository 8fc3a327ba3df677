// A child has its own memory: neither process sees what the other writes afterwards.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int global = 1;

int main(void) {
  int local = 2;
  int* heap = malloc(sizeof *heap);
  int* shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  *heap = 3;
  *shared = 4;
  const pid_t child = fork();
  if (child == 0) {
    global += 10;
    local += 10;
    *heap += 10;
    *shared += 10;
    printf("child: %d %d %d %d\n", global, local, *heap, *shared);
    fflush(stdout);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  printf("parent: %d %d %d %d\n", global, local, *heap, *shared);
  return 0;
}
