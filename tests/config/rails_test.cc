// Connections by address between hosts with several adapters: which of them an address leads to, on both link layers.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "sim/config/simulation.h"
#include "sim/config/words.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

using cm::EventType;

// Hosts a and b with two adapters each, and c with one.
TopologySpec rails(const std::string& link_layer) {
  Folder folder;
  Diagnostics diagnostics;
  const std::string text = R"({"name": "t", "hosts": [{"name": "a", "further_adapters": [{"address": "192.168.1.1/24"}]},
                                                      {"name": "b", "further_adapters": [{"address": "192.168.1.2/24"}]},
                                                      {"name": "c"}],
      "switches": [{"name": "s"}],
      "links": [{"a": "a", "b": "s:1", "rate": "EDR 4x"}, {"a": "b", "b": "s:2", "rate": "EDR 4x"},
                {"a": "a/mlx5_1", "b": "s:3", "rate": "EDR 4x"}, {"a": "b/mlx5_1", "b": "s:4", "rate": "EDR 4x"},
                {"a": "c", "b": "s:5", "rate": "EDR 4x"}],
      "link_layer": ")" + link_layer + "\"}";
  const auto spec = load_topology(folder.write("t.json", text), with_profiles(), diagnostics);
  EXPECT_TRUE(spec.has_value()) << text_of(diagnostics);
  return spec.value_or(TopologySpec());
}

cm::Address v4(const std::string& text, std::uint16_t port) {
  cm::Address address;
  address.family = cm::Family::kIpv4;
  address.ip = ib::ipv4_gid(*parse_ipv4(text));
  address.port = port;
  return address;
}

cm::Address v6(const ib::Gid& ip, std::uint16_t port) {
  cm::Address address;
  address.family = cm::Family::kIpv6;
  address.ip = ip;
  address.port = port;
  return address;
}

// Connects, accepts, and stores the events that it received.
struct Program final : cm::EventSink {
  std::vector<EventType> events;
  std::vector<std::unique_ptr<cm::RdmaId>> accepted;
  std::uint32_t next_qpn = 77;

  void on_event(cm::RdmaId& id, cm::Event&& event) override {
    events.push_back(event.type);
    int error = 0;
    if (event.type == EventType::kAddrResolved) error = id.resolve_route(2000);
    if (event.type == EventType::kRouteResolved) error = id.connect({.qpn = next_qpn++});
    if (event.type == EventType::kConnectResponse) error = id.accept(std::nullopt);
    EXPECT_EQ(error, 0);
    if (event.type != EventType::kConnectRequest) return;
    id.note_request_taken();
    accepted.push_back(std::move(event.request));
    accepted.back()->set_sink(this);
    EXPECT_EQ(accepted.back()->accept(cm::ConnectionParameters{.qpn = 78}), 0);
  }
};

class Rails : public testing::TestWithParam<const char*> {
 protected:
  static constexpr std::uint16_t kPort = 7471;
  static constexpr std::uint8_t kRc = 2;
  static constexpr std::size_t kA = 0, kB = 1, kC = 2;

  std::unique_ptr<cm::RdmaId> create(std::size_t host, Program& program) {
    return simulation_.rdma_cm(host).create(cm::PortSpace::kTcp, kRc, &program);
  }
  void run() { simulation_.engine().run_until(simulation_.engine().now() + std::chrono::seconds(1)); }
  std::uint64_t packets_sent(std::size_t adapter) { return simulation_.host_port(adapter).counters().xmit_packets; }

  TopologySpec topology_ = rails(GetParam());
  DefaultChoices choices_;
  Simulation simulation_{topology_, 1, choices_};
  Program server_, client_;
};

TEST_P(Rails, an_address_binds_to_its_adapter) {
  auto id = create(kA, client_);
  ASSERT_EQ(id->bind(v4("192.168.1.1", kPort)), 0);
  EXPECT_TRUE(id->has_device());
  EXPECT_EQ(id->device(), 1u);
  EXPECT_EQ(id->port().node_guid, simulation_.hca(topology_.adapters_of(kA)[1]).address().node_guid);
  auto first = create(kA, client_);
  ASSERT_EQ(first->bind(v4("10.0.0.1", kPort)), 0) << "the same service at another address";
  EXPECT_EQ(first->device(), 0u);
  EXPECT_EQ(create(kA, client_)->bind(v4("192.168.1.1", kPort)), -EADDRINUSE);
  EXPECT_EQ(create(kA, client_)->bind(v4("192.168.1.2", kPort)), -EADDRNOTAVAIL) << "b's";
}

// Each address of b, of both families, from a: by the adapter of the same network, to a listener of all addresses.
TEST_P(Rails, all_addresses_lead_to_one_listener_by_their_own_adapters) {
  auto listener = create(kB, server_);
  ASSERT_EQ(listener->bind(v6({}, kPort)), 0);
  ASSERT_EQ(listener->listen(8), 0);
  std::size_t rail = 0;
  for (const std::size_t far : topology_.adapters_of(kB)) {
    for (const bool is_v4 : {true, false}) {
      const ib::IpInterface interface = topology_.interface_of(far);
      const cm::Address to = is_v4 ? v4(format_ipv4(interface.address), kPort) : v6(interface.v6(), kPort);
      const std::size_t near = topology_.adapters_of(kA)[rail];
      auto caller = create(kA, client_);
      ASSERT_EQ(caller->resolve_address({}, to, 2000), 0);
      run();
      ASSERT_EQ(client_.events.back(), EventType::kConnectResponse);
      EXPECT_EQ(caller->device(), rail);
      EXPECT_EQ(caller->source().ip, is_v4 ? topology_.interface_of(near).v4() : topology_.interface_of(near).v6());
      EXPECT_EQ(caller->path()->sgid, simulation_.hca(near).address().gids.at(topology_.is_roce() ? is_v4 ? 1 : 2 : 0));
      EXPECT_EQ(caller->path()->dlid, simulation_.hca(far).address().lid);
      ASSERT_FALSE(server_.accepted.empty());
      EXPECT_EQ(server_.accepted.back()->device(), rail);
      EXPECT_EQ(server_.accepted.back()->source().ip, to.ip);
      EXPECT_GT(packets_sent(near), 0u);
    }
    ++rail;
  }
}

TEST_P(Rails, the_source_that_a_program_names_is_kept) {
  auto listener = create(kB, server_);
  ASSERT_EQ(listener->bind(v4("0.0.0.0", kPort)), 0);
  ASSERT_EQ(listener->listen(8), 0);
  auto caller = create(kA, client_);
  ASSERT_EQ(caller->resolve_address(v4("192.168.1.1", 0), v4("10.0.0.2", kPort), 2000), 0);
  run();
  ASSERT_EQ(client_.events.back(), EventType::kConnectResponse);
  EXPECT_EQ(caller->device(), 1u);
  EXPECT_EQ(server_.accepted.back()->device(), 0u);
  EXPECT_EQ(server_.accepted.back()->destination().ip, v4("192.168.1.1", 0).ip);
}

TEST_P(Rails, a_listener_of_one_address_is_not_found_by_another) {
  auto listener = create(kB, server_);
  ASSERT_EQ(listener->bind(v4("192.168.1.2", kPort)), 0);
  ASSERT_EQ(listener->listen(8), 0);
  auto caller = create(kA, client_);
  ASSERT_EQ(caller->resolve_address({}, v4("10.0.0.2", kPort), 2000), 0);
  run();
  EXPECT_EQ(client_.events.back(), EventType::kRejected);
  auto other = create(kA, client_);
  ASSERT_EQ(other->resolve_address({}, v4("192.168.1.2", kPort), 2000), 0);
  run();
  EXPECT_EQ(client_.events.back(), EventType::kConnectResponse);
}

// Such a request contains no IP addresses; only the adapter distinguishes it from another.
TEST_P(Rails, a_listener_of_one_gid_is_not_found_by_another) {
  cm::Address service;
  service.family = cm::Family::kIb;
  service.service_id = 0x13f'5678;
  service.service_mask = ~0ull;
  service.pkey = 0xffff;
  auto listener = simulation_.rdma_cm(kB).create(cm::PortSpace::kIb, kRc, &server_);
  cm::Address own = service;
  own.ip = simulation_.hca(topology_.adapters_of(kB)[1]).address().gids.front();
  ASSERT_EQ(listener->bind(own), 0);
  EXPECT_EQ(listener->device(), 1u);
  ASSERT_EQ(listener->listen(8), 0);
  for (const std::size_t rail : {0, 1}) {
    cm::Address to = service;
    to.ip = simulation_.hca(topology_.adapters_of(kB)[rail]).address().gids.front();
    auto caller = simulation_.rdma_cm(kA).create(cm::PortSpace::kIb, kRc, &client_);
    ASSERT_EQ(caller->resolve_address({}, to, 2000), 0);
    run();
    EXPECT_EQ(client_.events.back(), rail == 0 ? EventType::kRejected : EventType::kConnectResponse);
  }
}

// A host without an adapter on the other's network reaches it by its first adapter; an unknown network is
// unreachable.
TEST_P(Rails, another_network_is_reached_by_the_first_adapter) {
  auto listener = create(kB, server_);
  ASSERT_EQ(listener->bind(v4("0.0.0.0", kPort)), 0);
  ASSERT_EQ(listener->listen(8), 0);
  auto caller = create(kC, client_);
  ASSERT_EQ(caller->resolve_address({}, v4("192.168.1.2", kPort), 2000), 0);
  run();
  ASSERT_EQ(client_.events.back(), EventType::kConnectResponse);
  EXPECT_EQ(caller->device(), 0u);
  EXPECT_EQ(caller->source().ip, v4("10.0.0.3", 0).ip);
  EXPECT_EQ(server_.accepted.back()->device(), 1u);
  EXPECT_EQ(create(kC, client_)->resolve_address({}, v4("192.168.2.2", kPort), 2000), -ENETUNREACH);
}

// A host's own address is its source on any network; the interface of a link-local one must be given.
TEST_P(Rails, own_and_link_local_addresses) {
  auto listener = create(kA, server_);
  ASSERT_EQ(listener->bind(v6({}, kPort)), 0);
  ASSERT_EQ(listener->listen(8), 0);
  auto caller = create(kA, client_);
  ASSERT_EQ(caller->resolve_address({}, v4("192.168.1.1", kPort), 2000), 0);
  run();
  EXPECT_EQ(caller->device(), 1u);
  EXPECT_EQ(caller->source().ip, v4("192.168.1.1", 0).ip);
  EXPECT_EQ(client_.events.back(), EventType::kConnectResponse);

  auto far_listener = create(kB, server_);
  ASSERT_EQ(far_listener->bind(v6({}, kPort)), 0);
  ASSERT_EQ(far_listener->listen(8), 0);
  for (const std::size_t rail : {0, 1}) {
    cm::Address to = v6(simulation_.hca(topology_.adapters_of(kB)[rail]).address().gids.front(), kPort);
    to.scope = topology_.adapters[topology_.adapters_of(kA)[rail]].interface_index();
    auto other = create(kA, client_);
    ASSERT_EQ(other->resolve_address({}, to, 2000), 0);
    run();
    EXPECT_EQ(client_.events.back(), EventType::kConnectResponse);
    EXPECT_EQ(other->device(), rail);
    EXPECT_EQ(server_.accepted.back()->device(), rail);
  }
}

INSTANTIATE_TEST_SUITE_P(OnBoth, Rails, testing::Values("infiniband", "roce"), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace verbatim::config
