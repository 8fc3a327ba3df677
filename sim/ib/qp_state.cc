#include "sim/ib/qp_state.h"

#include <bit>
#include <iterator>
#include <string_view>

namespace verbatim::ib {

namespace {

using enum QpState;

// Bits of a set of queue pair types.
enum TypeSet : unsigned {
  kRc = 1,
  kUc = 2,
  kUd = 4,
  kXrcSend = 8,
  kXrcReceive = 16,
  kRaw = 32,
  kConnected = kRc | kUc | kXrcSend | kXrcReceive,
  kRequesters = kRc | kXrcSend,     // reliable and sending
  kResponders = kRc | kXrcReceive,  // reliable and receiving
  kAll = kConnected | kUd | kRaw,
};

unsigned set_of(QpType type) {
  switch (type) {
    case QpType::kRc:
      return kRc;
    case QpType::kUc:
      return kUc;
    case QpType::kUd:
      return kUd;
    case QpType::kXrcSend:
      return kXrcSend;
    case QpType::kXrcReceive:
      return kXrcReceive;
    case QpType::kRawPacket:
      return kRaw;
  }
  return 0;
}

// A row adds attributes to a transition for some types. A transition without a row is invalid.
struct Row {
  QpState from, to;
  unsigned types;
  std::uint32_t required;
  std::uint32_t optional;
};

constexpr std::uint32_t kPath = kQpAlternatePath | kQpPathMigState;

constexpr Row kRows[] = {
    {kReset, kInit, kAll, 0, 0},
    {kReset, kInit, kConnected, kQpPkeyIndex | kQpPort | kQpAccessFlags, 0},
    {kReset, kInit, kUd, kQpPkeyIndex | kQpPort | kQpQkey, 0},
    {kReset, kInit, kRaw, kQpPort, 0},

    {kInit, kInit, kAll, 0, 0},
    {kInit, kInit, kConnected, 0, kQpPkeyIndex | kQpPort | kQpAccessFlags},
    {kInit, kInit, kUd, 0, kQpPkeyIndex | kQpPort | kQpQkey},

    {kInit, kRtr, kAll, 0, 0},
    {kInit, kRtr, kConnected, kQpAv | kQpPathMtu | kQpDestQpn | kQpRqPsn,
     kQpAlternatePath | kQpAccessFlags | kQpPkeyIndex},
    {kInit, kRtr, kResponders, kQpMaxDestRdAtomic | kQpMinRnrTimer, 0},
    {kInit, kRtr, kUd, 0, kQpPkeyIndex | kQpQkey},

    {kRtr, kRts, kAll, 0, 0},
    {kRtr, kRts, kConnected, kQpSqPsn, kQpCurrentState | kQpAccessFlags | kPath},
    {kRtr, kRts, kRequesters, kQpTimeout | kQpRetryCount | kQpRnrRetry | kQpMaxRdAtomic, 0},
    {kRtr, kRts, kXrcReceive, kQpTimeout, 0},
    {kRtr, kRts, kResponders, 0, kQpMinRnrTimer},
    {kRtr, kRts, kUd, kQpSqPsn, kQpCurrentState | kQpQkey},
    {kRtr, kRts, kRaw, 0, kQpRateLimit},

    {kRts, kRts, kAll, 0, 0},
    {kRts, kRts, kConnected, 0, kQpCurrentState | kQpAccessFlags | kPath},
    {kRts, kRts, kResponders, 0, kQpMinRnrTimer},
    {kRts, kRts, kUd, 0, kQpCurrentState | kQpQkey},
    {kRts, kRts, kRaw, 0, kQpRateLimit},

    {kRts, kSqd, kAll, 0, 0},
    {kRts, kSqd, kConnected | kUd, 0, kQpEnSqdAsyncNotify},

    {kSqd, kRts, kAll, 0, 0},
    {kSqd, kRts, kConnected, 0, kQpCurrentState | kQpAccessFlags | kPath},
    {kSqd, kRts, kResponders, 0, kQpMinRnrTimer},
    {kSqd, kRts, kUd, 0, kQpCurrentState | kQpQkey},

    {kSqd, kSqd, kAll, 0, 0},
    {kSqd, kSqd, kConnected, 0, kQpAv | kQpAccessFlags | kQpPkeyIndex | kPath},
    {kSqd, kSqd, kRequesters, 0, kQpPort | kQpTimeout | kQpRetryCount | kQpRnrRetry | kQpMaxRdAtomic},
    {kSqd, kSqd, kXrcReceive, 0, kQpPort | kQpTimeout},
    {kSqd, kSqd, kResponders, 0, kQpMaxDestRdAtomic | kQpMinRnrTimer},
    {kSqd, kSqd, kUd, 0, kQpPkeyIndex | kQpQkey},

    {kSqe, kRts, kAll, 0, 0},
    {kSqe, kRts, kUc, 0, kQpCurrentState | kQpAccessFlags},
    {kSqe, kRts, kUd, 0, kQpCurrentState | kQpQkey},

    {kReset, kReset, kAll, 0, 0},
    {kInit, kReset, kAll, 0, 0},
    {kRtr, kReset, kAll, 0, 0},
    {kRts, kReset, kAll, 0, 0},
    {kSqd, kReset, kAll, 0, 0},
    {kSqe, kReset, kAll, 0, 0},
    {kErr, kReset, kAll, 0, 0},

    // Not from RESET.
    {kInit, kErr, kAll, 0, 0},
    {kRtr, kErr, kAll, 0, 0},
    {kRts, kErr, kAll, 0, 0},
    {kSqd, kErr, kAll, 0, 0},
    {kSqe, kErr, kAll, 0, 0},
    {kErr, kErr, kAll, 0, 0},
};

bool has_current_state(QpState state) {
  return state == kRtr || state == kRts || state == kSqd || state == kSqe;
}

}  // namespace

QpTransition qp_transition(QpState from, QpState to, QpType type) {
  QpTransition transition;
  const unsigned set = set_of(type);
  for (const Row& row : kRows) {
    if (row.from != from || row.to != to || (row.types & set) == 0) continue;
    transition.valid = true;
    transition.required |= row.required;
    transition.optional |= row.optional;
  }
  return transition;
}

bool is_modify_allowed(QpState from, QpState to, QpType type, std::uint32_t mask) {
  // IBV_QP_CUR_STATE distinguishes states that an adapter may leave by itself; other states do not accept it.
  if ((mask & kQpCurrentState) != 0 && !has_current_state(from)) return false;
  const QpTransition transition = qp_transition(from, to, type);
  if (!transition.valid) return false;
  if ((mask & transition.required) != transition.required) return false;
  return (mask & ~(transition.required | transition.optional | kQpState)) == 0;
}

std::string names_of_attributes(std::uint32_t mask) {
  constexpr std::string_view kNames[] = {
      "IBV_QP_STATE",        "IBV_QP_CUR_STATE",      "IBV_QP_EN_SQD_ASYNC_NOTIFY", "IBV_QP_ACCESS_FLAGS", "IBV_QP_PKEY_INDEX",
      "IBV_QP_PORT",         "IBV_QP_QKEY",           "IBV_QP_AV",                  "IBV_QP_PATH_MTU",     "IBV_QP_TIMEOUT",
      "IBV_QP_RETRY_CNT",    "IBV_QP_RNR_RETRY",      "IBV_QP_RQ_PSN",              "IBV_QP_MAX_QP_RD_ATOMIC", "IBV_QP_ALT_PATH",
      "IBV_QP_MIN_RNR_TIMER", "IBV_QP_SQ_PSN",        "IBV_QP_MAX_DEST_RD_ATOMIC",  "IBV_QP_PATH_MIG_STATE", "IBV_QP_CAP",
      "IBV_QP_DEST_QPN"};
  std::string text;
  for (; mask != 0; mask &= mask - 1) {
    const auto number = static_cast<std::size_t>(std::countr_zero(mask));
    const bool is_rate = (mask & -mask) == kQpRateLimit;
    text += text.empty() ? "" : " | ";
    text += is_rate ? "IBV_QP_RATE_LIMIT" : number < std::size(kNames) ? kNames[number] : "an unknown bit";
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace verbatim::ib
