// Creates sockets of 100,000 types that the simulation does not have, for warnings that only differ in a number.
#include <stdio.h>
#include <sys/socket.h>

int main(void) {
  for (int i = 0; i < 100000; ++i) socket(AF_X25, 1000 + i, 0);
  printf("done\n");
  return 0;
}
