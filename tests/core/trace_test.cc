// Every sink receives a record with the engine's time.
#include "sim/core/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace verbatim {
namespace {

struct Keeper : TraceSink {
  std::vector<TraceRecord> records;
  std::size_t bytes = 0;
  void on_record(const TraceRecord& record, std::span<const std::byte> content) override {
    records.push_back(record);
    bytes += content.size();
  }
};

TEST(Tracer, stamps_a_record_and_hands_it_with_its_bytes_to_every_sink) {
  Engine engine;
  Tracer tracer(engine);
  tracer.record(ComponentId{1}, TraceEvent::kDoorbell);  // no sink is registered
  Keeper one, two;
  tracer.add(one);
  tracer.add(two);
  engine.run_until(instant_from_ps(12));
  const std::byte content[3] = {};
  tracer.record(ComponentId{4}, TraceEvent::kDmaWrite, 1, 2, 3, 0, content);
  ASSERT_EQ(one.records.size(), 1u);
  EXPECT_EQ(one.records[0], (TraceRecord{12, 4, TraceEvent::kDmaWrite, {1, 2, 3, 0}}));
  EXPECT_EQ(one.records, two.records);
  EXPECT_EQ(one.bytes, 3u);
}

// A record that no sink takes is numbered, too: the others' numbers do not depend on who listens.
TEST(Tracer, gives_a_sink_the_records_of_its_events_only) {
  struct Doorbells : Keeper {
    TraceEvents events() const override { return bits_of(TraceEvent::kDoorbell, TraceEvent::kCompletion); }
  };
  struct AnyOrder final : Doorbells {
    bool takes_any_order() const override { return true; }
  };
  Engine engine;
  Tracer tracer(engine);
  Doorbells doorbells;
  AnyOrder any_order;
  tracer.add(doorbells);
  tracer.add(any_order);
  tracer.record_at(instant_from_ps(5), ComponentId{1}, TraceEvent::kPayloadGathered, 0, 0, 0, 0);
  tracer.record_at(instant_from_ps(9), ComponentId{1}, TraceEvent::kCompletion, 0, 0, 0, 0);
  tracer.record(ComponentId{1}, TraceEvent::kDmaWrite);
  tracer.record(ComponentId{1}, TraceEvent::kDoorbell);
  ASSERT_EQ(any_order.records.size(), 2u);
  EXPECT_EQ(any_order.records[0].event, TraceEvent::kCompletion);
  engine.run_until(instant_from_ps(9));
  tracer.record(ComponentId{2}, TraceEvent::kQpState);  // releases what is due
  ASSERT_EQ(doorbells.records.size(), 2u);
  EXPECT_EQ(doorbells.records[0].event, TraceEvent::kDoorbell);
  EXPECT_EQ(doorbells.records[0].number, 3u);
  EXPECT_EQ(doorbells.records[1].event, TraceEvent::kCompletion);
  EXPECT_EQ(doorbells.records[1].number, 1u);
}

// Records of work done ahead have the time of the work.
TEST(Tracer, keeps_records_back_until_they_are_released) {
  Engine engine;
  Tracer tracer(engine);
  Keeper keeper;
  tracer.add(keeper);
  std::vector<HeldRecord> held;
  const std::byte content[2] = {};
  {
    const Engine::Ahead ahead(engine, instant_from_ps(7));
    tracer.hold_back(&held);
    tracer.record(ComponentId{3}, TraceEvent::kSystemCall, 1, 2, 3, 0, content);
    tracer.hold_back(nullptr);
  }
  tracer.record(ComponentId{4}, TraceEvent::kDoorbell);
  ASSERT_EQ(held.size(), 1u);
  tracer.release(held[0]);
  ASSERT_EQ(keeper.records.size(), 2u);
  EXPECT_EQ(keeper.records[0], (TraceRecord{0, 4, TraceEvent::kDoorbell, {}}));
  EXPECT_EQ(keeper.records[1], (TraceRecord{7, 3, TraceEvent::kSystemCall, {1, 2, 3, 0}}));
  EXPECT_EQ(keeper.bytes, 2u);
}

TEST(Tracer, numbers_the_records_of_each_component_when_they_reach_the_sinks) {
  Engine engine;
  Tracer tracer(engine);
  Keeper keeper;
  tracer.add(keeper);
  std::vector<HeldRecord> held;
  tracer.hold_back(&held);
  tracer.record(ComponentId{3}, TraceEvent::kSystemCall);
  tracer.hold_back(nullptr);
  for (const std::uint32_t component : {3, 0, 3}) tracer.record(ComponentId{component}, TraceEvent::kDoorbell);
  tracer.release(held[0]);
  std::vector<std::uint64_t> numbers;
  for (const TraceRecord& record : keeper.records) numbers.push_back(record.number);
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{0, 0, 1, 2}));
}

// Sinks that need the order of times receive such records at their time, other sinks at once; both with the
// same number.
TEST(Tracer, records_of_a_later_time_reach_sinks_in_the_order_that_they_take) {
  struct AnyOrder final : Keeper {
    bool takes_any_order() const override { return true; }
  };
  Engine engine;
  Tracer tracer(engine);
  Keeper in_order;
  AnyOrder at_once;
  tracer.add(in_order);
  tracer.add(at_once);
  tracer.record_at(instant_from_ps(9), ComponentId{1}, TraceEvent::kDmaWrite, 9, 0, 0, 0);
  tracer.record_at(instant_from_ps(5), ComponentId{2}, TraceEvent::kDmaWrite, 5, 0, 0, 0);
  tracer.record_at(instant_from_ps(5), ComponentId{1}, TraceEvent::kDmaWrite, 5, 0, 0, 0);
  tracer.record(ComponentId{1}, TraceEvent::kDoorbell);
  EXPECT_EQ(at_once.records.size(), 4u);
  ASSERT_EQ(in_order.records.size(), 1u);
  Timer timer(engine, ComponentId{3}, EventClass::kStage, &tracer, [](void* to) {
    static_cast<Tracer*>(to)->record(ComponentId{3}, TraceEvent::kDoorbell);
  });
  timer.schedule_at(instant_from_ps(7));
  engine.run();
  tracer.finish();
  std::vector<std::tuple<std::int64_t, std::uint32_t, std::uint64_t>> seen;
  for (const TraceRecord& record : in_order.records) seen.emplace_back(record.time_ps, record.component, record.number);
  EXPECT_EQ(seen, (decltype(seen){{0, 1, 2}, {5, 1, 1}, {5, 2, 0}, {7, 3, 0}, {9, 1, 0}}));
  EXPECT_TRUE(std::ranges::is_permutation(in_order.records, at_once.records));
}

TEST(Tracer, every_event_has_its_own_row_of_names) {
  EXPECT_EQ(names_of(TraceEvent::kPacketTransmitted).name, "packet-transmitted");
  EXPECT_EQ(names_of(TraceEvent::kPacketDropped).values[3], "reason");
  EXPECT_EQ(names_of(TraceEvent::kProgramWarning).name, "program-warning");
}

}  // namespace
}  // namespace verbatim
