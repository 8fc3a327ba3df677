// The engine executes timers in the order of (time, class, source, number).
#include "sim/core/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sim/core/rng.h"
#include "tests/core/at.h"

namespace verbatim {
namespace {

// Appends its name to a log when it fires.
struct Probe {
  Probe(Engine& engine, std::vector<std::string>& log, std::string name, std::uint32_t source,
        EventClass event_class)
      : log(log),
        name(std::move(name)),
        timer(Timer::of<&Probe::fire>(engine, ComponentId{source}, event_class, this)) {}
  void fire() { log.push_back(name); }
  std::vector<std::string>& log;
  std::string name;
  Timer timer;
};

TEST(Engine, executes_by_time_then_class_then_source_then_number) {
  Engine engine;
  std::vector<std::string> log;
  Probe late(engine, log, "late", 0, EventClass::kCredit);
  Probe stage_b(engine, log, "stage b", 2, EventClass::kStage);
  Probe stage_a(engine, log, "stage a", 1, EventClass::kStage);
  Probe credit(engine, log, "credit", 9, EventClass::kCredit);
  Probe second(engine, log, "second", 3, EventClass::kTimeout);
  Probe first(engine, log, "first", 3, EventClass::kTimeout);
  late.timer.schedule_at(at(11));
  stage_b.timer.schedule_at(at(10));
  stage_a.timer.schedule_at(at(10));
  credit.timer.schedule_at(at(10));
  first.timer.schedule_at(at(10));
  second.timer.schedule_at(at(10));
  engine.run();
  EXPECT_EQ(log, (std::vector<std::string>{"credit", "stage a", "stage b", "first", "second", "late"}));
  EXPECT_EQ(engine.now(), at(11));
  EXPECT_EQ(engine.events_executed(), 6u);
}

TEST(Engine, work_before_its_time_schedules_as_if_the_time_had_come) {
  Engine engine;
  std::vector<std::string> log;
  Probe between(engine, log, "between", 1, EventClass::kStage), soon(engine, log, "soon", 2, EventClass::kStage);
  Probe later(engine, log, "later", 3, EventClass::kStage);
  between.timer.schedule_at(at(4));
  {
    const Engine::Ahead ahead(engine, at(6));
    EXPECT_EQ(engine.now(), at(6));
    EXPECT_EQ(ahead.earliest_scheduled(), kNever);
    later.timer.schedule_after(at(3) - at(0));
    soon.timer.schedule_after(Duration::zero());
    EXPECT_EQ(ahead.earliest_scheduled(), at(6));
  }
  EXPECT_EQ(engine.now(), at(0));
  engine.run();
  EXPECT_EQ(log, (std::vector<std::string>{"between", "soon", "later"}));
  EXPECT_EQ(engine.now(), at(9));
}

TEST(Engine, order_of_different_sources_ignores_the_order_of_scheduling) {
  for (const bool reversed : {false, true}) {
    Engine engine;
    std::vector<std::string> log;
    Probe a(engine, log, "a", 1, EventClass::kArrival), b(engine, log, "b", 2, EventClass::kArrival);
    (reversed ? b : a).timer.schedule_at(at(5));
    (reversed ? a : b).timer.schedule_at(at(5));
    engine.run();
    EXPECT_EQ(log, (std::vector<std::string>{"a", "b"}));
  }
}

TEST(Engine, a_cancelled_timer_does_not_fire_and_a_destroyed_one_leaves_the_queue) {
  Engine engine;
  std::vector<std::string> log;
  Probe kept(engine, log, "kept", 1, EventClass::kStage);
  kept.timer.schedule_at(at(3));
  {
    Probe gone(engine, log, "gone", 2, EventClass::kStage);
    gone.timer.schedule_at(at(1));
  }
  Probe cancelled(engine, log, "cancelled", 3, EventClass::kStage);
  cancelled.timer.schedule_at(at(2));
  cancelled.timer.cancel();
  cancelled.timer.cancel();
  EXPECT_FALSE(cancelled.timer.scheduled());
  EXPECT_EQ(engine.next_event_time(), at(3));
  engine.run();
  EXPECT_EQ(log, (std::vector<std::string>{"kept"}));
  EXPECT_EQ(engine.next_event_time(), kNever);
}

TEST(Engine, run_until_executes_events_at_the_end_and_none_after_it) {
  Engine engine;
  std::vector<std::string> log;
  Probe a(engine, log, "a", 1, EventClass::kStage), b(engine, log, "b", 1, EventClass::kStage);
  a.timer.schedule_at(at(10));
  b.timer.schedule_at(at(11));
  engine.run_until(at(9));
  EXPECT_TRUE(log.empty());
  engine.run_until(at(10));
  EXPECT_EQ(log, (std::vector<std::string>{"a"}));
  EXPECT_EQ(engine.now(), at(10));
  engine.run_until(at(500));
  EXPECT_EQ(engine.now(), at(500));
  EXPECT_EQ(log.size(), 2u);
}

struct Prefetched {
  void on_event() { EXPECT_EQ(next_step, kPrefetchSteps); }
  void prefetch(int step) { EXPECT_EQ(step, next_step++); }
  int next_step = 0;
};

TEST(Engine, asks_for_the_memory_of_events_step_by_step_before_them_while_many_are_scheduled) {
  constexpr int kEvents = 4'000, kFirst = 100, kLast = 400;
  Engine engine;
  std::vector<Prefetched> owners(kEvents);
  std::vector<std::unique_ptr<Timer>> timers;
  for (int i = 0; i < kEvents; ++i) {
    Prefetched* const owner = &owners[static_cast<std::size_t>(i)];
    const bool is_checked = i >= kFirst && i < kLast;
    constexpr ComponentId kSource{0};
    timers.emplace_back(
        new Timer(is_checked ? Timer::with_prefetch<&Prefetched::on_event, &Prefetched::prefetch>(engine, kSource,
                                                                                                  EventClass::kStage, owner)
                             : Timer(engine, kSource, EventClass::kStage, owner, [](void*) {})));
    timers.back()->schedule_at(instant_from_ps(i));
  }
  engine.run();
  EXPECT_EQ(owners[kFirst].next_step, kPrefetchSteps);
  EXPECT_EQ(owners[kLast - 1].next_step, kPrefetchSteps);
}

TEST(Engine, an_event_may_schedule_at_its_own_instant) {
  struct Chain {
    explicit Chain(Engine& engine)
        : timer(Timer::of<&Chain::fire>(engine, ComponentId{1}, EventClass::kArrival, this)) {}
    void fire() {
      if (++count < 5) timer.schedule_after(Duration(0));
    }
    int count = 0;
    Timer timer;
  };
  Engine engine;
  Chain chain(engine);
  chain.timer.schedule_at(at(7));
  engine.run();
  EXPECT_EQ(chain.count, 5);
  EXPECT_EQ(engine.now(), at(7));
}

TEST(EngineDeathTest, scheduling_in_the_past_or_twice_is_a_bug_of_ours) {
  Engine engine;
  std::vector<std::string> log;
  Probe a(engine, log, "a", 1, EventClass::kStage);
  engine.run_until(at(10));
  EXPECT_EXIT(a.timer.schedule_at(at(9)), testing::ExitedWithCode(70), "CHECK");
  a.timer.schedule_at(at(10));
  EXPECT_EXIT(a.timer.schedule_at(at(12)), testing::ExitedWithCode(70), "CHECK");
}

TEST(ComponentTable, ids_follow_the_sorted_names) {
  const ComponentTable one({"b", "a", "c"}), other({"c", "b", "a"});
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_EQ(one.id(name), other.id(name));
    EXPECT_EQ(one.name(one.id(name)), name);
  }
  EXPECT_LT(one.id("a"), one.id("b"));
  EXPECT_EXIT(one.id("d"), testing::ExitedWithCode(70), "CHECK");
}

// Parameter: the number of timers; few, which the engine keeps sorted, or more.
class EngineOracle : public testing::TestWithParam<int> {};

// 40,000 random schedules, cancellations, moves and steps, in events and between them, compared to a slow
// implementation with a multimap.
TEST_P(EngineOracle, agrees_with_an_ordered_map_on_random_operations) {
  using Key = std::tuple<std::int64_t, int, std::uint32_t, std::uint64_t>;
  struct Item {
    Item(Engine& engine, int index, std::uint32_t source, EventClass event_class,
         std::function<void(Item&)> on_fire)
        : index(index),
          source(source),
          event_class(event_class),
          on_fire(std::move(on_fire)),
          timer(Timer::of<&Item::fire>(engine, ComponentId{source}, event_class, this)) {}
    void fire() { on_fire(*this); }
    int index;
    std::uint32_t source;
    EventClass event_class;
    std::function<void(Item&)> on_fire;
    Key key{};
    Timer timer;
  };
  Engine engine;
  Rng rng(42, "engine-test");
  std::vector<std::unique_ptr<Item>> items;
  std::multimap<Key, int> oracle;
  std::map<std::uint32_t, std::uint64_t> numbers;
  const auto cancel = [&](Item& item) {
    if (item.timer.scheduled()) oracle.erase(item.key);
    item.timer.cancel();
  };
  const auto schedule = [&](Item& item) {
    cancel(item);
    const std::int64_t when = to_ps(engine.now()) + static_cast<std::int64_t>(rng.below(rng.below(4) == 0 ? 1000 : 20));
    item.timer.schedule_at(at(when));
    item.key = {when, static_cast<int>(item.event_class), item.source, ++numbers[item.source]};
    oracle.emplace(item.key, item.index);
  };
  const auto compare = [&] {
    ASSERT_EQ(engine.empty(), oracle.empty());
    ASSERT_EQ(engine.next_event_time(), oracle.empty() ? kNever : at(std::get<0>(oracle.begin()->first)));
    const Instant limit = rng.below(4) == 0 ? kNever : engine.now() + Duration(static_cast<std::int64_t>(rng.below(1000)));
    std::vector<std::int64_t> visited, expected;
    engine.for_each_hardware_event_before(limit, [&](Instant when, EventClass event_class, ComponentId) {
      EXPECT_NE(event_class, EventClass::kProgram);
      visited.push_back(to_ps(when));
      return limit;
    });
    engine.for_each_program_event_before(limit, [&](Instant when, EventClass event_class, ComponentId) {
      EXPECT_EQ(event_class, EventClass::kProgram);
      visited.push_back(to_ps(when));
      return limit;
    });
    for (const auto& [key, index] : oracle) {
      if (at(std::get<0>(key)) < limit) expected.push_back(std::get<0>(key));
    }
    std::ranges::sort(visited);
    ASSERT_EQ(visited, expected);
    const auto earlier = [earliest = kNever](Instant when, EventClass, ComponentId) mutable {
      return earliest = std::min(earliest, when);
    };
    const Instant hardware = engine.for_each_hardware_event_before(kNever, earlier);
    const Instant program = engine.for_each_program_event_before(kNever, earlier);
    ASSERT_EQ(std::min(hardware, program), engine.next_event_time());
  };
  std::vector<int> fired;
  const auto on_fire = [&](Item& fires) {
    fired.push_back(fires.index);
    oracle.erase(oracle.begin());
    for (std::uint64_t deeds = rng.below(3); deeds > 0; --deeds) {
      compare();
      Item& item = rng.below(3) == 0 ? fires : *items[rng.below(items.size())];
      rng.below(2) == 0 ? cancel(item) : schedule(item);
    }
    compare();
  };
  for (int i = 0; i < GetParam(); ++i) {
    items.push_back(std::make_unique<Item>(engine, i, static_cast<std::uint32_t>(rng.below(7)),
                                           static_cast<EventClass>(rng.below(8)), on_fire));
  }
  for (int i = 0; i < 40'000; ++i) {
    Item& item = *items[rng.below(items.size())];
    switch (rng.below(5)) {
      case 0:
        cancel(item);
        break;
      case 1:
      case 2:
      case 3:
        schedule(item);
        break;
      default: {
        fired.clear();
        if (oracle.empty()) {
          ASSERT_FALSE(engine.step());
          break;
        }
        const auto [key, index] = *oracle.begin();
        ASSERT_TRUE(engine.step());
        ASSERT_EQ(fired, std::vector<int>{index}) << "operation " << i;
        ASSERT_EQ(to_ps(engine.now()), std::get<0>(key));
      }
    }
    compare();
  }
}

INSTANTIATE_TEST_SUITE_P(of_timers, EngineOracle, testing::Values(2, 16, 24, 32, 48, 200, 1'000),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace verbatim
