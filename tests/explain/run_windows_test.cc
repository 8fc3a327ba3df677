// Outstanding requests, unacknowledged packets and credits over time, with a picture of 1,000 ps.
#include "tools/verbatim/run_windows.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace verbatim::cli {
namespace {

RunPicture picture_of_packets() {
  RunPicture picture;
  picture.columns = {{"a", 72}, {"b", 72}};
  picture.first_packet_ps = 1000;
  picture.last_packet_ps = 1999;
  picture.strings = {"", "RDMA Write Only", "Acknowledge", "RDMA Read Request", "RDMA Read Response Last"};
  return picture;
}

void add_packet(RunPicture& picture, std::int64_t time, std::int64_t end, int from, std::uint32_t text, std::uint64_t psn,
                std::uint32_t flags = 0) {
  RunPicture::Row& row = picture.rows.emplace_back();
  row = {.time_ps = time, .end_ps = end, .from = from, .to = 1 - from, .text = text, .psn = psn, .bytes = 100, .flags = flags};
}

// Value of the bin that contains a time.
std::int64_t at(const Outstanding& one, std::int64_t time) {
  return one.bins.at(static_cast<std::size_t>(time - 1000) * BinnedValues::kBins / 1000);
}

TEST(RunWindows, packets_are_under_way_until_they_are_acknowledged) {
  RunPicture picture = picture_of_packets();
  add_packet(picture, 1000, 1100, 0, 1, 0xffffff);
  add_packet(picture, 1100, 1200, 0, 1, 0);
  add_packet(picture, 1200, 1300, 0, 1, 1);
  add_packet(picture, 1300, 1400, 1, 2, 0);                      // acknowledges the first two when it arrives
  add_packet(picture, 1500, 1600, 0, 1, 1);                      // again
  add_packet(picture, 1650, 1700, 1, 2, 1, RunPicture::kDropped);  // never arrives
  add_packet(picture, 1750, 1800, 1, 2, 1);
  const auto all = unacknowledged_of(picture);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].column, 0);
  EXPECT_EQ(all[0].most, 3u);
  EXPECT_EQ(at(all[0], 1050), 1);
  EXPECT_EQ(at(all[0], 1150), 2);
  EXPECT_EQ(at(all[0], 1350), 3);
  EXPECT_EQ(at(all[0], 1450), 1);
  EXPECT_EQ(at(all[0], 1750), 1);
  EXPECT_EQ(at(all[0], 1850), 0);
}

TEST(RunWindows, a_read_awaits_all_packets_of_its_answer) {
  RunPicture picture = picture_of_packets();
  picture.requests.push_back({.column = 0, .first_psn = 10, .last_psn = 13});
  add_packet(picture, 1000, 1100, 0, 3, 10);
  picture.rows[0].request = 0;
  add_packet(picture, 1200, 1300, 1, 4, 11);
  add_packet(picture, 1400, 1500, 1, 4, 13);
  const auto all = unacknowledged_of(picture);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(at(all[0], 1250), 4);
  EXPECT_EQ(at(all[0], 1350), 2);
  EXPECT_EQ(at(all[0], 1600), 0);
}

TEST(RunWindows, who_never_gets_an_answer_has_no_window) {
  RunPicture picture = picture_of_packets();
  add_packet(picture, 1000, 1100, 0, 1, 5);
  EXPECT_TRUE(unacknowledged_of(picture).empty());
}

TEST(RunWindows, requests_are_outstanding_from_doorbell_to_completion) {
  RunPicture picture = picture_of_packets();
  picture.requests.push_back({.column = 0, .posted = 1000, .rung = 1100, .acknowledged = 1400, .completed = 1500});
  picture.requests.push_back({.column = 0, .posted = 1300, .acknowledged = 1600});
  picture.requests.push_back({.column = 1, .posted = 1900});  // never ends
  const auto all = outstanding_of(picture);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(at(all[0], 1050), 0);
  EXPECT_EQ(at(all[0], 1200), 1);
  EXPECT_EQ(at(all[0], 1400), 2);
  EXPECT_EQ(at(all[0], 1550), 1);
  EXPECT_EQ(at(all[0], 1700), 0);
  EXPECT_EQ(all[1].bins.at(BinnedValues::kBins - 1), 1);
}

TEST(RunWindows, credits_that_acknowledgements_tell) {
  RunPicture picture = picture_of_packets();
  RecordedRun run;
  // 0x05: 6 receives; 0x1f: no credits advertised; 0x20: RNR NAK.
  run.lines.push_back({1000, "hca/a", "ack-received", "qpn=72 psn=1 syndrome=0x05 msn=1", ""});
  run.lines.push_back({1001, "hca/a", "ack-received", "qpn=72 psn=1 syndrome=0x02 msn=1", ""});
  run.lines.push_back({1500, "hca/a", "ack-received", "qpn=72 psn=1 syndrome=0x1f msn=1", ""});
  run.lines.push_back({1500, "hca/a", "ack-received", "qpn=72 psn=1 syndrome=0x20 msn=1", ""});
  run.lines.push_back({1500, "hca/b", "ack-received", "qpn=99 psn=1 syndrome=0x05 msn=1", ""});
  const auto all = peer_credits_of(run, picture);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].column, 0);
  EXPECT_EQ(all[0].fewest, 2);
  EXPECT_EQ(all[0].least.at(0), 6);
  EXPECT_EQ(all[0].least.at(BinnedValues::kBins / 1000), 2);
  EXPECT_EQ(all[0].most.at(0), 6);
  const auto runs = all[0].least.runs();
  EXPECT_EQ(std::ranges::count_if(runs, [](const BinnedValues::Run& run) { return run.value >= 0; }), 2) << "at 1,000 and 1,001 ps";
}

TEST(RunWindows, credits_of_links_by_port_and_lane_the_scarcest_if_there_are_many) {
  RunPicture picture = picture_of_packets();
  RecordedRun run;
  run.facts.push_back({1000, "port/a:1", "credits", "vl=0 blocks=90 of=100", ""});
  run.facts.push_back({1000, "port/a:1", "credits", "vl=0 blocks=80 of=100", ""});
  run.facts.push_back({1000, "port/a:1", "credits", "vl=1 blocks=40 of=50", ""});
  run.facts.push_back({1999, "port/b:1", "credits", "vl=0 blocks=3 of=100", ""});
  const auto all = link_credits_of(run, picture, 3);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].port, "port/a:1");
  EXPECT_EQ(all[0].least.at(0), 80);
  EXPECT_EQ(all[0].most.at(0), 90);
  EXPECT_EQ(all[1].lane, 1u);
  EXPECT_EQ(all[1].of, 50u);
  EXPECT_EQ(all[2].least.at(picture.bin_of(1999)), 3);
  const auto scarce = link_credits_of(run, picture, 1);
  ASSERT_EQ(scarce.size(), 1u);
  EXPECT_EQ(scarce[0].port, "port/b:1");
}

}  // namespace
}  // namespace verbatim::cli
