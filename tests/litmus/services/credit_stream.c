// Messages in both directions under a credit protocol: an end may send as many as the other has receives posted,
// and gets more credits with each message, or by a message with credits only. The send queue has a slot for each
// credit, and one for a credit message. `buggy` takes a credit as a free slot of the send queue, polls completions
// at times, and fails when a post is refused: the credit may arrive before the completion of its message. `fixed`
// counts slots as well, and waits for one. Both ends send pieces of "files", and check the received ones.
#include <stddef.h>

#include "tests/equality/rc_pair.h"

enum {
  kPort = 18640,
  kCredits = 6,               // receives for data
  kReceives = kCredits + 2,   // and for messages that grant
  kSendSlots = kCredits + 2,
  kFiles = 6,
  kPieces = 12,               // of a file
  kPieceBytes = 240,
  kCell = 512,
};

enum kind { kGrant = 1, kBegin = 2, kPiece = 3, kEnd = 4 };

struct message {
  uint32_t kind, granted;  // credits that the sender gives back
  uint32_t file, piece;
  uint32_t length, checksum;
  uint8_t bytes[kPieceBytes];
};

struct stream {
  uint32_t file, piece;  // the next ones
  int is_open;           // its kBegin has been seen
  uint32_t checksum;     // of the pieces so far
};

struct endpoint {
  int tcp;
  struct ibv_context* context;
  struct ibv_pd* pd;
  struct ibv_cq* send_cq;
  struct ibv_cq* recv_cq;
  struct ibv_qp* qp;
  struct ibv_mr* mr;
  uint8_t* memory;      // cells: kReceives of receives, then kSendSlots of sends
  uint32_t credits;     // messages of data that may be sent
  uint32_t to_grant;    // receives that are posted again and that the other end does not know of
  uint32_t slots_used;  // of the send queue, according to completions
  uint32_t next_slot;
  uint32_t granting;    // messages that grant and have not completed: one at a time
  struct stream out, in;
};

static struct endpoint me;
static int is_fixed;

static uint32_t checksum(uint32_t sum, const uint8_t* bytes, uint32_t length) {
  for (uint32_t i = 0; i < length; ++i) sum = (sum ^ bytes[i]) * 16777619u;
  return sum;
}

static void post_receive(uint64_t cell) {
  struct ibv_sge sge = {.addr = (uintptr_t)(me.memory + cell * kCell), .length = kCell, .lkey = me.mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = cell, .sg_list = &sge, .num_sge = 1}, *bad;
  MUST(ibv_post_recv(me.qp, &wr, &bad) == 0);
}

static void open_endpoint(const char* server) {
  me.tcp = tcp_pair(server, kPort);
  me.context = open_first_device();
  me.pd = ibv_alloc_pd(me.context);
  MUST(me.pd != NULL);
  me.send_cq = ibv_create_cq(me.context, 2 * kSendSlots, NULL, NULL, 0);
  me.recv_cq = ibv_create_cq(me.context, 2 * kReceives, NULL, NULL, 0);
  MUST(me.send_cq != NULL && me.recv_cq != NULL);
  const size_t bytes = (kReceives + kSendSlots) * kCell;
  me.memory = chosen_memory(bytes);
  me.mr = ibv_reg_mr(me.pd, me.memory, bytes, IBV_ACCESS_LOCAL_WRITE);
  MUST(me.mr != NULL);
  struct ibv_qp_init_attr init = {.send_cq = me.send_cq, .recv_cq = me.recv_cq, .qp_type = IBV_QPT_RC};
  init.cap.max_send_wr = kSendSlots;
  init.cap.max_recv_wr = kReceives;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  me.qp = ibv_create_qp(me.pd, &init);
  MUST(me.qp != NULL);
  const struct rc_address mine = {.lid = port_lid(me.context), .qpn = me.qp->qp_num, .psn = 41};
  struct rc_address theirs;
  rc_exchange(me.tcp, &mine, &theirs);
  const struct rc_options options = {.mtu = IBV_MTU_1024, .rnr_timer = 12, .reads = 1};
  rc_connect(me.qp, &mine, &theirs, &options);
  for (uint64_t cell = 0; cell < kReceives; ++cell) post_receive(cell);
  me.credits = kCredits;
}

static void meet(void) {
  char byte = 0;
  tcp_write(me.tcp, &byte, 1);
  tcp_read(me.tcp, &byte, 1);
}

// ---- Sending.

static void take_send_completions(void) {
  struct ibv_wc wc;
  while (ibv_poll_cq(me.send_cq, 1, &wc) == 1) {
    MUST(wc.status == IBV_WC_SUCCESS);
    --me.slots_used;
    if (wc.wr_id == kGrant) --me.granting;
  }
}

static int has_slot(void) { return !is_fixed || me.slots_used < kSendSlots; }

static void post_message(struct message* message) {
  message->granted = me.to_grant;
  me.to_grant = 0;
  uint8_t* const place = me.memory + (kReceives + me.next_slot++ % kSendSlots) * kCell;
  const uint32_t length = (uint32_t)(offsetof(struct message, bytes) + message->length);
  memcpy(place, message, length);
  struct ibv_sge sge = {.addr = (uintptr_t)place, .length = length, .lkey = me.mr->lkey};
  struct ibv_send_wr wr = {.wr_id = message->kind, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
  wr.send_flags = IBV_SEND_SIGNALED;
  const int error = ibv_post_send(me.qp, &wr, &bad);
  if (error != 0) {
    printf("piece %u of file %u has a credit, but no slot in the send queue: %s\n", message->piece, message->file,
           strerror(error));
    exit(1);
  }
  ++me.slots_used;
}

static void fill_piece(struct message* message) {
  message->length = kPieceBytes - (message->file * 17 + message->piece * 5) % 64;
  for (uint32_t i = 0; i < message->length; ++i) message->bytes[i] = (uint8_t)(message->file * 41 + message->piece * 3 + i);
}

// The stream's next message, if there is a credit for it. A file is its begin, its pieces, and its end with a checksum of all.
static int send_next(void) {
  struct stream* const out = &me.out;
  if (out->file == kFiles || me.credits == 0 || !has_slot()) return 0;
  struct message message = {.file = out->file, .piece = out->piece};
  if (!out->is_open) {
    message.kind = kBegin;
    out->is_open = 1;
    out->checksum = 2166136261u;
  } else if (out->piece < kPieces) {
    message.kind = kPiece;
    fill_piece(&message);
    out->checksum = checksum(out->checksum, message.bytes, message.length);
    ++out->piece;
  } else {
    message.kind = kEnd;
    message.checksum = out->checksum;
    *out = (struct stream){.file = out->file + 1};
  }
  --me.credits;
  post_message(&message);
  return 1;
}

// When half of the credits are here and nothing is going to take them along.
static void grant(void) {
  if (me.to_grant < kCredits / 2 || me.granting > 0 || !has_slot()) return;
  if (me.credits > 0 && me.out.file < kFiles) return;
  struct message message = {.kind = kGrant};
  ++me.granting;
  post_message(&message);
}

// ---- Receiving.

static void take_message(const struct message* message) {
  struct stream* const in = &me.in;
  me.credits += message->granted;
  MUST(me.credits <= kCredits);
  switch (message->kind) {
    case kGrant: return;
    case kBegin:
      MUST(!in->is_open && message->file == in->file);
      in->is_open = 1;
      in->checksum = 2166136261u;
      return;
    case kPiece:
      MUST(in->is_open && message->file == in->file && message->piece == in->piece);
      in->checksum = checksum(in->checksum, message->bytes, message->length);
      ++in->piece;
      return;
    case kEnd:
      MUST(in->is_open && in->piece == kPieces && message->checksum == in->checksum);
      *in = (struct stream){.file = in->file + 1};
      return;
    default: MUST(!"a known kind");
  }
}

static int take_messages(void) {
  int taken = 0;
  struct ibv_wc wc;
  while (ibv_poll_cq(me.recv_cq, 1, &wc) == 1) {
    MUST(wc.status == IBV_WC_SUCCESS);
    struct message message;
    memcpy(&message, me.memory + wc.wr_id * kCell, wc.byte_len);
    post_receive(wc.wr_id);
    take_message(&message);
    if (message.kind != kGrant) ++me.to_grant;
    ++taken;
  }
  return taken;
}

static void run_streams(void) {
  meet();
  while (me.out.file < kFiles || me.in.file < kFiles) {
    take_messages();
    while (send_next()) {
    }
    grant();
    take_send_completions();
  }
  while (me.slots_used > 0) take_send_completions();
}

int main(int argc, char** argv) {
  MUST(argc >= 2 && (strcmp(argv[1], "buggy") == 0 || strcmp(argv[1], "fixed") == 0));
  is_fixed = strcmp(argv[1], "fixed") == 0;
  open_endpoint(argc > 2 ? argv[2] : NULL);
  run_streams();
  meet();  // the end that exits first destroys its queue pair
  MUST(ibv_destroy_qp(me.qp) == 0);
  MUST(ibv_destroy_cq(me.send_cq) == 0 && ibv_destroy_cq(me.recv_cq) == 0);
  MUST(ibv_dereg_mr(me.mr) == 0 && ibv_dealloc_pd(me.pd) == 0 && ibv_close_device(me.context) == 0);
  printf("%d files each way\n", kFiles);
  return 0;
}
