// process_vm_readv and process_vm_writev: memory of a child, in pieces of different lengths at both ends, up to its end.
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"

static int fails(long result, int error) { return result == -1 && errno == error; }

int main(void) {
  char* const memory = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(munmap(memory + 2 * 4096, 4096) == 0);
  int go[2], done[2];
  EXPECT(pipe(go) == 0 && pipe(done) == 0);
  char byte = 0;
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 2 * 4096; ++i) memory[i] = (char)(i * 7);
    EXPECT(write(done[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1);
    EXPECT(memcmp(memory + 100, "written by the parent", 21) == 0 && memory[99] == (char)(99 * 7));
    _exit(3);
  }
  EXPECT(read(done[0], &byte, 1) == 1);
  char first[10], second[90];
  struct iovec local[2] = {{first, sizeof first}, {second, sizeof second}};
  struct iovec remote[3] = {{memory + 1, 33}, {memory + 5000, 40}, {memory, 27}};
  EXPECT(process_vm_readv(child, local, 2, remote, 3, 0) == 100);
  for (int i = 0; i < 100; ++i) {
    const int at = i < 33 ? 1 + i : i < 73 ? 5000 + i - 33 : i - 73;
    EXPECT((i < 10 ? first[i] : second[i - 10]) == (char)(at * 7));
  }
  struct iovec all = {memory, 3 * 4096}, whole = {malloc(3 * 4096), 3 * 4096};
  EXPECT(process_vm_readv(child, &whole, 1, &all, 1, 0) == 2 * 4096);
  struct iovec nowhere = {memory + 2 * 4096, 8};
  EXPECT(fails(process_vm_readv(child, local, 1, &nowhere, 1, 0), EFAULT));
  EXPECT(fails(process_vm_readv(child, local, 1, remote, 1, 1), EINVAL));
  EXPECT(fails(process_vm_readv(0x3fffff, local, 1, remote, 1, 0), ESRCH));
  struct iovec from = {"written by the parent", 21}, to = {memory + 100, 21};
  EXPECT(process_vm_writev(child, &from, 1, &to, 1, 0) == 21);
  EXPECT(process_vm_writev(getpid(), &from, 1, &to, 1, 0) == 21 && memcmp(memory + 100, "written", 7) == 0);
  EXPECT(write(go[1], &byte, 1) == 1);
  int status;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
  printf("read and written\n");
  return 0;
}
