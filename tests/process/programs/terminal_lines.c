// A pseudo-terminal from both of its sides: lines that are edited, echo, raw mode, sizes, end of file and the end of a side.
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int master, slave;

static void type(const char* keys) { EXPECT(write(master, keys, strlen(keys)) == (ssize_t)strlen(keys)); }

// All that the screen shows by now; what is typed is echoed some time later.
static void shows(const char* expected) {
  char seen[256] = "";
  size_t n = 0;
  while (n < strlen(expected)) {
    struct pollfd wait = {master, POLLIN, 0};
    EXPECT(poll(&wait, 1, 5000) == 1);
    const ssize_t more = read(master, seen + n, sizeof seen - 1 - n);
    EXPECT(more > 0);
    n += (size_t)more;
  }
  seen[n] = 0;
  if (strcmp(seen, expected) != 0) {
    for (size_t i = 0; i < n; ++i) printf("%d ", seen[i]);
    printf("instead of \"%s\"\n", expected);
  }
  EXPECT(strcmp(seen, expected) == 0);
}

static void gives(const char* expected) {
  char line[256];
  const ssize_t n = read(slave, line, sizeof line - 1);
  EXPECT(n >= 0);
  line[n] = 0;
  if (strcmp(line, expected) != 0) printf("read \"%s\" instead of \"%s\"\n", line, expected);
  EXPECT(strcmp(line, expected) == 0);
}

static void set(tcflag_t off, tcflag_t on, cc_t minimum, cc_t time) {
  struct termios settings;
  EXPECT(tcgetattr(slave, &settings) == 0);
  settings.c_lflag = (settings.c_lflag & ~off) | on;
  settings.c_cc[VMIN] = minimum;
  settings.c_cc[VTIME] = time;
  EXPECT(tcsetattr(slave, TCSANOW, &settings) == 0);
}

static void edited_lines(void) {
  type("abc\r");
  shows("abc\r\n");
  gives("abc\n");
  type("abd\177c\025x y\027z\r");
  shows("abd\b \bc\b \b\b \b\b \bx y\b \bz\r\n");
  gives("x z\n");
  type("\026\003\001\r");  // one that has no meaning any more
  shows("^\b^C^A\r\n");
  gives("\003\001\n");
  type("a\tb\177\177c\r");
  shows("a\tb\b \b\b\b\b\b\b\b\bc\r\n");
  gives("ac\n");
  type("no line end\004");
  shows("no line end");
  gives("no line end");
  type("\004");
  gives("");
  type("one\rtwo\r");
  shows("one\r\ntwo\r\n");
  char part[3];
  EXPECT(read(slave, part, 2) == 2 && memcmp(part, "on", 2) == 0);
  gives("e\n");
  int there = 0;
  EXPECT(ioctl(slave, FIONREAD, &there) == 0 && there == 4);
  EXPECT(tcflush(slave, TCIFLUSH) == 0);
  struct pollfd wait = {slave, POLLIN, 0};
  EXPECT(poll(&wait, 1, 0) == 0);
  EXPECT(fcntl(slave, F_SETFL, O_NONBLOCK) == 0 && read(slave, part, 1) == -1 && errno == EAGAIN);
  EXPECT(fcntl(slave, F_SETFL, 0) == 0);
}

static void raw_bytes(void) {
  set(ICANON | ECHO, 0, 1, 0);
  type("q");
  gives("q");
  type("a\177\r");
  gives("a\177\n");
  set(0, 0, 0, 0);
  gives("");
  set(0, 0, 3, 0);
  type("xy");
  struct pollfd wait = {slave, POLLIN, 0};
  EXPECT(poll(&wait, 1, 0) == 0);
  type("z");
  EXPECT(poll(&wait, 1, 5000) == 1);
  gives("xyz");
  set(0, 0, 0, 2);
  const int64_t before = now_ns();
  gives("");
  EXPECT(now_ns() - before >= 190000000);
  set(0, 0, 5, 1);
  type("12");
  gives("12");  // a tenth of a second after the last
  set(0, ICANON | ECHO, 1, 0);
}

static void output(void) {
  EXPECT(write(slave, "a\nb\tc\n", 6) == 6);
  shows("a\r\nb\tc\r\n");
  struct termios settings;
  EXPECT(tcgetattr(slave, &settings) == 0);
  settings.c_oflag &= ~(tcflag_t)OPOST;
  EXPECT(tcsetattr(slave, TCSADRAIN, &settings) == 0);
  EXPECT(write(slave, "a\nb", 3) == 3);
  shows("a\nb");
  settings.c_oflag |= OPOST;
  EXPECT(tcsetattr(slave, TCSADRAIN, &settings) == 0);
  type("\023");  // Ctrl-S
  struct pollfd wait = {slave, POLLOUT, 0};
  while (poll(&wait, 1, 0) == 1) sleep_ms(1);
  type("\021");
  EXPECT(poll(&wait, 1, 5000) == 1 && wait.revents == POLLOUT);
}

int main(void) {
  master = posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT(master >= 0);
  unsigned number;
  EXPECT(ioctl(master, TIOCGPTN, &number) == 0);
  char name[64];
  snprintf(name, sizeof name, "/dev/pts/%u", number);
  EXPECT(strcmp(ptsname(master), name) == 0);
  EXPECT(grantpt(master) == 0 && open(name, O_RDWR | O_NOCTTY) == -1 && errno == EIO);
  EXPECT(unlockpt(master) == 0);
  slave = open(name, O_RDWR | O_NOCTTY);
  EXPECT(slave >= 0 && isatty(slave) && isatty(master));
  EXPECT(strcmp(ttyname(slave), name) == 0);
  struct stat by_name, by_number;
  EXPECT(stat(name, &by_name) == 0 && fstat(slave, &by_number) == 0);
  EXPECT(by_name.st_ino == by_number.st_ino && by_name.st_rdev == by_number.st_rdev && S_ISCHR(by_number.st_mode));
  EXPECT(tcgetpgrp(slave) == -1 && errno == ENOTTY);  // not the controlling terminal of any process
  struct winsize size = {33, 99, 0, 0};
  EXPECT(ioctl(master, TIOCSWINSZ, &size) == 0);
  memset(&size, 0, sizeof size);
  EXPECT(ioctl(slave, TIOCGWINSZ, &size) == 0 && size.ws_row == 33 && size.ws_col == 99);
  int pipes[2];
  struct termios settings;
  EXPECT(pipe(pipes) == 0 && tcgetattr(pipes[0], &settings) == -1 && errno == ENOTTY);
  EXPECT(tcgetattr(slave, &settings) == 0 && settings.c_cc[VEOF] == 4 && (settings.c_lflag & ICANON) != 0);

  edited_lines();
  raw_bytes();
  output();

  struct pollfd wait = {master, POLLIN, 0};
  EXPECT(close(slave) == 0 && poll(&wait, 1, 0) == 1 && (wait.revents & POLLHUP) != 0);
  char byte;
  EXPECT(read(master, &byte, 1) == -1 && errno == EIO);
  slave = open(name, O_RDWR | O_NOCTTY);
  EXPECT(slave >= 0 && close(master) == 0);
  EXPECT(read(slave, &byte, 1) == 0 && write(slave, "x", 1) == -1 && errno == EIO);
  printf("both sides of a terminal\n");
  return 0;
}
