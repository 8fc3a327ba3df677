// ssh and rsh of a simulated host: run a command on another host. No password is needed and no daemon: the
// simulator starts the far half, which connects to this program. Options that launchers such as mpirun use
// are accepted and have no effect.
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

#include "tools/remote/frames.h"
#include "verbs_shim/protocol/remote_shell.h"

enum { kFailed = 255 };  // exit status of OpenSSH on failures of its own

static const char* own_name;
static int signals[2];  // a pipe with signal numbers

static void on_signal(int signal) {
  const int before = errno;
  const char number = (char)signal;
  if (write(signals[1], &number, 1) < 0) errno = before;
  errno = before;
}

static struct termios own_settings;
static int has_terminal;  // the caller's is in raw mode: keys for signals act on the far terminal

static struct TerminalSize own_size(void) {
  struct winsize size = {24, 80, 0, 0};
  ioctl(0, TIOCGWINSZ, &size);
  return (struct TerminalSize){size.ws_row, size.ws_col};
}

static int take_terminal(int connection) {
  if (tcgetattr(0, &own_settings) != 0) return 0;
  const char* const kind = getenv("TERM");
  const size_t length = kind != NULL ? strlen(kind) : 0;
  struct Queue* const queue = calloc(1, sizeof *queue);
  const struct TerminalSize size = own_size();
  memcpy(queue_body(queue), &size, sizeof size);
  if (sizeof size + length <= kMostBytes) memcpy(queue_body(queue) + sizeof size, kind, length);
  queue_frame(queue, kTerminal, sizeof size + (sizeof size + length <= kMostBytes ? length : 0));
  const int result = write_all(connection, queue->bytes, queue->end);
  free(queue);
  if (result != 0) return -1;
  struct termios raw = own_settings;
  cfmakeraw(&raw);
  tcsetattr(0, TCSADRAIN, &raw);
  has_terminal = 1;
  return 0;
}

static void leave_terminal(void) {
  if (has_terminal) tcsetattr(0, TCSADRAIN, &own_settings);
  has_terminal = 0;
}

static int fail(const char* host, const char* why) {
  fprintf(stderr, "%s: connect to host %s port 22: %s\n", own_name, host, why);
  return kFailed;
}

// The connection from the far half, or -1 and an errno.
static int connect_from(const struct in_addr* host) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in name = {.sin_family = AF_INET};
  socklen_t length = sizeof name;
  if (listener < 0 || bind(listener, (struct sockaddr*)&name, length) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, (struct sockaddr*)&name, &length) != 0)
    return -1;
  if (syscall(VERBATIM_START_REMOTE_SHELL, ntohl(host->s_addr), ntohs(name.sin_port)) != 0) return -1;
  enum { kPatienceMs = 127000 };  // timeout of Linux' connect()
  struct pollfd wait = {listener, POLLIN, 0};
  if (poll(&wait, 1, kPatienceMs) != 1) {
    errno = ETIMEDOUT;
    return -1;
  }
  const int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  close(listener);
  return connection;
}

// Options with a value, as in ssh(1) and rsh(1).
static int takes_value(const char* name, char option) {
  return strchr(strcmp(name, "rsh") == 0 ? "l" : "BbcDEeFIiJLlmOopQRSWw", option) != NULL;
}

static int send_command(int connection, int count, char** words) {
  struct Queue* const queue = calloc(1, sizeof *queue);
  size_t length = 0;
  for (int i = 0; i < count; ++i) {
    const size_t n = strlen(words[i]);
    if (length + n + 1 > kMostBytes) return -1;
    memcpy(queue_body(queue) + length, words[i], n);
    length += n;
    if (i + 1 < count) queue_body(queue)[length++] = ' ';
  }
  queue_frame(queue, kCommand, length);
  const int result = write_all(connection, queue->bytes, queue->end);
  free(queue);
  return result;
}

// Copies until the command has ended; returns the exit status.
static int carry(int connection, int reads_input) {
  static struct Queue to_far, from_far;
  int input = reads_input ? 0 : -1, target = -1;
  int sends_end = !reads_input;
  for (;;) {
    if (sends_end && queue_is_empty(&to_far)) {
      queue_frame(&to_far, kInput, 0);
      sends_end = 0;
    }
    const int may_read = queue_is_empty(&to_far);
    struct pollfd waits[4] = {
        {connection, (short)((queue_is_empty(&from_far) ? POLLIN : 0) | (may_read ? 0 : POLLOUT)), 0},
        {may_read ? input : -1, POLLIN, 0},
        {may_read ? signals[0] : -1, POLLIN, 0},
        {queue_is_empty(&from_far) ? -1 : target, POLLOUT, 0}};
    if (poll(waits, 4, -1) < 0) continue;
    if ((waits[0].revents & POLLOUT) != 0 && queue_drain(&to_far, connection) != 0) return kFailed;
    if (waits[3].revents != 0 && queue_drain(&from_far, target) != 0) from_far.begin = from_far.end = 0;
    if (waits[2].revents != 0) {
      char number;
      if (read(signals[0], &number, 1) == 1) {
        if (number == SIGWINCH) {
          const struct TerminalSize size = own_size();
          memcpy(queue_body(&to_far), &size, sizeof size);
          queue_frame(&to_far, kSize, sizeof size);
          continue;
        }
        const int32_t signal = number;
        memcpy(queue_body(&to_far), &signal, sizeof signal);
        queue_frame(&to_far, kSignal, sizeof signal);
        continue;
      }
    }
    if (waits[1].revents != 0 && queue_is_empty(&to_far)) {
      const ssize_t n = read(input, queue_body(&to_far), kMostBytes);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (n <= 0) input = -1;
      queue_frame(&to_far, kInput, n > 0 ? (size_t)n : 0);
    }
    if ((waits[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && queue_is_empty(&from_far)) {
      const int kind = read_frame(connection, &from_far);
      if (kind == kExit) {
        int32_t status;
        memcpy(&status, from_far.bytes, sizeof status);
        return WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
      }
      if (kind < 0) return kFailed;
      target = kind == kErrors ? 2 : 1;
    }
  }
}

int main(int count, char** words) {
  own_name = strrchr(words[0], '/') != NULL ? strrchr(words[0], '/') + 1 : words[0];
  const int is_on = strcmp(own_name, "on") == 0;
  int at = 1, reads_input = 1, wants_terminal = is_on;
  const char* host = NULL;
  for (; at < count; ++at) {
    const char* const word = words[at];
    if (word[0] != '-' || word[1] == 0) {
      if (host != NULL) break;
      host = word;  // more options may follow
      continue;
    }
    if (strcmp(word, "--") == 0) {
      ++at;
      if (host != NULL) break;
      host = at < count ? words[at] : NULL;
      continue;
    }
    for (const char* option = word + 1; *option != 0; ++option) {
      if (*option == 'n') reads_input = 0;
      if (*option == 't') wants_terminal = 1;
      if (*option == 'T') wants_terminal = -1;
      if (*option == 'V') {
        fprintf(stderr, "Verbatim's %s, without encryption\n", own_name);
        return 0;
      }
      if (!takes_value(own_name, *option)) continue;
      if (option[1] == 0) ++at;
      break;
    }
  }
  if (host == NULL) {
    fprintf(stderr, is_on ? "usage: %s host [command]\n" : "usage: %s [options] [user@]host [command]\n", own_name);
    return kFailed;
  }
  if (strrchr(host, '@') != NULL) host = strrchr(host, '@') + 1;

  struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
  struct addrinfo* found = NULL;
  if (getaddrinfo(host, NULL, &hints, &found) != 0) {
    fprintf(stderr, "%s: Could not resolve hostname %s: Name or service not known\n", own_name, host);
    return kFailed;
  }
  if (pipe2(signals, O_CLOEXEC | O_NONBLOCK) != 0) return fail(host, strerror(errno));
  signal(SIGPIPE, SIG_IGN);
  static const int kPassed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
  for (size_t i = 0; i < sizeof kPassed / sizeof *kPassed; ++i) {
    struct sigaction before;
    if (sigaction(kPassed[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
      const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
      sigaction(kPassed[i], &action, NULL);
    }
  }
  const int connection = connect_from(&((struct sockaddr_in*)found->ai_addr)->sin_addr);
  freeaddrinfo(found);
  if (connection < 0) return fail(host, strerror(errno));
  if (wants_terminal == 0 && at == count) wants_terminal = 1;
  if (wants_terminal > 0 && isatty(0)) {
    // A background process must neither read nor configure its terminal.
    if (tcgetpgrp(0) != getpgrp()) reads_input = 0;
    if (is_on && !isatty(1)) wants_terminal = 0;
  }
  if (wants_terminal > 0 && reads_input && take_terminal(connection) != 0) return fail(host, strerror(errno));
  if (has_terminal) {
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGWINCH, &action, NULL);
  }
  if (send_command(connection, count - at, words + at) != 0) {
    leave_terminal();
    fprintf(stderr, "%s: the command is too long\n", own_name);
    return kFailed;
  }
  fcntl(connection, F_SETFL, O_NONBLOCK | fcntl(connection, F_GETFL));
  const int status = carry(connection, reads_input);
  leave_terminal();
  return status;
}
