// One message over RDMA. Server: hello. Client: hello SERVER. Build: cc -g -o hello hello.c -libverbs -lrdmacm
// With -DNO_RECEIVE the server forgets to post its receive.
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>

static void must(int succeeded, const char* what) {
  if (succeeded) return;
  perror(what);
  exit(1);
}

int main(int count, char** arguments) {
  char* const server = count > 1 ? arguments[1] : NULL;
  struct rdma_addrinfo hints = {.ai_flags = server != NULL ? 0 : RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP}, *address;
  must(rdma_getaddrinfo(server, "7471", &hints, &address) == 0, "rdma_getaddrinfo");
  struct ibv_qp_init_attr queues = {
      .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}, .sq_sig_all = 1};
  struct rdma_cm_id *id, *listener = NULL;
  must(rdma_create_ep(&id, address, NULL, &queues) == 0, "rdma_create_ep");
  if (server == NULL) {
    listener = id;
    must(rdma_listen(listener, 1) == 0, "rdma_listen");
    must(rdma_get_request(listener, &id) == 0, "rdma_get_request");
  }

  char text[64] = "";
  struct ibv_mr* const region = rdma_reg_msgs(id, text, sizeof text);
  must(region != NULL, "rdma_reg_msgs");
  struct ibv_wc completion;
  if (server == NULL) {
#ifndef NO_RECEIVE
    must(rdma_post_recv(id, NULL, text, sizeof text, region) == 0, "rdma_post_recv");
#endif
    must(rdma_accept(id, NULL) == 0, "rdma_accept");
    must(rdma_get_recv_comp(id, &completion) == 1 && completion.status == IBV_WC_SUCCESS, "receive");
    printf("received: %s\n", text);
  } else {
    struct rdma_conn_param connection = {.retry_count = 7, .rnr_retry_count = 3};
    must(rdma_connect(id, &connection) == 0, "rdma_connect");
    snprintf(text, sizeof text, "hello, %s", server);
    must(rdma_post_send(id, NULL, text, sizeof text, region, 0) == 0, "rdma_post_send");
    must(rdma_get_send_comp(id, &completion) == 1 && completion.status == IBV_WC_SUCCESS, "send");
  }

  rdma_disconnect(id);
  rdma_dereg_mr(region);
  rdma_destroy_ep(id);
  if (listener != NULL) rdma_destroy_ep(listener);
  rdma_freeaddrinfo(address);
  return 0;
}
