// A hundred megabytes on standard output, from two writers whose writes are not mixed.
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

int main(void) {
  enum { kLine = 4096, kLines = 25600 };
  static char text[kLine * 16];
  for (int i = 0; i < 16; ++i) {
    memset(text + i * kLine, 'a' + i, kLine - 1);
    text[i * kLine + kLine - 1] = '\n';
  }
  size_t done = 0;
  while (done < (size_t)kLine * kLines) {
    const ssize_t n = write(1, text, sizeof text);
    EXPECT(n > 0 && n % kLine == 0);
    done += n;
  }
  return 0;
}
