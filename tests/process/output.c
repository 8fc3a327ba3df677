// Output of all kinds: `output large` prints 10 MB, `output unfinished` leaves a line open on both streams,
// `output closed` closes everything first.
#include <sys/syscall.h>
#include <unistd.h>

#include "expect.h"

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  if (strcmp(how, "large") == 0) {
    for (int line = 0; line < 10 * 1024; ++line) {
      char text[1024];
      memset(text, 'a' + line % 26, sizeof text);
      text[sizeof text - 1] = '\n';
      EXPECT(fwrite(text, 1, sizeof text, stdout) == sizeof text);
    }
  } else if (strcmp(how, "unfinished") == 0) {
    EXPECT(write(1, "out", 3) == 3);
    EXPECT(write(2, "err", 3) == 3);
  } else if (strcmp(how, "closed") == 0) {
    for (int fd = 0; fd < 2000; ++fd) close(fd);
    EXPECT(write(1, "x", 1) == -1 && errno == EBADF);
    sleep_ms(10);
    EXPECT(now_ns() > 0);
    EXPECT(syscall(SYS_close_range, 0, ~0u, 0) == 0);
    sleep_ms(10);
    return 7;
  }
  return 0;
}
