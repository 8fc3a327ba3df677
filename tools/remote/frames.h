// What `ssh` and its other half on the far host say to each other over their connection: frames of a kind, a length and so
// many bytes. Both are programs of simulated hosts and know nothing of the simulator but how to ask for the other half.
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
  kTerminal = 't', // the first one, if at all: the command gets a terminal. struct TerminalSize and the name of its kind
  kSize = 'w',     // struct TerminalSize: it has changed
  kCommand = 'c',  // the one behind that: a line for the shell; empty: a shell that reads its standard input
  kInput = 'i',    // bytes of standard input, none: its end
  kOutput = 'o',   // of standard output
  kErrors = 'e',   // of standard error
  kSignal = 's',   // int32_t: the command is to get it
  kExit = 'x',     // int32_t: as wait(2) tells it
};

struct FrameHeader {
  uint32_t kind;
  uint32_t length;
};

struct TerminalSize {
  uint16_t rows, columns;
};

enum { kMostBytes = 16384 };  // of one frame

// Bytes on their way from one descriptor to another. Nothing is read before what was read last is written.
struct Queue {
  size_t begin, end;
  char bytes[sizeof(struct FrameHeader) + kMostBytes];
};

static inline int queue_is_empty(const struct Queue* queue) { return queue->begin == queue->end; }

// The empty queue holds one frame; `length` bytes are in place behind the header.
static inline void queue_frame(struct Queue* queue, enum FrameKind kind, size_t length) {
  const struct FrameHeader header = {kind, (uint32_t)length};
  memcpy(queue->bytes, &header, sizeof header);
  queue->begin = 0;
  queue->end = sizeof header + length;
}
static inline char* queue_body(struct Queue* queue) { return queue->bytes + sizeof(struct FrameHeader); }

// Writes what it can; -1: the other end is gone.
static inline int queue_drain(struct Queue* queue, int fd) {
  const ssize_t n = write(fd, queue->bytes + queue->begin, queue->end - queue->begin);
  if (n < 0) return errno == EAGAIN || errno == EINTR ? 0 : -1;
  queue->begin += (size_t)n;
  if (queue->begin == queue->end) queue->begin = queue->end = 0;
  return 0;
}

// Whether a read or write that failed is to be tried again: when `fd` is ready.
static inline int may_go_on(int fd, short events) {
  if (errno == EINTR) return 1;
  if (errno != EAGAIN) return 0;
  struct pollfd wait = {fd, events, 0};
  poll(&wait, 1, -1);
  return 1;
}

// All of it, waiting; -1: it could not be had.
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

// The frame that comes next: its body lies in `queue`, its kind is the result; -1: there is none any more.
static inline int read_frame(int fd, struct Queue* queue) {
  struct FrameHeader header;
  if (read_all(fd, &header, sizeof header) != 0 || header.length > kMostBytes) return -1;
  if (read_all(fd, queue->bytes, header.length) != 0) return -1;
  queue->begin = 0;
  queue->end = header.length;
  return (int)header.kind;
}
