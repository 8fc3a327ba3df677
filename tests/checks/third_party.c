// Two hosts write the same bytes of a third, one after the other. Whether that is a race depends on how the second
// learns of the first: by the clock (no message), or as `way` says. `third_party target|first|second WAY [target]`.
#include <time.h>

#include "tests/litmus/litmus.h"

enum { kBytes = 256, kFlag = 1024, kToFirst = 18700, kToSecond = 18701 };

static struct litmus my;
static int tcp[2];

static void open_all(void) {
  my.context = open_first_device();
  my.pd = ibv_alloc_pd(my.context);
  my.send_cq = ibv_create_cq(my.context, 2 * kQueue, NULL, NULL, 0);
  my.recv_cq = ibv_create_cq(my.context, 2 * kQueue, NULL, NULL, 0);
  my.memory = chosen_memory(4096);
  my.mr = ibv_reg_mr(my.pd, my.memory, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  MUST(my.pd != NULL && my.send_cq != NULL && my.recv_cq != NULL && my.mr != NULL);
}

static void connect_to(int index, const char* server, int port) {
  my.tcp = tcp[index] = tcp_pair(server, port);
  litmus_qp(&my, index, 8);
}

static void write_it(int qp, int length, int place) {
  MUST(litmus_send(&my, qp, IBV_WR_RDMA_WRITE, my.memory, (uint32_t)length, (uint64_t)place, IBV_SEND_SIGNALED) == 0);
  litmus_wait(my.send_cq);
}

static void message_to(int qp) {
  MUST(litmus_send(&my, qp, IBV_WR_SEND, my.memory, 8, 0, IBV_SEND_SIGNALED) == 0);
  litmus_wait(my.send_cq);
}

static void await_flag(void) {
  while (*(volatile uint64_t*)(my.memory + kFlag) == 0) {
  }
}

static void end_of(int fd) {
  char byte;
  MUST(read(fd, &byte, 1) == 0);
}

// Forwards the message that the first host is done.
static void be_target(const char* way) {
  char byte = 0;
  if (strcmp(way, "tcp") == 0) tcp_read(tcp[0], &byte, 1), tcp_write(tcp[1], &byte, 1);
  if (strcmp(way, "end") == 0) end_of(tcp[0]), shutdown(tcp[1], SHUT_WR);
  if (strcmp(way, "send") == 0) litmus_wait(my.recv_cq), message_to(1);
  if (strcmp(way, "flag") == 0) {
    await_flag();
    my.memory[0] = 1;
    write_it(1, 8, kFlag);
  }
}

static void be_first(const char* way) {
  char byte = 0;
  my.memory[0] = 1;
  write_it(0, kBytes, 0);
  if (strcmp(way, "tcp") == 0) tcp_write(tcp[0], &byte, 1);
  if (strcmp(way, "end") == 0) shutdown(tcp[0], SHUT_WR);
  if (strcmp(way, "send") == 0) message_to(0);
  if (strcmp(way, "flag") == 0 || strcmp(way, "read") == 0) write_it(0, 8, kFlag);
}

static void be_second(const char* way) {
  const struct timespec while_it_writes = {0, 2000000};
  char byte;
  if (strcmp(way, "clock") == 0) nanosleep(&while_it_writes, NULL);
  if (strcmp(way, "tcp") == 0) tcp_read(tcp[0], &byte, 1);
  if (strcmp(way, "end") == 0) end_of(tcp[0]);
  if (strcmp(way, "send") == 0) litmus_wait(my.recv_cq);
  if (strcmp(way, "flag") == 0) await_flag();
  while (strcmp(way, "read") == 0 && my.memory[kFlag] == 0) {
    MUST(litmus_send(&my, 0, IBV_WR_RDMA_READ, my.memory + kFlag, 8, kFlag, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
  }
  write_it(0, kBytes, 0);
}

int main(int argc, char** argv) {
  MUST(argc >= 3);
  const char* const way = argv[2];
  open_all();
  if (argc == 3) {
    connect_to(0, NULL, kToFirst);
    connect_to(1, NULL, kToSecond);
    litmus_recv(&my, 0, 1, my.memory + 2048, 8);
    tcp_write(tcp[0], "g", 1);
    tcp_write(tcp[1], "g", 1);
    be_target(way);
    for (int i = 0; i < 2; ++i) {  // until both are done
      struct timespec rest = {0, 5000000};
      nanosleep(&rest, NULL);
    }
    return 0;
  }
  const int is_first = strcmp(argv[1], "first") == 0;
  connect_to(0, argv[3], is_first ? kToFirst : kToSecond);
  litmus_recv(&my, 0, 1, my.memory + 2048, 8);
  char go;
  tcp_read(tcp[0], &go, 1);
  is_first ? be_first(way) : be_second(way);
  return 0;
}
