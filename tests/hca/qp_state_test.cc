// The transition table compared to an independent copy, attribute by attribute, and the adapter compared to
// the table.
#include "sim/ib/qp_state.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

using enum ib::QpState;
using ib::QpState;
using ib::QpType;

constexpr QpState kStates[] = {kReset, kInit, kRtr, kRts, kSqd, kSqe, kErr};
constexpr QpType kTypes[] = {QpType::kRc, QpType::kUc, QpType::kUd, QpType::kXrcSend, QpType::kXrcReceive};

// Letters: p PKEY_INDEX, o PORT, q QKEY, a ACCESS_FLAGS, v AV, m PATH_MTU, d DEST_QPN, r RQ_PSN, s SQ_PSN, i
// MAX_DEST_RD_ATOMIC, n MIN_RNR_TIMER, t TIMEOUT, c RETRY_CNT, w RNR_RETRY, x MAX_QP_RD_ATOMIC, l ALT_PATH, g
// PATH_MIG_STATE, u CUR_STATE, e EN_SQD_ASYNC_NOTIFY.
std::uint32_t bits(const std::string& letters) {
  static const std::map<char, std::uint32_t> kBits = {
      {'p', 1u << 4},  {'o', 1u << 5},  {'q', 1u << 6},  {'a', 1u << 3},  {'v', 1u << 7},
      {'m', 1u << 8},  {'d', 1u << 20}, {'r', 1u << 12}, {'s', 1u << 16}, {'i', 1u << 17},
      {'n', 1u << 15}, {'t', 1u << 9},  {'c', 1u << 10}, {'w', 1u << 11}, {'x', 1u << 13},
      {'l', 1u << 14}, {'g', 1u << 18}, {'u', 1u << 1},  {'e', 1u << 2},
  };
  std::uint32_t mask = 0;
  for (const char letter : letters) mask |= kBits.at(letter);
  return mask;
}

struct Expected {
  std::string required, optional;
};

// One row per transition to a state other than RESET and ERR: RC, UC, UD, XRC send, XRC receive.
const std::map<std::pair<QpState, QpState>, std::vector<Expected>> kTable = {
    {{kReset, kInit}, {{"poa", ""}, {"poa", ""}, {"poq", ""}, {"poa", ""}, {"poa", ""}}},
    {{kInit, kInit}, {{"", "poa"}, {"", "poa"}, {"", "poq"}, {"", "poa"}, {"", "poa"}}},
    {{kInit, kRtr}, {{"vmdrin", "lap"}, {"vmdr", "lap"}, {"", "pq"}, {"vmdr", "lap"}, {"vmdrin", "lap"}}},
    {{kRtr, kRts}, {{"tcwsx", "ulang"}, {"s", "ulag"}, {"s", "uq"}, {"tcwsx", "ulag"}, {"ts", "ulang"}}},
    {{kRts, kRts}, {{"", "ualgn"}, {"", "ualg"}, {"", "uq"}, {"", "ualg"}, {"", "ualgn"}}},
    {{kRts, kSqd}, {{"", "e"}, {"", "e"}, {"", "e"}, {"", "e"}, {"", "e"}}},
    {{kSqd, kRts}, {{"", "ulang"}, {"", "ulag"}, {"", "uq"}, {"", "ulag"}, {"", "ulang"}}},
    {{kSqd, kSqd}, {{"", "ovtcwxilapng"}, {"", "vlapg"}, {"", "pq"}, {"", "ovtcwxlapg"}, {"", "ovtilapng"}}},
    {{kSqe, kRts}, {{"", ""}, {"", "ua"}, {"", "uq"}, {"", ""}, {"", ""}}},
};

bool may_name_current(QpState state) {
  return state == kRtr || state == kRts || state == kSqd || state == kSqe;
}

TEST(QpStateTest, every_single_bit_of_every_transition) {
  for (const QpState from : kStates) {
    for (const QpState to : kStates) {
      for (std::size_t t = 0; t < std::size(kTypes); ++t) {
        bool valid = to == kReset || (to == kErr && from != kReset);
        std::uint32_t required = 0, optional = 0;
        if (const auto row = kTable.find({from, to}); row != kTable.end()) {
          valid = true;
          required = bits(row->second[t].required);
          optional = bits(row->second[t].optional);
        }
        const auto allowed = [&](std::uint32_t mask) {
          return ib::is_modify_allowed(from, to, kTypes[t], mask);
        };
        EXPECT_EQ(allowed(ib::kQpState | required), valid) << int(from) << int(to) << t;
        EXPECT_EQ(allowed(ib::kQpState | required | optional), valid) << int(from) << int(to) << t;
        for (int bit = 1; bit < 26; ++bit) {
          const std::uint32_t one = 1u << bit;
          if ((required & one) != 0) {
            EXPECT_FALSE(allowed(ib::kQpState | (required & ~one)))
                << int(from) << int(to) << t << " " << bit;
          } else {
            const bool legal =
                valid && (optional & one) != 0 && (one != ib::kQpCurrentState || may_name_current(from));
            EXPECT_EQ(allowed(ib::kQpState | required | one), legal)
                << int(from) << int(to) << t << " " << bit;
          }
        }
      }
    }
  }
}

TEST(QpStateTest, the_adapter_walks_the_states_and_reports_them) {
  Pair pair(PairOptions{}, false);
  auto& program = pair.a.program;
  const Qp& qp = pair.a.qp;
  EXPECT_EQ(program.state(qp), kReset);
  EXPECT_EQ(program.to_state(qp, kErr), EINVAL);
  EXPECT_EQ(program.to_state(qp, kRts), EINVAL);
  EXPECT_EQ(program.to_init(qp, {}), 0);
  EXPECT_EQ(program.state(qp), kInit);
  EXPECT_EQ(program.to_rtr(qp, 2, 0x48, {}), 0);
  EXPECT_EQ(program.to_rts(qp, {}), 0);
  const auto all = program.query(qp);
  EXPECT_EQ(all.attributes.qp_state, 3u);
  EXPECT_EQ(all.attributes.cur_qp_state, 3u);
  EXPECT_EQ(all.attributes.path.dlid, 2u);
  EXPECT_EQ(all.attributes.dest_qp_num, 0x48u);
  EXPECT_EQ(all.attributes.path_mtu, 5u);
  EXPECT_EQ(all.attributes.timeout, 14u);
  EXPECT_EQ(all.attributes.retry_cnt, 7u);
  EXPECT_EQ(all.attributes.min_rnr_timer, 12u);
  EXPECT_EQ(all.attributes.sq_psn, 1000u);
  EXPECT_EQ(all.attributes.capabilities.max_send_wr, 64u);
  EXPECT_EQ(program.to_state(qp, kErr), 0);
  EXPECT_EQ(program.to_state(qp, kErr), 0);
  EXPECT_EQ(program.to_state(qp, kRts), EINVAL);
  EXPECT_EQ(program.to_state(qp, kReset), 0);
  EXPECT_EQ(program.state(qp), kReset);
  EXPECT_EQ(program.to_init(qp, {}), 0);
}

// rdma-core's tests ask for FLUSH, and programs pass the flags of their memory.
TEST(QpStateTest, named_access_flags_are_accepted_and_others_refused) {
  Pair pair(PairOptions{}, false);
  protocol::QpAttributes init{};
  init.qp_state = 1;
  init.port_num = 1;
  const std::uint32_t mask = ib::kQpState | ib::kQpPkeyIndex | ib::kQpPort | ib::kQpAccessFlags;
  for (int bit = 0; bit < 32; ++bit) {
    SCOPED_TRACE(bit);
    const bool is_named = bit <= 9 || (bit >= 20 && bit <= 29);
    init.qp_access_flags = 1u << bit;
    EXPECT_EQ(pair.a.program.modify(pair.a.qp, mask, init), is_named ? 0 : EINVAL);
  }
}

TEST(QpStateTest, values_out_of_range_are_refused_and_change_nothing) {
  Pair pair(PairOptions{}, false);
  auto& program = pair.a.program;
  const Qp& qp = pair.a.qp;
  protocol::QpAttributes init{};
  init.qp_state = 1;
  init.port_num = 1;
  const std::uint32_t init_mask = ib::kQpState | ib::kQpPkeyIndex | ib::kQpPort | ib::kQpAccessFlags;
  for (const std::uint8_t port : {0, 2}) {
    auto wrong = init;
    wrong.port_num = port;
    EXPECT_EQ(program.modify(qp, init_mask, wrong), EINVAL);
  }
  auto wrong = init;
  wrong.pkey_index = 1;
  EXPECT_EQ(program.modify(qp, init_mask, wrong), EINVAL);
  wrong = init;
  wrong.qp_access_flags = 1 << 10;
  EXPECT_EQ(program.modify(qp, init_mask, wrong), EINVAL);
  wrong = init;
  wrong.qp_state = 7;
  EXPECT_EQ(program.modify(qp, init_mask, wrong), EINVAL);
  EXPECT_EQ(program.modify(qp, init_mask | ib::kQpCapabilities, init), EINVAL);
  EXPECT_EQ(program.modify(qp, init_mask | ib::kQpRateLimit, init), EOPNOTSUPP);
  EXPECT_EQ(program.state(qp), kReset);
  ASSERT_EQ(program.to_init(qp, {}), 0);

  protocol::QpAttributes rtr{};
  rtr.qp_state = 2;
  rtr.path.dlid = 2;
  rtr.path.port = 1;
  rtr.path_mtu = 5;
  rtr.dest_qp_num = 0x48;
  const std::uint32_t rtr_mask = ib::kQpState | ib::kQpAv | ib::kQpPathMtu | ib::kQpDestQpn | ib::kQpRqPsn |
                                 ib::kQpMaxDestRdAtomic | ib::kQpMinRnrTimer;
  const auto refuse = [&](auto change) {
    auto attributes = rtr;
    change(attributes);
    EXPECT_EQ(program.modify(qp, rtr_mask, attributes), EINVAL);
    EXPECT_EQ(program.state(qp), kInit);
  };
  refuse([](auto& x) { x.path_mtu = 0; });
  refuse([](auto& x) { x.path_mtu = 6; });
  refuse([](auto& x) { x.dest_qp_num = 1u << 24; });
  refuse([](auto& x) { x.max_dest_rd_atomic = 17; });
  refuse([](auto& x) { x.min_rnr_timer = 32; });
  refuse([](auto& x) { x.path.dlid = 0; });
  refuse([](auto& x) { x.path.dlid = 0xc000; });
  refuse([](auto& x) { x.path.port = 2; });
  refuse([](auto& x) { x.path.service_level = 16; });
  refuse([](auto& x) {
    x.path.is_global = 1;
    x.path.sgid_index = 8;
  });
  EXPECT_EQ(program.modify(qp, rtr_mask | ib::kQpAlternatePath, rtr), EINVAL) << "port 0, no LID";
  ASSERT_EQ(program.modify(qp, rtr_mask, rtr), 0);

  protocol::QpAttributes rts{};
  rts.qp_state = 3;
  const std::uint32_t rts_mask =
      ib::kQpState | ib::kQpSqPsn | ib::kQpTimeout | ib::kQpRetryCount | ib::kQpRnrRetry | ib::kQpMaxRdAtomic;
  const auto refuse_rts = [&](auto change) {
    auto attributes = rts;
    change(attributes);
    EXPECT_EQ(program.modify(qp, rts_mask, attributes), EINVAL);
    EXPECT_EQ(program.state(qp), kRtr);
  };
  refuse_rts([](auto& x) { x.timeout = 32; });
  refuse_rts([](auto& x) { x.retry_cnt = 8; });
  refuse_rts([](auto& x) { x.rnr_retry = 8; });
  refuse_rts([](auto& x) { x.max_rd_atomic = 17; });
  rts.cur_qp_state = 3;
  EXPECT_EQ(program.modify(qp, rts_mask | ib::kQpCurrentState, rts), EINVAL);
  rts.cur_qp_state = 2;
  EXPECT_EQ(program.modify(qp, rts_mask | ib::kQpCurrentState, rts), 0);
}

}  // namespace
}  // namespace verbatim::test
