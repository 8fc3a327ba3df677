// Permitted choices of an adapter, and guarantees that hold for every choice.
#include "sim/hca/freedom.h"

#include <gtest/gtest.h>

#include <set>

#include "sim/core/rng.h"
#include "tests/hca/many_pairs.h"
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

// facts/ordering.md, rules 2, 4, 6 and 8: completions are in order; at a completion, the data of everything
// before it is visible.
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

// Rules 3 and 12: the number of runs, of 40, in which the last byte of a WRITE was visible before an earlier
// one.
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

// Rule 1: two writes to the same bytes keep their order, even if the parts of each are reordered.
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

// Rule 10: an entry that is present when the program arms the CQ may raise no event; a later one must, even
// if it is written before the adapter receives the request.
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

// IBA 9.7.6.1.3: the timer runs for one to four times the configured time.
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
    // The timer starts when the last packet is sent, shortly after the previous retransmission.
    const Duration period(retries[1].time_ps - retries[0].time_ps);
    const Duration expected(std::int64_t{4'096'000} * 1024 * (answer + 1));
    EXPECT_GE(period, expected);
    EXPECT_LT(period, expected + Duration(5'000'000));
  }
}

// IBA 9.7.5.1.2: one acknowledgement may answer several requests, by choice or because the profile says so.
TEST(Freedom, acknowledgements_that_wait_behind_each_other_may_become_one) {
  constexpr std::uint64_t kRequests = 30;
  const auto acknowledgements = [&](Choices& choices, bool by_profile) {
    PairOptions options = options_with(choices);
    options.world.profile.acknowledge = {400, 1};  // one per microsecond: many wait at a time
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

// A NAK is never coalesced, and the requests that it acknowledges are complete.
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

// The requester never needs the acknowledgements that were coalesced, even if others are lost.
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

// A command ends the delay of completions.
TEST(Freedom, commands_hold_nothing_back) {
  ScriptedChoices late;
  late.answers["completion-delay"] = 1000;  // the longest delay
  Pair pair(options_with(late));
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 8)});
  pair.a.program.post_send(pair.a.qp, {.wr_id = 1, .sges = {pair.a.sge(0, 8)}});
  pair.world.run_for(Duration(10'000'000));
  EXPECT_TRUE(pair.b.program.drain(pair.b.recv_cq).empty()) << "late";
  pair.b.program.query(pair.b.qp);
  pair.world.run_for(Duration(2'000'000));
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 1u);
}

// Bytes that are held back while messages of other queue pairs pass them, and messages that do not pass.
constexpr std::uint32_t kHeldBytes = 64, kLongestWait = 1'000'000;

// The first packet that is placed is held back for the maximum time.
struct HeldWrite {
  explicit HeldWrite(bool late_answer = true) {
    choices.answers["placement"] = 1;
    choices.answers_once["placement/hold"] = 1;
    choices.answers["placement/delay"] = kLongestWait;
    if (late_answer) choices.answers["ack-delay"] = kLongestWait;
    PairOptions options;
    options.world.choices = &choices;
    pairs.emplace(options, 2);
    for (std::uint32_t i = 0; i < 2; ++i) pairs->a.fill(i * ManyPairs::kArea, kHeldBytes, kSeed);
  }
  void post(std::uint32_t qp, const SendRequest& request) { pairs->a.program.post_send(pairs->of_a[qp], request); }
  bool is_there(std::uint32_t area) { return pairs->b.equals(area * ManyPairs::kArea, kHeldBytes, kSeed); }

  static constexpr std::uint8_t kSeed = 0x31;
  ScriptedChoices choices;
  std::optional<ManyPairs> pairs;
};

TEST(FreedomOfPlacement, bytes_of_another_queue_pair_pass_those_that_are_held_back) {
  HeldWrite run;
  run.post(0, run.pairs->write(0, kHeldBytes));
  run.post(1, run.pairs->write(1, kHeldBytes));
  bool passed = false;
  while (run.pairs->world.engine.step()) {
    passed = passed || (run.is_there(1) && !run.is_there(0));
    // Rule 8 and the meaning of an acknowledgement: at the completion the bytes are in memory.
    while (const auto entry = run.pairs->a.program.poll(run.pairs->a.send_cq)) {
      EXPECT_TRUE(run.is_there(static_cast<std::uint32_t>(entry->wr_id)));
    }
  }
  EXPECT_TRUE(passed);
  EXPECT_TRUE(run.is_there(0));
}

TEST(FreedomOfPlacement, the_next_message_of_the_queue_pair_does_not_pass) {
  HeldWrite run;
  run.post(0, run.pairs->write(0, kHeldBytes));
  run.post(0, run.pairs->write(1, kHeldBytes));
  while (run.pairs->world.engine.step()) EXPECT_TRUE(!run.is_there(1) || run.is_there(0));
  EXPECT_TRUE(run.is_there(1));
}

// Rule 1: read after write and write after write of the same bytes keep their order, for any queue pairs.
TEST(FreedomOfPlacement, a_read_of_another_queue_pair_finds_bytes_that_are_held_back) {
  HeldWrite run;
  run.post(0, run.pairs->write(0, kHeldBytes));
  SendRequest read = run.pairs->request(0, WqeOpcode::kRdmaRead, kHeldBytes);
  read.sges = {run.pairs->a.sge(5 * ManyPairs::kArea, kHeldBytes)};
  run.post(1, read);
  run.pairs->world.run();
  EXPECT_TRUE(run.pairs->a.equals(5 * ManyPairs::kArea, kHeldBytes, HeldWrite::kSeed));
}

TEST(FreedomOfPlacement, a_later_write_of_another_queue_pair_stays_on_top) {
  HeldWrite run;
  run.post(0, run.pairs->write(0, kHeldBytes));
  run.pairs->a.fill(ManyPairs::kArea, kHeldBytes, 0x77);
  SendRequest over = run.pairs->write(1, kHeldBytes);
  over.remote_va = Program::kBuffer;
  run.post(1, over);
  run.pairs->world.run();
  EXPECT_TRUE(run.pairs->b.equals(0, kHeldBytes, 0x77));
}

// A command of the program ends the delay for its own memory; a command of another program does not.
TEST(FreedomOfPlacement, commands_of_the_program_release_its_own_memory_alone) {
  for (const bool own : {true, false}) {
    HeldWrite run;
    Program other(run.pairs->world, *run.pairs->world.server, 1 << 20, 1 << 20, 101);
    run.post(0, run.pairs->write(0, kHeldBytes));
    run.pairs->world.run_for(Duration(2'000'000));  // the packet has arrived and is not acknowledged
    ASSERT_FALSE(run.is_there(0));
    const auto query = [](Program& program, const Cq& cq) {
      protocol::ModifyCq command{};
      command.handle = cq.handle;
      program.command(command);
    };
    own ? query(run.pairs->b.program, run.pairs->b.recv_cq) : query(other, other.create_cq(8));
    run.pairs->world.run_for(Duration(700'000));
    EXPECT_EQ(run.is_there(0), own);
    run.pairs->world.run();
    EXPECT_TRUE(run.is_there(0));
  }
}

protocol::Cqe refused_write(Choices& choices) {
  Pair pair(options_with(choices));
  SendRequest request{.wr_id = 7, .opcode = WqeOpcode::kRdmaWrite, .sges = {pair.a.sge(0, 64)}};
  request.remote_va = Program::kBuffer;
  request.rkey = 0;
  pair.a.program.post_send(pair.a.qp, request);
  pair.world.run();
  const auto entries = pair.a.program.drain(pair.a.send_cq);
  EXPECT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries.at(0).wr_id, 7u);
  EXPECT_EQ(entries.at(0).qpn, pair.a.qp.made.number);
  EXPECT_EQ(entries.at(0).status, static_cast<std::uint8_t>(ib::WcStatus::kRemoteAccessError));
  return entries.at(0);
}

// ibv_poll_cq(3): if status is other than IBV_WC_SUCCESS, only wr_id, status, qp_num and vendor_err are valid.
TEST(FreedomOfNames, fields_that_a_failure_leaves_undefined_may_hold_anything) {
  DefaultChoices defaults;
  const protocol::Cqe usual = refused_write(defaults);
  EXPECT_EQ(usual.opcode, static_cast<std::uint8_t>(ib::WcOpcode::kRdmaWrite));
  ScriptedChoices choices;
  choices.answers = {{"failed-completion-fields", 1}, {"failed-completion-fields/opcode", 4}, {"failed-completion-fields/value", 99}};
  const protocol::Cqe odd = refused_write(choices);
  EXPECT_EQ(odd.opcode, static_cast<std::uint8_t>(ib::WcOpcode::kReceive));
  EXPECT_EQ(odd.byte_length, 99u);
  EXPECT_EQ(odd.vendor_error, usual.vendor_error);
  EXPECT_EQ(odd.wqe_counter, usual.wqe_counter);
  EXPECT_EQ(odd.queue, usual.queue);
}

std::pair<std::uint32_t, std::uint32_t> numbers_around_destroying(std::uint32_t choice) {
  ScriptedChoices choices;
  Pair pair(options_with(choices));
  const std::uint32_t before = pair.a.qp.made.number;
  EXPECT_EQ(pair.a.program.destroy(protocol::CommandType::kDestroyQp, pair.a.qp.made.handle), 0);
  choices.answers["queue-pair-number"] = choice;
  return {before, pair.a.program.create_qp(pair.a.send_cq, pair.a.recv_cq).made.number};
}

TEST(FreedomOfNames, a_number_is_the_next_or_one_that_was_given_back_or_behind_a_gap) {
  const auto next = numbers_around_destroying(0), again = numbers_around_destroying(1), far = numbers_around_destroying(2);
  EXPECT_EQ(next.second, next.first + 1);
  EXPECT_EQ(again.second, again.first);
  EXPECT_GT(far.second, far.first + 1);
}

TEST(FreedomOfNames, a_handle_of_any_kind_is_the_next_or_one_that_was_given_back_or_behind_a_gap) {
  for (const std::uint32_t choice : {0u, 1u, 2u}) {
    ScriptedChoices choices;
    Pair pair(options_with(choices));
    Program& program = pair.a.program;
    const std::uint32_t key_before = pair.a.mr.handle;
    EXPECT_EQ(program.destroy(protocol::CommandType::kDeregMr, key_before), 0);
    const std::uint32_t last = program.create_cq(4).handle;
    choices.answers["object-handle"] = choice;
    const std::uint32_t cq = program.create_cq(4).handle, next = program.create_cq(4).handle;
    EXPECT_EQ(cq, choice == 1 ? key_before : choice == 0 ? last + 1 : last + 8);
    EXPECT_EQ(next, choice == 2 ? cq + 8 : choice == 0 ? cq + 1 : last + 1);
    EXPECT_EQ(program.destroy(protocol::CommandType::kDestroyCq, cq), 0);
    EXPECT_NE(program.destroy(protocol::CommandType::kDestroyCq, cq), 0);
  }
}

std::pair<std::uint32_t, std::uint32_t> keys_around_deregistering(std::uint32_t choice) {
  ScriptedChoices choices;
  Pair pair(options_with(choices));
  const std::uint32_t before = pair.a.mr.lkey;
  EXPECT_EQ(pair.a.program.destroy(protocol::CommandType::kDeregMr, pair.a.mr.handle), 0);
  choices.answers["memory-key"] = choice;
  return {before, pair.a.program.reg_mr(Program::kBuffer, 4096, ib::kLocalWrite).lkey};
}

TEST(FreedomOfNames, a_key_is_another_of_the_same_index_or_the_same_again_or_of_a_new_index) {
  const auto next = keys_around_deregistering(0), again = keys_around_deregistering(1), other = keys_around_deregistering(2);
  EXPECT_EQ(next.second, next.first + 1);
  EXPECT_EQ(again.second, again.first);
  EXPECT_EQ(other.second >> 8, (other.first >> 8) + 1);
}

TEST(FreedomOfLimits, queues_are_as_deep_as_was_asked_for_or_deeper) {
  for (const bool is_exact : {false, true}) {
    ScriptedChoices choices;
    Pair pair(options_with(choices));
    Program& program = pair.a.program;
    choices.answers["queue-depth"] = is_exact ? 1 : 0;
    protocol::CreateCq cq{};
    cq.cqe = 5;
    cq.channel_fd = -1;
    EXPECT_EQ(program.command(cq), 0);
    EXPECT_EQ(cq.cqe, is_exact ? 5u : 8u);
    EXPECT_EQ(program.create_srq(5).made.max_wr, is_exact ? 5u : 8u);
    const protocol::QpCapabilities granted =
        program.create_qp(pair.a.send_cq, pair.a.recv_cq, {3, 6, 1, 1, 20}).made.capabilities;
    EXPECT_EQ(granted.max_send_wr, is_exact ? 3u : 4u);
    EXPECT_EQ(granted.max_recv_wr, is_exact ? 6u : 8u);
    EXPECT_GT(granted.max_inline_data, 20u);
  }
}

TEST(FreedomOfLimits, there_is_as_much_room_for_inline_data_as_was_asked_for_or_more) {
  ScriptedChoices choices;
  Pair pair(options_with(choices));
  choices.answers["inline-room"] = 1;
  EXPECT_EQ(pair.a.program.create_qp(pair.a.send_cq, pair.a.recv_cq, {3, 6, 1, 1, 20}).made.capabilities.max_inline_data, 20u);
}

// The third unpolled completion overruns the queue.
TEST(FreedomOfLimits, a_completion_queue_overruns_behind_the_entries_that_were_granted) {
  for (const bool is_exact : {false, true}) {
    ScriptedChoices choices;
    choices.answers["queue-depth"] = is_exact ? 1 : 0;
    PairOptions options = options_with(choices);
    options.cqe = 3;
    Pair pair(options);
    for (std::uint64_t i = 0; i < 4; ++i) pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
    for (std::uint64_t i = 0; i < 4; ++i) pair.a.program.post_send(pair.a.qp, {.wr_id = i, .sges = {pair.a.sge(0, 8)}});
    pair.world.run();
    EXPECT_EQ(pair.b.program.async_events.empty(), !is_exact);
  }
}

TEST(FreedomOfLimits, verbs_find_no_memory_within_a_budget) {
  ScriptedChoices choices;
  Pair pair(options_with(choices));
  FailingCalls failing(choices);
  failing.set_budget(2);
  pair.world.client->use_failing_calls(failing, ComponentId{});
  choices.answers["verb-no-memory"] = 1;
  int status = 0;
  const std::uint32_t before = pair.a.mr.handle;
  for (const int expected : {ENOMEM, ENOMEM, 0}) {
    pair.a.program.reg_mr(Program::kBuffer, 4096, ib::kLocalWrite, &status);
    EXPECT_EQ(status, expected);
  }
  EXPECT_EQ(failing.count(), 2u);
  EXPECT_EQ(pair.a.program.destroy(protocol::CommandType::kDeregMr, before), 0) << "what destroys never fails";
  EXPECT_EQ(choices.asked["verb-no-memory"], 2);
}

TEST(FreedomOfNames, a_timeout_is_chosen_when_the_time_has_come_and_not_before) {
  for (const bool lost : {false, true}) {
    ScriptedChoices choices;
    PairOptions options = options_with(choices);
    options.path.timeout = 10;
    Pair pair(options);
    if (lost) pair.world.to_server.keep = [](ib::Packet&) { return false; };
    for (std::uint64_t i = 0; i < 20; ++i) pair.a.program.post_send(pair.a.qp, {.wr_id = i, .sges = {pair.a.sge(0, 8)}});
    for (std::uint64_t i = 0; i < 20; ++i) pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
    pair.world.run();
    EXPECT_EQ(choices.asked["ack-timeout"], lost ? 8 : 0);
  }
}

}  // namespace
}  // namespace verbatim::test
