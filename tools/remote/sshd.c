// The far half of ssh: connects to the near half (arguments: its address and port), runs the command in a
// shell, and forwards its input, output, signals and exit status. Like OpenSSH's sshd it stays until the
// command has ended and its output is closed.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "tools/remote/frames.h"

static pid_t start_shell(const char* command, int input, int output, int errors) {
  const pid_t child = fork();
  if (child != 0) return child;
  setsid();
  dup2(input, 0);
  dup2(output, 1);
  dup2(errors, 2);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  command[0] != 0 ? execl("/bin/sh", "sh", "-c", command, NULL) : execl("/bin/sh", "sh", NULL);
  _exit(127);
}

static void set_size(int terminal, const char* bytes) {
  struct TerminalSize size;
  memcpy(&size, bytes, sizeof size);
  const struct winsize wanted = {size.rows, size.columns, 0, 0};
  ioctl(terminal, TIOCSWINSZ, &wanted);
}

// Starts the command at a terminal of its own, whose master is stored in `master`.
static pid_t start_at_terminal(const char* command, const struct Queue* asked, int* master) {
  char kind[256] = "dumb";
  const size_t length = asked->end - sizeof(struct TerminalSize);
  if (length > 0 && length < sizeof kind) {
    memcpy(kind, asked->bytes + sizeof(struct TerminalSize), length);
    kind[length] = 0;
  }
  *master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (*master < 0 || grantpt(*master) != 0 || unlockpt(*master) != 0) return -1;
  set_size(*master, asked->bytes);
  const char* const name = ptsname(*master);
  const pid_t child = fork();
  if (child != 0) return child;
  setsid();
  const int terminal = name != NULL ? open(name, O_RDWR) : -1;
  if (terminal < 0) _exit(127);
  for (int fd = 0; fd < 3; ++fd) dup2(terminal, fd);
  if (terminal > 2) close(terminal);
  setenv("TERM", kind, 1);
  setenv("PS1", "\\h:\\w\\$ ", 1);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  if (command[0] == 0) execl("/bin/bash", "bash", "--noprofile", "--norc", "-i", NULL);
  command[0] != 0 ? execl("/bin/sh", "sh", "-c", command, NULL) : execl("/bin/sh", "sh", "-i", NULL);
  _exit(127);
}

// Sends one frame of the command's output; end of file sends none. Returns 0 at the end of the output.
static int take_output(int fd, enum FrameKind kind, struct Queue* to_near) {
  const ssize_t n = read(fd, queue_body(to_near), kMostBytes);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 1;
  if (n > 0) queue_frame(to_near, kind, (size_t)n);
  return n > 0;
}

static void carry(int connection, pid_t child, int input, int output, int errors, int children) {
  static struct Queue to_near, from_near;
  const int is_terminal = input == output;  // one descriptor for both
  int status = 0, has_ended = 0, closes_input = 0;
  for (;;) {
    const int may_send = queue_is_empty(&to_near);
    if (may_send && has_ended && output < 0 && errors < 0) break;
    struct pollfd waits[5] = {
        {connection, (short)((queue_is_empty(&from_near) && !closes_input ? POLLIN : 0) | (may_send ? 0 : POLLOUT)), 0},
        {may_send ? output : -1, POLLIN, 0},
        {may_send ? errors : -1, POLLIN, 0},
        {queue_is_empty(&from_near) ? -1 : input, POLLOUT, 0},
        {has_ended ? -1 : children, POLLIN, 0}};
    if (poll(waits, 5, -1) < 0) continue;
    if (waits[4].revents != 0 && waitpid(child, &status, WNOHANG) == child) has_ended = 1;
    if ((waits[0].revents & POLLOUT) != 0 && queue_drain(&to_near, connection) != 0) {
      kill(-child, SIGHUP);
      return;
    }
    if (waits[3].revents != 0 && queue_drain(&from_near, input) != 0) {
      from_near.begin = from_near.end = 0;  // the command no longer reads
      if (!is_terminal) close(input);
      input = -1;
    }
    if (closes_input && queue_is_empty(&from_near)) {
      if (input >= 0) close(input);
      input = -1;
      closes_input = 0;
    }
    if (waits[1].revents != 0 && queue_is_empty(&to_near) && !take_output(output, kOutput, &to_near)) output = -1;
    if (waits[2].revents != 0 && queue_is_empty(&to_near) && !take_output(errors, kErrors, &to_near)) errors = -1;
    if ((waits[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0 || !queue_is_empty(&from_near)) continue;
    const int kind = read_frame(connection, &from_near);
    if (kind < 0) {
      kill(-child, SIGHUP);
      return;
    }
    if (kind == kSignal) {
      int32_t signal;
      memcpy(&signal, from_near.bytes, sizeof signal);
      kill(-child, signal);
    }
    if (kind == kSize && is_terminal && from_near.end == sizeof(struct TerminalSize)) set_size(input, from_near.bytes);
    if (kind == kInput && queue_is_empty(&from_near)) closes_input = !is_terminal;
    if (kind != kInput || input < 0) from_near.begin = from_near.end = 0;
    if (closes_input && queue_is_empty(&from_near) && input >= 0) {
      close(input);
      input = -1;
      closes_input = 0;
    }
  }
  const int32_t sent_status = status;
  memcpy(queue_body(&to_near), &sent_status, sizeof sent_status);
  queue_frame(&to_near, kExit, sizeof sent_status);
  fcntl(connection, F_SETFL, 0);
  write_all(connection, to_near.bytes, to_near.end);
}

int main(int count, char** words) {
  if (count != 3) return 2;
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[2]))};
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0 || inet_pton(AF_INET, words[1], &name.sin_addr) != 1) return 2;
  if (connect(connection, (struct sockaddr*)&name, sizeof name) != 0) return 1;
  static struct Queue command, terminal;
  int kind = read_frame(connection, &command);
  const int wants_terminal = kind == kTerminal && command.end >= sizeof(struct TerminalSize);
  if (wants_terminal) {
    terminal = command;
    kind = read_frame(connection, &command);
  }
  if (kind != kCommand) return 1;
  char line[kMostBytes + 1];
  memcpy(line, command.bytes, command.end);
  line[command.end] = 0;

  signal(SIGPIPE, SIG_IGN);
  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  sigprocmask(SIG_BLOCK, &ended, NULL);
  const int children = signalfd(-1, &ended, SFD_CLOEXEC);
  if (wants_terminal) {
    int master = -1;
    const pid_t child = start_at_terminal(line, &terminal, &master);
    if (child < 0) return 1;
    fcntl(connection, F_SETFL, O_NONBLOCK | fcntl(connection, F_GETFL));
    fcntl(master, F_SETFL, O_NONBLOCK | fcntl(master, F_GETFL));
    carry(connection, child, master, master, -1, children);
    return 0;
  }
  int pipes[3][2];
  for (int i = 0; i < 3; ++i) {
    if (pipe2(pipes[i], O_CLOEXEC) != 0) return 1;
  }
  const pid_t child = start_shell(line, pipes[0][0], pipes[1][1], pipes[2][1]);
  if (child < 0) return 1;
  close(pipes[0][0]);
  close(pipes[1][1]);
  close(pipes[2][1]);
  fcntl(connection, F_SETFL, O_NONBLOCK | fcntl(connection, F_GETFL));
  fcntl(pipes[0][1], F_SETFL, O_NONBLOCK);
  carry(connection, child, pipes[0][1], pipes[1][0], pipes[2][0], children);
  return 0;
}
