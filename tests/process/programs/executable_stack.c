// Code on the stack, which is executable (CMakeLists.txt links this program so), as a compiler's trampolines
// are.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../expect.h"

static long call(long depth, const unsigned char* outer) {
  // mov $depth, %eax; ret
  unsigned char code[16] = {0xb8, [5] = 0xc3};
  const int value = (int)depth;
  memcpy(code + 1, &value, sizeof value);
  const long own = ((long (*)(void))(uintptr_t)code)();
  EXPECT(own == depth);
  if (outer != NULL) EXPECT(((long (*)(void))(uintptr_t)outer)() == depth + 1);
  return depth == 0 ? 0 : own + call(depth - 1, code);
}

static void read_beside_code(void) {
  unsigned char code[16] = {0xb8, 9, [5] = 0xc3};
  char text[8] = "";
  int ends[2];
  EXPECT(pipe(ends) == 0 && write(ends[1], "beside", 7) == 7);
  EXPECT(((long (*)(void))(uintptr_t)code)() == 9);
  EXPECT(read(ends[0], text, sizeof text) == 7 && strcmp(text, "beside") == 0);
  close(ends[0]);
  close(ends[1]);
}

static void* in_thread(void* argument) {
  read_beside_code();
  return (void*)(uintptr_t)call((long)(uintptr_t)argument, NULL);
}

int main(void) {
  EXPECT(call(300, NULL) == 300 * 301 / 2);
  read_beside_code();
  pthread_t thread;
  void* result;
  EXPECT(pthread_create(&thread, NULL, in_thread, (void*)20) == 0 && pthread_join(thread, &result) == 0);
  EXPECT((uintptr_t)result == 20 * 21 / 2);
  FILE* const maps = fopen("/proc/self/maps", "r");
  char line[512];
  int stacks = 0;
  while (fgets(line, sizeof line, maps) != NULL) {
    if (strstr(line, "[stack]") == NULL) continue;
    ++stacks;
    EXPECT(strstr(line, "rwxp") != NULL);
  }
  fclose(maps);
  EXPECT(stacks == 1);
  puts("code on the stack is right");
  return 0;
}
