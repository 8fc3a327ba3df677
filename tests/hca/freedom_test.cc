// What an adapter may do with its freedom, and what it may not, whatever it chooses.
#include "sim/hca/freedom.h"

#include <gtest/gtest.h>

#include <set>

#include "sim/core/rng.h"
#include "tests/hca/driver.h"
#include "tests/hca/scripted_choices.h"

namespace verbatim::test {
namespace {

const std::vector<std::string> kComponents = World::component_names();

PairOptions options_with(Choices& choices, std::uint32_t mtu = 3) {
  PairOptions options;
  options.world.choices = &choices;
  options.path.mtu = mtu;
  options.with_channel = true;
  return options;
}

constexpr std::uint64_t kArea = 16384;  // of one message
constexpr std::uint32_t kLengths[] = {8, 61, 4096, 1, 9000, 1024, 3000, 130};

void post_everything(Pair& pair) {
  std::uint64_t id = 0;
  for (const std::uint32_t length : kLengths) {
    for (const WqeOpcode opcode :
         {WqeOpcode::kSend, WqeOpcode::kRdmaWrite, WqeOpcode::kRdmaWriteWithImm, WqeOpcode::kRdmaRead}) {
      const std::uint64_t place = id * kArea;
      const bool is_read = opcode == WqeOpcode::kRdmaRead;
      (is_read ? pair.b : pair.a).fill(place, length, static_cast<std::uint8_t>(id));
      if (opcode == WqeOpcode::kSend) pair.b.program.post_recv(pair.b.qp, id, {pair.b.sge(place, length)});
      if (opcode == WqeOpcode::kRdmaWriteWithImm) pair.b.program.post_recv(pair.b.qp, id, {});
      SendRequest request{.wr_id = id, .opcode = opcode, .sges = {pair.a.sge(place, length)}};
      request.remote_va = Program::kBuffer + place;
      request.rkey = pair.b.mr.rkey;
      pair.a.program.post_send(pair.a.qp, request);
      ++id;
    }
  }
}

// facts/ordering.md, rules 2, 4, 6 and 8: in order, and with a completion everything before it is there.
TEST(Freedom, completions_come_in_order_and_mean_that_all_data_is_there) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    SeededChoices choices(seed, kComponents);
    Pair pair(options_with(choices));
    ASSERT_TRUE(pair.ready);
    post_everything(pair);
    std::uint64_t sends = 0, receives = 0;
    while (pair.world.engine.step()) {
      while (const auto entry = pair.a.program.poll(pair.a.send_cq)) {
        EXPECT_EQ(entry->status, 0);
        EXPECT_EQ(entry->wr_id, sends);
        const bool is_read = sends % 4 == 3;
        EXPECT_TRUE(!is_read ||
                    pair.a.equals(sends * kArea, kLengths[sends / 4], static_cast<std::uint8_t>(sends)));
        ++sends;
      }
      while (const auto entry = pair.b.program.poll(pair.b.recv_cq)) {
        const std::uint64_t expected = receives / 2 * 4 + receives % 2 * 2;
        EXPECT_EQ(entry->wr_id, expected);
        for (std::uint64_t id = 0; id <= expected; ++id) {
          if (id % 4 == 3) continue;  // a READ
          EXPECT_TRUE(pair.b.equals(id * kArea, kLengths[id / 4], static_cast<std::uint8_t>(id)));
        }
        ++receives;
      }
    }
    EXPECT_EQ(sends, 32u);
    EXPECT_EQ(receives, 16u);
    if (::testing::Test::HasFailure()) return;
  }
}

// Rule 3, and rule 12: whether the last byte of a WRITE has been seen before an earlier one, in `seeds` runs.
int early_last_bytes(bool spec, std::uint32_t length) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SeededChoices seeded(seed, kComponents);
    DefaultChoices defaults;
    Pair pair(options_with(spec ? static_cast<Choices&>(seeded) : defaults));
    const auto from = pair.a.program.memory.at(Program::kBuffer, length);
    const auto to = pair.b.program.memory.at(Program::kBuffer, length);
    std::fill(from.begin(), from.end(), std::byte{0xab});
    SendRequest request{.wr_id = 1, .opcode = WqeOpcode::kRdmaWrite, .sges = {pair.a.sge(0, length)}};
    request.remote_va = Program::kBuffer;
    request.rkey = pair.b.mr.rkey;
    pair.a.program.post_send(pair.a.qp, request);
    bool early = false;
    while (pair.world.engine.step()) {
      early = early || (to[length - 1] != std::byte{0} && to[0] == std::byte{0});
      for (std::uint32_t word = 0; word + 8 <= length; word += 8) {
        EXPECT_EQ(to[word], to[word + 7]) << "an aligned word is torn";
      }
    }
    EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin()));
    found += early ? 1 : 0;
  }
  return found;
}

TEST(Freedom, the_last_byte_of_a_write_may_come_first_but_not_on_hardware_as_users_know_it) {
  EXPECT_GE(early_last_bytes(true, 4096), 2);
  EXPECT_GE(early_last_bytes(true, 64), 1);
  EXPECT_EQ(early_last_bytes(false, 4096), 0);
  EXPECT_EQ(early_last_bytes(true, 8), 0);
}

// Rule 1: write after write to the same bytes keeps its order, however the parts of each are mixed.
TEST(Freedom, a_later_message_never_lands_under_an_earlier_one) {
  constexpr std::uint32_t kLength = 3000;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    SeededChoices choices(seed, kComponents);
    Pair pair(options_with(choices));
    for (std::uint8_t number = 1; number <= 6; ++number) {
      const auto from = pair.a.program.memory.at(Program::kBuffer + number * kArea, kLength);
      std::fill(from.begin(), from.end(), std::byte{number});
      SendRequest request{
          .wr_id = number, .opcode = WqeOpcode::kRdmaWrite, .sges = {pair.a.sge(number * kArea, kLength)}};
      request.remote_va = Program::kBuffer;
      request.rkey = pair.b.mr.rkey;
      pair.a.program.post_send(pair.a.qp, request);
    }
    const auto to = pair.b.program.memory.at(Program::kBuffer, kLength);
    std::vector<std::byte> before(to.begin(), to.end());
    while (pair.world.engine.step()) {
      for (std::size_t i = 0; i < kLength; ++i) ASSERT_GE(to[i], before[i]) << "byte " << i;
      before.assign(to.begin(), to.end());
    }
    EXPECT_EQ(std::set<std::byte>(to.begin(), to.end()), std::set<std::byte>{std::byte{6}});
  }
}

// Rule 10: what is there when the program asks may be passed over in silence, what comes later may not, even
// when it is there before the request has reached the adapter.
TEST(Freedom, an_event_is_raised_for_what_comes_after_the_request) {
  ScriptedChoices silent;
  silent.answers["event-on-arm"] = 1;
  const auto events = [&](Instant ask_at) {
    Pair pair(options_with(silent));
    pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 8)});
    pair.a.program.post_send(pair.a.qp, {.wr_id = 1, .sges = {pair.a.sge(0, 8)}});
    pair.world.engine.run_until(ask_at);
    pair.b.program.arm(pair.b.recv_cq);
    pair.world.run();
    return pair.b.program.completion_events.size();
  };
  Pair pair(options_with(silent));
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 8)});
  pair.a.program.post_send(pair.a.qp, {.wr_id = 1, .sges = {pair.a.sge(0, 8)}});
  while (pair.b.program.drain(pair.b.recv_cq).empty()) ASSERT_TRUE(pair.world.engine.step());
  const Instant written = pair.world.engine.now();
  EXPECT_EQ(events(written - Duration(1)), 1u);
  EXPECT_EQ(events(written), 0u);
  silent.answers.clear();
  EXPECT_EQ(events(written), 1u) << "as a ConnectX does";
}

// IBA 9.7.6.1.3: one to four times the configured time.
TEST(Freedom, the_ack_timer_runs_for_up_to_four_times_its_setting) {
  for (std::uint32_t answer = 0; answer < 4; ++answer) {
    ScriptedChoices choices;
    choices.answers["ack-timeout"] = answer;
    PairOptions options = options_with(choices);
    options.path.timeout = 10;
    Pair pair(options);
    pair.world.to_server.keep = [](ib::Packet&) { return false; };
    pair.a.program.post_send(pair.a.qp, {.wr_id = 1, .sges = {pair.a.sge(0, 8)}});
    pair.world.run();
    const auto retries = pair.world.trace.all(TraceEvent::kRetransmission);
    ASSERT_EQ(retries.size(), 7u);
    // The timer counts from the last packet's sending, a moment after the retransmission before.
    const Duration period(retries[1].time_ps - retries[0].time_ps);
    const Duration expected(std::int64_t{4'096'000} * 1024 * (answer + 1));
    EXPECT_GE(period, expected);
    EXPECT_LT(period, expected + Duration(5'000'000));
  }
}

// IBA 9.7.5.1.2: one acknowledgement for several requests, whether by choice or because the adapter is made
// so.
TEST(Freedom, acknowledgements_that_wait_behind_each_other_may_become_one) {
  constexpr std::uint64_t kRequests = 30;
  const auto acknowledgements = [&](Choices& choices, bool by_profile) {
    PairOptions options = options_with(choices);
    options.world.profile.acknowledge = {400, 1};  // a microsecond: many wait at a time
    options.world.profile.coalesce_acknowledgements = by_profile;
    Pair pair(options);
    for (std::uint64_t i = 0; i < kRequests; ++i) {
      SendRequest request{.wr_id = i, .opcode = WqeOpcode::kRdmaWrite, .sges = {pair.a.sge(0, 64)}};
      request.remote_va = Program::kBuffer;
      request.rkey = pair.b.mr.rkey;
      pair.a.program.post_send(pair.a.qp, request);
    }
    pair.world.run();
    const auto sent = pair.a.program.drain(pair.a.send_cq);
    EXPECT_EQ(sent.size(), kRequests);
    for (std::uint64_t i = 0; i < sent.size(); ++i) EXPECT_EQ(sent[i].wr_id, i);
    EXPECT_EQ(pair.world.trace.count(TraceEvent::kRetransmission), 0u);
    EXPECT_EQ(pair.world.trace.all(TraceEvent::kAckSent).back().values[1], 1000 + kRequests - 1);
    return pair.world.trace.count(TraceEvent::kAckSent);
  };
  DefaultChoices defaults;
  ScriptedChoices coalescing;
  coalescing.answers["ack-coalescing"] = 1;
  EXPECT_EQ(acknowledgements(defaults, false), kRequests);
  EXPECT_LT(acknowledgements(coalescing, false), kRequests / 2);
  EXPECT_EQ(acknowledgements(defaults, true), acknowledgements(coalescing, false));
  std::set<std::size_t> counts;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SeededChoices choices(seed, kComponents);
    counts.insert(acknowledgements(choices, false));
  }
  EXPECT_GT(counts.size(), 5u);
}

// A negative acknowledgement is never left out, and what it acknowledges is complete.
TEST(Freedom, a_refusal_behind_acknowledgements_stands_for_them) {
  ScriptedChoices coalescing;
  coalescing.answers["ack-coalescing"] = 1;
  PairOptions options = options_with(coalescing);
  options.world.profile.acknowledge = {400, 1};
  Pair pair(options);
  for (std::uint64_t i = 0; i < 10; ++i) {
    SendRequest request{.wr_id = i, .opcode = WqeOpcode::kRdmaWrite, .sges = {pair.a.sge(0, 64)}};
    request.remote_va = Program::kBuffer;
    request.rkey = i == 7 ? 0 : pair.b.mr.rkey;
    pair.a.program.post_send(pair.a.qp, request);
  }
  pair.world.run();
  const auto sent = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(sent.size(), 10u);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(sent[i].status, 0u) << i;
  EXPECT_EQ(sent[7].status, static_cast<std::uint8_t>(ib::WcStatus::kRemoteAccessError));
}

// The answers that are left out while others are lost are no answers that anybody needs.
TEST(Freedom, coalescing_and_loss_together_lose_no_completion) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    SeededChoices choices(seed, kComponents);
    PairOptions options = options_with(choices);
    options.path.timeout = 8;
    Pair pair(options);
    Rng rng(seed, "test/loss");
    pair.world.to_server.keep = pair.world.to_client.keep = [&](ib::Packet&) { return !rng.chance(1, 12); };
    post_everything(pair);
    pair.world.run();
    const auto sent = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(sent.size(), std::size(kLengths) * 4);
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(sent[i].wr_id, i);
      EXPECT_EQ(sent[i].status, 0u);
    }
  }
}

// A command ends what a completion that is held back would still name.
TEST(Freedom, commands_hold_nothing_back) {
  ScriptedChoices late;
  late.answers["completion-delay"] = 1000;  // the longest
  Pair pair(options_with(late));
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 8)});
  pair.a.program.post_send(pair.a.qp, {.wr_id = 1, .sges = {pair.a.sge(0, 8)}});
  pair.world.run_for(Duration(10'000'000));
  EXPECT_TRUE(pair.b.program.drain(pair.b.recv_cq).empty()) << "late";
  pair.b.program.query(pair.b.qp);
  pair.world.run_for(Duration(2'000'000));
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 1u);
}

}  // namespace
}  // namespace verbatim::test
