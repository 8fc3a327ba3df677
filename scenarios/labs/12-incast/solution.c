#include <time.h>

#include "lab.h"

enum {
  kSenders = 6,
  kChunks = 40,        // of each sender
  kChunk = 16 << 10,   // bytes
  kWindow = 4,         // chunks under way, from all senders together
  kQuiet = 100,        // READs of the probe before the senders start
  kReadings = 4000,    // at most
  kLimitUs = 4,        // 99 of 100 READs take at most this, while the others send
};

// Memory of the server.
struct shared {
  uint64_t missing;  // chunks that have not arrived
  unsigned char chunks[kSenders][kChunks][kChunk];
};

static struct ibv_pd* pd;
static struct ibv_cq* cq;

static int byte_of(int sender, int chunk) { return sender * kChunks + chunk + 1; }

static struct ibv_qp* create_qp(void) {
  struct ibv_qp_init_attr init = {
      .send_cq = cq,
      .recv_cq = cq,
      .qp_type = IBV_QPT_RC,
      .sq_sig_all = 1,
      .cap = {.max_send_wr = kChunks, .max_recv_wr = kChunks, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp* const qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);
  return qp;
}

// Receives for messages without data: credits, and notifications of chunks that were written.
static void post_receives(struct ibv_qp* qp) {
  for (int i = 0; i < kChunks; ++i) {
    struct ibv_recv_wr receive = {.wr_id = 0}, *bad;
    MUST(ibv_post_recv(qp, &receive, &bad) == 0);
  }
}

static struct ibv_wc wait_for_one(void) {
  struct ibv_wc wc;
  int n;
  while ((n = ibv_poll_cq(cq, 1, &wc)) == 0) continue;
  MUST(n == 1);
  if (wc.status == IBV_WC_SUCCESS) return wc;
  fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
  exit(1);
}

// ---- The server.

static struct shared shared;
static struct ibv_qp* qps[kSenders];
static int granted[kSenders];  // chunks

// Gives a sender the credit for its next chunk.
static void grant(int sender) {
  struct ibv_send_wr send = {.opcode = IBV_WR_SEND}, *bad;
  MUST(ibv_post_send(qps[sender], &send, &bad) == 0);
  ++granted[sender];
}

// One more chunk may be under way: from the sender with the fewest credits so far.
static void grant_one(void) {
  int next = 0;
  for (int i = 1; i < kSenders; ++i) {
    if (granted[i] < granted[next]) next = i;
  }
  if (granted[next] < kChunks) grant(next);
}

static void receive_chunks(void) {
  for (int i = 0; i < kWindow; ++i) grant_one();
  while (shared.missing > 0) {
    const struct ibv_wc wc = wait_for_one();
    if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM) continue;  // a credit has been sent
    --shared.missing;
    grant_one();
  }
}

static void serve(void) {
  struct ibv_mr* const mr =
      ibv_reg_mr(pd, &shared, sizeof shared, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  MUST(mr != NULL);
  shared.missing = kSenders * kChunks;
  int tcp[kSenders], probe_tcp = -1;
  struct ibv_qp* probe = NULL;
  for (int i = 0; i <= kSenders; ++i) {
    const int from = lab_tcp(NULL);
    struct ibv_qp* const qp = create_qp();
    struct lab_end theirs;
    lab_connect(qp, from, (struct lab_end){.psn = 1, .address = (uintptr_t)&shared, .rkey = mr->rkey},
                IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ, &theirs);
    const uint64_t number = theirs.address;  // of the sender; not used for the probe
    MUST(number <= kSenders);
    if (number == kSenders) {
      probe = qp;
      probe_tcp = from;
    } else {
      qps[number] = qp;
      tcp[number] = from;
      post_receives(qp);
    }
  }
  lab_meet(probe_tcp);  // the probe has measured the quiet network
  for (int i = 0; i < kSenders; ++i) lab_meet(tcp[i]);
  receive_chunks();
  int wrong = 0;
  for (int i = 0; i < kSenders; ++i) {
    for (int k = 0; k < kChunks; ++k) {
      const unsigned char* const chunk = shared.chunks[i][k];
      wrong += chunk[0] != byte_of(i, k) || memcmp(chunk, chunk + 1, kChunk - 1) != 0;
    }
  }
  printf("%d chunks, %d wrong\n", kSenders * kChunks, wrong);
  lab_meet(probe_tcp);
  close(probe_tcp);
  MUST(ibv_destroy_qp(probe) == 0);
  for (int i = 0; i < kSenders; ++i) {
    lab_meet(tcp[i]);
    close(tcp[i]);
    MUST(ibv_destroy_qp(qps[i]) == 0);
  }
  MUST(ibv_dereg_mr(mr) == 0);
}

// ---- A sender.

static void write_chunks(const char* server, int number) {
  static unsigned char chunks[kChunks][kChunk];
  for (int i = 0; i < kChunks; ++i) memset(chunks[i], byte_of(number, i), kChunk);
  struct ibv_mr* const mr = ibv_reg_mr(pd, chunks, sizeof chunks, 0);
  MUST(mr != NULL);
  struct ibv_qp* const qp = create_qp();
  const int tcp = lab_tcp(server);
  struct lab_end theirs;
  lab_connect(qp, tcp, (struct lab_end){.psn = 1, .address = (uint64_t)number}, 0, &theirs);
  post_receives(qp);
  lab_meet(tcp);
  const struct shared* const there = (const struct shared*)(uintptr_t)theirs.address;
  for (int sent = 0, written = 0; written < kChunks;) {
    const struct ibv_wc wc = wait_for_one();
    if (wc.opcode != IBV_WC_RECV) {
      ++written;
      continue;
    }
    struct ibv_sge from = {(uintptr_t)chunks[sent], kChunk, mr->lkey};
    struct ibv_send_wr write = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM}, *bad;
    write.wr.rdma.remote_addr = (uintptr_t)there->chunks[number][sent++];
    write.wr.rdma.rkey = theirs.rkey;
    MUST(ibv_post_send(qp, &write, &bad) == 0);
  }
  lab_meet(tcp);
  close(tcp);
  MUST(ibv_destroy_qp(qp) == 0 && ibv_dereg_mr(mr) == 0);
}

// ---- The probe: measures how long a READ of 8 bytes takes, in an idle network and in a busy one.

static int compare(const void* a, const void* b) {
  const double left = *(const double*)a, right = *(const double*)b;
  return (left > right) - (left < right);
}

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

// Prints the median and the 99th percentile. Returns the latter.
static double tell(const char* when, double* readings, int count) {
  MUST(count > 0);
  qsort(readings, (size_t)count, sizeof *readings, compare);
  const double high = readings[count * 99 / 100];
  printf("%s: %d readings, median %.1f us, 99th percentile %.1f us\n", when, count, readings[count / 2], high);
  return high;
}

static void probe(const char* server) {
  static double readings[kReadings];
  uint64_t missing = 0;
  struct ibv_mr* const mr = ibv_reg_mr(pd, &missing, sizeof missing, IBV_ACCESS_LOCAL_WRITE);
  MUST(mr != NULL);
  struct ibv_qp* const qp = create_qp();
  const int tcp = lab_tcp(server);
  struct lab_end theirs;
  lab_connect(qp, tcp, (struct lab_end){.psn = 1, .address = kSenders}, 0, &theirs);
  double high = 0;
  for (int is_busy = 0; is_busy < 2; ++is_busy) {
    int count = 0;
    do {
      struct ibv_sge to = {(uintptr_t)&missing, sizeof missing, mr->lkey};
      struct ibv_send_wr read = {.sg_list = &to, .num_sge = 1, .opcode = IBV_WR_RDMA_READ}, *bad;
      read.wr.rdma.remote_addr = theirs.address;
      read.wr.rdma.rkey = theirs.rkey;
      const double posted = now_us();
      MUST(ibv_post_send(qp, &read, &bad) == 0);
      wait_for_one();
      // READs count from the first chunk on.
      if (!is_busy || missing < kSenders * kChunks) readings[count++] = now_us() - posted;
    } while (is_busy ? missing > 0 && count < kReadings : count < kQuiet);
    high = tell(is_busy ? "busy" : "quiet", readings, count);
    lab_meet(tcp);
  }
  printf("%s\n", high <= kLimitUs ? "quick under load" : "slow under load");
  close(tcp);
  MUST(ibv_destroy_qp(qp) == 0 && ibv_dereg_mr(mr) == 0);
}

// `lab` is the server, `lab SERVER 0` to `lab SERVER 5` are the senders, `lab SERVER probe` is the probe.
int main(int count, char** arguments) {
  struct ibv_device** const devices = ibv_get_device_list(NULL);
  MUST(devices != NULL && devices[0] != NULL);
  struct ibv_context* const context = ibv_open_device(devices[0]);
  MUST(context != NULL);
  ibv_free_device_list(devices);
  pd = ibv_alloc_pd(context);
  cq = ibv_create_cq(context, 2 * kSenders * kChunks, NULL, NULL, 0);
  MUST(pd != NULL && cq != NULL);
  if (count < 3) {
    serve();
  } else if (strcmp(arguments[2], "probe") == 0) {
    probe(arguments[1]);
  } else {
    write_chunks(arguments[1], atoi(arguments[2]));
  }
  MUST(ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}
