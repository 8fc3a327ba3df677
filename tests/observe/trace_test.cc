#include <gtest/gtest.h>

#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "sim/observe/counters.h"
#include "sim/observe/text_trace_sink.h"
#include "sim/observe/watched.h"

namespace verbatim::observe {
namespace {

const ComponentTable& components() {
  static const ComponentTable table({"switch/leaf0", "hca/server", "port/server:1"});
  return table;
}

TraceRecord record(std::int64_t time_ps, const char* component, TraceEvent event, std::uint64_t a = 0,
                   std::uint64_t b = 0, std::uint64_t c = 0, std::uint64_t d = 0) {
  return {time_ps, components().id(component).value, event, {a, b, c, d}};
}

TEST(TextTrace, line_has_time_component_event_and_named_values) {
  EXPECT_EQ(
      to_text(record(1'234'567, "port/server:1", TraceEvent::kPacketTransmitted, 4, 17, 9, 30), {},
              components()),
      "1.234567 us  port/server:1  packet-transmitted  opcode=Send-Only dest_qp=17 psn=9 wire_bytes=30");
}

TEST(TextTrace, times_are_exact_to_the_picosecond) {
  const auto time = [](std::int64_t ps) {
    const std::string line = to_text(record(ps, "hca/server", TraceEvent::kAsyncEvent), {}, components());
    return line.substr(0, line.find(' '));
  };
  EXPECT_EQ(time(0), "0.000000");
  EXPECT_EQ(time(1), "0.000001");
  EXPECT_EQ(time(999'999), "0.999999");
  EXPECT_EQ(time(100'000'000'000'001), "100000000.000001");
}

TEST(TextTrace, bytes_show_as_length_and_hash) {
  const std::string payload = "hello";
  const std::string line = to_text(record(0, "hca/server", TraceEvent::kDmaWrite, 1, 0x1000, 5),
                                   std::as_bytes(std::span(payload)), components());
  EXPECT_NE(line.find("va=0x000000001000 length=5 bytes=5:"), std::string::npos) << line;
}

TEST(TextTrace, sink_writes_one_line_for_each_record) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  TextTraceSink sink(file, components());
  sink.on_record(record(1, "hca/server", TraceEvent::kQpState, 17, 0, 1), {});
  sink.on_record(record(2, "hca/server", TraceEvent::kQpState, 17, 1, 2), {});
  sink.flush();
  std::rewind(file);
  char buffer[512] = {};
  const std::size_t n = std::fread(buffer, 1, sizeof buffer, file);
  std::fclose(file);
  EXPECT_EQ(std::string(buffer, n),
            "0.000001 us  hca/server  qp-state  qpn=17 from=0 to=1\n"
            "0.000002 us  hca/server  qp-state  qpn=17 from=1 to=2\n");
}

TEST(Counters, count_events_and_packets_by_component) {
  Counters counters(components().size());
  counters.on_record(record(1, "port/server:1", TraceEvent::kPacketTransmitted, 4, 17, 9, 30), {});
  counters.on_record(record(2, "port/server:1", TraceEvent::kPacketTransmitted, 4, 17, 10, 40), {});
  counters.on_record(record(3, "switch/leaf0", TraceEvent::kPacketDropped, 4, 17, 10, 1), {});
  EXPECT_EQ(counters.records(), 3u);
  EXPECT_EQ(counters.count(TraceEvent::kPacketTransmitted), 2u);
  EXPECT_EQ(counters.of(components().id("port/server:1")).packets_transmitted, 2u);
  EXPECT_EQ(counters.of(components().id("port/server:1")).bytes_transmitted, 70u);
  EXPECT_EQ(counters.of(components().id("switch/leaf0")).packets_dropped, 1u);
  EXPECT_EQ(counters.of(components().id("hca/server")).packets_transmitted, 0u);
}

TEST(Watched, takes_the_events_of_its_observer_from_the_watched_components) {
  struct Doorbells final : TraceSink {
    std::vector<TraceRecord> records;
    TraceEvents events() const override { return bits_of(TraceEvent::kDoorbell); }
    void on_record(const TraceRecord& one, std::span<const std::byte>) override { records.push_back(one); }
  };
  Engine engine;
  Tracer tracer(engine);
  Doorbells doorbells;
  WatchSet server{.components = std::vector<bool>(components().size())};
  server.components[components().id("hca/server").value] = true;
  Watched watched(server, {.records = &doorbells});
  watched.add_to(tracer);
  for (const char* component : {"switch/leaf0", "hca/server"}) {
    for (const TraceEvent event : {TraceEvent::kQpState, TraceEvent::kDoorbell}) tracer.record(components().id(component), event);
  }
  ASSERT_EQ(doorbells.records.size(), 1u);
  EXPECT_EQ(doorbells.records[0].component, components().id("hca/server").value);
  EXPECT_EQ(doorbells.records[0].event, TraceEvent::kDoorbell);
}

}  // namespace
}  // namespace verbatim::observe
