// The native methods of Verbs.java.
#include <infiniband/verbs.h>
#include <jni.h>
#include <stdlib.h>
#include <string.h>

enum { kSize = 4096 };

struct connection {
  struct ibv_context* context;
  struct ibv_pd* pd;
  struct ibv_cq* cq;
  struct ibv_qp* qp;
  struct ibv_mr* mr;
  char* buffer;  // data to send, then received data
};

static int connect_to_itself(struct connection* c) {
  struct ibv_port_attr port;
  if (ibv_query_port(c->context, 1, &port) != 0) return -1;
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_LOCAL_WRITE};
  if (ibv_modify_qp(c->qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0) return -1;
  attributes = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = c->qp->qp_num,
                                    .max_dest_rd_atomic = 1, .min_rnr_timer = 12,
                                    .ah_attr = {.dlid = port.lid, .port_num = 1}};
  if (ibv_modify_qp(c->qp, &attributes,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
    return -1;
  attributes = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
  return ibv_modify_qp(c->qp, &attributes,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                           IBV_QP_MAX_QP_RD_ATOMIC);
}

JNIEXPORT jlong JNICALL Java_Verbs_open(JNIEnv* env, jclass own) {
  (void)env, (void)own;
  int count;
  struct ibv_device** list = ibv_get_device_list(&count);
  if (list == NULL || count == 0) return 0;
  struct connection* c = calloc(1, sizeof *c);
  c->context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  if (c->context == NULL) return 0;
  c->pd = ibv_alloc_pd(c->context);
  c->cq = ibv_create_cq(c->context, 16, NULL, NULL, 0);
  c->buffer = aligned_alloc(4096, 2 * kSize);
  c->mr = ibv_reg_mr(c->pd, c->buffer, 2 * kSize, IBV_ACCESS_LOCAL_WRITE);
  struct ibv_qp_init_attr attributes = {.send_cq = c->cq, .recv_cq = c->cq, .qp_type = IBV_QPT_RC,
                                        .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
  c->qp = ibv_create_qp(c->pd, &attributes);
  return c->qp != NULL && connect_to_itself(c) == 0 ? (jlong)c : 0;
}

JNIEXPORT jint JNICALL Java_Verbs_send(JNIEnv* env, jclass own, jlong connection, jbyteArray message) {
  (void)own;
  struct connection* c = (struct connection*)connection;
  const jsize length = (*env)->GetArrayLength(env, message);
  (*env)->GetByteArrayRegion(env, message, 0, length, (jbyte*)c->buffer);
  struct ibv_sge to = {(uintptr_t)c->buffer + kSize, kSize, c->mr->lkey}, from = {(uintptr_t)c->buffer, length, c->mr->lkey};
  struct ibv_recv_wr receive = {.sg_list = &to, .num_sge = 1}, *bad_receive;
  struct ibv_send_wr send = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad_send;
  const int error = ibv_post_recv(c->qp, &receive, &bad_receive);
  return error != 0 ? error : ibv_post_send(c->qp, &send, &bad_send);
}

JNIEXPORT jint JNICALL Java_Verbs_poll(JNIEnv* env, jclass own, jlong connection) {
  (void)env, (void)own;
  struct ibv_wc completion;
  const int n = ibv_poll_cq(((struct connection*)connection)->cq, 1, &completion);
  return n > 0 && completion.status != IBV_WC_SUCCESS ? -1 : n;
}

JNIEXPORT jbyteArray JNICALL Java_Verbs_received(JNIEnv* env, jclass own, jlong connection, jint length) {
  (void)own;
  const jbyteArray bytes = (*env)->NewByteArray(env, length);
  if (bytes != NULL) (*env)->SetByteArrayRegion(env, bytes, 0, length, (jbyte*)((struct connection*)connection)->buffer + kSize);
  return bytes;
}

JNIEXPORT jint JNICALL Java_Verbs_close(JNIEnv* env, jclass own, jlong connection) {
  (void)env, (void)own;
  struct connection* c = (struct connection*)connection;
  const int error = ibv_destroy_qp(c->qp) | ibv_destroy_cq(c->cq) | ibv_dereg_mr(c->mr) | ibv_dealloc_pd(c->pd) |
                    ibv_close_device(c->context);
  free(c->buffer);
  free(c);
  return error;
}
