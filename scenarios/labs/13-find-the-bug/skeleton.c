#include <stddef.h>

#include "lab.h"

// Your part: the kind of decision that shows each of the two mistakes, as `verbatim shrink` names it, up to a slash or ` number`.
static const char kFirstAnswer[] = "?";   // records are wrong
static const char kSecondAnswer[] = "?";  // a request is refused

enum { kRecords = 40, kSlots = 4, kBytes = 3000 };

struct record {
  unsigned char bytes[kBytes];
  uint64_t sequence;  // from 1
};

static struct ibv_qp* qp;
static struct ibv_cq *send_cq, *recv_cq;
static struct ibv_mr* mr;
static struct lab_end peer;

// Memory of each side that the other one writes to.
static struct {
  struct record slots[kSlots];  // at the consumer
  uint64_t taken;               // at the producer: number of records that the consumer has taken
} shared;

static struct record records[kSlots];  // of the producer

static unsigned char byte_of(uint64_t sequence, int at) { return (unsigned char)(sequence * 13 + (unsigned)at * 3); }

// Returns the number of completions, 0 or 1.
static int poll_once(struct ibv_cq* cq) {
  struct ibv_wc wc;
  const int n = ibv_poll_cq(cq, 1, &wc);
  MUST(n >= 0);
  if (n == 0 || wc.status == IBV_WC_SUCCESS) return n;
  fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
  exit(1);
}

static void write_there(enum ibv_wr_opcode opcode, const void* from, uint32_t length, size_t offset) {
  struct ibv_sge piece = {(uintptr_t)from, length, mr->lkey};
  struct ibv_send_wr write = {.sg_list = &piece, .num_sge = 1, .opcode = opcode}, *bad;
  write.wr.rdma.remote_addr = peer.address + offset;
  write.wr.rdma.rkey = peer.rkey;
  MUST(ibv_post_send(qp, &write, &bad) == 0);
}

static void post_receive(void) {
  struct ibv_recv_wr receive = {.wr_id = 0}, *bad;
  MUST(ibv_post_recv(qp, &receive, &bad) == 0);
}

static void consume(void) {
  int wrong = 0;
  for (uint64_t i = 1; i <= kRecords; ++i) {
    const volatile struct record* const slot = &shared.slots[i % kSlots];
    while (slot->sequence != i) continue;  // wait for record i
    int is_right = 1;
    for (int k = 0; k < kBytes; ++k) is_right &= slot->bytes[k] == byte_of(i, k);
    wrong += !is_right;
    shared.taken = i;
    write_there(IBV_WR_RDMA_WRITE, &shared.taken, sizeof shared.taken, offsetof(__typeof__(shared), taken));
    while (poll_once(send_cq) == 0) continue;
  }
  printf("%d records, %d wrong\n", kRecords, wrong);
}

static void produce(void) {
  const volatile uint64_t* const taken = &shared.taken;
  for (uint64_t i = 1; i <= kRecords; ++i) {
    while (i - *taken > kSlots) continue;  // wait for a free slot
    while (poll_once(send_cq) != 0) continue;
    struct record* const record = &records[i % kSlots];
    for (int k = 0; k < kBytes; ++k) record->bytes[k] = byte_of(i, k);
    record->sequence = i;
    write_there(IBV_WR_RDMA_WRITE, record, sizeof *record, i % kSlots * sizeof *record);
  }
  while (*taken < kRecords) continue;
  printf("all are taken\n");
}

// `lab` is the consumer, `lab SERVER` the producer, `lab answers` prints the answers.
int main(int count, char** arguments) {
  if (count > 1 && strcmp(arguments[1], "answers") == 0) {
    printf("records are wrong: %s\na request is refused: %s\n", kFirstAnswer, kSecondAnswer);
    return 0;
  }
  const char* const server = count > 1 ? arguments[1] : NULL;
  struct ibv_device** const devices = ibv_get_device_list(NULL);
  MUST(devices != NULL && devices[0] != NULL);
  struct ibv_context* const context = ibv_open_device(devices[0]);
  MUST(context != NULL);
  ibv_free_device_list(devices);
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  send_cq = ibv_create_cq(context, kSlots, NULL, NULL, 0);
  recv_cq = ibv_create_cq(context, kSlots, NULL, NULL, 0);
  struct ibv_mr* const shared_mr = ibv_reg_mr(pd, &shared, sizeof shared, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  mr = server == NULL ? shared_mr : ibv_reg_mr(pd, records, sizeof records, 0);
  MUST(pd != NULL && send_cq != NULL && recv_cq != NULL && shared_mr != NULL && mr != NULL);
  struct ibv_qp_init_attr init = {
      .send_cq = send_cq,
      .recv_cq = recv_cq,
      .qp_type = IBV_QPT_RC,
      .sq_sig_all = 1,
      .cap = {.max_send_wr = kSlots, .max_recv_wr = kSlots, .max_send_sge = 1, .max_recv_sge = 1}};
  qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);
  const int tcp = lab_tcp(server);
  const struct lab_end mine = {.psn = 11, .address = (uintptr_t)&shared, .rkey = shared_mr->rkey};
  lab_connect(qp, tcp, mine, IBV_ACCESS_REMOTE_WRITE, &peer);
  for (int i = 0; i < kSlots && server == NULL; ++i) post_receive();
  lab_meet(tcp);
  server == NULL ? consume() : produce();
  lab_meet(tcp);
  close(tcp);
  MUST(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(send_cq) == 0 && ibv_destroy_cq(recv_cq) == 0);
  MUST(mr == shared_mr || ibv_dereg_mr(mr) == 0);
  MUST(ibv_dereg_mr(shared_mr) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}
