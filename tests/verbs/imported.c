// Processes that share one context of a device (ibv_import_device(3) etc.): the descriptor is passed by
// message or by fork. `imported CASE`: a parent and its child, which synchronise, so that their output has a
// fixed order.
#include <errno.h>
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kBytes = 8192, kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };

#define MUST(condition)                                                                                 \
  do {                                                                                                  \
    if (!(condition)) {                                                                                 \
      printf("line %d, %s: errno %d (%s)\n", __LINE__, #condition, errno, strerror(errno)), fflush(stdout); \
      exit(1);                                                                                          \
    }                                                                                                   \
  } while (0)
#define EXPECT MUST

// Handles sent together with the descriptor.
struct Handles {
  uint32_t pd, mr, dm, other_pd, rkey, qpn;
  uint64_t address;
};

static int channel;  // to the other process
static uint8_t memory[kBytes] __attribute__((aligned(4096)));  // at the same address in both processes, which do not share it

static void tell(void) { MUST(write(channel, "x", 1) == 1); }
static void await(void) {
  char byte;
  MUST(read(channel, &byte, 1) == 1);
}

static void send_handles(int fd, const struct Handles* handles) {
  char control[CMSG_SPACE(sizeof(int))] = {0};
  struct iovec part = {(void*)handles, sizeof *handles};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    struct cmsghdr* header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  MUST(sendmsg(channel, &message, 0) == sizeof *handles);
}

static int receive_handles(struct Handles* handles) {
  char control[CMSG_SPACE(sizeof(int))];
  struct iovec part = {handles, sizeof *handles};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  MUST(recvmsg(channel, &message, 0) == sizeof *handles);
  int fd = -1;
  const struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != NULL) memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

static struct ibv_context* open_device(void) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  MUST(list != NULL && list[0] != NULL);
  struct ibv_context* context = ibv_open_device(list[0]);
  MUST(context != NULL);
  ibv_free_device_list(list);
  return context;
}

struct End {
  struct ibv_cq* cq;
  struct ibv_qp* qp;
};

static void make_end(struct End* end, struct ibv_pd* pd) {
  MUST((end->cq = ibv_create_cq(pd->context, 16, NULL, NULL, 0)) != NULL);
  struct ibv_qp_init_attr init = {.send_cq = end->cq, .recv_cq = end->cq, .cap = {8, 8, 2, 2, 0}, .qp_type = IBV_QPT_RC};
  MUST((end->qp = ibv_create_qp(pd, &init)) != NULL);
}

static void connect_to(struct End* end, uint32_t peer) {
  struct ibv_port_attr port;
  union ibv_gid gid;
  MUST(ibv_query_port(end->qp->context, 1, &port) == 0 && ibv_query_gid(end->qp->context, 1, 0, &gid) == 0);
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = kAll};
  MUST(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer, .max_dest_rd_atomic = 4,
                              .min_rnr_timer = 1, .ah_attr = {.dlid = port.lid, .port_num = 1, .is_global = 1}};
  attr.ah_attr.grh.dgid = gid;
  attr.ah_attr.grh.hop_limit = 1;
  MUST(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
  attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 8, .retry_cnt = 1, .rnr_retry = 7, .max_rd_atomic = 4};
  MUST(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                         IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

static void connect_pair(struct End* one, struct End* two, struct ibv_pd* pd) {
  make_end(one, pd);
  make_end(two, pd);
  connect_to(one, two->qp->qp_num);
  connect_to(two, one->qp->qp_num);
}

static void destroy_end(struct End* end) { MUST(ibv_destroy_qp(end->qp) == 0 && ibv_destroy_cq(end->cq) == 0); }

static enum ibv_wc_status next_status(struct ibv_cq* cq) {
  struct ibv_wc wc;
  while (ibv_poll_cq(cq, 1, &wc) == 0) {
  }
  return wc.status;
}

static enum ibv_wc_status ask(struct End* end, enum ibv_wr_opcode opcode, uint32_t lkey, uint32_t length, uint64_t to,
                              uint32_t rkey) {
  struct ibv_sge sge = {(uintptr_t)memory, length, lkey};
  struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED}, *bad;
  wr.wr.rdma.remote_addr = to;
  wr.wr.rdma.rkey = rkey;
  MUST(ibv_post_send(end->qp, &wr, &bad) == 0);
  return next_status(end->cq);
}

static int is_refused(const void* made, int error) { return made == NULL && errno == error; }

// The exporter registers its memory, and sends descriptor and handles.
static void export_by_message(struct ibv_context* context, struct ibv_pd** pd, struct ibv_mr** mr) {
  MUST((*pd = ibv_alloc_pd(context)) != NULL);
  MUST((*mr = ibv_reg_mr(*pd, memory, kBytes, kAll)) != NULL);
  struct ibv_alloc_dm_attr size = {.length = 4096};
  struct ibv_dm* dm = ibv_alloc_dm(context, &size);
  MUST(dm != NULL && ibv_memcpy_to_dm(dm, 0, "in the adapter", 16) == 0);
  const struct Handles handles = {.pd = (*pd)->handle, .mr = (*mr)->handle, .dm = dm->handle, .rkey = (*mr)->rkey,
                                  .address = (uintptr_t)memory};
  send_handles(context->cmd_fd, &handles);
}

struct Imported {
  struct ibv_context* context;
  struct ibv_pd* pd;
  struct ibv_mr* mr;
  struct Handles handles;
};

static void import_all(struct Imported* all, int fd) {
  MUST((all->context = ibv_import_device(fd)) != NULL);
  MUST((all->pd = ibv_import_pd(all->context, all->handles.pd)) != NULL);
  MUST((all->mr = ibv_import_mr(all->pd, all->handles.mr)) != NULL);
  EXPECT(all->mr->addr == NULL && all->mr->length == kBytes && all->mr->rkey == all->handles.rkey);
}

// The importer has queue pairs and memory in the exporter's domain, and uses the exporter's memory by its key.
static void exporter_of_message(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd;
  struct ibv_mr* mr;
  strcpy((char*)memory, "of the exporter");
  export_by_message(context, &pd, &mr);
  await();
  EXPECT(strcmp((char*)memory, "from the importer") == 0);
  // Its own queue pairs and the importer's memory.
  struct Handles theirs;
  receive_handles(&theirs);
  struct End one, two;
  connect_pair(&one, &two, pd);
  struct ibv_sge sges[2] = {{(uintptr_t)memory, 5, mr->lkey}, {(uintptr_t)memory + 5, 4, theirs.rkey}};
  struct ibv_send_wr wr = {.sg_list = sges, .num_sge = 2, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED}, *bad;
  wr.wr.rdma.remote_addr = theirs.address + 4096;
  wr.wr.rdma.rkey = theirs.rkey;
  MUST(ibv_post_send(one.qp, &wr, &bad) == 0);
  EXPECT(next_status(one.cq) == IBV_WC_SUCCESS);
  EXPECT(memory[4096] == 0);
  EXPECT(ibv_dealloc_pd(pd) == EBUSY);
  tell();
  await();  // the importer has destroyed the exporter's region, and exited
  EXPECT(ibv_dereg_mr(mr) == ENOENT);
  destroy_end(&one);
  destroy_end(&two);
  EXPECT(ibv_dealloc_pd(pd) == 0);
  EXPECT(ibv_close_device(context) == 0);
}

static void importer_of_message(void) {
  struct Imported all;
  const int fd = receive_handles(&all.handles);
  EXPECT(fd >= 0);
  EXPECT(is_refused(ibv_import_device(0), EINVAL) || is_refused(ibv_import_device(0), EBADF));
  import_all(&all, fd);
  EXPECT(is_refused(ibv_import_pd(all.context, 12345), EINVAL));
  EXPECT(is_refused(ibv_import_mr(all.pd, 12345), EINVAL));
  EXPECT(is_refused(ibv_import_mr(all.pd, all.handles.pd), EINVAL));
  EXPECT(is_refused(ibv_import_dm(all.context, all.handles.mr), EINVAL));
  struct ibv_dm* dm = ibv_import_dm(all.context, all.handles.dm);
  char text[16];
  EXPECT(dm != NULL && ibv_memcpy_from_dm(text, dm, 0, sizeof text) == 0 && strcmp(text, "in the adapter") == 0);
  ibv_unimport_dm(dm);
  struct ibv_mr* own = ibv_reg_mr(all.pd, memory, kBytes, kAll);
  EXPECT(own != NULL && own->rkey != all.mr->rkey);
  struct End one, two;
  connect_pair(&one, &two, all.pd);
  EXPECT(ask(&one, IBV_WR_RDMA_READ, own->lkey, 64, all.handles.address, all.mr->rkey) == IBV_WC_SUCCESS);
  EXPECT(strcmp((char*)memory, "of the exporter") == 0);
  strcpy((char*)memory, "from the importer");
  EXPECT(ask(&one, IBV_WR_RDMA_WRITE, own->lkey, 64, all.handles.address, all.mr->rkey) == IBV_WC_SUCCESS);
  tell();
  strcpy((char*)memory, "what I say");
  const struct Handles handles = {.rkey = own->rkey, .address = (uintptr_t)memory};
  send_handles(-1, &handles);
  await();
  EXPECT(memcmp(memory + 4096, "from I sa", 9) == 0);
  EXPECT(ibv_dereg_mr(all.mr) == 0);
  EXPECT(ibv_dealloc_pd(all.pd) == EBUSY);
  destroy_end(&one);
  destroy_end(&two);
  EXPECT(ibv_dereg_mr(own) == 0);
  ibv_unimport_pd(all.pd);
  EXPECT(ibv_close_device(all.context) == 0);
  tell();
}

// The exporter ends while the importer works: its memory keeps its content, and its queue pair answers until the importer ends.
static void exporter_that_ends(int way) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd;
  struct ibv_mr* mr;
  strcpy((char*)memory, "of the exporter");
  export_by_message(context, &pd, &mr);
  struct Handles theirs;
  receive_handles(&theirs);
  struct End end;
  make_end(&end, pd);
  connect_to(&end, theirs.qpn);
  const struct Handles handles = {.qpn = end.qp->qp_num};
  send_handles(-1, &handles);
  await();
  if (way == 0) kill(getpid(), SIGKILL);
  if (way == 1) exit(0);
  if (way == 2) execl("/bin/true", "true", (char*)NULL);
  if (way == 3) __builtin_trap();
}

static void importer_of_one_that_ends(pid_t exporter, int is_crash) {
  struct Imported all;
  const int fd = receive_handles(&all.handles);
  import_all(&all, fd);
  // Another process of this host, with a context of its own.
  struct ibv_context* stranger = open_device();
  struct ibv_pd* stranger_pd = ibv_alloc_pd(stranger);
  struct ibv_mr* stranger_mr = ibv_reg_mr(stranger_pd, memory, kBytes, kAll);
  MUST(stranger_mr != NULL);
  struct End end;
  make_end(&end, stranger_pd);
  struct Handles own = {.qpn = end.qp->qp_num}, theirs;
  send_handles(-1, &own);
  receive_handles(&theirs);
  connect_to(&end, theirs.qpn);
  EXPECT(ask(&end, IBV_WR_RDMA_READ, stranger_mr->lkey, 64, all.handles.address, all.mr->rkey) == IBV_WC_SUCCESS);
  EXPECT(strcmp((char*)memory, "of the exporter") == 0);
  tell();
  int status;
  MUST(waitpid(exporter, &status, 0) == exporter);
  memset(memory, 'z', kBytes);
  EXPECT(ask(&end, IBV_WR_RDMA_READ, stranger_mr->lkey, 64, all.handles.address, all.mr->rkey) == IBV_WC_SUCCESS);
  EXPECT(strcmp((char*)memory, is_crash ? "" : "of the exporter") == 0);
  struct ibv_mr* mine = ibv_reg_mr(all.pd, memory, kBytes, kAll);
  strcpy((char*)memory, "mine");
  EXPECT(mine != NULL && ask(&end, IBV_WR_RDMA_READ, stranger_mr->lkey, 8, (uintptr_t)memory, mine->rkey) == IBV_WC_SUCCESS);
  EXPECT(ibv_dealloc_pd(all.pd) == EBUSY);
  EXPECT(ibv_dereg_mr(all.mr) == 0);
  EXPECT(ask(&end, IBV_WR_RDMA_READ, stranger_mr->lkey, 64, all.handles.address, all.handles.rkey) == IBV_WC_REM_ACCESS_ERR);
  destroy_end(&end);
  EXPECT(ibv_dereg_mr(mine) == 0);
  EXPECT(ibv_close_device(all.context) == 0);  // also destroys the exporter's queue pair, and the domain
  EXPECT(ibv_dereg_mr(stranger_mr) == 0 && ibv_dealloc_pd(stranger_pd) == 0 && ibv_close_device(stranger) == 0);
}

static void by_message(void) {
  int ends[2];
  MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  const pid_t child = fork();
  channel = ends[child == 0];
  close(ends[child != 0]);
  if (child == 0) {
    exporter_of_message();
    exit(0);
  }
  importer_of_message();
  int status;
  MUST(waitpid(child, &status, 0) == child && status == 0);
}

static void exporter_ends(int way) {
  int ends[2];
  MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  const pid_t child = fork();
  channel = ends[child == 0];
  close(ends[child != 0]);
  if (child == 0) {
    exporter_that_ends(way);
    exit(9);
  }
  importer_of_one_that_ends(child, way == 3);
}

// By fork: the parent continues to use its objects, and the child can use them, too.
static void by_fork(void) {
  int ends[2];
  MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_mr* mr = ibv_reg_mr(pd, memory, kBytes, kAll);
  struct End one, two;
  connect_pair(&one, &two, pd);
  strcpy((char*)memory, "parent");
  const pid_t child = fork();
  channel = ends[child == 0];
  if (child == 0) {
    struct ibv_context* again = ibv_import_device(dup(context->cmd_fd));
    MUST(again != NULL);
    struct ibv_pd* same = ibv_import_pd(again, pd->handle);
    strcpy((char*)memory, "child");
    struct ibv_mr* own = ibv_reg_mr(same, memory, kBytes, kAll);
    MUST(own != NULL && own->rkey != mr->rkey);
    struct End three, four;
    connect_pair(&three, &four, same);
    // Both get port events; events of queue pairs are delivered to their creators.
    EXPECT(ask(&three, IBV_WR_RDMA_WRITE, own->lkey, 8, (uintptr_t)memory + 64, 99) == IBV_WC_REM_ACCESS_ERR);
    struct ibv_async_event event;
    MUST(ibv_get_async_event(again, &event) == 0);
    EXPECT(event.event_type == IBV_EVENT_QP_ACCESS_ERR && event.element.qp == four.qp);
    ibv_ack_async_event(&event);
    const struct Handles handles = {.rkey = own->rkey, .address = (uintptr_t)memory};
    send_handles(-1, &handles);
    await();
    EXPECT(strcmp((char*)memory + 128, "parent") == 0);
    exit(0);  // with all its objects
  }
  struct Handles theirs;
  receive_handles(&theirs);
  EXPECT(ask(&one, IBV_WR_RDMA_WRITE, mr->lkey, 8, theirs.address + 128, theirs.rkey) == IBV_WC_SUCCESS);
  EXPECT(memory[128] == 0);
  EXPECT(ibv_dealloc_pd(pd) == EBUSY);
  tell();
  int status;
  MUST(waitpid(child, &status, 0) == child && status == 0);
  destroy_end(&one);
  destroy_end(&two);
  EXPECT(ibv_dereg_mr(mr) == 0);
  EXPECT(ibv_dealloc_pd(pd) == EBUSY);  // the child's objects remain until the context ends
  EXPECT(ibv_close_device(context) == 0);
}

// The exporter has exited before the descriptor is received.
static void under_way(void) {
  int ends[2];
  MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  const pid_t child = fork();
  channel = ends[child == 0];
  if (child == 0) {
    struct ibv_pd* pd;
    struct ibv_mr* mr;
    strcpy((char*)memory, "of the exporter");
    struct ibv_context* context = open_device();
    export_by_message(context, &pd, &mr);
    ibv_close_device(context);
    exit(0);
  }
  int status;
  MUST(waitpid(child, &status, 0) == child && status == 0);
  usleep(1000);
  struct Imported all;
  import_all(&all, receive_handles(&all.handles));
  struct ibv_mr* own = ibv_reg_mr(all.pd, memory, kBytes, kAll);
  struct End one, two;
  connect_pair(&one, &two, all.pd);
  EXPECT(ask(&one, IBV_WR_RDMA_READ, own->lkey, 64, all.handles.address, all.mr->rkey) == IBV_WC_SUCCESS);
  EXPECT(strcmp((char*)memory, "of the exporter") == 0);
}

int main(int count, char** arguments) {
  const char* which = count > 1 ? arguments[1] : "";
  if (strcmp(which, "by_message") == 0) by_message();
  else if (strcmp(which, "by_fork") == 0) by_fork();
  else if (strcmp(which, "under_way") == 0) under_way();
  else if (strcmp(which, "exporter_killed") == 0) exporter_ends(0);
  else if (strcmp(which, "exporter_exits") == 0) exporter_ends(1);
  else if (strcmp(which, "exporter_executes") == 0) exporter_ends(2);
  else if (strcmp(which, "exporter_crashes") == 0) exporter_ends(3);
  else return 2;
  puts("right");
  return 0;
}
