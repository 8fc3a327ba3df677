// Queries of programs through their agents: the answer or a timeout arrives, also with RMPP.
#include "sim/management/mad_agents.h"

#include <gtest/gtest.h>

#include "sim/mad/rmpp.h"

namespace verbatim::management {
namespace {

constexpr std::uint32_t kTimeoutMs = 10, kRetries = 2;

class MadAgentsTest : public testing::Test, protected MadClient, protected ib::ManagementPort {
 protected:
  MadAgentsTest() {
    MadRegistration registration;
    registration.management_class = mad::kSubnetAdministration;
    registration.class_version = 2;
    registration.rmpp_version = 1;
    agent_ = static_cast<std::uint32_t>(agents_.add(registration, *this));
  }

  // A question of two segments.
  int ask() {
    constexpr std::size_t kHeader = 56, kBytes = kHeader + 300;
    MadBytes message(kBytes);
    mad::Header header;
    header.management_class = mad::kSubnetAdministration;
    header.class_version = 2;
    header.method = mad::kSet;
    header.transaction_id = 7;
    ib::Mad first{};
    mad::put_header(first, header);
    first[24] = std::byte{1};                // RMPP version
    first[25] = std::byte{1};                // data
    first[26] = std::byte{1};                // active
    std::copy_n(first.begin(), kHeader, message.begin());
    MadAgents::Sending sending;
    sending.datagram.lid = ib::Lid{2};
    sending.timeout_ms = kTimeoutMs;
    sending.retries = kRetries;
    return agents_.send(agent_, sending, std::move(message));
  }
  void send(const ib::ManagementDatagram& datagram) override { sent_.push_back(datagram); }
  void on_message(std::uint32_t, const ib::ManagementDatagram&, MadBytes) override { ++answers_; }
  void on_unanswered(std::uint32_t, const ib::ManagementDatagram&) override { ++unanswered_; }

  Engine engine_;
  MadAgents agents_{engine_, ComponentId{0}, *this};
  std::uint32_t agent_ = 0;
  std::vector<ib::ManagementDatagram> sent_;
  int answers_ = 0, unanswered_ = 0;
};

TEST_F(MadAgentsTest, a_question_of_several_segments_times_out) {
  ASSERT_EQ(ask(), 0);
  const Instant end = engine_.now() + std::chrono::milliseconds(kTimeoutMs * (1 + kRetries));
  engine_.run_until(end - Duration(1));
  EXPECT_EQ(unanswered_, 0);
  engine_.run_until(end);
  EXPECT_EQ(unanswered_, 1);
  EXPECT_GE(sent_.size(), 1u + kRetries) << "it has been sent again";
}

TEST_F(MadAgentsTest, a_question_of_several_segments_gets_its_answer) {
  ASSERT_EQ(ask(), 0);
  ib::ManagementDatagram answer = sent_.front();
  mad::Header header = mad::header_of(answer.mad);
  header.method = mad::kGetResponse;
  mad::put_header(answer.mad, header);
  for (std::size_t at = 24; at < 36; ++at) answer.mad[at] = std::byte{0};  // one datagram, without RMPP
  EXPECT_TRUE(agents_.deliver(answer));
  EXPECT_EQ(answers_, 1);
  EXPECT_TRUE(agents_.deliver(answer));
  EXPECT_EQ(answers_, 1) << "and no other one";
  engine_.run_until(engine_.now() + std::chrono::seconds(100));
  EXPECT_EQ(unanswered_, 0);
}

}  // namespace
}  // namespace verbatim::management
