// `canary WHAT BIT`: does one thing in which BIT (0 or 1) decides over one bit, and prints nothing of it. Two
// queue pairs of this program talk to each other.
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/verbs/ends.h"

static unsigned bit;

static void take_all(void) {
  struct ibv_wc wc;
  settle();
  while (ibv_poll_cq(a.send_cq, 1, &wc) > 0 || ibv_poll_cq(b.recv_cq, 1, &wc) > 0) {
  }
}

// One message of A to B.
static void message(enum ibv_wr_opcode opcode, uint64_t send_id, uint64_t recv_id, uint32_t immediate) {
  connect_ends();
  post_recv(&b, recv_id, 100);
  struct ibv_sge sge = sge_of(&a, 0, 8);
  struct ibv_send_wr wr = request(send_id, opcode, &sge);
  wr.imm_data = immediate;
  if (post(&wr) != 0) exit(9);
  take_all();
}

static void nothing(void) { message(IBV_WR_SEND_WITH_IMM, 2, 4, 6); }
static void immediate_data(void) { message(IBV_WR_SEND_WITH_IMM, 2, 4, 6 + bit); }
static void wr_id_of_a_send(void) { message(IBV_WR_SEND_WITH_IMM, 2 + bit, 4, 6); }
static void wr_id_of_a_receive(void) { message(IBV_WR_SEND_WITH_IMM, 2, 4 + bit, 6); }
static void opcode(void) { message(bit ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM, 2, 4, 6); }
static void length(void) {
  connect_ends();
  post_recv(&b, 4, 100);
  post_simple(2, IBV_WR_SEND, 8 + bit);
  take_all();
}

static void status(void) {
  connect_ends();
  post_recv(&b, 4, 100);
  struct ibv_sge sge = sge_of(&a, 0, 8);
  sge.lkey ^= bit;
  struct ibv_send_wr wr = request(2, IBV_WR_SEND, &sge);
  post(&wr);
  take_all();
}

static void time_stamp(void) {
  // One cycle of the adapter's clock is less than a microsecond.
  usleep(10 + bit);
  nothing();
}

static void source_queue_pair(void) {
  options.type = IBV_QPT_UD;
  connect_ends();
  if (bit) {  // another one sends
    struct ibv_qp_init_attr init = {
        .send_cq = a.send_cq, .recv_cq = a.recv_cq, .cap = {8, 8, 2, 2, 64}, .qp_type = IBV_QPT_UD};
    a.qp = ibv_create_qp(a.pd, &init);
    struct ibv_qp_attr attributes = {.port_num = 1, .qkey = kQkey};
    if (try_modify(a.qp, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, &attributes) != 0)
      exit(9);
    if (try_modify(a.qp, IBV_QPS_RTR, 0, &attributes) != 0) exit(9);
    if (try_modify(a.qp, IBV_QPS_RTS, IBV_QP_SQ_PSN, &attributes) != 0) exit(9);
  }
  post_recv(&b, 4, 100);
  struct ibv_ah* ah = address_of_this_port(0);
  struct ibv_sge sge = sge_of(&a, 0, 8);
  struct ibv_send_wr wr = request(2, IBV_WR_SEND, &sge);
  wr.wr.ud.ah = ah;
  if (post(&wr) != 0) exit(9);
  take_all();
}

static void byte_of_a_send(void) {
  connect_ends();
  a.buffer[5] ^= (uint8_t)bit;
  post_recv(&b, 4, 100);
  post_simple(2, IBV_WR_SEND, 8);
  take_all();
}

static void byte_of_a_write(void) {
  connect_ends();
  a.buffer[5] ^= (uint8_t)bit;
  post_simple(2, IBV_WR_RDMA_WRITE, 8);
  take_all();
}

static void byte_of_a_read(void) {
  connect_ends();
  b.buffer[5] ^= (uint8_t)bit;
  post_simple(2, IBV_WR_RDMA_READ, 8);
  take_all();
}

static void operand_of_an_atomic(void) {
  connect_ends();
  struct ibv_sge sge = sge_of(&a, 0, 8);
  struct ibv_send_wr wr = request(2, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);
  wr.wr.atomic.compare_add = 2 + bit;
  if (post(&wr) != 0) exit(9);
  take_all();
}

// A queue below its limit causes one event.
static void asynchronous_event(void) {
  options.srq = 1;
  connect_ends();
  post_recv(&b, 4, 100);
  post_recv(&b, 4, 100);
  struct ibv_srq_attr attributes = {.srq_limit = 1 + bit};
  if (ibv_modify_srq(b.srq, &attributes, IBV_SRQ_LIMIT) != 0) exit(9);
  post_simple(2, IBV_WR_SEND, 8);
  take_all();
}

static void completion_event(void) {
  options.cq_channel = 1;
  connect_ends();
  post_recv(&b, 4, 100);
  ibv_req_notify_cq(bit ? b.recv_cq : a.recv_cq, 0);
  post_simple(2, IBV_WR_SEND, 8);
  take_all();
}

// Asked for is an event of a solicited completion only.
static void solicited_event(void) {
  options.cq_channel = 1;
  connect_ends();
  post_recv(&b, 4, 100);
  ibv_req_notify_cq(b.recv_cq, 1);
  struct ibv_sge sge = sge_of(&a, 0, 8);
  struct ibv_send_wr wr = request(2, IBV_WR_SEND, &sge);
  if (bit) wr.send_flags |= IBV_SEND_SOLICITED;
  if (post(&wr) != 0) exit(9);
  take_all();
}

static void exit_code(void) { _exit((int)(6 + bit)); }

static void signal_of_the_end(void) {
  signal(SIGUSR1, SIG_DFL);
  raise(bit ? SIGUSR2 : SIGUSR1);
}

static void write_file(const char* path, const char* text, size_t bytes) {
  const int fd = open(path, O_CREAT | O_WRONLY, 0644);
  if (fd < 0 || write(fd, text, bytes) != (ssize_t)bytes) exit(9);
  close(fd);
}

static void content_of_a_file(void) { write_file("/tmp/file", bit ? "texu" : "text", 4); }
static void name_of_a_file(void) { write_file(bit ? "/tmp/filf" : "/tmp/file", "text", 4); }
static void length_of_a_file(void) { write_file("/tmp/file", "text", 4 - bit); }

static void target_of_a_link(void) {
  if (symlink(bit ? "therf" : "there", "/tmp/link") != 0) exit(9);
}

static void kind_of_a_file(void) {
  if ((bit ? mkdir("/tmp/thing", 0755) : mkfifo("/tmp/thing", 0644)) != 0) exit(9);
}

static void byte_of_a_socket(void) {
  const struct sockaddr_in place = {
      .sin_family = AF_INET, .sin_port = htons(999), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  const int to = socket(AF_INET, SOCK_DGRAM, 0), from = socket(AF_INET, SOCK_DGRAM, 0);
  if (bind(to, (const struct sockaddr*)&place, sizeof place) != 0) exit(9);
  char text[] = "text";
  text[2] = (char)(text[2] ^ (char)bit);
  if (sendto(from, text, 4, 0, (const struct sockaddr*)&place, sizeof place) != 4) exit(9);
  if (recv(to, text, 4, 0) != 4) exit(9);
}

static void line_on_standard_error(void) {
  if (write(2, bit ? "lind" : "line", 4) != 4) exit(9);
}

static const struct {
  const char* name;
  void (*run)(void);
} kCanaries[] = {{"nothing", nothing},
                 {"immediate_data", immediate_data},
                 {"wr_id_of_a_send", wr_id_of_a_send},
                 {"wr_id_of_a_receive", wr_id_of_a_receive},
                 {"opcode", opcode},
                 {"solicited_event", solicited_event},
                 {"length", length},
                 {"status", status},
                 {"time_stamp", time_stamp},
                 {"source_queue_pair", source_queue_pair},
                 {"byte_of_a_send", byte_of_a_send},
                 {"byte_of_a_write", byte_of_a_write},
                 {"byte_of_a_read", byte_of_a_read},
                 {"operand_of_an_atomic", operand_of_an_atomic},
                 {"asynchronous_event", asynchronous_event},
                 {"completion_event", completion_event},
                 {"exit_code", exit_code},
                 {"signal_of_the_end", signal_of_the_end},
                 {"content_of_a_file", content_of_a_file},
                 {"name_of_a_file", name_of_a_file},
                 {"length_of_a_file", length_of_a_file},
                 {"target_of_a_link", target_of_a_link},
                 {"kind_of_a_file", kind_of_a_file},
                 {"byte_of_a_socket", byte_of_a_socket},
                 {"line_on_standard_error", line_on_standard_error}};

int main(int argc, char** argv) {
  if (argc != 3) return 9;
  bit = (unsigned)atoi(argv[2]);
  struct ibv_device** list = ibv_get_device_list(NULL);
  device = list == NULL || list[0] == NULL ? NULL : ibv_open_device(list[0]);
  if (device == NULL || ibv_query_port(device, 1, &port) != 0 || ibv_query_gid(device, 1, 0, &gid) != 0)
    return 9;
  channel = ibv_create_comp_channel(device);
  for (size_t i = 0; i < sizeof kCanaries / sizeof *kCanaries; ++i) {
    if (strcmp(argv[1], kCanaries[i].name) != 0) continue;
    kCanaries[i].run();
    return 0;
  }
  return 9;
}
