#include "sim/faults/management_faults.h"

#include <gtest/gtest.h>

namespace verbatim::faults {
namespace {

constexpr Instant kStart{};

struct Recorded : TraceSink {
  void on_record(const TraceRecord& record, std::span<const std::byte>) override { records.push_back(record); }
  std::vector<TraceRecord> records;
};

class ManagementFaultsTest : public ::testing::Test {
 protected:
  ManagementFaultsTest() { tracer.add(recorded); }
  ManagementFaults::Fate send(bool tcp, std::size_t from, std::size_t to, Instant when) {
    const auto protocol = tcp ? ManagementProtocol::kTcp : ManagementProtocol::kUdp;
    return faults.on_transmission(protocol, from, ComponentId{static_cast<std::uint32_t>(10 + from)}, to, when);
  }
  Engine engine;
  Tracer tracer{engine};
  Recorded recorded;
  ManagementFaults faults{tracer};
};

TEST_F(ManagementFaultsTest, counts_what_a_rule_is_about_and_hits_the_chosen) {
  faults.add({.selection = {.first = 2, .every = 2, .count = 2}, .protocol = ManagementProtocol::kUdp, .from = 0});
  std::string lost;
  for (int i = 0; i < 8; ++i) {
    EXPECT_FALSE(send(true, 0, 1, kStart).is_lost) << "TCP";
    EXPECT_FALSE(send(false, 1, 0, kStart).is_lost) << "of another host";
    lost += send(false, 0, 1, kStart).is_lost ? 'x' : '.';
  }
  EXPECT_EQ(lost, ".x.x....");
  EXPECT_EQ(faults.seen(0), 8u);
  EXPECT_EQ(faults.fired(0), 2u);
}

TEST_F(ManagementFaultsTest, delays_add_up_and_what_leaves_earlier_does_not_count) {
  const Instant later = kStart + Duration(10);
  faults.add({.selection = {.count = 0}, .after = later, .delay = Duration(3)});
  faults.add({.selection = {.count = 0}, .delay = Duration(4), .to = 2});
  EXPECT_EQ(send(true, 0, 2, kStart).delay, Duration(4));
  EXPECT_EQ(send(true, 0, 2, later).delay, Duration(7));
  EXPECT_EQ(send(true, 0, 1, later).delay, Duration(3));
  EXPECT_FALSE(send(true, 0, 2, later).is_lost);
}

TEST_F(ManagementFaultsTest, what_a_rule_does_is_in_the_trace) {
  const Instant later = kStart + Duration(10);
  faults.add({.selection = {.first = 2}, .delay = Duration(3)});
  faults.add({.selection = {.count = 0}, .to = 2});
  send(true, 0, 1, kStart);
  EXPECT_TRUE(recorded.records.empty()) << "nothing was hit";
  send(true, 0, 2, later);
  const std::vector<TraceRecord> expected = {{0, 10, TraceEvent::kManagementFault, {2, 10, 3, 0}, 0},
                                             {0, 10, TraceEvent::kManagementFault, {2, 10, 0, 1}, 1}};
  EXPECT_EQ(recorded.records, expected) << "each rule its own";
}

}  // namespace
}  // namespace verbatim::faults
