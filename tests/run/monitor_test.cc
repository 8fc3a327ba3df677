// Replies of gdb's monitor command, without gdb and without a run.
#include "tools/verbatim/monitor.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>


namespace verbatim::cli {
namespace {

class AtRest final : public supervisor::HeldRun {
 public:
  std::string holder() const override { return "client: app (pid 1001), thread 1001"; }
  Instant now() const override { return instant_from_ps(2'000'000); }
  Instant fabric_now() const override { return instant_from_ps(1'500'000); }
  std::vector<std::string> waits() override { return {"server: app (pid 1000), thread 1000 polls completion queue 128"}; }
  std::vector<Queues> queues() override {
    hca::Inspection state;
    hca::QueuePairState& qp = state.qps.emplace_back();
    qp.number = 72;
    qp.type = ib::QpType::kRc;
    qp.state = ib::QpState::kRts;
    qp.sends = 3;
    qp.send_entries = 16;
    qp.signaled = 1;
    qp.waits_for_receive = true;
    hca::CompletionQueueState& cq = state.cqs.emplace_back();
    cq.number = 128;
    cq.entries = 8;
    cq.waiting = 2;
    cq.asked = instant_from_ps(1'000'000);
    return {{"server: app (pid 1000)", state}};
  }
};

struct Asked {
  ComponentTable components{{"port/client:1", "switch/leaf0", "port/leaf0:2", "port/leaf0:1", "port/server:1"}};
  Monitor monitor{components};
  AtRest run;

  std::string operator()(const std::string& command) { return monitor.answer(command, run); }

  void record(std::int64_t time_ps, const char* component, TraceEvent event, std::uint64_t psn) {
    const TraceRecord record{time_ps, components.id(component).value, event,
                             {0x04, 72, psn, 90}};  // RC SEND Only
    monitor.on_record(record, {});
  }
};

TEST(Monitor, tells_times_threads_and_queues) {
  Asked ask;
  EXPECT_EQ(ask("now"), "client: app (pid 1001), thread 1001 is held at 2.000 us; the fabric is at 1.500 us\n");
  EXPECT_EQ(ask("threads"), "server: app (pid 1000), thread 1000 polls completion queue 128\n");
  const std::string qps = ask("qps");
  EXPECT_NE(qps.find("server: app (pid 1000): QP 72 RC RTS; sends not complete: 3 of 16, 1 of them signaled"), std::string::npos) << qps;
  EXPECT_NE(qps.find("its peer has no receive for what it sends"), std::string::npos) << qps;
  EXPECT_EQ(ask("qps server"), qps);
  EXPECT_EQ(ask("qps client"), "there are no queue pairs\n");
  const std::string cqs = ask("  cqs  ");
  EXPECT_NE(cqs.find("CQ 128: 2 of 8 completions wait to be polled"), std::string::npos) << cqs;
  EXPECT_NE(cqs.find("an event was requested at 1.000 us"), std::string::npos) << cqs;
}

TEST(Monitor, says_what_can_be_asked) {
  Asked ask;
  EXPECT_EQ(ask(""), ask("help"));
  EXPECT_EQ(ask("qp"), "there is no qp\n" + ask("help"));
  EXPECT_EQ(ask("trace"), "the trace is empty\n");
  EXPECT_EQ(ask("trace 0"), "trace: 0 is no number of lines\n");
  EXPECT_EQ(ask("trace five"), "trace: five is no number of lines\n");
}

TEST(Monitor, keeps_the_latest_facts) {
  Asked ask;
  for (std::uint64_t psn = 0; psn < 2000; ++psn) ask.record(1000, "port/client:1", TraceEvent::kPacketTransmitted, psn);
  const std::string two = ask("trace 2");
  EXPECT_NE(two.find("psn=1998"), std::string::npos) << two;
  EXPECT_NE(two.find("psn=1999"), std::string::npos) << two;
  EXPECT_EQ(two.find("psn=1997"), std::string::npos) << two;
  EXPECT_EQ(ask("trace 5000"), ask("trace 1000"));
}

TEST(Monitor, follows_packets_from_cable_to_switch_to_cable) {
  Asked ask;
  const std::string none = "no packet is on a cable or in a switch\n";
  EXPECT_EQ(ask("packets"), none);
  ask.record(1000, "port/client:1", TraceEvent::kPacketTransmitted, 7);
  EXPECT_EQ(ask("packets"), "Send Only to QP 72, PSN 7, 90 bytes: on the cable from port/client:1 since 0.001 us\n");
  ask.record(2000, "port/leaf0:2", TraceEvent::kPacketReceived, 7);
  EXPECT_EQ(ask("packets"), "Send Only to QP 72, PSN 7, 90 bytes: in the switch, arrived at port/leaf0:2 since 0.002 us\n");
  ask.record(2000, "switch/leaf0", TraceEvent::kPacketForwarded, 7);
  ask.record(3000, "port/leaf0:1", TraceEvent::kPacketTransmitted, 7);
  // A retransmission of the packet before the first one has arrived.
  ask.record(3500, "port/client:1", TraceEvent::kPacketTransmitted, 7);
  EXPECT_EQ(ask("packets"),
            "Send Only to QP 72, PSN 7, 90 bytes: on the cable from port/leaf0:1 since 0.003 us\n"
            "Send Only to QP 72, PSN 7, 90 bytes: on the cable from port/client:1 since 0.003 us\n");
  ask.record(4000, "port/server:1", TraceEvent::kPacketReceived, 7);
  ask.record(5000, "port/leaf0:2", TraceEvent::kPacketDropped, 7);
  EXPECT_EQ(ask("packets"), none);
}

TEST(Monitor, goes_back_by_a_duration) {
  Asked ask;
  EXPECT_EQ(ask("back"), "back: say how far, as in \"monitor back 5us\"\n");
  EXPECT_EQ(ask("back soon"), ask("back"));
  EXPECT_FALSE(ask.monitor.goes_back_to());
  EXPECT_EQ(ask("back 500ns"), "the run goes back to 1.500 us; gdb starts again there\n");
  ASSERT_TRUE(ask.monitor.goes_back_to());
  EXPECT_EQ(*ask.monitor.goes_back_to(), instant_from_ps(1'500'000));
  ask("back 1s");
  EXPECT_EQ(*ask.monitor.goes_back_to(), instant_from_ps(1)) << "there is nothing before the beginning";
}

}  // namespace
}  // namespace verbatim::cli
