// Threads of a process without a program: waits, doorbells, delays, and calls that find nothing.
#include "sim/supervisor/tasks/thread.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "sim/supervisor/spec/host_spec.h"
#include "sim/supervisor/tasks/parking.h"
#include "sim/supervisor/tasks/process.h"
#include "sim/supervisor/tasks/signal_file.h"

namespace verbatim::supervisor {
namespace {

// Every choice is the same.
class SameChoice final : public Choices {
 public:
  std::uint32_t answer = 0;
  std::vector<std::string> sites;

 private:
  std::uint32_t draw(std::string_view site, ComponentId, std::uint32_t n) override {
    sites.emplace_back(site);
    return std::min(answer, n - 1);
  }
};

class AnyFile final : public VirtualFile {
 public:
  std::uint32_t readiness() const override { return 0; }
  std::string describe() const override { return "any file"; }
  void change() { notify(); }
};

Instant at_ps(std::int64_t ps) { return instant_from_ps(ps); }

class ThreadTest : public testing::Test, public ThreadOwner {
 protected:
  ThreadTest() {
    hosts_[0].costs.wake_up_ps = 700;
    hosts_[0].costs.event_wake_up_ps = 50;
    process_.emplace(0, 100, hosts_[0], 0, "app", Rng(1, "thread"), std::make_unique<ProcessRegion>());
    process_->set_native_pid(getpid());
    process_->set_owner(*this);
    process_->threads().push_back(
        std::make_unique<Thread>(engine_, choices_, ComponentId{3}, *process_, 0, 101, hosts_[0].costs));
  }
  Thread& thread() { return *process_->threads().front(); }
  protocol::ThreadSlot& slot() { return process_->region().slot(0); }
  void on_due(Thread&) override { due.push_back(to_ps(engine_.now())); }
  void ring(Thread&, const protocol::QueuedDoorbell& doorbell) override {
    rung.emplace_back(to_ps(engine_.now()), doorbell.value);
  }
  // The current call is this one.
  void call(std::uint32_t number, std::int64_t first) {
    thread().call() = PendingCall{.number = number, .arguments = {first}};
    thread().set_request(request::SystemCall{{.number = number, .arguments = {first}}});
  }

  std::vector<HostSpec> hosts_ = std::vector<HostSpec>(1);
  Engine engine_;
  SameChoice choices_;
  std::optional<Process> process_;
  std::vector<std::int64_t> due;
  std::vector<std::pair<std::int64_t, std::uint64_t>> rung;
};

TEST_F(ThreadTest, a_blocked_thread_runs_once_after_the_first_wake_up) {
  const auto file = std::make_shared<AnyFile>();
  thread().block({file}, at_ps(5000), "any file");
  EXPECT_EQ(thread().state(), Thread::State::kBlocked);
  EXPECT_EQ(thread().wait.what(), "any file");
  engine_.run_until(at_ps(1000));
  file->change();
  engine_.run_until(at_ps(1300));
  file->change();
  EXPECT_EQ(thread().next_event_time(), at_ps(1700)) << "a later wake-up changes nothing";
  engine_.run_until(at_ps(9000));
  EXPECT_EQ(due, std::vector<std::int64_t>{1700});
  EXPECT_EQ(thread().wait.since(), at_ps(0));
  thread().stop_waiting();
  file->change();
  EXPECT_EQ(thread().next_event_time(), kNever) << "it waits for nothing";
}

TEST_F(ThreadTest, a_wake_up_by_an_adapter_takes_longer) {
  thread().block({}, kNever, "an event");
  EXPECT_EQ(thread().next_event_time(), kNever);
  thread().wake(true);
  engine_.run();
  EXPECT_EQ(due, std::vector<std::int64_t>{750});
}

TEST_F(ThreadTest, a_wait_ends_at_its_deadline) {
  thread().block({}, at_ps(5000), "an event");
  EXPECT_EQ(thread().wait.deadline(), at_ps(5000));
  engine_.run_until(at_ps(5000));
  EXPECT_EQ(due, std::vector<std::int64_t>{5000});
  thread().wake();
  EXPECT_EQ(thread().next_event_time(), kNever) << "too late";
  due.clear();
  thread().block({}, at_ps(9000), "an event");
  engine_.run_until(at_ps(8900));
  thread().wake();
  engine_.run();
  EXPECT_EQ(due, std::vector<std::int64_t>{9600}) << "the deadline does not shorten a wake-up";
}

TEST_F(ThreadTest, a_late_thread_resumes_later_and_remembers_the_choice) {
  choices_.answer = 1;
  thread().block({}, at_ps(5000), "an event");
  EXPECT_EQ(thread().next_event_time(), at_ps(5000) + kAfterWait.delay(1));
  thread().wake();
  EXPECT_EQ(thread().next_event_time(), at_ps(700) + kAfterWait.delay(1));
  const auto late = thread().delays.take_late();
  ASSERT_TRUE(late);
  EXPECT_EQ(late->site, kAfterWait.name);
  EXPECT_EQ(late->occurrence, 0u);
  EXPECT_FALSE(thread().delays.take_late());
  EXPECT_EQ(thread().delays.choose(kAfterWait), kAfterWait.delay(1));
  EXPECT_EQ(thread().delays.take_late()->occurrence, 1u);
  choices_.answer = 0;
  EXPECT_EQ(thread().delays.choose(kBeforeCall), Duration::zero());
  EXPECT_FALSE(thread().delays.take_late());
}

TEST_F(ThreadTest, a_host_may_stall_with_a_rare_delay_only) {
  choices_.answer = kBeforeCall.usual() - 1;
  EXPECT_NE(thread().delays.choose(kBeforeCall), Duration::zero());
  EXPECT_EQ(thread().delays.take_stall(), Duration::zero());
  EXPECT_EQ(choices_.sites, std::vector<std::string>{"thread-before-call"}) << "not asked";
  choices_.answer = kBeforeCall.usual();
  const Duration delay = thread().delays.choose(kBeforeCall);
  EXPECT_EQ(choices_.sites.back(), "thread-before-call/whole-host");
  EXPECT_EQ(thread().delays.take_stall(), delay);
  EXPECT_EQ(thread().delays.take_stall(), Duration::zero()) << "it was taken";
  EXPECT_NE(thread().delays.choose(kAfterWait), Duration::zero());
  EXPECT_EQ(thread().delays.take_stall(), Duration::zero()) << "a wait begins at an unknown time";
}

TEST_F(ThreadTest, what_is_due_while_the_host_stalls_happens_at_the_end) {
  call(SYS_nanosleep, 0);
  thread().call().called_at = at_ps(1000);
  thread().run_at(at_ps(1000));
  engine_.run_until(at_ps(1000));
  thread().postpone(at_ps(9000));
  EXPECT_EQ(thread().call().called_at, at_ps(9000));
  due.clear();
  engine_.run();
  EXPECT_EQ(due, std::vector<std::int64_t>{9000});
  // A wait that ends by its deadline stays a wait since its beginning.
  thread().block({}, at_ps(20'000), "an event");
  engine_.run_until(at_ps(20'000));
  thread().postpone(at_ps(30'000));
  EXPECT_EQ(thread().call().called_at, at_ps(9000));
  EXPECT_EQ(thread().state(), Thread::State::kBlocked);
}

TEST_F(ThreadTest, delays_of_own_calls_are_drawn_ahead_of_each_kind) {
  thread().delays.draw_ahead(slot(), thread().process().traps_accesses);
  EXPECT_EQ(choices_.sites.size(), 3u * 8) << "eight of each kind at first";
  for (const std::int64_t calls : slot().calls_until_late) EXPECT_EQ(calls, 8);
  EXPECT_EQ(thread().delays.take_call(slot(), protocol::OwnCall::kPost), Duration::zero()) << "none is due";
  slot().calls_until_late[1] = 0;
  choices_.sites.clear();
  choices_.answer = 1;
  EXPECT_EQ(thread().delays.take_call(slot(), protocol::OwnCall::kPost), Duration::zero()) << "drawn before";
  EXPECT_EQ(choices_.sites, std::vector<std::string>{std::string(kBeforePost.name)});
  EXPECT_EQ(slot().calls_until_late[1], 1) << "the next call is late";
  slot().calls_until_late[1] = 0;
  EXPECT_EQ(thread().delays.take_call(slot(), protocol::OwnCall::kPost), kBeforePost.delay(1));
  const auto late = thread().delays.take_late();
  ASSERT_TRUE(late);
  EXPECT_EQ(late->site, kBeforePost.name);
  EXPECT_EQ(late->occurrence, 8u);
  EXPECT_EQ(slot().calls_until_late[0], 8);
  EXPECT_EQ(slot().calls_until_late[2], 8);
}

TEST_F(ThreadTest, twice_as_many_choices_are_drawn_each_time) {
  thread().delays.draw_ahead(slot(), thread().process().traps_accesses);
  std::vector<std::int64_t> drawn;
  for (int i = 0; i < 9; ++i) {
    slot().calls_until_late[0] = 0;
    (void)thread().delays.take_call(slot(), protocol::OwnCall::kOther);
    drawn.push_back(slot().calls_until_late[0]);
  }
  EXPECT_EQ(drawn, (std::vector<std::int64_t>{16, 32, 64, 128, 256, 512, 1024, 1024, 1024}));
}

TEST_F(ThreadTest, a_late_store_waits_in_the_store_buffer_if_loads_follow_it) {
  ThreadDelays& delays = thread().delays;
  const Duration late = kBeforeAccess.delay(1);
  const auto store = [&](protocol::AccessLateness lateness, std::size_t loads) {
    slot().accesses_until_late = 0;
    return delays.take_access(slot(), lateness, [loads] { return loads; });
  };
  choices_.answer = 1;
  delays.draw_ahead(slot(), true);
  EXPECT_EQ(slot().accesses_until_late, 1) << "the first access is late";
  // One of three loads precedes the store, which is late instead of its thread.
  EXPECT_EQ(store(protocol::AccessLateness::kMayBeBuffered, 3), Duration::zero());
  EXPECT_EQ(delays.loads_before_store(), 1u);
  EXPECT_FALSE(delays.take_late()) << "nothing is late yet";
  EXPECT_EQ(store(protocol::AccessLateness::kBuffered, 0), late);
  EXPECT_EQ(delays.loads_before_store(), 0u);
  const auto cause = delays.take_late();
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->site, kBeforeAccess.name);
  EXPECT_EQ(cause->occurrence, 0u);
  // Without loads behind the store, or where it cannot be buffered, the thread is late.
  for (const auto lateness : {protocol::AccessLateness::kMayBeBuffered, protocol::AccessLateness::kBefore}) {
    EXPECT_EQ(store(lateness, lateness == protocol::AccessLateness::kBefore ? 3 : 0), late);
    EXPECT_EQ(delays.loads_before_store(), 0u);
    EXPECT_TRUE(delays.take_late());
  }
}

TEST_F(ThreadTest, doorbells_ring_at_their_times) {
  const protocol::QueuedDoorbell bells[] = {
      {.time_ps = 400, .value = 7}, {.time_ps = 400, .value = 8}, {.time_ps = 900, .value = 9}};
  thread().doorbells.add(bells);
  EXPECT_EQ(thread().next_event_time(), at_ps(400));
  engine_.run();
  EXPECT_EQ(rung, (std::vector<std::pair<std::int64_t, std::uint64_t>>{{400, 7}, {400, 8}, {900, 9}}));
  thread().doorbells.add(std::span(bells, 0));
  EXPECT_EQ(thread().next_event_time(), kNever);
}

TEST_F(ThreadTest, a_dead_thread_has_no_events) {
  const protocol::QueuedDoorbell bell{.time_ps = 400};
  thread().doorbells.add(std::span(&bell, 1));
  thread().run_at(at_ps(300));
  thread().hold(std::nullopt);
  thread().die();
  thread().go_on(at_ps(500));
  engine_.run();
  EXPECT_TRUE(due.empty());
  EXPECT_TRUE(rung.empty());
  EXPECT_EQ(thread().state(), Thread::State::kDead);
}

TEST_F(ThreadTest, records_are_emitted_at_their_times_or_before_the_next_action) {
  std::vector<std::pair<int, std::int64_t>> emitted;
  for (const int ps : {300, 300, 800}) {
    thread().early_records.emit_at(at_ps(ps), [&emitted, ps, this] { emitted.emplace_back(ps, to_ps(engine_.now())); });
  }
  thread().early_records.emit_due();
  EXPECT_TRUE(emitted.empty());
  engine_.run_until(at_ps(299));
  {
    Engine::Ahead ahead(engine_, at_ps(300));
    thread().early_records.emit_due();
  }
  EXPECT_EQ(emitted.size(), 2u);
  engine_.run();
  EXPECT_EQ(emitted, (std::vector<std::pair<int, std::int64_t>>{{300, 300}, {300, 300}, {800, 800}}));
}

TEST_F(ThreadTest, a_held_thread_goes_on_once) {
  thread().hold(Answer{.result = 5});
  thread().go_on(at_ps(500));
  thread().go_on(at_ps(900));
  engine_.run();
  EXPECT_EQ(due, std::vector<std::int64_t>{500});
  EXPECT_EQ(thread().take_held_answer()->result, 5);
  EXPECT_FALSE(thread().take_held_answer());
}

TEST_F(ThreadTest, a_signal_interrupts_a_wait_unless_it_is_masked) {
  thread().block({}, kNever, "an event");
  thread().add_masked({.signal = 10});
  EXPECT_EQ(thread().next_event_time(), kNever);
  EXPECT_FALSE(thread().signals.has_deliverable());
  thread().signals.await(1u << 9);
  EXPECT_TRUE(thread().signals.has_deliverable()) << "it waits for this one";
  EXPECT_TRUE(thread().signals.masked.empty());
  thread().add_masked({.signal = 10});
  EXPECT_EQ(thread().next_event_time(), at_ps(700));
  EXPECT_EQ(thread().signals.next(), 10);
}

TEST_F(ThreadTest, repeated_calls_that_find_nothing_are_recognised) {
  call(SYS_getpid, 0);
  EXPECT_FALSE(thread().is_repeated_poll());
  const auto empty = [this](std::int64_t first) {
    call(SYS_read, first);
    return thread().empty_calls.add(thread().call(), true);
  };
  EXPECT_FALSE(empty(1));
  EXPECT_TRUE(empty(1));
  EXPECT_TRUE(thread().is_repeated_poll());
  EXPECT_FALSE(empty(2)) << "other arguments";
  EXPECT_TRUE(empty(1)) << "one of the last few";
  call(SYS_read, 1);
  EXPECT_FALSE(thread().empty_calls.add(thread().call(), false));
  EXPECT_FALSE(thread().is_repeated_poll());
  EXPECT_FALSE(empty(1)) << "another series";
  for (std::int64_t other = 10; other < 13; ++other) EXPECT_FALSE(empty(other));
  EXPECT_TRUE(empty(1)) << "four calls are kept";
  EXPECT_FALSE(empty(13)) << "in the place of the oldest";
  EXPECT_FALSE(empty(1));
  EXPECT_FALSE(empty(10));
  EXPECT_TRUE(empty(13));
  call(SYS_nanosleep, 5);
  (void)thread().empty_calls.add(thread().call(), true);
  EXPECT_TRUE(thread().empty_calls.add(thread().call(), true));
  EXPECT_FALSE(thread().is_repeated_poll()) << "a sleep";
}

TEST_F(ThreadTest, a_result_holds_until_a_file_of_the_call_changes_or_closes) {
  auto file = std::make_shared<AnyFile>(), other = std::make_shared<AnyFile>();
  call(SYS_read, 1);
  (void)thread().empty_calls.add(thread().call(), true);
  EXPECT_EQ(known_places(thread().empty_calls.still_empty(protocol::kAllKnownCalls)), 0u) << "no result yet";
  EXPECT_EQ(thread().empty_calls.keep_result(-11, Duration(0), {}, {file}), 1u | 1u << protocol::kKeptAtShift);
  call(SYS_read, 2);
  (void)thread().empty_calls.add(thread().call(), true);
  EXPECT_EQ(thread().empty_calls.keep_result(-11, Duration(9), {1, 2}, {file, other}),
            3u | 2u << protocol::kKeptAtShift);
  const KnownCalls known = thread().empty_calls.still_empty(2);
  EXPECT_EQ(known[0], nullptr) << "not asked for";
  ASSERT_NE(known[1], nullptr);
  EXPECT_EQ(known[1]->result, -11);
  EXPECT_EQ(known[1]->slept, Duration(9));
  EXPECT_EQ(known[1]->memory, (std::vector<std::uint8_t>{1, 2}));
  other->change();
  EXPECT_EQ(known_places(thread().empty_calls.still_empty(protocol::kAllKnownCalls)), 1u);
  file.reset();
  EXPECT_EQ(known_places(thread().empty_calls.still_empty(protocol::kAllKnownCalls)), 0u);
}

TEST_F(ThreadTest, a_thread_that_was_found_spinning_pokes_itself_for_64_slices) {
  thread().poke.start_slice(100);
  EXPECT_EQ(thread().poke.after_us(), 0u);
  thread().poke.spin_found();
  for (int i = 0; i < 64; ++i) {
    thread().poke.start_slice(100);
    EXPECT_EQ(thread().poke.after_us(), 100u) << i;
  }
  thread().poke.spin_not_found();
  EXPECT_EQ(thread().poke.after_us(), 200u);
  for (int i = 0; i < 20; ++i) thread().poke.spin_not_found();
  EXPECT_EQ(thread().poke.after_us(), 100'000u);
  thread().poke.start_slice(100);
  EXPECT_EQ(thread().poke.after_us(), 0u);
}

// Two looks in a turn, at 0 and 300 of 1000 ps. Its second poll comes after a read and a write of memory.
Parked two_looks() {
  auto proof = std::make_shared<spin::PollLoopProof>();
  proof->polls.own().resize(2);
  proof->polls[1].accesses->read = {{0x1000, 8}};
  proof->polls[1].accesses->written = {{0x2000, {1, 2, 3, 4}}};
  Parked parked;
  parked.since = at_ps(5000);
  parked.turn = Duration(1000);
  parked.looks.push_back(Duration(300));
  parked.proof = proof;
  parked.epoch = 10;
  return parked;
}

TEST_F(ThreadTest, turns_that_have_ended_are_followed_by_others_if_no_program_has_run) {
  PageCache cache;
  ReadAhead read_ahead;
  WriteBehind write_behind;
  std::uint64_t epoch = 10;
  process_->memory().use(cache, read_ahead, write_behind, epoch);
  Duration total{};
  const auto park_for_a_turn = [&](Parked parked) {
    parked.most_looks = 2;
    parked.since = engine_.now();
    parked.epoch = epoch;
    thread().park(std::move(parked), &total);
    engine_.run_until(engine_.now() + Duration(1000));
  };
  park_for_a_turn(two_looks());
  thread().end_turns();
  EXPECT_EQ(thread().state(), Thread::State::kPending);
  EXPECT_EQ(thread().next_event_time(), engine_.now());
  EXPECT_TRUE(thread().parking.take_own_end());
  EXPECT_FALSE(thread().parking.take_own_end()) << "once";
  park_for_a_turn(two_looks());
  ++epoch;
  thread().end_turns();
  EXPECT_FALSE(thread().parking.take_own_end()) << "a program has run before the end";
  park_for_a_turn(two_looks());
  thread().end_turns();
  ++epoch;
  EXPECT_FALSE(thread().parking.take_own_end()) << "a program has run after the end";
  park_for_a_turn(two_looks());
  thread().unpark();
  EXPECT_FALSE(thread().parking.take_own_end()) << "something has changed";
  park_for_a_turn(two_looks());
  thread().end_turns();
  park_for_a_turn(two_looks());
  thread().unpark();
  EXPECT_FALSE(thread().parking.take_own_end()) << "the end of an earlier wait";
  Parked reads_clock = two_looks();
  auto proof = std::make_shared<spin::PollLoopProof>(*reads_clock.proof);
  proof->period_ps = 1000;
  reads_clock.growing = reads_clock.proof = proof;
  park_for_a_turn(std::move(reads_clock));
  thread().end_turns();
  EXPECT_FALSE(thread().parking.take_own_end()) << "it reads a clock";
  process_.reset();
}

TEST(Parked, looks_of_a_turn_have_their_times) {
  const Parked parked = two_looks();
  EXPECT_EQ(parked.time_of(0), at_ps(5000));
  EXPECT_EQ(parked.time_of(1), at_ps(5300));
  EXPECT_EQ(parked.time_of(2), at_ps(6000));
  EXPECT_EQ(parked.time_of(7), at_ps(8300));
  EXPECT_EQ(parked.beginning(7), 6);
  EXPECT_EQ(parked.look_due(at_ps(100)), 1) << "before the thread was parked";
  EXPECT_EQ(parked.look_due(at_ps(5000)), 1) << "the look at which it was parked is over";
  EXPECT_EQ(parked.look_due(at_ps(5300)), 1);
  EXPECT_EQ(parked.look_due(at_ps(5301)), 2);
  EXPECT_EQ(parked.look_due(at_ps(6000)), 2);
  EXPECT_EQ(parked.look_due(at_ps(6001)), 3);
  EXPECT_EQ(parked.look_due(at_ps(8301)), 8);
}

TEST(Parked, a_turn_touches_bytes_between_its_first_poll_and_the_look) {
  const Parked parked = two_looks();
  EXPECT_FALSE(parked.touches_before(0, {0x1000, 8})) << "after the look";
  EXPECT_TRUE(parked.touches_before(1, {0x1000, 8}));
  EXPECT_TRUE(parked.touches_before(3, {0x1007, 1})) << "in each turn";
  EXPECT_TRUE(parked.touches_before(1, {0x0fff, 2}));
  EXPECT_FALSE(parked.touches_before(1, {0x1008, 8}));
  EXPECT_FALSE(parked.touches_before(1, {0x0ff0, 16}));
  EXPECT_TRUE(parked.touches_before(1, {0x2003, 1})) << "a write";
  EXPECT_FALSE(parked.touches_before(1, {0x2004, 1}));
  EXPECT_FALSE(parked.touches_before(1, {0x1fff, 1}));
  auto proof = std::make_shared<spin::PollLoopProof>(*parked.proof);
  proof->code = {{0x7000, {0x90, 0xc3}}};
  Parked by_code = two_looks();
  by_code.proof = proof;
  EXPECT_TRUE(by_code.touches_before(1, {0x7001, 1})) << "code";
  EXPECT_FALSE(by_code.touches_before(1, {0x7002, 1}));
  EXPECT_FALSE(by_code.touches_before(2, {0x7001, 1}));
}

TEST(Parked, memory_is_as_it_was_if_all_writes_are_known_and_beside_the_turn) {
  Parked parked = two_looks();
  EXPECT_TRUE(parked.is_as_parked_before(1, 10));
  EXPECT_FALSE(parked.is_as_parked_before(1, 11)) << "an unknown write";
  parked.note_write(0x3000, 8);
  EXPECT_TRUE(parked.is_as_parked_before(1, 11));
  EXPECT_FALSE(parked.is_as_parked_before(1, 10));
  parked.note_write(0x1004, 1);
  EXPECT_FALSE(parked.is_as_parked_before(1, 12));
  EXPECT_TRUE(parked.is_as_parked_before(2, 12)) << "the look is the first of its turn";
  parked.growing = parked.proof;
  EXPECT_FALSE(parked.is_as_parked_before(2, 12));
}

TEST(Parked, memory_that_was_written_at_another_address_is_not_as_it_was) {
  Parked parked = two_looks();
  parked.is_written_elsewhere = true;
  EXPECT_FALSE(parked.is_as_parked_before(1, 10));
}

TEST(Parked, of_more_writes_than_sixteen_the_list_is_incomplete) {
  Parked parked = two_looks();
  for (int i = 0; i < 16; ++i) parked.note_write(0x3000, 8);
  EXPECT_TRUE(parked.is_as_parked_before(1, 26));
  parked.note_write(0x3000, 8);
  EXPECT_FALSE(parked.is_as_parked_before(1, 27));
}

TEST(Parked, watched_bytes_are_known_until_somebody_writes_to_one) {
  Parked parked = two_looks();
  parked.watched = {{0x4000, {0, 0}}, {0x5000, {0}}};
  EXPECT_TRUE(parked.is_as_watched(10));
  EXPECT_FALSE(parked.is_as_watched(11)) << "an unknown write";
  for (std::uint64_t i = 0; i < 100; ++i) parked.note_write(0x6000 + i * 64, 64);
  EXPECT_TRUE(parked.is_as_watched(110)) << "packets of one message";
  parked.note_write(0x3fff, 1);
  EXPECT_TRUE(parked.is_as_watched(111));
  parked.note_write(0x4001, 1);
  EXPECT_FALSE(parked.is_as_watched(112));
}

TEST(Parked, watched_bytes_may_have_another_address) {
  Parked parked = two_looks();
  parked.watched = {{0x4000, {0, 0}}};
  parked.note_write(0x6000, 8);
  EXPECT_TRUE(parked.is_as_watched(11));
  parked.is_written_elsewhere = true;
  EXPECT_FALSE(parked.is_as_watched(11));
}

TEST(Parked, a_program_has_run_if_an_epoch_began_without_a_write) {
  Parked parked = two_looks();
  parked.watched = {{0x4000, {0, 0}}};
  EXPECT_TRUE(parked.nothing_has_run(10));
  for (std::uint64_t i = 1; i <= 17; ++i) parked.note_write(0x6000, 8);
  EXPECT_TRUE(parked.nothing_has_run(27)) << "all are counted";
  EXPECT_FALSE(parked.is_as_watched(27)) << "but not all places are known";
  EXPECT_FALSE(parked.nothing_has_run(28));
}

TEST(Parked, growing_turns_change_the_bytes_that_they_write) {
  Parked parked = two_looks();
  const spin::ByteRun runs[] = {{0x4000, {0, 0}}};
  EXPECT_FALSE(parked.changes(runs)) << "nothing grows";
  auto proof = std::make_shared<spin::PollLoopProof>();
  proof->writes = {{0x4001, {0}}};
  parked.growing = proof;
  EXPECT_TRUE(parked.changes(runs));
  const spin::ByteRun beside[] = {{0x4002, {0}}, {0x4000, {0}}};
  EXPECT_FALSE(parked.changes(beside));
}

TEST(Parked, polls_are_of_a_queue_of_a_context) {
  Parked parked;
  parked.queues = {{1, 7}, {2, 8}};
  EXPECT_TRUE(parked.polls(1, 7));
  EXPECT_TRUE(parked.polls(2, 8));
  EXPECT_FALSE(parked.polls(1, 8));
}

TEST_F(ThreadTest, a_closed_descriptor_is_free_and_watches_no_signals) {
  process_->set_calling_thread(getpid());
  const int lowest = process_->files().lowest_free_number();
  ASSERT_GE(lowest, 0);
  for (int fd = 0; fd < lowest; ++fd) EXPECT_NE(fcntl(fd, F_GETFD), -1) << fd << " is free";
  EXPECT_EQ(fcntl(lowest, F_GETFD), -1);
  constexpr std::uint64_t kTerm = 1ull << (SIGTERM - 1);
  process_->files().install_at(lowest, std::make_shared<SignalFile>(*process_, kTerm));
  EXPECT_EQ(process_->files().watched_signals(), kTerm);
  EXPECT_GT(process_->files().lowest_free_number(), lowest);
  const std::atomic<std::uint64_t>& shown = process_->region().header().virtual_fds[lowest / 64];
  EXPECT_NE(shown.load() >> (lowest % 64) & 1, 0u);
  EXPECT_TRUE(process_->files().close(lowest));
  EXPECT_EQ(process_->files().watched_signals(), 0u);
  EXPECT_EQ(shown.load() >> (lowest % 64) & 1, 0u);
  EXPECT_EQ(process_->files().lowest_free_number(), lowest);
  EXPECT_FALSE(process_->files().close(lowest));
}

TEST_F(ThreadTest, exec_closes_the_marked_descriptors_that_linux_does_not_have) {
  const int first = process_->files().own_descriptors(), marked = (first / 64 + 1) * 64 + 3;
  process_->region().high_descriptors().close_on_exec[marked / 64] = 1ull << (marked % 64);
  EXPECT_TRUE(process_->files().closes_unknown_by_exec(marked));
  EXPECT_FALSE(process_->files().closes_unknown_by_exec(marked - 1));
  EXPECT_FALSE(process_->files().closes_unknown_by_exec(marked + 1));
  process_->region().high_descriptors().close_on_exec[0] = 1 << 5;
  EXPECT_FALSE(process_->files().closes_unknown_by_exec(5)) << "Linux has it";
}

}  // namespace
}  // namespace verbatim::supervisor
