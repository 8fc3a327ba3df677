// The client WRITEs a record and says so by TCP before it has polled the WRITE's completion: the server may read the old bytes.
#include <arpa/inet.h>
#include <err.h>
#include <rdma/rdma_verbs.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kRecords = 20, kBytes = 8192, kPort = 7001 };

struct Region {
  uint64_t address;
  uint32_t rkey;
};

static char record[kBytes];

static int tcp(const char* address) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(kPort)};
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  if (address != NULL) {
    inet_pton(AF_INET, address, &at.sin_addr);
    if (connect(s, (struct sockaddr*)&at, sizeof at) != 0) err(2, "connect");
    return s;
  }
  if (bind(s, (struct sockaddr*)&at, sizeof at) != 0 || listen(s, 1) != 0) err(2, "listen");
  return s;
}

static void serve(struct rdma_addrinfo* info, struct ibv_qp_init_attr* queues) {
  struct rdma_conn_param connection = {.retry_count = 7};
  struct rdma_cm_id *listener, *id;
  const int door = tcp(NULL);
  if (rdma_create_ep(&listener, info, NULL, queues) || rdma_listen(listener, 1) || rdma_get_request(listener, &id)) err(2, "listen");
  const struct ibv_mr* region = rdma_reg_write(id, record, kBytes);
  if (region == NULL) err(2, "rdma_reg_write");
  const struct Region here = {(uintptr_t)record, region->rkey};
  connection.private_data = &here;
  connection.private_data_len = sizeof here;
  if (rdma_accept(id, &connection)) err(2, "rdma_accept");
  const int s = accept(door, NULL, NULL);
  for (int n; read(s, &n, sizeof n) == sizeof n && write(s, &n, sizeof n) == sizeof n;) {
    if (record[0] != (char)n || record[kBytes - 1] != (char)n) errx(1, "record %d is not complete", n);
  }
}

static void send_records(const char* server, struct rdma_addrinfo* info, struct ibv_qp_init_attr* queues) {
  struct rdma_conn_param connection = {.retry_count = 7};
  struct rdma_cm_id* id;
  struct Region there;
  struct ibv_wc done;
  if (rdma_create_ep(&id, info, NULL, queues)) err(2, "rdma_create_ep");
  struct ibv_mr* region = rdma_reg_msgs(id, record, kBytes);
  if (region == NULL || rdma_connect(id, &connection)) err(2, "rdma_connect");
  memcpy(&there, id->event->param.conn.private_data, sizeof there);
  const int s = tcp(server);
  for (int n = 1, answer; n <= kRecords; ++n) {
    memset(record, n, kBytes);
    if (rdma_post_write(id, NULL, record, kBytes, region, 0, there.address, there.rkey)) err(2, "rdma_post_write");
    if (write(s, &n, sizeof n) != sizeof n || read(s, &answer, sizeof answer) != sizeof answer) return;
    if (rdma_get_send_comp(id, &done) != 1 || done.status != IBV_WC_SUCCESS) errx(2, "rdma_get_send_comp");
  }
}

int main(int argc, char** argv) {
  struct ibv_qp_init_attr queues = {.cap = {4, 4, 1, 1, 0}, .sq_sig_all = 1};
  struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = argc > 1 ? 0 : RAI_PASSIVE}, *info;
  if (rdma_getaddrinfo(argc > 1 ? argv[1] : NULL, "7000", &hints, &info)) err(2, "rdma_getaddrinfo");
  if (argc > 1) {
    send_records(argv[1], info, &queues);
  } else {
    serve(info, &queues);
  }
  return 0;
}
