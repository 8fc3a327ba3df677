// Typical results of congestion control on InfiniBand (Gran, Zahavi and others, on simulators and hardware),
// with their parameters: threshold 15, packets of 512 bytes and more, every one marked, index up by 1 for a
// notification and down by 1 in 153.6 us. Entry n of the table delays by n / 4 of a packet's time. The MTU is
// 2 KiB, then usual for InfiniBand: threshold 15 is 8 KiB of this switch's buffer. With 4 KiB three packets
// that meet by chance are marked, and four senders give the hot spot 60 % of its rate.
//
// The parking lot has threshold 12. With 15 the marked queue is four packets long, of flows whose packets all
// arrive at even distances: for microseconds, packets that leave four behind are all of one flow, so the
// marks of a flow are not proportional to its packets. The ratio then remains 1.7 to 1. Shares are measured
// from 15 ms on, because a and b, which the first switch marks at the beginning as well, need that long to
// reach c.
#include <gtest/gtest.h>

#include "sim/config/flows.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

std::string table(int entries) {
  std::string text;
  for (int i = 0; i < entries; ++i) text += (i == 0 ? "2:" : ",2:") + std::to_string(i);
  return text;
}

std::string congestion_control(int threshold) {
  return R"(, "congestion_control": {"cc_sw_cong_setting_threshold": )" + std::to_string(threshold) +
         R"(, "cc_sw_cong_setting_packet_size": 8, "cc_ca_cong_setting_ccti_increase": ["0 1"],
              "cc_ca_cong_setting_ccti_timer": ["0 150"], "cc_cct": ")" +
         table(128) + "\"}";
}

// Bytes that each flow delivers from one time, in milliseconds, to another.
struct Span {
  std::int64_t from, to;
};
using Ends = std::pair<std::string, std::string>;
std::vector<double> delivered(const std::string& parts, const std::vector<Ends>& flows, Span span) {
  Folder folder;
  Diagnostics diagnostics;
  std::string text = R"({"topology": "t.json", "flows": [)";
  for (const auto& [from, to] : flows) {
    text += (text.ends_with('[') ? "" : ",") + std::string(R"({"from": ")") + from + R"(", "to": ")" + to +
            R"(", "bytes": "1 GiB", "message_size": "256 KiB"})";
  }
  folder.write("light.json", R"({"profile": "hca", "name": "light", "endpoint": "light", "max_mtu": 4})");
  folder.write("t.json", R"({"name": "t", )" + parts + "}");
  const auto spec = load_scenario(folder.write("s.json", text + "]}"), with_profiles(), diagnostics);
  EXPECT_TRUE(spec.has_value()) << text_of(diagnostics);
  if (!spec) return std::vector<double>(flows.size());
  DefaultChoices choices;
  Simulation simulation(spec->topology, 1, choices);
  workload::Workload workload;
  const auto added = add_traffic(simulation, spec->traffic, workload);
  constexpr std::int64_t kMs = 1'000'000'000;
  simulation.engine().run_until(instant_from_ps(span.from * kMs));
  std::vector<double> bytes;
  for (const workload::Flow* flow : added) bytes.push_back(-static_cast<double>(flow->acknowledged()));
  simulation.engine().run_until(instant_from_ps(span.to * kMs));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] += static_cast<double>(added[i]->acknowledged());
  return bytes;
}

std::string hosts(const std::string& names) {
  std::string text = R"("hosts": [)";
  for (const char name : names) text += (text.ends_with('[') ? "" : ", ") + std::string(R"({"name": ")") + name + R"(", "hca": "light"})";
  return text + "]";
}

std::string cable(const std::string& a, const std::string& b, const std::string& rate = "EDR 4x") {
  return R"({"a": ")" + a + R"(", "b": ")" + b + R"(", "rate": ")" + rate + R"(", "length": "5 m"})";
}

// a and b at the first switch, c at the second one, all send to d there. The second switch serves its inputs alike, so that a
// and b share what c has alone.
constexpr char kSwitches[] = R"(, "switches": [{"name": "s0", "profile": "quantum", "ports": 8}, {"name": "s1", "profile": "quantum", "ports": 8}], "links": [)";

std::vector<double> parking_lot(const std::string& more) {
  return delivered(hosts("abcd") + kSwitches + cable("a", "s0:1") + "," + cable("b", "s0:2") + "," + cable("s0:3", "s1:3") + "," +
                       cable("c", "s1:1") + "," + cable("d", "s1:2") + "]" + more,
                   {{"a", "d"}, {"b", "d"}, {"c", "d"}}, {15, 35});
}

TEST(CongestionShapes, a_parking_lot_is_unfair_by_two_to_one_without_congestion_control) {
  const std::vector<double> bytes = parking_lot("");
  EXPECT_NEAR(bytes[2] / bytes[0], 2, 0.2);
  EXPECT_NEAR(bytes[2] / bytes[1], 2, 0.2);
}

TEST(CongestionShapes, a_parking_lot_is_fair_with_congestion_control) {
  const std::vector<double> bytes = parking_lot(congestion_control(12));
  const auto [least, most] = std::ranges::minmax(bytes);
  EXPECT_LE(most / least, 1.25) << bytes[0] << " " << bytes[1] << " " << bytes[2];
  EXPECT_GE(bytes[0] + bytes[1] + bytes[2], 0.8 * 12.5e9 * 0.02) << "80 % of the last cable";
}

// a at the first switch and b, c, d at the second one send to h there. v at the first switch sends to w at the second one, over
// the cable that a uses, too; it has room for both.
std::vector<double> hot_spot(const std::string& more, const std::vector<Ends>& flows) {
  return delivered(hosts("abcdhvw") + kSwitches + cable("a", "s0:1") + "," + cable("v", "s0:2") + "," +
                       cable("s0:3", "s1:3", "HDR 4x") + "," + cable("b", "s1:1") + "," + cable("c", "s1:2") + "," +
                       cable("d", "s1:4") + "," + cable("h", "s1:5") + "," + cable("w", "s1:6") + "]" + more,
                   flows, {5, 15});
}

TEST(CongestionShapes, a_hot_spot_takes_more_than_half_from_a_victim_without_congestion_control_and_a_tenth_with_it) {
  const double alone = hot_spot("", {{"v", "w"}})[0];
  const std::vector<Ends> all = {{"v", "w"}, {"a", "h"}, {"b", "h"}, {"c", "h"}, {"d", "h"}};
  const double without = hot_spot("", all)[0];
  EXPECT_LT(without, 0.5 * alone);
  const std::vector<double> with = hot_spot(congestion_control(15), all);
  EXPECT_GE(with[0], 0.9 * alone);
  EXPECT_GE(with[1] + with[2] + with[3] + with[4], 0.8 * 12.5e9 * 0.01) << "80 % of the hot spot's cable";
}

}  // namespace
}  // namespace verbatim::config
