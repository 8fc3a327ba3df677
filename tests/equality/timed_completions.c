// Notes the time of each completion of a poll, as perftest does, and then waits for a time. The completions are flushed
// receives.
#include <time.h>

#include "rc_pair.h"

enum { kCompletions = 64, kReads = 256 };

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ll + time.tv_nsec;
}

int main(void) {
  struct ibv_context* const context = open_first_device();
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  struct ibv_cq* const cq = ibv_create_cq(context, kCompletions, NULL, NULL, 0);
  struct ibv_qp_init_attr made = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC};
  made.cap.max_recv_wr = kCompletions;
  made.cap.max_send_wr = made.cap.max_recv_sge = made.cap.max_send_sge = 1;
  struct ibv_qp* const qp = ibv_create_qp(pd, &made);
  MUST(qp != NULL);
  for (int most = kCompletions; most >= 1; most /= 8) {
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    MUST(ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
    for (int i = 0; i < most; ++i) {
      struct ibv_recv_wr work = {.wr_id = (uint64_t)i}, *bad;
      MUST(ibv_post_recv(qp, &work, &bad) == 0);
    }
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR}, reset = {.qp_state = IBV_QPS_RESET};
    MUST(ibv_modify_qp(qp, &error, IBV_QP_STATE) == 0);
    const struct timespec while_flushed = {0, 1000000};
    nanosleep(&while_flushed, NULL);
    static struct ibv_wc completions[kCompletions];
    static int64_t times[kReads];
    const int found = ibv_poll_cq(cq, kCompletions, completions);
    for (int i = 0; i < kReads; ++i) times[i] = now_ns();
    int64_t waited = 0;
    for (const int64_t end = now_ns() + 2000000; now_ns() < end;) ++waited;
    int64_t longest = 0;
    for (int i = 1; i < found; ++i) longest = times[i] - times[i - 1] > longest ? times[i] - times[i - 1] : longest;
    printf("%d completions: a read of the clock takes %lld ns at most, then", found, (long long)longest);
    for (int i = found; i < kReads; i += 64) printf(" %lld", (long long)(times[i] - times[i - 1]));
    printf("; %lld reads later %lld ns\n", (long long)waited, (long long)now_ns());
    MUST(ibv_modify_qp(qp, &reset, IBV_QP_STATE) == 0);
  }
  return 0;
}
