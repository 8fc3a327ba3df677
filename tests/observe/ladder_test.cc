// Parsed trace lines, and ladders of them.
#include "sim/observe/ladder.h"

#include <gtest/gtest.h>

#include <regex>
#include <sstream>

namespace verbatim::observe {
namespace {

std::vector<TraceLine> lines_of(const std::string& text) {
  std::vector<TraceLine> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (const auto parsed = parse_trace_line(line)) lines.push_back(*parsed);
  }
  return lines;
}

const char kTrace[] =
    "0.000000 us  host/server  program-started  pid=1000\n"
    "1.500000 us  hca/client  doorbell  kind=0 number=72 producer=1\n"
    "2.000000 us  port/client:1  packet-transmitted  opcode=Send-Only dest_qp=73 psn=100 wire_bytes=30\n"
    "2.100000 us  port/leaf:1  packet-received  opcode=Send-Only dest_qp=73 psn=100 wire_bytes=30\n"
    "2.200000 us  port/server:1  packet-received  opcode=Send-Only dest_qp=73 psn=100 wire_bytes=30\n"
    "2.300000 us  hca/server  dma-write  process=1000 va=0x000010000000 length=64 bytes=64:db94f6d9b0f99dc5\n"
    "2.300000 us  hca/server  dma-write  process=1000 va=0x000010000000 length=64 bytes=64:ab94f6d9b0f99dc5\n"
    "2.400000 us  hca/server  completion  cqn=129 qpn=73 wr_id=5 status=0 bytes=64:2bd70b4f6d1951a6\n"
    "not a record\n"
    "9.000000 us  host/server  program-exited  pid=1000 exit_code=0 signal=0\n";

TEST(TraceLine, is_taken_apart) {
  const auto line = parse_trace_line("100538.450001 us  hca/server  dma-write  process=1 va=0x01 length=2 bytes=2:ab");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->time_ps, 100'538'450'001);
  EXPECT_EQ(line->component, "hca/server");
  EXPECT_EQ(line->event, "dma-write");
  EXPECT_EQ(line->values, "process=1 va=0x01 length=2");
  EXPECT_EQ(line->bytes, "2:ab");
  EXPECT_EQ(line->value("va"), "0x01");
  EXPECT_EQ(line->value("a"), "");
  for (const char* text : {"", "x", "1.0 us  a  b", "1.000000  a  b", "-1.000000 us  a  b", "1.000000 us  a", "1.0000x0 us  a  b"})
    EXPECT_FALSE(parse_trace_line(text)) << text;
}

TEST(Ladder, a_column_for_each_host_and_arrows_between_them) {
  LadderOptions options;
  options.unicode = false;
  options.width = 118;
  EXPECT_EQ(ladder_text(lines_of(kTrace), options),
            "  time in us        | client                                         | server\n"
            "  0.000             |                                                | program-started pid=1000\n"
            "  1.500             | doorbell for sends of QP 72, up to number 1    |\n"
            "  2.000             | Send-Only to QP 73 PSN 100 -->                 |\n"
            "  2.200             |                                                | --> Send-Only to QP 73 PSN 100\n"
            "  2.300             |                                                | write of 64 bytes to 0x000010000000\n"
            "                    | (1 more like it)\n"
            "  2.400             |                                                | completion of wr_id 5, QP 73, in CQ 129\n"
            "  9.000             |                                                | program-exited pid=1000 exit_code=0 signal=0\n");
}

TEST(Ladder, shows_what_is_asked_for) {
  LadderOptions options;
  options.from_ps = 1'000'000;
  options.to_ps = 2'250'000;
  options.queue_pairs = {73};
  options.width = 60;
  options.marked = {2};
  const std::string text = ladder_text(lines_of(kTrace), options);
  EXPECT_NE(text.find("> 2.000             │ Send-Only to QP ~ │\n"), std::string::npos) << text;
  EXPECT_NE(text.find("──▶ Send-Only to~\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("rings"), std::string::npos) << text;
  EXPECT_EQ(text.find("completion"), std::string::npos) << text;
  EXPECT_EQ(ladder_text({}, options), "");
}

TEST(Ladder, as_a_picture_a_packet_goes_from_where_it_leaves_to_where_it_comes) {
  const std::string svg = ladder_svg(lines_of(kTrace), {});
  EXPECT_TRUE(svg.starts_with("<svg ")) << svg;
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find(">Send-Only to QP 73 PSN 100</text>"), std::string::npos);
  EXPECT_NE(svg.find(">process 1000 ends with exit code 0</text>"), std::string::npos);
  // From the third row in the client's column to the fourth row in the server's.
  const auto rail = [&svg](std::size_t nth) {
    std::size_t at = 0;
    for (std::size_t i = 0; i <= nth; ++i) at = svg.find("class=\"rail\"", at + 1);
    const std::size_t line = svg.rfind("x1=\"", at) + 4;
    return svg.substr(line, svg.find('"', line) - line);
  };
  const std::string packet = "<line x1=\"" + rail(0) + "\" y1=\"79\" x2=\"" + rail(1) + "\" y2=\"97\" class=\"packet\"/>";
  EXPECT_NE(svg.find(packet), std::string::npos) << packet << svg;
  EXPECT_EQ(svg.find("class=\"lost\"/>"), std::string::npos);
}

TEST(Ladder, as_a_picture_a_packet_that_does_not_come_is_lost) {
  std::string text = kTrace;
  text.erase(text.find("2.200000"), text.find("2.300000") - text.find("2.200000"));
  EXPECT_NE(ladder_svg(lines_of(text), {}).find("class=\"lost\"/>"), std::string::npos);
}

// A character is 6.6 pixels wide; those of host names 7.9.
TEST(Ladder, as_a_picture_every_word_is_within_it_and_beside_the_times) {
  const std::string much(300, 'x');
  const std::string text = std::string(kTrace) + "9.500000 us  hca/client  diagnosis  " + much + "\n9.600000 us  hca/server  diagnosis  " + much +
                           "\n9.700000 us  port/server:1  packet-dropped  opcode=Send-Only dest_qp=72 psn=4 reason=3\n";
  const std::string svg = ladder_svg(lines_of(text), {});
  const double width = std::stod(svg.substr(svg.find("width=\"") + 7));
  const std::regex element("<text x=\"([0-9]+)\" y=\"[0-9]+\" text-anchor=\"([a-z]+)\" class=\"([a-z]+)\">([^<]*)</text>");
  std::size_t count = 0;
  for (std::sregex_iterator it(svg.begin(), svg.end(), element), end; it != end; ++it, ++count) {
    const std::smatch& found = *it;
    const double x = std::stod(found[1]), wide = static_cast<double>(found[4].length()) * (found[3] == "head" ? 7.9 : 6.6);
    const double left = found[2] == "start" ? x : found[2] == "end" ? x - wide : x - wide / 2;
    EXPECT_GE(left, found[3] == "time" ? 0 : 110) << found[0];
    EXPECT_LE(left + wide, width) << found[0];
  }
  EXPECT_GT(count, 15u);
  EXPECT_LT(width, 310 * 6.7 * 2 + 320 + 200);
}

}  // namespace
}  // namespace verbatim::observe
