#include "lab.h"

enum { kMessages = 10, kLength = 64 };

// Counts completions of any kind.
static void wait_for(struct ibv_cq* cq, int completions) {
  while (completions > 0) {
    struct ibv_wc wc;
    const int n = ibv_poll_cq(cq, 1, &wc);
    MUST(n >= 0);
    if (n == 0) continue;
    if (wc.status != IBV_WC_SUCCESS) {
      fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
      exit(1);
    }
    --completions;
  }
}

int main(int count, char** arguments) {
  const char* const server = count > 1 ? arguments[1] : NULL;

  struct ibv_device** const devices = ibv_get_device_list(NULL);
  MUST(devices != NULL && devices[0] != NULL);
  struct ibv_context* const context = ibv_open_device(devices[0]);
  MUST(context != NULL);
  struct ibv_port_attr port;
  union ibv_gid gid;
  char text[INET6_ADDRSTRLEN];
  MUST(ibv_query_port(context, 1, &port) == 0 && ibv_query_gid(context, 1, 0, &gid) == 0);
  printf("%s: port 1 is %s, LID %u, GID %s\n", ibv_get_device_name(devices[0]), ibv_port_state_str(port.state), port.lid,
         inet_ntop(AF_INET6, &gid, text, sizeof text));
  ibv_free_device_list(devices);

  static char sent[kLength], received[kLength];
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  struct ibv_mr* const out = ibv_reg_mr(pd, sent, sizeof sent, 0);
  struct ibv_mr* const in = ibv_reg_mr(pd, received, sizeof received, IBV_ACCESS_LOCAL_WRITE);
  struct ibv_cq* const cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  MUST(pd != NULL && out != NULL && in != NULL && cq != NULL);
  struct ibv_qp_init_attr init = {.send_cq = cq,
                                  .recv_cq = cq,
                                  .qp_type = IBV_QPT_RC,
                                  .sq_sig_all = 1,
                                  .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp* const qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);

  const int tcp = lab_tcp(server);
  struct lab_end theirs;
  lab_connect(qp, tcp, (struct lab_end){.psn = 100}, 0, &theirs);

  struct ibv_sge to = {(uintptr_t)received, kLength, in->lkey}, from = {(uintptr_t)sent, kLength, out->lkey};
  struct ibv_recv_wr receive = {.sg_list = &to, .num_sge = 1}, *bad_receive;
  struct ibv_send_wr send = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad_send;
  MUST(ibv_post_recv(qp, &receive, &bad_receive) == 0);
  lab_meet(tcp);
  for (int i = 1; i <= kMessages; ++i) {
    if (server != NULL) {
      snprintf(sent, sizeof sent, "ping %d", i);
      MUST(ibv_post_send(qp, &send, &bad_send) == 0);
      wait_for(cq, 1);  // taken for the answer
      printf("%s\n", received);
      if (i < kMessages) MUST(ibv_post_recv(qp, &receive, &bad_receive) == 0);
    } else {
      wait_for(cq, 1);
      printf("%s\n", received);
      if (i < kMessages) MUST(ibv_post_recv(qp, &receive, &bad_receive) == 0);
      snprintf(sent, sizeof sent, "pong %d", i);
      MUST(ibv_post_send(qp, &send, &bad_send) == 0);
      wait_for(cq, 1);
    }
  }

  lab_meet(tcp);
  close(tcp);
  MUST(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0);
  MUST(ibv_dereg_mr(in) == 0 && ibv_dereg_mr(out) == 0);
  MUST(ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}
