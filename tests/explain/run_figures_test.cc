// Figures of a run, for a picture and a trace with known figures.
#include "tools/verbatim/run_figures.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace verbatim::cli {
namespace {

TEST(RecordedFigures, throughput_is_the_bytes_of_messages_over_the_time_with_a_message_under_way) {
  RunPicture picture;
  picture.requests.push_back({.bytes = 1000, .posted = 1'000'000, .completed = 3'000'000});
  picture.requests.push_back({.bytes = 500, .rung = 2'000'000, .acknowledged = 5'000'000});
  const RecordedFigures figures = figures_of({}, picture);
  EXPECT_EQ(figures.messages, 2u);
  EXPECT_EQ(figures.bytes, 1500u);
  EXPECT_EQ(figures.busy_ps, 4'000'000);
  EXPECT_DOUBLE_EQ(figures.throughput().value(), 3e9);  // 12,000 bits in 4 us
  EXPECT_EQ(to_json(figures)["bits_per_second"], 3'000'000'000u);
  // Two more requests, one a second later and one during it: idle time does not count.
  picture.requests.push_back({.bytes = 500, .posted = 1'000'000'000'000, .completed = 1'000'004'000'000});
  picture.requests.push_back({.bytes = 0, .posted = 1'000'001'000'000, .completed = 1'000'002'000'000});
  EXPECT_EQ(figures_of({}, picture).busy_ps, 8'000'000);
}

TEST(RecordedFigures, requests_without_an_end_and_failed_ones_do_not_count) {
  RunPicture picture;
  picture.requests.push_back({.bytes = 1000, .posted = 1'000'000});
  picture.requests.push_back({.bytes = 1000, .posted = 1'000'000, .completed = 9'000'000, .status = 12});
  const RecordedFigures figures = figures_of({}, picture);
  EXPECT_EQ(figures.messages, 0u);
  EXPECT_EQ(figures.p50_ps, -1);
  EXPECT_FALSE(figures.throughput().has_value());
  EXPECT_TRUE(to_json(figures)["bits_per_second"].is_null());
}

// Nearest rank: of 200 messages of 1, 2, ... 200 ns the 100th and the 198th.
TEST(RecordedFigures, latencies_are_those_of_the_nearest_rank) {
  RunPicture picture;
  for (std::int64_t i = 200; i >= 1; --i)
    picture.requests.push_back({.bytes = 1, .posted = 1'000'000, .completed = 1'000'000 + 1000 * i});
  RecordedFigures figures = figures_of({}, picture);
  EXPECT_EQ(figures.p50_ps, 100'000);
  EXPECT_EQ(figures.p99_ps, 198'000);
  EXPECT_EQ(figures.longest_ps, 200'000);
  picture.requests.resize(1);
  figures = figures_of({}, picture);
  EXPECT_EQ(figures.p50_ps, 200'000);
  EXPECT_EQ(figures.p99_ps, 200'000);
}

TEST(RecordedFigures, drops_retries_and_completions_are_counted_in_the_trace) {
  RecordedRun run;
  const auto add = [&](const char* component, const char* event, const char* values) { run.lines.push_back({1000, component, event, values, ""}); };
  add("port/a:1", "packet-dropped", "opcode=Send-Only dest_qp=72 psn=1 reason=3");
  add("hca/b", "packet-dropped", "opcode=Send-Only dest_qp=72 psn=2 reason=1");
  add("hca/a", "retransmission", "qpn=72 psn=1 cause=1 tries_left=6");
  add("hca/a", "completion", "cqn=128 qpn=72 wr_id=1 status=0");
  add("hca/a", "completion", "cqn=128 qpn=72 wr_id=2 status=12");
  add("hca/a", "completion", "cqn=128 qpn=72 wr_id=3 status=5");
  RunPicture picture;
  picture.packets = 7;
  picture.rows.push_back({.bytes = 30, .flags = RunPicture::kRetransmission});
  picture.rows.push_back({.bytes = 30, .flags = RunPicture::kRnrNak});
  picture.rows.push_back({.bytes = 0, .flags = RunPicture::kRetransmission});  // no packet: the start of a retransmission
  const RecordedFigures figures = figures_of(run, picture);
  EXPECT_EQ(figures.packets, 7u);
  EXPECT_EQ(figures.drops, 2u);
  EXPECT_EQ(figures.retries, 1u);
  EXPECT_EQ(figures.repeated_packets, 1u);
  EXPECT_EQ(figures.rnr_naks, 1u);
  EXPECT_EQ(figures.completions, 3u);
  EXPECT_EQ(figures.failed_completions, 2u);
  EXPECT_EQ(figures.flushed_completions, 1u);
}

// A run of two adapters: the trace has the packets that `send` adds.
struct SentPackets {
  RecordedRun run;
  std::int64_t time = 0;

  SentPackets() { run.lines.push_back({0, "hca/a", "qp-state", "qpn=72 from=0 to=1", ""}); }
  void send(std::uint64_t qpn, const char* opcode, std::uint64_t dest_qp, std::uint64_t psn) {
    const std::string packet = " psn=" + std::to_string(psn);
    run.lines.push_back({++time, "hca/a", "payload-gathered", "qpn=" + std::to_string(qpn) + packet + " length=8 hash=0", ""});
    run.lines.push_back({++time, "port/a:1", "packet-transmitted",
                         std::string("opcode=") + opcode + " dest_qp=" + std::to_string(dest_qp) + packet + " wire_bytes=30", ""});
  }
  std::uint64_t repeated() const { return figures_of(run, picture_of(run)).repeated_packets; }
};

TEST(RecordedFigures, a_request_with_a_psn_that_was_sent_before_is_sent_again) {
  SentPackets sent;
  sent.send(72, "RDMA-Write-Only", 80, 5);
  sent.send(72, "RDMA-Write-Only", 80, 6);
  EXPECT_EQ(sent.repeated(), 0u);
  sent.send(72, "RDMA-Write-Only", 80, 6);
  EXPECT_EQ(sent.repeated(), 1u);
}

// Each has PSN 0 (IBA A17.9.3).
TEST(RecordedFigures, congestion_notifications_are_not_sent_again) {
  SentPackets sent;
  for (int i = 0; i < 3; ++i) sent.send(72, "CNP", 80, 0);
  EXPECT_EQ(sent.repeated(), 0u);
}

// Numbers of queue pairs are those of a host, so two peers may have the same.
TEST(RecordedFigures, packets_of_two_queue_pairs_to_peers_with_one_number_are_not_sent_again) {
  SentPackets sent;
  sent.send(72, "RDMA-Write-Only", 80, 5);
  sent.send(73, "RDMA-Write-Only", 80, 5);
  EXPECT_EQ(sent.repeated(), 0u);
}

TEST(RecordedFigures, packets_sent_again_are_those_of_run_json) {
  SentPackets sent;
  sent.send(72, "RDMA-Write-Only", 80, 5);
  sent.run.report = nlohmann::json::parse(R"({"losses": {"packets_sent_again": 7}})");
  EXPECT_EQ(sent.repeated(), 7u);
  for (const char* const damaged : {R"({"losses": null})", R"({"losses": {"packets_sent_again": -1}})", R"({"losses": {}})", "[]"}) {
    sent.run.report = nlohmann::json::parse(damaged);
    EXPECT_EQ(sent.repeated(), 0u) << damaged;
  }
}

}  // namespace
}  // namespace verbatim::cli
