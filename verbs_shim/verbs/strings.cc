// Names of enumerators as programs print them; a test compares each with the installed library's.
#include "verbs_shim/verbs/verbs_api.h"

namespace {

template <unsigned long kCount>
const char* text_of(const char* const (&texts)[kCount], int value) {
  return value >= 0 && value < static_cast<int>(kCount) ? texts[value] : "unknown";
}

}  // namespace

extern "C" const char* ibv_wc_status_str(ibv_wc_status status) {
  static const char* const kTexts[] = {
      "success",
      "local length error",
      "local QP operation error",
      "local EE context operation error",
      "local protection error",
      "Work Request Flushed Error",
      "memory management operation error",
      "bad response error",
      "local access error",
      "remote invalid request error",
      "remote access error",
      "remote operation error",
      "transport retry counter exceeded",
      "RNR retry counter exceeded",
      "local RDD violation error",
      "remote invalid RD request",
      "aborted error",
      "invalid EE context number",
      "invalid EE context state",
      "fatal error",
      "response timeout error",
      "general error",
      "TM error",
      "TM software rendezvous",
  };
  static_assert(sizeof(kTexts) / sizeof(kTexts[0]) == IBV_WC_TM_RNDV_INCOMPLETE + 1);
  return text_of(kTexts, status);
}

extern "C" const char* ibv_node_type_str(ibv_node_type type) {
  static const char* const kTexts[] = {
      "unknown",           "InfiniBand channel adapter",
      "InfiniBand switch", "InfiniBand router",
      "iWARP NIC",         "usNIC",
      "usNIC UDP",         "unspecified",
  };
  static_assert(sizeof(kTexts) / sizeof(kTexts[0]) == IBV_NODE_UNSPECIFIED + 1);
  return text_of(kTexts, type);
}

extern "C" const char* ibv_port_state_str(ibv_port_state state) {
  static const char* const kTexts[] = {
      "no state change (NOP)", "down", "init", "armed", "active", "active defer",
  };
  static_assert(sizeof(kTexts) / sizeof(kTexts[0]) == IBV_PORT_ACTIVE_DEFER + 1);
  return text_of(kTexts, state);
}

extern "C" const char* ibv_event_type_str(ibv_event_type type) {
  static const char* const kTexts[] = {
      "CQ error",
      "local work queue catastrophic error",
      "invalid request local work queue error",
      "local access violation work queue error",
      "communication established",
      "send queue drained",
      "path migrated",
      "path migration request error",
      "local catastrophic error",
      "port active",
      "port error",
      "LID change",
      "P_Key change",
      "SM change",
      "SRQ catastrophic error",
      "SRQ limit reached",
      "last WQE reached",
      "client reregistration",
      "GID table change",
      "WQ fatal",
  };
  static_assert(sizeof(kTexts) / sizeof(kTexts[0]) == IBV_EVENT_WQ_FATAL + 1);
  return text_of(kTexts, type);
}

// Headers before rdma-core 50 declare neither this function nor IBV_WR_FLUSH.
extern "C" __attribute__((visibility("default"))) const char* ibv_wr_opcode_str(ibv_wr_opcode opcode) {
  static const char* const kTexts[] = {
      "rdma-write",           "rdma-write-with-imm",
      "send",                 "send-with-imm",
      "rdma-read",            "atomic-cmp-and-swp",
      "atomic-fetch-and-add", "local-inv",
      "bind-mw",              "send-with-inv",
      "tso",                  "driver1",
      nullptr,                nullptr,
      "flush",                "atomic-write",
  };
  static_assert(sizeof(kTexts) / sizeof(kTexts[0]) == IBV_WR_ATOMIC_WRITE + 1);
  return text_of(kTexts, opcode);
}
