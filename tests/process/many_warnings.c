// Makes 100,000 system calls that do not exist, for warnings that only differ in a number.
#include <stdio.h>
#include <unistd.h>

int main(void) {
  for (int i = 0; i < 100000; ++i) syscall(1000 + i);
  printf("done\n");
  return 0;
}
