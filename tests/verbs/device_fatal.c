// An adapter that fails while programs use it: one waits for a completion event, one for asynchronous events;
// afterwards every call is tried.
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>


static struct ibv_context* context;
static struct ibv_comp_channel* channel;
static char buffer[4096] __attribute__((aligned(4096)));

static const char* name_of(int error) { return error == 0 ? "0" : strerrorname_np(error); }

static void tell(const char* call, int error) { printf("%s: %s\n", call, name_of(error)); }

static void tell_pointer(const char* call, const void* pointer) { tell(call, pointer == NULL ? errno : 0); }

static void* wait_for_completion(void* unused) {
  struct ibv_cq* cq;
  void* cookie;
  (void)unused;
  const int got = ibv_get_cq_event(channel, &cq, &cookie);
  tell("ibv_get_cq_event", got == 0 ? 0 : errno);
  return NULL;
}

static void read_state(void) {
  char state[64] = "";
  const int fd = open("/sys/class/infiniband/mlx5_0/ports/1/state", O_RDONLY);
  const ssize_t got = read(fd, state, sizeof state - 1);
  close(fd);
  printf("state: %s", got > 0 ? state : "none\n");
}

static int fail_with_all(void) {
  context = ibv_open_device(ibv_get_device_list(NULL)[0]);
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  channel = ibv_create_comp_channel(context);
  struct ibv_cq* const cq = ibv_create_cq(context, 16, NULL, channel, 0);
  struct ibv_mr* const mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
  struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
  struct ibv_qp* const qp = ibv_create_qp(pd, &init);
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  tell("ibv_modify_qp", ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
  ibv_req_notify_cq(cq, 0);
  pthread_t waiting;
  pthread_create(&waiting, NULL, wait_for_completion, NULL);

  struct ibv_async_event event;
  tell("ibv_get_async_event", ibv_get_async_event(context, &event));
  printf("%s, port %d\n", ibv_event_type_str(event.event_type), event.element.port_num);
  ibv_ack_async_event(&event);
  pthread_join(waiting, NULL);
  tell("ibv_get_async_event", ibv_get_async_event(context, &event) == 0 ? 0 : errno);

  struct ibv_device_attr device;
  struct ibv_port_attr port;
  union ibv_gid gid;
  struct ibv_wc completion;
  struct ibv_sge sge = {(uintptr_t)buffer, 64, mr->lkey};
  struct ibv_recv_wr receive = {.sg_list = &sge, .num_sge = 1}, *bad;
  tell("ibv_query_device", ibv_query_device(context, &device));
  tell("ibv_query_port", ibv_query_port(context, 1, &port));
  errno = 0;
  tell("ibv_query_gid", ibv_query_gid(context, 1, 0, &gid) == 0 ? 0 : errno);
  tell_pointer("ibv_alloc_pd", ibv_alloc_pd(context));
  tell_pointer("ibv_reg_mr", ibv_reg_mr(pd, buffer, 64, 0));
  tell_pointer("ibv_create_cq", ibv_create_cq(context, 4, NULL, NULL, 0));
  tell_pointer("ibv_create_comp_channel", ibv_create_comp_channel(context));
  tell_pointer("ibv_create_qp", ibv_create_qp(pd, &init));
  tell("ibv_modify_qp", ibv_modify_qp(qp, &attributes, IBV_QP_STATE));
  tell("ibv_query_qp", ibv_query_qp(qp, &attributes, IBV_QP_STATE, &init));
  tell("ibv_post_recv", ibv_post_recv(qp, &receive, &bad));
  tell("ibv_req_notify_cq", ibv_req_notify_cq(cq, 0));
  printf("ibv_poll_cq: %d\n", ibv_poll_cq(cq, 1, &completion));
  read_state();
  tell("ibv_destroy_qp", ibv_destroy_qp(qp));
  tell("ibv_dereg_mr", ibv_dereg_mr(mr));
  setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1);
  tell("ibv_destroy_qp", ibv_destroy_qp(qp));
  tell("ibv_destroy_cq", ibv_destroy_cq(cq));
  tell("ibv_destroy_comp_channel", ibv_destroy_comp_channel(channel));
  tell("ibv_dereg_mr", ibv_dereg_mr(mr));
  tell("ibv_dealloc_pd", ibv_dealloc_pd(pd));
  tell("ibv_close_device", ibv_close_device(context));
  tell_pointer("ibv_open_device", ibv_open_device(ibv_get_device_list(NULL)[0]));
  return 0;
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  return fail_with_all();
}
