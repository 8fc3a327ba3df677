// A message over a socket that is taken as a sign of a WRITE.
#include <gtest/gtest.h>

#include "tests/explore/advice_case.h"

namespace verbatim::cli {
namespace {

// The client posts a WRITE, then writes 4 bytes to a socket; the adapter reads the payload late.
Case announced(const std::string& late_write) {
  const std::string notice = "120.000000 us  host/server  socket-data  connection=1 length=4 bytes=4:cc\n";
  const std::string write = " us  hca/server  dma-write  process=1 va=0x000010000000 length=4096 bytes=4096:aa\n";
  const std::string end = "121.000000 us  host/server  program-exited  pid=1000 exit_code=1 signal=0\n";
  Case one{.trace = "101.000000 us  hca/client  payload-gathered  qpn=72 psn=5 length=4096\n" + notice +
                    (late_write.empty() ? end : "120.500000" + late_write + end),
           .without = "101.000000 us  hca/client  payload-gathered  qpn=72 psn=4 length=4096\n104.000000" + write + notice + end,
           .calls = "0.100500000 ms client 1001/1001 write(8, \"\\x01\\x00\\x00\\x00\", 4) = 4 <200 ns>\n"
                    "0.119000000 ms server 1000/1000 read(10, \"\\x01\\x00\\x00\\x00\", 4) = 4 <200 ns>\n",
           .site = "gather-delay",
           .decided_ps = 100'400'000,
           .ended_ps = 121'000'000};
  one.facts = one.without_facts = "104.000000 us  hca/server  placement  process=1 va=0x10000000 length=4096 qpn=72 response=0\n"
                                  "120.500000 us  hca/server  placement  process=1 va=0x10000000 length=4096 qpn=72 response=0\n";
  return one;
}

constexpr const char* kLate = " us  hca/server  dma-write  process=1 va=0x000010000000 length=4096 bytes=4096:aa\n";

TEST(Advice, a_message_over_a_socket_is_no_sign_of_a_write) {
  const std::string text = announced(kLate).text();
  EXPECT_TRUE(has(text, "a message over a socket (4 bytes, which client sent by write(8, \"\\x01\\x00\\x00\\x00\", 4) = 4 at "
                        "100.500 us) reaches server at 120.000 us, but 4096 bytes at 0x000010000000 of an RDMA WRITE for QP 72 "
                        "become visible at 120.500 us only"))
      << text;
  EXPECT_TRUE(has(text, "let client poll the completion of the WRITE before it sends the message")) << text;
  EXPECT_TRUE(has(announced("").text(), "have not arrived when the program fails"));
}

// The bytes are there in time, or another program's data came last: the order has not changed.
TEST(Advice, a_write_before_the_message_proves_nothing) {
  Case one = announced(kLate);
  one.trace.replace(one.trace.find("120.500000 us  hca"), 10, "119.500000");
  EXPECT_EQ(one.text(), "");
  Case other = announced(kLate);
  other.trace.replace(other.trace.find("host/server  socket-data"), 11, "host/client");
  EXPECT_EQ(other.text(), "");
}

}  // namespace
}  // namespace verbatim::cli
