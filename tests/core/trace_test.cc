// A record reaches every sink, stamped with the engine's time.
#include "sim/core/trace.h"

#include <gtest/gtest.h>

namespace verbatim {
namespace {

struct Keeper final : TraceSink {
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
  tracer.record(ComponentId{1}, TraceEvent::kDoorbell);  // without a sink: nothing
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

// What is done before its time is recorded at its time.
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

TEST(Tracer, every_event_has_its_own_row_of_names) {
  EXPECT_EQ(names_of(TraceEvent::kPacketTransmitted).name, "packet-transmitted");
  EXPECT_EQ(names_of(TraceEvent::kPacketDropped).values[3], "reason");
  EXPECT_EQ(names_of(TraceEvent::kProgramWarning).name, "program-warning");
}

}  // namespace
}  // namespace verbatim
