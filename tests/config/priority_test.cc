// Flows of a scenario with traffic classes and service levels: their shares of a link.
#include <gtest/gtest.h>

#include <set>

#include "sim/config/flows.h"
#include "sim/config/simulation.h"
#include "sim/ib/packet_observer.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

// Lane 1, for odd priorities, has three times the weight of lane 0.
constexpr char kLanes[] = R"({"low": [{"lane": 0, "weight": 64}, {"lane": 1, "weight": 192}]})";
constexpr char kShares[] = R"({"shares": [{"lane": 0, "weight": 1}, {"lane": 1, "weight": 3}]})";
constexpr char kStrict[] = R"({"strict": "1", "shares": [{"lane": 0, "weight": 1}]})";

struct Policies {
  std::string adapter = R"("trust": "pcp")", fabric = R"("trust": "dscp")";
  std::string arbitration = kLanes;
};

// Two flows share a link, and one, from `from`, is three times as long as the other. Returns end of the longer / end of the
// other: while both last, shares of 3:1 make it 1, equal ones (3 + 1) / (1 + 1) = 2, and 1:3 makes it (3 + 1) / (1 + 1 / 3) = 3.
double end_ratio(const std::string& from, const std::string& longer, const std::string& other, const Policies& policies = {}) {
  Folder folder;
  const std::string lanes = R"(, "virtual_lanes": 2, "arbitration": )" + policies.arbitration + "}";
  folder.write("nic.json", R"({"profile": "hca", "name": "nic", )" + policies.adapter + lanes);
  folder.write("tor.json", R"({"profile": "switch", "name": "tor", )" + policies.fabric + lanes);
  folder.write("t.json", R"({"name": "t", "link_layer": "roce", "generate": {"shape": "star", "hosts": 3, "rate": "100 Gbps", "hca": "nic",
                             "switch": "tor"}})");
  const std::string scenario =
      R"({"name": "s", "topology": "t.json", "flows": [{"from": ")" + from + R"(", "to": "h2", "bytes": "6 MiB", )" + longer +
      R"(}, {"from": "h1", "to": "h2", "bytes": "2 MiB", )" + other + "}]}";
  Diagnostics diagnostics;
  const auto spec = load_scenario(folder.write("s.json", scenario), with_profiles(), diagnostics);
  EXPECT_TRUE(spec.has_value()) << text_of(diagnostics);
  if (!spec) return 0;
  DefaultChoices choices;
  Simulation simulation(spec->topology, 1, choices);
  workload::Workload workload;
  const auto added = add_traffic(simulation, spec->traffic, workload);
  simulation.engine().run();
  EXPECT_TRUE(workload.is_done());
  const auto end = [&](std::size_t flow) { return static_cast<double>(to_ps(added[flow]->finish())); };
  return end(0) / end(1);
}

constexpr char kClass32[] = R"("traffic_class": 32)", kClass0[] = R"("traffic_class": 0)", kLevel1[] = R"("service_level": 1)";

TEST(Priorities, traffic_class_32_gets_three_times_the_share_of_0_behind_a_switch) {
  EXPECT_NEAR(end_ratio("h0", kClass32, kClass0), 1, 0.03);
  EXPECT_NEAR(end_ratio("h0", kClass0, kClass0), 2, 0.05) << "equal shares, and the rest alone";
}

TEST(Priorities, shares_of_ethernet_are_those_of_a_line) {
  EXPECT_NEAR(end_ratio("h0", kClass32, kClass0, {.arbitration = kShares}), 1, 0.03);
}

// The strict flow ends when 6 of the 8 MiB have been sent. If it is the shorter flow, the longer one ends
// after it.
TEST(Priorities, a_strict_lane_has_the_line_to_itself) {
  EXPECT_NEAR(end_ratio("h0", kClass32, kClass0, {.arbitration = kStrict}), 6.0 / 8, 0.02);
  EXPECT_NEAR(end_ratio("h0", kClass0, kClass32, {.arbitration = kStrict}), 8.0 / 2, 0.1);
}

// Traffic classes of packets that adapters send, by whether they carry data.
class ClassesSent final : public ib::PacketObserver {
 public:
  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId) override {
    if (record.event != TraceEvent::kPacketTransmitted || !packet.grh) return;
    (packet.payload.length > 0 ? of_data : of_others).insert(packet.grh->traffic_class);
  }
  std::set<int> of_data, of_others;
};

// READs carry data to the host that asks for it.
TEST(Priorities, packets_without_data_may_have_a_traffic_class_of_their_own) {
  for (const char* const operation : {"write", "send", "read"}) {
    for (const bool is_given : {false, true}) {
      SCOPED_TRACE(operation);
      Folder folder;
      Diagnostics diagnostics;
      const std::string key = is_given ? R"("acknowledgement_traffic_class": 8, )" : "";
      const auto spec = load_scenario(
          folder.write("s.json", R"({"name": "s", "topology": ")" VERBATIM_SOURCE_DIR
                                 R"(/topologies/two_hosts_roce.json", "flows": [{"from": "server", "to": "client", "bytes": "64 KiB", )" +
                                     key + R"("traffic_class": 96, "operation": ")" + operation + R"("}]})"),
          with_profiles(), diagnostics);
      ASSERT_TRUE(spec.has_value()) << text_of(diagnostics);
      DefaultChoices choices;
      Simulation simulation(spec->topology, 1, choices);
      ClassesSent sent;
      simulation.tracer().add(sent);
      workload::Workload workload;
      add_traffic(simulation, spec->traffic, workload);
      simulation.engine().run();
      EXPECT_TRUE(workload.is_done());
      EXPECT_EQ(sent.of_data, std::set<int>{96});
      EXPECT_EQ(sent.of_others, std::set<int>{is_given ? 8 : 96});
    }
  }
}

TEST(Priorities, arbitration_of_ethernet_does_not_count_on_infiniband) {
  for (const char* const layer : {"infiniband", "roce"}) {
    Folder folder;
    const std::string lanes = R"(, "virtual_lanes": 2, "arbitration": )" + std::string(kStrict) + "}";
    folder.write("nic.json", R"({"profile": "hca", "name": "nic")" + lanes);
    folder.write("tor.json", R"({"profile": "switch", "name": "tor")" + lanes);
    Diagnostics diagnostics;
    const std::string text = R"({"name": "t", "link_layer": ")" + std::string(layer) +
                             R"(", "generate": {"shape": "star", "hosts": 2, "rate": "EDR 4x", "hca": "nic", "switch": "tor"}})";
    const auto topology = load_topology(folder.write("t.json", text), with_profiles(), diagnostics);
    ASSERT_TRUE(topology.has_value()) << text_of(diagnostics);
    const bool is_ethernet = std::string(layer) == "roce";
    EXPECT_EQ(topology->hosts[0].hca_profile.arbitration.has_ethernet_scheduling(), is_ethernet);
    EXPECT_EQ(topology->switches[0].switch_profile.arbitration.has_ethernet_scheduling(), is_ethernet);
  }
}

TEST(Priorities, a_service_level_without_a_vlan_tag_means_nothing_to_a_switch) {
  for (const char* const trust : {"dscp", "pcp"}) {
    const Policies policies{.fabric = R"("trust": ")" + std::string(trust) + "\""};
    EXPECT_NEAR(end_ratio("h0", kLevel1, kClass0, policies), 2, 0.05) << trust;
  }
}

// Both flows leave the same adapter. The adapter's map decides at its port, the switch's map at the next
// port.
TEST(Priorities, an_adapter_and_a_switch_have_maps_of_their_own) {
  constexpr char kSame[] = R"("trust": "dscp")", kOther[] = R"("trust": "dscp", "dscp_to_priority": [{"dscp": "0", "priority": 1}, {"dscp": "8", "priority": 0}])";
  EXPECT_NEAR(end_ratio("h1", kClass32, kClass0, {kSame, kSame}), 1, 0.03);
  EXPECT_NEAR(end_ratio("h1", kClass32, kClass0, {kOther, kSame}), 3, 0.3) << "1:3 by the adapter, and the rest alone";
  EXPECT_NEAR(end_ratio("h0", kClass32, kClass0, {kSame, kOther}), 3, 0.3) << "from two adapters: by the switch";
}

}  // namespace
}  // namespace verbatim::config
