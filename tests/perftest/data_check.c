// Every byte of every kind of transfer: `data_check MTU` on one host, `data_check MTU SERVER` on the other.
// Both walk the same list of transfers, each in both directions, and both keep a shadow of what their whole
// registered memory must hold. After each transfer memory and shadow are compared: what was to arrive has
// arrived, and nothing else has changed, neither around the target nor in the source. `spoil=N` as last
// argument changes one byte in the N-th comparison, which must be found.
#include "tests/equality/rc_pair.h"

enum { kGap = 61, kPiecesMax = 4, kInlineMax = 128, kImmediate = 0x5eed, kLargest = (1 << 20) + 3 };
enum { kHalf = kLargest + 4096 + kPiecesMax * kGap, kArena = 2 * kHalf, kPort = 7100 };

static const uint32_t kSizes[] = {0, 1, 64, 128, 4095, 4096, 4097, 65536, kLargest};
static const enum ibv_wr_opcode kOperations[] = {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
                                                 IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ};
enum shape { kWhole, kPieces, kInline, kInlinePieces, kShapes };

struct transfer {
  uint32_t number, bytes;
  enum ibv_wr_opcode operation;
  enum shape shape;
  int extended;     // by ibv_wr_*, else by ibv_post_send
  int from_client;  // the client is the one who posts it
};

static uint8_t* arena;
static uint8_t shadow[kArena];
static struct ibv_mr* mr;
static struct ibv_cq* cq;
static struct ibv_qp* qp;
static struct rc_address mine, theirs;
static long spoiled = -1;

static int is_read(const struct transfer* t) { return t->operation == IBV_WR_RDMA_READ; }
static int is_send(const struct transfer* t) {
  return t->operation == IBV_WR_SEND || t->operation == IBV_WR_SEND_WITH_IMM;
}
static int has_immediate(const struct transfer* t) {
  return t->operation == IBV_WR_SEND_WITH_IMM || t->operation == IBV_WR_RDMA_WRITE_WITH_IMM;
}
static int is_inline(const struct transfer* t) { return t->shape == kInline || t->shape == kInlinePieces; }

// Byte i of the data of transfer n: both ends know it without asking.
static uint8_t pattern(uint32_t n, uint32_t i) {
  return (uint8_t)(((i + 1) * 2654435761u + n * 40503u) >> 23);
}

// Where data leave and where they arrive: each half of the arena moves on by a few bytes from transfer to
// transfer, so that every alignment occurs.
static uint32_t source_of(const struct transfer* t) { return 1000 + t->number * 7 % 200; }
static uint32_t target_of(const struct transfer* t) { return kHalf + 1000 + t->number * 13 % 200; }

// One piece, or four of unequal length with gaps between them; a message without data may have no piece at
// all.
static int cut(uint32_t bytes, int in_pieces, uint32_t start, struct ibv_sge* pieces) {
  uint32_t lengths[kPiecesMax] = {bytes, 0, 0, 0};
  if (in_pieces && bytes == 0) return 0;
  int count = 1;
  if (in_pieces && bytes >= kPiecesMax) {
    lengths[0] = 1;
    lengths[1] = bytes / 3;
    lengths[2] = 2;
    lengths[3] = bytes - 3 - bytes / 3;
    count = kPiecesMax;
  }
  for (int i = 0; i < count; ++i) {
    pieces[i] = (struct ibv_sge){(uint64_t)(uintptr_t)(arena + start), lengths[i], mr->lkey};
    start += lengths[i] + kGap;
  }
  return count;
}

// The bytes of the transfer in the memory behind the pieces, in `where` (arena or shadow).
static void fill(uint8_t* where, const struct transfer* t, const struct ibv_sge* pieces, int count,
                 uint8_t change) {
  uint32_t at = 0;
  for (int i = 0; i < count; ++i) {
    uint8_t* const bytes = where + (pieces[i].addr - (uint64_t)(uintptr_t)arena);
    for (uint32_t j = 0; j < pieces[i].length; ++j) bytes[j] = pattern(t->number, at++) ^ change;
  }
}

static void fill_both(const struct transfer* t, const struct ibv_sge* pieces, int count, uint8_t change) {
  fill(arena, t, pieces, count, change);
  fill(shadow, t, pieces, count, change);
}

static void post_extended(const struct transfer* t, const struct ibv_sge* pieces, int count) {
  struct ibv_qp_ex* const ex = ibv_qp_to_qp_ex(qp);
  const uint64_t remote = theirs.address + (is_read(t) ? source_of(t) : target_of(t));
  ibv_wr_start(ex);
  ex->wr_id = t->number;
  ex->wr_flags = IBV_SEND_SIGNALED;
  if (t->operation == IBV_WR_SEND) ibv_wr_send(ex);
  if (t->operation == IBV_WR_SEND_WITH_IMM) ibv_wr_send_imm(ex, htonl(kImmediate));
  if (t->operation == IBV_WR_RDMA_WRITE) ibv_wr_rdma_write(ex, theirs.rkey, remote);
  if (t->operation == IBV_WR_RDMA_WRITE_WITH_IMM)
    ibv_wr_rdma_write_imm(ex, theirs.rkey, remote, htonl(kImmediate));
  if (t->operation == IBV_WR_RDMA_READ) ibv_wr_rdma_read(ex, theirs.rkey, remote);
  if (is_inline(t)) {
    struct ibv_data_buf buffers[kPiecesMax];
    for (int i = 0; i < count; ++i)
      buffers[i] = (struct ibv_data_buf){(void*)(uintptr_t)pieces[i].addr, pieces[i].length};
    ibv_wr_set_inline_data_list(ex, (size_t)count, buffers);
  } else {
    ibv_wr_set_sge_list(ex, (size_t)count, pieces);
  }
  MUST(ibv_wr_complete(ex) == 0);
}

static void post(const struct transfer* t, struct ibv_sge* pieces, int count) {
  if (t->extended) {
    post_extended(t, pieces, count);
    return;
  }
  struct ibv_send_wr wr = {.wr_id = t->number, .sg_list = pieces, .num_sge = count, .opcode = t->operation};
  struct ibv_send_wr* bad = NULL;
  wr.send_flags = IBV_SEND_SIGNALED | (is_inline(t) ? IBV_SEND_INLINE : 0);
  wr.imm_data = htonl(kImmediate);
  wr.wr.rdma.rkey = theirs.rkey;
  wr.wr.rdma.remote_addr = theirs.address + (is_read(t) ? source_of(t) : target_of(t));
  MUST(ibv_post_send(qp, &wr, &bad) == 0);
}

static struct ibv_wc wait_for(const struct transfer* t) {
  struct ibv_wc wc;
  int n = 0;
  while ((n = ibv_poll_cq(cq, 1, &wc)) == 0) {
    if (t->bytes >= 65536) usleep(10);  // long transfers need no thousands of looks
  }
  MUST(n == 1 && wc.status == IBV_WC_SUCCESS && wc.wr_id == t->number && wc.qp_num == qp->qp_num);
  return wc;
}

static void barrier(int tcp) {
  char mark = 'b';
  tcp_write(tcp, &mark, 1);
  tcp_read(tcp, &mark, 1);
}

static void compare(const struct transfer* t) {
  if (spoiled == (long)t->number) arena[target_of(t) + t->bytes + 500] ^= 4;
  if (memcmp(arena, shadow, kArena) == 0) return;
  uint32_t at = 0;
  while (arena[at] == shadow[at]) ++at;
  printf("transfer %u: opcode %d, shape %d, %u bytes, by %s: byte %d of the %s is %02x, not %02x\n",
         t->number, t->operation, t->shape, t->bytes, t->extended ? "ibv_wr" : "ibv_post_send",
         (int)at - (int)(at < kHalf ? source_of(t) : target_of(t)), at < kHalf ? "source" : "target",
         arena[at], shadow[at]);
  exit(1);
}

// The end that posts: its memory is the source of what it sends, and the target of what it reads.
static void initiate(const struct transfer* t, int tcp) {
  struct ibv_sge pieces[kPiecesMax];
  const int in_pieces = t->shape == kPieces || t->shape == kInlinePieces;
  const int count = cut(t->bytes, in_pieces, is_read(t) ? target_of(t) : source_of(t), pieces);
  fill_both(t, pieces, count, is_read(t) ? 0xff : 0);
  barrier(tcp);
  post(t, pieces, count);
  // Inline data belong to the program again as soon as they are posted.
  if (is_inline(t)) fill_both(t, pieces, count, 0x55);
  const struct ibv_wc wc = wait_for(t);
  if (is_read(t)) {
    MUST(wc.opcode == IBV_WC_RDMA_READ);
    fill(shadow, t, pieces, count, 0);
  } else {
    MUST(wc.opcode == (is_send(t) ? IBV_WC_SEND : IBV_WC_RDMA_WRITE));
  }
  barrier(tcp);
}

// The other end: SENDs are scattered according to its receive request, RDMA uses one range.
static void answer(const struct transfer* t, int tcp) {
  struct ibv_sge pieces[kPiecesMax];
  const int in_pieces = is_send(t) && t->shape != kWhole;
  const int count = cut(t->bytes, in_pieces, is_read(t) ? source_of(t) : target_of(t), pieces);
  fill_both(t, pieces, count, is_read(t) ? 0 : 0xff);
  const int receives = is_send(t) || has_immediate(t);
  if (receives) {
    struct ibv_recv_wr wr = {.wr_id = t->number, .sg_list = pieces, .num_sge = is_send(t) ? count : 0},
                       *bad = NULL;
    MUST(ibv_post_recv(qp, &wr, &bad) == 0);
  }
  barrier(tcp);
  if (receives) {
    const struct ibv_wc wc = wait_for(t);
    MUST(wc.opcode == (is_send(t) ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM) && wc.byte_len == t->bytes);
    MUST(!(wc.wc_flags & IBV_WC_WITH_IMM) == !has_immediate(t));
    if (has_immediate(t)) MUST(ntohl(wc.imm_data) == kImmediate);
    // After a completion the whole message is there, before the other end reports it.
    if (!is_read(t)) fill(shadow, t, pieces, count, 0);
    compare(t);
    barrier(tcp);
    return;
  }
  barrier(tcp);
  if (!is_read(t)) fill(shadow, t, pieces, count, 0);
}

static void connect_ends(int tcp, int mtu) {
  struct ibv_context* const context = open_first_device();
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  MUST(pd != NULL);
  mr = ibv_reg_mr(pd, arena, kArena,
                  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  cq = ibv_create_cq(context, 16, NULL, NULL, 0);
  MUST(mr != NULL && cq != NULL);
  struct ibv_qp_init_attr_ex init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .pd = pd};
  init.cap = (struct ibv_qp_cap){4, 4, kPiecesMax, kPiecesMax, kInlineMax};
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE |
                        IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ;
  qp = ibv_create_qp_ex(context, &init);
  MUST(qp != NULL && init.cap.max_inline_data >= kInlineMax);
  // The sequence number wraps around during the test.
  mine = (struct rc_address){port_lid(context), qp->qp_num, 0xffff00, mr->rkey, (uint64_t)(uintptr_t)arena};
  rc_exchange(tcp, &mine, &theirs);
  const struct rc_options options = {.rnr_timer = 1,
                                     .reads = 1,
                                     .mtu = mtu == 4096   ? IBV_MTU_4096
                                            : mtu == 1024 ? IBV_MTU_1024
                                                          : IBV_MTU_256};
  rc_connect(qp, &mine, &theirs, &options);
  barrier(tcp);
}

int main(int argc, char** argv) {
  if (argc > 1 && strncmp(argv[argc - 1], "spoil=", 6) == 0) spoiled = atol(argv[--argc] + 6);
  MUST(argc >= 2);
  const char* const server = argc > 2 ? argv[2] : NULL;
  const int tcp = tcp_pair(server, kPort);
  arena = chosen_memory(kArena);
  for (uint32_t i = 0; i < kArena; ++i) arena[i] = shadow[i] = (uint8_t)(i * 31 >> 3);
  connect_ends(tcp, atoi(argv[1]));

  struct transfer t = {0};
  uint64_t bytes = 0;
  for (size_t size = 0; size < sizeof kSizes / sizeof *kSizes; ++size) {
    for (size_t operation = 0; operation < sizeof kOperations / sizeof *kOperations; ++operation) {
      for (int shape = 0; shape < kShapes; ++shape) {
        for (int way = 0; way < 4; ++way) {
          t.bytes = kSizes[size];
          t.operation = kOperations[operation];
          t.shape = (enum shape)shape;
          t.extended = way / 2;
          t.from_client = way % 2;
          if (is_inline(&t) && (is_read(&t) || t.bytes > kInlineMax)) continue;
          if (t.from_client == (server != NULL)) {
            initiate(&t, tcp);
          } else {
            answer(&t, tcp);
          }
          compare(&t);
          ++t.number;
          bytes += t.bytes;
        }
      }
    }
  }
  barrier(tcp);
  struct ibv_wc wc;
  MUST(ibv_poll_cq(cq, 1, &wc) == 0);
  printf("%u transfers, %llu bytes, all right\n", t.number, (unsigned long long)bytes);
  return 0;
}
