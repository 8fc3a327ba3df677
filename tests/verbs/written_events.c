// Events that a program writes to its own rdma_cm channel, as rdma_write_cm_event() and
// rdma_resolve_addrinfo() of newer versions of librdmacm do. Commands are written by hand, because the
// installed librdmacm may be older. Prints `right`.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_user_cm.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(condition)                                             \
  do {                                                              \
    if (!(condition)) {                                             \
      printf("line %d: does not hold: %s\n", __LINE__, #condition); \
      exit(1);                                                      \
    }                                                               \
  } while (0)

enum { kResolveIbService = 23, kWriteCmEvent = 24 };
enum { kTimeWaitExit = 15, kUser = 18, kInternal = 19 };

struct written {
  uint32_t id, reserved, event, status;
  union {
    struct rdma_ucm_conn_param conn;
    uint64_t argument;
  } param;
};

static int channel;

static int command(uint32_t number, const void* body, size_t length, size_t room) {
  char bytes[1024];
  const struct rdma_ucm_cmd_hdr header = {.cmd = number, .in = (uint16_t)length, .out = (uint16_t)room};
  memcpy(bytes, &header, sizeof header);
  memcpy(bytes + sizeof header, body, length);
  const ssize_t done = write(channel, bytes, sizeof header + length);
  if (done < 0) return errno;
  MUST((size_t)done == sizeof header + length);
  return 0;
}

static int write_event(uint32_t id, uint32_t event, uint32_t status, uint64_t argument) {
  struct written write = {.id = id, .event = event, .status = status};
  write.param.argument = argument;
  return command(kWriteCmEvent, &write, sizeof write, 0);
}

static uint32_t create(uint64_t uid, uint16_t space) {
  struct rdma_ucm_create_id_resp response;
  const struct rdma_ucm_create_id create = {.uid = uid, .response = (uintptr_t)&response, .ps = space};
  MUST(command(RDMA_USER_CM_CMD_CREATE_ID, &create, sizeof create, sizeof response) == 0);
  return response.id;
}

static short readable(void) {
  struct pollfd poll_for = {.fd = channel, .events = POLLIN};
  return poll(&poll_for, 1, 0) == 1 ? poll_for.revents : 0;
}

static void expect_event(uint32_t id, uint64_t uid, uint32_t event, uint32_t status, uint64_t argument) {
  struct rdma_ucm_event_resp response;
  const struct rdma_ucm_get_event get = {.response = (uintptr_t)&response};
  uint64_t found;
  MUST(readable() == POLLIN);
  MUST(command(RDMA_USER_CM_CMD_GET_EVENT, &get, sizeof get, sizeof response) == 0);
  memcpy(&found, &response.param, sizeof found);
  MUST(response.id == id && response.uid == uid && response.event == event && response.status == status &&
       found == argument);
}

int main(void) {
  channel = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);
  MUST(channel >= 0);
  const uint32_t stream = create(0x1111, RDMA_PS_TCP), datagrams = create(0x2222, RDMA_PS_UDP);
  // Events arrive in the order of the calls, for both kinds of identifiers.
  MUST(write_event(stream, kUser, 7, 0x0123456789abcdef) == 0);
  MUST(write_event(datagrams, kInternal, 0, 16) == 0);
  MUST(write_event(datagrams, kUser, (uint32_t)-5, 0xfedcba9876543210) == 0);
  expect_event(stream, 0x1111, kUser, 7, 0x0123456789abcdef);
  expect_event(datagrams, 0x2222, kInternal, 0, 16);
  expect_event(datagrams, 0x2222, kUser, (uint32_t)-5, 0xfedcba9876543210);
  MUST(readable() == 0);
  // Events of the kernel cannot be written, and nothing to an unknown identifier.
  for (uint32_t event = 0; event <= kTimeWaitExit + 5; ++event) {
    if (event != kUser && event != kInternal) MUST(write_event(stream, event, 0, 0) == EINVAL);
  }
  MUST(write_event(stream + datagrams + 1, kUser, 0, 0) == ENOENT);
  MUST(readable() == 0);
  // Unread events end with their identifier; read ones are reported.
  MUST(write_event(stream, kUser, 0, 1) == 0);
  struct rdma_ucm_destroy_id_resp ended;
  const struct rdma_ucm_destroy_id destroy = {.response = (uintptr_t)&ended, .id = stream};
  MUST(command(RDMA_USER_CM_CMD_DESTROY_ID, &destroy, sizeof destroy, sizeof ended) == 0);
  MUST(ended.events_reported == 1 && readable() == 0);
  // Service records of the subnet administrator are not resolved.
  const char service[256] = {0};
  MUST(command(kResolveIbService, service, sizeof service, 0) == EINVAL);
  puts("right");
  return 0;
}
