// The protocol between `ssh` and its far half: frames of a kind, a length and that number of bytes. Both are
// programs of simulated hosts; all that they know of the simulator is the call that starts the far half.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum FrameKind {
  kTerminal = 't', // first frame, optional: the command gets a terminal. struct TerminalSize and the terminal's type
  kSize = 'w',     // struct TerminalSize: the new size
  kCommand = 'c',  // next frame: a line for the shell; empty: a shell that reads its standard input
  kInput = 'i',    // bytes of standard input; empty: its end
  kOutput = 'o',   // bytes of standard output
  kErrors = 'e',   // bytes of standard error
  kSignal = 's',   // int32_t: a signal for the command
  kExit = 'x',     // int32_t: exit status in the format of wait(2)
};

struct FrameHeader {
  uint32_t kind;
  uint32_t length;
};

struct TerminalSize {
  uint16_t rows, columns;
};

enum { kMostBytes = 16384 };  // body of a frame

// Bytes that are copied from one descriptor to another. All of them are written before more are read.
struct Queue {
  size_t begin, end;
  char bytes[sizeof(struct FrameHeader) + kMostBytes];
};

static inline int queue_is_empty(const struct Queue* queue) { return queue->begin == queue->end; }

// Makes a frame of the `length` bytes behind the header's space. The queue must be empty.
static inline void queue_frame(struct Queue* queue, enum FrameKind kind, size_t length) {
  const struct FrameHeader header = {kind, (uint32_t)length};
  memcpy(queue->bytes, &header, sizeof header);
  queue->begin = 0;
  queue->end = sizeof header + length;
}
static inline char* queue_body(struct Queue* queue) { return queue->bytes + sizeof(struct FrameHeader); }

// Writes as much as possible; returns -1 if the other end is closed.
static inline int queue_drain(struct Queue* queue, int fd) {
  const ssize_t n = write(fd, queue->bytes + queue->begin, queue->end - queue->begin);
  if (n < 0) return errno == EAGAIN || errno == EINTR ? 0 : -1;
  queue->begin += (size_t)n;
  if (queue->begin == queue->end) queue->begin = queue->end = 0;
  return 0;
}

// After a failed read or write: waits until `fd` is ready, and returns whether to try again.
static inline int may_go_on(int fd, short events) {
  if (errno == EINTR) return 1;
  if (errno != EAGAIN) return 0;
  struct pollfd wait = {fd, events, 0};
  poll(&wait, 1, -1);
  return 1;
}

// Reads exactly `length` bytes, blocking; returns -1 on failure.
static inline int read_all(int fd, void* to, size_t length) {
  for (size_t done = 0; done < length;) {
    const ssize_t n = read(fd, (char*)to + done, length - done);
    if (n == 0 || (n < 0 && !may_go_on(fd, POLLIN))) return -1;
    if (n > 0) done += (size_t)n;
  }
  return 0;
}

static inline int write_all(int fd, const void* from, size_t length) {
  for (size_t done = 0; done < length;) {
    const ssize_t n = write(fd, (const char*)from + done, length - done);
    if (n < 0 && !may_go_on(fd, POLLOUT)) return -1;
    if (n > 0) done += (size_t)n;
  }
  return 0;
}

// Reads the next frame into `queue` and returns its kind; -1 at the end.
static inline int read_frame(int fd, struct Queue* queue) {
  struct FrameHeader header;
  if (read_all(fd, &header, sizeof header) != 0 || header.length > kMostBytes) return -1;
  if (read_all(fd, queue->bytes, header.length) != 0) return -1;
  queue->begin = 0;
  queue->end = header.length;
  return (int)header.kind;
}
