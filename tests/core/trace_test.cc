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

TEST(Tracer, every_event_has_its_own_row_of_names) {
  EXPECT_EQ(names_of(TraceEvent::kPacketTransmitted).name, "packet-transmitted");
  EXPECT_EQ(names_of(TraceEvent::kPacketDropped).values[3], "reason");
  EXPECT_EQ(names_of(TraceEvent::kProgramWarning).name, "program-warning");
}

}  // namespace
}  // namespace verbatim
