#include "sim/management/performance_agent.h"

#include <gtest/gtest.h>

#include "sim/mad/fields.h"

namespace verbatim::management {
namespace {

struct Counters final : PortCounters {
  PortCounts counts(std::uint8_t port) const override { return port < of.size() ? of[port] : PortCounts{}; }
  std::array<PortCounts, 3> of;
};

constexpr std::uint16_t kCounters = 0x12, kExtended = 0x1d;

class PerformanceAgentTest : public testing::Test {
 protected:
  PerformanceAgentTest() {
    node.info.type = mad::smp::NodeType::kSwitch;
    node.ports.resize(3);
  }

  ib::Mad ask(std::uint8_t method, std::uint16_t attribute, std::uint8_t port, std::uint16_t mask = 0) {
    ib::Mad mad{};
    mad::Header header;
    header.management_class = mad::kPerformanceManagement;
    header.class_version = 1;
    header.method = method;
    header.attribute_id = attribute;
    mad::put_header(mad, header);
    mad[65] = std::byte{port};
    mad::FieldWriter(mad).number(66, 0, 16, mask);
    return agent.answer(mad, 1);
  }
  static std::uint64_t number(const ib::Mad& mad, std::size_t byte, unsigned bits) {
    std::uint64_t value = 0;
    mad::FieldReader(mad).number(64 + byte, 0, bits, value);
    return value;
  }

  Node node;
  Counters counted;
  PerformanceAgent agent{node, counted};
};

TEST_F(PerformanceAgentTest, a_counter_stays_at_the_end_of_its_field) {
  counted.of[1].transmit_discards = 70'000;
  counted.of[1].words_transmitted = 0x1'0000'0005;
  const ib::Mad answer = ask(mad::kGet, kCounters, 1);
  EXPECT_EQ(number(answer, 14, 16), 0xffffu);
  EXPECT_EQ(number(answer, 24, 32), 0xffff'ffffu);
  EXPECT_EQ(number(ask(mad::kGet, kExtended, 1), 8, 64), 0x1'0000'0005u);
}

TEST_F(PerformanceAgentTest, what_the_mask_names_begins_anew) {
  counted.of[1].packets_transmitted = 10;
  counted.of[1].packets_received = 20;
  ask(mad::kSet, kCounters, 1, 1u << 14);
  counted.of[1].packets_transmitted = 13;
  const ib::Mad answer = ask(mad::kGet, kCounters, 1);
  EXPECT_EQ(number(answer, 32, 32), 3u);
  EXPECT_EQ(number(answer, 36, 32), 20u);
  EXPECT_EQ(agent.counts(1).packets_transmitted, 3u);
}

TEST_F(PerformanceAgentTest, port_255_is_all_of_a_switch) {
  counted.of[1].packets_received = 1;
  counted.of[2].packets_received = 2;
  EXPECT_EQ(number(ask(mad::kGet, kCounters, 255), 36, 32), 3u);
  ask(mad::kSet, kCounters, 255, 1u << 15);
  EXPECT_EQ(number(ask(mad::kGet, kCounters, 2), 36, 32), 0u);
}

TEST_F(PerformanceAgentTest, what_is_not_there_is_refused) {
  EXPECT_EQ(mad::header_of(ask(mad::kGet, kCounters, 3)).status, mad::kInvalidField);
  constexpr std::uint16_t kPortSamplesControl = 0x10;
  EXPECT_EQ(mad::header_of(ask(mad::kGet, kPortSamplesControl, 1)).status, mad::kUnsupportedAttribute);
  EXPECT_EQ(mad::header_of(ask(mad::kTrap, kCounters, 1)).status, mad::kUnsupportedMethod);
}

}  // namespace
}  // namespace verbatim::management
