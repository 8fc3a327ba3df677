#include "lab.h"

enum { kMessages = 10, kLength = 64 };

static int sends, receives;  // that have completed

// Waits until so many of each have completed. Their order is not defined: the answer to a message may arrive before the
// completion of its send.
static void wait_for(struct ibv_cq* cq, int wanted_sends, int wanted_receives) {
  while (sends < wanted_sends || receives < wanted_receives) {
    struct ibv_wc wc;
    const int n = ibv_poll_cq(cq, 1, &wc);
    MUST(n >= 0);
    if (n == 0) continue;
    // Your part: end the program if the status is not IBV_WC_SUCCESS; count sends and receives by wc.opcode.
    (void)wc;
  }
}

int main(int count, char** arguments) {
  const char* const server = count > 1 ? arguments[1] : NULL;

  struct ibv_device** const devices = ibv_get_device_list(NULL);
  MUST(devices != NULL && devices[0] != NULL);
  struct ibv_context* const context = ibv_open_device(devices[0]);
  MUST(context != NULL);
  // Your part: query port 1 (ibv_query_port) and its GID 0 (ibv_query_gid), and print them in this format:
  // printf("%s: port 1 is %s, LID %u, GID %s\n", …, ibv_port_state_str(…), …,
  //        inet_ntop(AF_INET6, &gid, text, sizeof text));
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
  // Your part: post a receive for the first message, before the other side can send it.
  lab_meet(tcp);
  for (int i = 1; i <= kMessages; ++i) {
    if (server != NULL) {
      snprintf(sent, sizeof sent, "ping %d", i);
      // Your part: send it, wait for both completions, print the answer, post a receive for the next one.
    } else {
      // Your part: wait for a message, print it, post a receive for the next one.
      snprintf(sent, sizeof sent, "pong %d", i);
      // Your part: send it, and wait for its completion.
    }
  }
  (void)receive, (void)bad_receive, (void)send, (void)bad_send, (void)wait_for;

  lab_meet(tcp);
  close(tcp);
  // Your part: destroy everything.
  return 0;
}
