// Prints random bytes from every source a program may use.
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <unistd.h>

#include "expect.h"

static void print(const char* name, const unsigned char* bytes) {
  printf("%s ", name);
  for (int i = 0; i < 16; ++i) printf("%02x", bytes[i]);
  printf("\n");
}

static void print_file(const char* path) {
  unsigned char bytes[16];
  const int fd = open(path, O_RDONLY);
  EXPECT(fd >= 0 && read(fd, bytes, 16) == 16);
  print(path, bytes);
  close(fd);
}

int main(void) {
  unsigned char bytes[16];
  EXPECT(getrandom(bytes, 16, 0) == 16);
  print("getrandom", bytes);
  EXPECT(getrandom(bytes, 16, GRND_NONBLOCK) == 16);
  print("getrandom", bytes);
  EXPECT(getentropy(bytes, 16) == 0);
  print("getentropy", bytes);
  print_file("/dev/urandom");
  print_file("/dev/urandom");
  print_file("/dev/random");
  print("AT_RANDOM", (const unsigned char*)getauxval(AT_RANDOM));
  void* heap = malloc(100);
  printf("heap %p stack %p code %p libc %p pid %d\n", heap, (void*)&heap, (void*)main, (void*)printf,
         getpid());
  return 0;
}
