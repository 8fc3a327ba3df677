// Receive work queues, tables of them, and queue pairs that spread frames over these.
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "frames.h"

static struct ibv_wq* make_wq(uint32_t comp_mask, uint32_t flags) {
  struct ibv_wq_init_attr init = {.wq_type = IBV_WQT_RQ,
                                  .max_wr = 5,
                                  .max_sge = 2,
                                  .pd = me.pd,
                                  .cq = ibv_cq_ex_to_cq(me.cq),
                                  .comp_mask = comp_mask,
                                  .create_flags = flags};
  errno = 0;
  struct ibv_wq* wq = ibv_create_wq(me.context, &init);
  if (wq != NULL && (init.max_wr < 5 || init.max_sge < 2)) say(" SMALLER");
  return wq;
}

static int move(struct ibv_wq* wq, int mask, int state, int current, uint32_t flags, uint32_t flags_mask) {
  struct ibv_wq_attr attributes = {(uint32_t)mask, (enum ibv_wq_state)state, (enum ibv_wq_state)current, flags,
                                   flags_mask};
  return ibv_modify_wq(wq, &attributes);
}

static struct ibv_qp* spread(struct ibv_rwq_ind_table* table, uint64_t fields, int function, int key_length,
                             struct ibv_qp_cap cap) {
  static uint8_t key[40];
  for (int i = 0; i < 40; ++i) key[i] = (uint8_t)(0x6d + 29 * i);
  struct ibv_qp_init_attr_ex init = {
      .qp_type = IBV_QPT_RAW_PACKET,
      .pd = me.pd,
      .cap = cap,
      .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
      .rwq_ind_tbl = table,
      .rx_hash_conf = {(uint8_t)function, (uint8_t)key_length, key, fields}};
  errno = 0;
  return ibv_create_qp_ex(me.context, &init);
}

static void work_queues(void) {
  say(" flags_without_mask=%s", made(make_wq(0, 0xff)));
  say(" unknown_flag=%s", made(make_wq(IBV_WQ_INIT_ATTR_FLAGS, 1 << 4)));
  say(" unknown_mask=%s", made(make_wq(2, 0)));
  struct ibv_wq* wq = make_wq(IBV_WQ_INIT_ATTR_FLAGS, IBV_WQ_FLAGS_CVLAN_STRIPPING);
  say(" state=%d", wq->state);
  SAY("post", post_wq_receive(&me, wq, 0));
  say(" moves:");
  SAY("to_error", move(wq, IBV_WQ_ATTR_STATE, IBV_WQS_ERR, 0, 0, 0));
  SAY("to_3", move(wq, IBV_WQ_ATTR_STATE, 3, 0, 0, 0));
  SAY("from_other", move(wq, IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE, IBV_WQS_RDY, IBV_WQS_RDY, 0, 0));
  SAY("to_ready", move(wq, IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE, IBV_WQS_RDY, IBV_WQS_RESET, 0, 0));
  SAY("mask", move(wq, 8, 0, 0, 0, 0));
  SAY("no_stripping", move(wq, IBV_WQ_ATTR_FLAGS, 0, 0, 0, IBV_WQ_FLAGS_CVLAN_STRIPPING));
  SAY("fcs", move(wq, IBV_WQ_ATTR_FLAGS, 0, 0, IBV_WQ_FLAGS_SCATTER_FCS, IBV_WQ_FLAGS_SCATTER_FCS));
  for (int i = 0; i < 9; ++i) {
    const int error = post_wq_receive(&me, wq, i);
    if (error != 0) say(" post_%d=%s", i, error_name(error));
  }
  struct ibv_wq* queues[] = {wq};
  struct ibv_rwq_ind_table_init_attr init = {.log_ind_tbl_size = 0, .ind_tbl = queues};
  struct ibv_rwq_ind_table* table = ibv_create_rwq_ind_table(me.context, &init);
  say(" in a table:");
  SAY("destroy_wq", ibv_destroy_wq(wq));
  const struct ibv_qp_cap none = {0}, sends = {.max_send_wr = 1}, receives_too = {.max_recv_wr = 1};
  const uint64_t v4 = IBV_RX_HASH_SRC_IPV4, v6 = IBV_RX_HASH_SRC_IPV6;
  say(" no_function=%s", made(spread(table, v4, 2, 40, none)));
  say(" key=%s", made(spread(table, v4, 1, 39, none)));
  say(" fields=%s", made(spread(table, 1 << 9, 1, 40, none)));
  say(" both=%s", made(spread(table, v4 | v6, 1, 40, none)));
  say(" sends=%s", made(spread(table, v4, 1, 40, sends)));
  say(" receives=%s", made(spread(table, v4, 1, 40, receives_too)));
  struct ibv_qp* qp = spread(table, v4, 1, 40, none);
  say(" in use:");
  SAY("destroy_table", ibv_destroy_rwq_ind_table(table));
  SAY("modify_qp", to_rts(qp));
  SAY("post_recv", post_receive(&me, qp, 0));
  SAY("post_send", send_bytes(&me, qp, 0, 60));
  struct ibv_flow* flow = flow_to_mac(qp, me.mac);
  struct ibv_qp* from = make_qp(&me, 0);
  tell("frame", from, &(struct FrameOf){.vlan = 5, .length = 80});
  move(wq, IBV_WQ_ATTR_FLAGS, 0, 0, IBV_WQ_FLAGS_CVLAN_STRIPPING, IBV_WQ_FLAGS_CVLAN_STRIPPING);
  tell("stripped", from, &(struct FrameOf){.vlan = 5, .length = 80});
  SAY("to_error", move(wq, IBV_WQ_ATTR_STATE, IBV_WQS_ERR, 0, 0, 0));
  settle();
  say_completions(&me);
  SAY("post", post_wq_receive(&me, wq, 9));
  settle();
  say_completions(&me);
  tell("in error", from, &(struct FrameOf){0});
  SAY("to_ready", move(wq, IBV_WQ_ATTR_STATE, IBV_WQS_RDY, 0, 0, 0));
  SAY("to_reset", move(wq, IBV_WQ_ATTR_STATE, IBV_WQS_RESET, 0, 0, 0));
  SAY("to_ready", move(wq, IBV_WQ_ATTR_STATE, IBV_WQS_RDY, 0, 0, 0));
  SAY("post", post_wq_receive(&me, wq, 3));
  tell("again", from, &(struct FrameOf){0});
  ibv_destroy_flow(flow);
  SAY("destroy_qp", ibv_destroy_qp(qp));
  SAY("destroy_table", ibv_destroy_rwq_ind_table(table));
  SAY("destroy_table", ibv_destroy_rwq_ind_table(table));
  SAY("destroy_wq", ibv_destroy_wq(wq));
  SAY("destroy_wq", ibv_destroy_wq(wq));
  say(" gone:");
  SAY("post", post_wq_receive(&me, wq, 0));
  say(" table=%s", made(ibv_create_rwq_ind_table(me.context, &init)));
  init.log_ind_tbl_size = 31;
  say(" large=%s", made(ibv_create_rwq_ind_table(me.context, &init)));
  ibv_destroy_qp(from);
  end_line("work queues");
}

// Effects of a queue's own flags on a frame, and the queue number in its completions.
static void queue_options(void) {
  const uint32_t flags[] = {0, IBV_WQ_FLAGS_SCATTER_FCS, IBV_WQ_FLAGS_PCI_WRITE_END_PADDING, 0xf};
  struct ibv_qp* from = make_qp(&me, 0);
  for (int i = 0; i < 4; ++i) {
    struct ibv_wq* wq = make_wq(IBV_WQ_INIT_ATTR_FLAGS, flags[i]);
    move(wq, IBV_WQ_ATTR_STATE, IBV_WQS_RDY, 0, 0, 0);
    struct ibv_rwq_ind_table_init_attr init = {.log_ind_tbl_size = 0, .ind_tbl = &wq};
    struct ibv_rwq_ind_table* table = ibv_create_rwq_ind_table(me.context, &init);
    struct ibv_qp* qp = spread(table, 0, 1, 40, (struct ibv_qp_cap){0});
    struct ibv_flow* flow = flow_to_mac(qp, me.mac);
    uint8_t* got = receive_slot(&me, 0);
    memset(got, 0xee, kSlotBytes);
    post_wq_receive(&me, wq, 0);
    const size_t length = build_frame(&me, 0, &(struct FrameOf){.vlan = 5, .length = 70});
    send_bytes(&me, from, 0, length);
    settle();
    struct ibv_wc completions[4];
    for (int n = ibv_poll_cq(ibv_cq_ex_to_cq(me.cq), 4, completions); n > 0; --n) {
      const struct ibv_wc* wc = &completions[n - 1];
      if (wc->wr_id == 0) say(" %x=%u%s type=%02x", flags[i], wc->byte_len, wc->qp_num == wq->wq_num ? "" : ",OTHER", got[12]);
    }
    say(" end=");
    for (int at = 65; at < 75; ++at) say("%02x", got[at]);
    say(" line=%02x%02x", got[127], got[128]);
    ibv_destroy_flow(flow);
    ibv_destroy_qp(qp);
    ibv_destroy_rwq_ind_table(table);
    SAY("destroy_wq", ibv_destroy_wq(wq));
  }
  ibv_destroy_qp(from);
  end_line("queue options");
}

static void delayed(void) {
  struct ibv_wq* wq = make_wq(IBV_WQ_INIT_ATTR_FLAGS, IBV_WQ_FLAGS_DELAY_DROP);
  move(wq, IBV_WQ_ATTR_STATE, IBV_WQS_RDY, 0, 0, 0);
  struct ibv_rwq_ind_table_init_attr init = {.log_ind_tbl_size = 0, .ind_tbl = &wq};
  struct ibv_rwq_ind_table* table = ibv_create_rwq_ind_table(me.context, &init);
  struct ibv_qp *qp = spread(table, 0, 1, 40, (struct ibv_qp_cap){0}), *from = make_qp(&me, 0);
  struct ibv_flow* flow = flow_to_mac(qp, me.mac);
  tell("first", from, &(struct FrameOf){.length = 61});
  tell("second", from, &(struct FrameOf){.length = 62});
  tell("third", from, &(struct FrameOf){.length = 63});
  SAY("post", post_wq_receive(&me, wq, 1));
  settle();
  say_completions(&me);
  SAY("post", post_wq_receive(&me, wq, 2));
  settle();
  say_completions(&me);
  usleep(110000);  // more than a frame waits
  SAY("post", post_wq_receive(&me, wq, 3));
  settle();
  say_completions(&me);
  tell("fourth", from, &(struct FrameOf){.length = 64});
  tell("fifth", from, &(struct FrameOf){.length = 65});
  SAY("to_error", move(wq, IBV_WQ_ATTR_STATE, IBV_WQS_ERR, 0, 0, 0));
  ibv_destroy_flow(flow);
  ibv_destroy_qp(qp);
  ibv_destroy_rwq_ind_table(table);
  SAY("destroy_wq", ibv_destroy_wq(wq));
  ibv_destroy_qp(from);
  end_line("delayed drops");
}

static void spreading(void) {
  struct ibv_wq* queues[4];
  for (int i = 0; i < 4; ++i) {
    queues[i] = make_wq(0, 0);
    move(queues[i], IBV_WQ_ATTR_STATE, IBV_WQS_RDY, 0, 0, 0);
    for (int slot = 0; slot < 4; ++slot) post_wq_receive(&me, queues[i], i * 4 + slot);
  }
  struct ibv_rwq_ind_table_init_attr init = {.log_ind_tbl_size = 2, .ind_tbl = queues};
  struct ibv_rwq_ind_table* table = ibv_create_rwq_ind_table(me.context, &init);
  struct ibv_qp *qp = spread(table, IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4, 1, 40, (struct ibv_qp_cap){0}),
                *from = make_qp(&me, 0);
  struct ibv_flow* flow = flow_to_mac(qp, me.mac);
  for (uint32_t i = 0; i < 6; ++i) tell(".", from, &(struct FrameOf){.source = i, .destination = 7});
  tell("same flow", from, &(struct FrameOf){.source = 5, .destination = 7, .source_port = 9});
  tell("not hashed", from, &(struct FrameOf){.is_v6 = 1, .source = 5});
  ibv_destroy_flow(flow);
  ibv_destroy_qp(qp);
  ibv_destroy_rwq_ind_table(table);
  for (int i = 0; i < 4; ++i) ibv_destroy_wq(queues[i]);
  ibv_destroy_qp(from);
  end_line("spreading");
}

void queue_cases(void) {
  work_queues();
  queue_options();
  delayed();
  spreading();
}
