// The numbers of a connection: where PSNs begin, and which communication identifier it has.
#include <gtest/gtest.h>

#include "sim/mad/cm_messages.h"
#include "tests/cm/two_hosts.h"
#include "tests/hca/scripted_choices.h"

namespace verbatim::cm {
namespace {

constexpr std::uint32_t kLastPsn = (1 << 24) - 1;

// Values in the requests of two successive connections.
struct Asked {
  std::uint32_t psn[2] = {}, id[2] = {};
};

Asked two_connections(const std::map<std::string, std::uint32_t, std::less<>>& answers, bool waits = true) {
  test::ScriptedChoices choices;
  choices.answers = answers;
  TwoHosts hosts(PortSpace::kTcp, &choices);
  hosts.client.disconnects_when_established = true;
  EXPECT_EQ(hosts.listen(), 0);
  Asked asked;
  for (int round = 0; round < 2; ++round) {
    hosts.wire.fate = [&](std::size_t, const ib::Mad& mad) {
      if (const auto request = mad::cm::decode<mad::cm::Req>(mad)) {
        asked.psn[round] = request->starting_psn;
        asked.id[round] = request->local_comm_id;
      }
      return Fate::kArrives;
    };
    EXPECT_EQ(hosts.call(), 0);
    waits ? hosts.run() : void(hosts.engine.run_until(hosts.engine.now() + std::chrono::milliseconds(1)));
    hosts.caller.reset();
    hosts.caller = hosts.one.cm.create(PortSpace::kTcp, 2, &hosts.client);
  }
  return asked;
}

TEST(Numbers, starting_psns_are_drawn_and_identifiers_count_up_by_default) {
  const Asked asked = two_connections({}), again = two_connections({});
  EXPECT_NE(asked.psn[0], asked.psn[1]);
  EXPECT_EQ(asked.id[1], asked.id[0] + 1);
  EXPECT_EQ(asked.psn[1], again.psn[1]);
}

TEST(Numbers, a_connection_may_begin_just_before_the_end_of_its_psns) {
  EXPECT_EQ(two_connections({{"starting-psn", 1}}).psn[0], kLastPsn);
  EXPECT_EQ(two_connections({{"starting-psn", 1}, {"starting-psn/distance", 5}}).psn[0], kLastPsn - 5);
}

TEST(Numbers, a_connection_may_begin_where_the_one_before_did) {
  const Asked asked = two_connections({{"starting-psn", 2}});
  EXPECT_EQ(asked.psn[0], asked.psn[1]);
  EXPECT_EQ(two_connections({{"starting-psn", 3}}).psn[1], 0u);
}

TEST(Numbers, an_identifier_comes_again_at_once_when_its_time_of_waiting_is_over_and_not_before) {
  const Asked late = two_connections({{"communication-id", 1}}), early = two_connections({{"communication-id", 1}}, false);
  EXPECT_EQ(late.id[1], late.id[0]);
  EXPECT_NE(early.id[1], early.id[0]);
  const Asked gap = two_connections({{"communication-id", 2}});
  EXPECT_GT(gap.id[1], gap.id[0] + 1);
}

}  // namespace
}  // namespace verbatim::cm
