// The kernel side of librdmacm: addresses, services, private data, rejections, datagram services.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/cm/private_header.h"
#include "tests/cm/two_hosts.h"

namespace verbatim::cm {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;

PrivateData bytes(std::size_t count) {
  PrivateData data(count);
  for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<std::byte>(i + 1);
  return data;
}

TEST(RdmaCm, private_data_comes_with_the_fields_whole_length) {
  TwoHosts hosts;
  hosts.listen();
  hosts.client.parameters.private_data = bytes(56);
  hosts.server.parameters.private_data = bytes(196);
  hosts.call();
  hosts.run(1);
  EXPECT_EQ(hosts.server.private_data.front(), bytes(56));
  EXPECT_EQ(hosts.client.private_data.back(), bytes(196));
}

// rdma_set_local_ece(3), rdma_get_remote_ece(3).
TEST(RdmaCm, options_of_enhanced_connections_come_to_the_peer) {
  TwoHosts hosts;
  hosts.listen();
  hosts.client.parameters.ece_vendor = 0x0002c9;
  hosts.client.parameters.ece_options = 0x30000002;
  hosts.server.parameters.ece_vendor = 0x123456;
  hosts.server.parameters.ece_options = 0x80000001;
  hosts.call();
  hosts.run(1);
  EXPECT_EQ(hosts.server.options.front(), (std::pair{0x0002c9u, 0x30000002u}));
  EXPECT_EQ(hosts.client.options.back(), (std::pair{0x123456u, 0x80000001u}));
}

TEST(RdmaCm, more_private_data_than_there_is_room_for_is_refused) {
  TwoHosts hosts;
  hosts.listen();
  hosts.client.parameters.private_data = bytes(57);
  hosts.call();
  hosts.run(1);
  EXPECT_EQ(hosts.client.events.back(), EventType::kRouteResolved) << "nothing has been sent";
  hosts.client.parameters.private_data = bytes(56);
  EXPECT_EQ(hosts.caller->connect(hosts.client.parameters), 0) << "and it may try again";
}

TEST(RdmaCm, nobody_listens) {
  TwoHosts hosts;
  hosts.call();
  hosts.run(1);
  EXPECT_EQ(hosts.client.events.back(), EventType::kRejected);
  EXPECT_EQ(hosts.client.statuses.back(), 8);
  EXPECT_EQ(hosts.client.private_data.back().size(), 148u);
}

TEST(RdmaCm, the_program_rejects) {
  TwoHosts hosts;
  hosts.server.accepts = false;
  hosts.server.rejects = true;
  hosts.server.parameters.private_data = bytes(148);
  hosts.listen();
  hosts.call();
  hosts.run(1);
  EXPECT_EQ(hosts.client.events.back(), EventType::kRejected);
  EXPECT_EQ(hosts.client.statuses.back(), 28);
  EXPECT_EQ(hosts.client.private_data.back(), bytes(148));
}

TEST(RdmaCm, a_listener_takes_as_many_as_its_backlog) {
  TwoHosts hosts;
  ASSERT_EQ(hosts.listener->bind(v4(0, 7471)), 0);
  ASSERT_EQ(hosts.listener->listen(2), 0);
  struct Deaf final : EventSink {
    std::vector<Event> events;
    void on_event(RdmaId&, Event&& event) override { events.push_back(std::move(event)); }
  } deaf;
  hosts.listener->set_sink(&deaf);
  std::vector<std::unique_ptr<RdmaId>> callers;
  for (int i = 0; i < 3; ++i) {
    callers.push_back(hosts.one.cm.create(PortSpace::kTcp, 2, &hosts.client));
    ASSERT_EQ(callers.back()->resolve_address({}, v4(2, 7471), 1000), 0);
    hosts.run(1);
  }
  EXPECT_EQ(deaf.events.size(), 2u);
  EXPECT_EQ(hosts.client.events.back(), EventType::kRejected);
  EXPECT_EQ(hosts.client.statuses.back(), 28);
}

TEST(RdmaCm, addresses_that_lead_nowhere) {
  TwoHosts hosts;
  EXPECT_EQ(hosts.caller->resolve_address({}, v4(0), 100), 0) << "of all addresses, the host's own";
  auto other = hosts.one.cm.create(PortSpace::kTcp, 2, &hosts.client);
  Address outside = v4(2, 1);
  outside.ip.raw[12] = 192;
  EXPECT_EQ(other->resolve_address({}, outside, 100), -ENETUNREACH);
  EXPECT_EQ(other->resolve_address({}, v4(77, 1), 100), 0);
  hosts.client.events.clear();
  hosts.run(1);
  EXPECT_THAT(hosts.client.events, Contains(EventType::kAddrError));
  EXPECT_THAT(hosts.client.statuses, Contains(-ETIMEDOUT));
  EXPECT_EQ(other->resolve_address({}, v4(2, 1), 100), 0) << "and it may try again";
}

TEST(RdmaCm, binding) {
  TwoHosts hosts;
  auto& cm = hosts.one.cm;
  const auto make = [&] { return cm.create(PortSpace::kTcp, 2, &hosts.client); };
  auto first = make(), second = make(), third = make(), fourth = make(), fifth = make();
  EXPECT_EQ(first->bind(v4(2, 9)), -EADDRNOTAVAIL) << "another host's";
  EXPECT_EQ(first->bind({}), -EAFNOSUPPORT);
  EXPECT_EQ(first->bind(v4(0, 9)), 0);
  EXPECT_EQ(first->bind(v4(0, 9)), -EINVAL) << "once";
  EXPECT_EQ(second->bind(v4(0, 9)), -EADDRNOTAVAIL);
  EXPECT_EQ(second->bind(v4(1, 9)), -EADDRNOTAVAIL);
  first.reset();
  EXPECT_EQ(second->bind(v4(1, 9)), 0);
  EXPECT_TRUE(second->has_device());
  EXPECT_EQ(third->bind(v4(1, 9)), -EADDRINUSE);
  EXPECT_EQ(third->bind(v4(1, 0)), 0);
  EXPECT_NE(third->source().port, 0);
  EXPECT_EQ(fourth->set_reuse(true), 0);
  EXPECT_EQ(fifth->set_reuse(true), 0);
  EXPECT_EQ(fourth->bind(v4(0, 10)), 0);
  EXPECT_EQ(fifth->bind(v4(0, 10)), 0);
  EXPECT_EQ(fourth->listen(1), 0);
  EXPECT_EQ(fifth->listen(1), -EADDRINUSE);
}

TEST(RdmaCm, calls_in_the_wrong_state) {
  TwoHosts hosts;
  RdmaId& id = *hosts.caller;
  QpSetup setup;
  EXPECT_EQ(id.connect({}), -EINVAL);
  EXPECT_EQ(id.accept(ConnectionParameters{}), -EINVAL);
  EXPECT_EQ(id.reject(0, {}), -EINVAL);
  EXPECT_EQ(id.disconnect(), -EINVAL);
  EXPECT_EQ(id.notify_established(), -EINVAL);
  EXPECT_EQ(id.resolve_route(100), -EINVAL);
  EXPECT_EQ(id.qp_setup(1, setup), -EINVAL);
  EXPECT_EQ(id.listen(1), 0) << "on any address, then";
  EXPECT_EQ(id.resolve_address({}, v4(2, 1), 100), -EINVAL);
}

// The queue pairs of both ends fit each other.
TEST(RdmaCm, queue_pairs_are_told_the_same) {
  TwoHosts hosts;
  hosts.listen();
  hosts.client.parameters = {.qpn = 72, .responder_resources = 3, .initiator_depth = 5, .retry_count = 6, .rnr_retry_count = 7};
  hosts.server.parameters = {.qpn = 73, .responder_resources = 5, .initiator_depth = 3, .rnr_retry_count = 4};
  hosts.call();
  hosts.run(1);
  ASSERT_EQ(hosts.server.events.back(), EventType::kEstablished);
  constexpr std::uint32_t kRtr = 2, kRts = 3;
  QpSetup client, server;
  ASSERT_EQ(hosts.caller->qp_setup(kRtr, client), 0);
  ASSERT_EQ(hosts.server.accepted.front()->qp_setup(kRtr, server), 0);
  EXPECT_EQ(client.negotiated.remote_qpn, 73u);
  EXPECT_EQ(server.negotiated.remote_qpn, 72u);
  EXPECT_EQ(client.negotiated.receive_psn, server.negotiated.send_psn);
  EXPECT_EQ(server.negotiated.receive_psn, client.negotiated.send_psn);
  EXPECT_NE(client.negotiated.receive_psn, client.negotiated.send_psn);
  EXPECT_EQ(client.negotiated.initiator_depth, 5);
  EXPECT_EQ(server.negotiated.responder_resources, 5);
  EXPECT_EQ(server.negotiated.initiator_depth, 3);
  EXPECT_EQ(client.negotiated.responder_resources, 3);
  EXPECT_EQ(client.negotiated.rnr_retry_count, 4);
  EXPECT_EQ(server.negotiated.rnr_retry_count, 7);
  EXPECT_EQ(server.negotiated.retry_count, 6);
  EXPECT_EQ(client.path.dlid.value, 2);
  EXPECT_EQ(server.path.dlid.value, 1);
  ASSERT_EQ(hosts.caller->qp_setup(kRts, client), 0);
  EXPECT_EQ(client.negotiated.ack_timeout, 19) << "twice a packet's life of 18";
}

TEST(RdmaCm, datagram_services_are_found) {
  TwoHosts hosts(PortSpace::kUdp);
  hosts.listen();
  hosts.client.parameters.private_data = bytes(180);
  hosts.server.parameters = {.qpn = 99, .private_data = bytes(136)};
  hosts.call();
  hosts.run(1);
  EXPECT_THAT(hosts.wire.seen, ElementsAre("PATH?", "PATH!", "SIDR_REQ", "SIDR_REP"));
  EXPECT_EQ(hosts.client.events.back(), EventType::kEstablished);
  EXPECT_EQ(hosts.server.private_data.front(), bytes(180));
  EXPECT_EQ(hosts.client.private_data.back(), bytes(136));
}

TEST(RdmaCm, datagram_services_that_are_not_there) {
  TwoHosts nobody(PortSpace::kUdp);
  nobody.call();
  nobody.run(1);
  EXPECT_EQ(nobody.client.events.back(), EventType::kUnreachable);
  EXPECT_EQ(nobody.client.statuses.back(), 1);
  TwoHosts refused(PortSpace::kUdp);
  refused.server.accepts = false;
  refused.server.rejects = true;
  refused.listen();
  refused.call();
  refused.run(1);
  EXPECT_EQ(refused.client.events.back(), EventType::kUnreachable);
  EXPECT_EQ(refused.client.statuses.back(), 2);
}

TEST(RdmaCm, a_datagram_service_answers_each_repetition) {
  for (const Fate fate : {Fate::kLost, Fate::kTwice}) {
    for (std::size_t which = 2; which < 4; ++which) {
      TwoHosts hosts(PortSpace::kUdp);
      hosts.listen();
      hosts.wire.fate = [=](std::size_t at, const ib::Mad&) { return at == which ? fate : Fate::kArrives; };
      hosts.call();
      hosts.run();
      EXPECT_EQ(hosts.client.events.back(), EventType::kEstablished);
      EXPECT_THAT(hosts.server.events, ElementsAre(EventType::kConnectRequest));
    }
  }
}

// The native port space uses services, not addresses: only the path identifies both ends.
TEST(RdmaCm, connections_without_ip_addresses_know_their_ports) {
  TwoHosts hosts(PortSpace::kIb);
  Address service;
  service.family = Family::kIb;
  service.service_id = 0x13f'0007;
  service.service_mask = ~0ull;
  ASSERT_EQ(hosts.listener->bind(service), 0);
  ASSERT_EQ(hosts.listener->listen(1), 0);
  Address to = service;
  to.ip = Host::gid(2);
  hosts.client.parameters.private_data = bytes(92);
  ASSERT_EQ(hosts.caller->resolve_address({}, to, 1000), 0);
  hosts.run(1);
  ASSERT_EQ(hosts.server.events.back(), EventType::kEstablished);
  EXPECT_EQ(hosts.server.private_data.front(), bytes(92));
  const RdmaId& accepted = *hosts.server.accepted.front();
  EXPECT_EQ(accepted.source().family, Family::kIb);
  EXPECT_EQ(accepted.source().ip, Host::gid(2));
  EXPECT_EQ(accepted.destination_gid(), Host::gid(1));
}

Address ib_service(PortSpace space, std::uint16_t port, const ib::Gid& gid) {
  Address address;
  address.family = Family::kIb;
  address.ip = gid;
  address.service_id = ip_service_id(space, port);
  address.service_mask = ~std::uint64_t{0};
  return address;
}

// AF_IB has the port spaces of IP, too; such a request has no IP addresses in its private data.
TEST(RdmaCm, addresses_of_infiniband_name_services_of_ip) {
  for (const PortSpace space : {PortSpace::kTcp, PortSpace::kIb}) {
    TwoHosts hosts(space);
    const Address service = ib_service(space, 7471, Host::gid(2));
    ASSERT_EQ(hosts.listener->bind(service), 0);
    ASSERT_EQ(hosts.listener->listen(1), 0);
    ASSERT_EQ(hosts.caller->resolve_address({}, service, 1000), 0);
    hosts.run(1);
    EXPECT_EQ(hosts.server.events.back(), EventType::kEstablished);
    EXPECT_NE(hosts.caller->source().service_id & 0xffff, 0u) << "a free port";
  }
}

TEST(RdmaCm, who_listens_by_ip_hears_of_no_request_without_addresses) {
  TwoHosts hosts;
  hosts.listen();
  ASSERT_EQ(hosts.caller->resolve_address({}, ib_service(PortSpace::kTcp, 7471, Host::gid(2)), 1000), 0);
  hosts.run(1);
  EXPECT_EQ(hosts.client.events.back(), EventType::kRejected);
  EXPECT_EQ(hosts.client.statuses.back(), 8);
}

TEST(RdmaCm, addresses_of_infiniband_get_free_ports) {
  TwoHosts hosts;
  const ib::Gid gid = Host::gid(1);
  std::vector<std::unique_ptr<RdmaId>> ids;
  std::set<std::uint64_t> services;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(hosts.one.cm.create(PortSpace::kTcp, 2, &hosts.client));
    ASSERT_EQ(ids.back()->bind(ib_service(PortSpace::kTcp, 0, gid)), 0);
    services.insert(ids.back()->source().service_id);
  }
  EXPECT_EQ(services.size(), 3u);
  auto other = hosts.one.cm.create(PortSpace::kTcp, 2, &hosts.client);
  EXPECT_EQ(other->bind(ib_service(PortSpace::kUdp, 0, gid)), -EPROTONOSUPPORT);
}

// IBA 12.9.8.3.1: what is known of the connection that the queue pair had before is out of date.
TEST(RdmaCm, a_queue_pair_that_asks_anew_has_a_stale_connection) {
  TwoHosts hosts;
  hosts.listen();
  hosts.client.parameters.qpn = 77;
  hosts.call();
  hosts.run(1);
  ASSERT_EQ(hosts.server.events.back(), EventType::kEstablished);
  auto again = hosts.one.cm.create(PortSpace::kTcp, 2, &hosts.client);
  ASSERT_EQ(again->resolve_address({}, v4(2, 7471), 1000), 0);
  hosts.client.events.clear();
  hosts.client.statuses.clear();
  hosts.run(1);
  EXPECT_THAT(hosts.client.events, Contains(EventType::kRejected));
  EXPECT_THAT(hosts.client.statuses, Contains(10));
  EXPECT_THAT(hosts.client.events, Contains(EventType::kDisconnected)) << "of the old one";
}

// The other host has lost its connection, and answers with the queue pair that had it.
TEST(RdmaCm, a_queue_pair_that_answers_anew_has_a_stale_connection) {
  TwoHosts hosts;
  hosts.listen();
  hosts.client.parameters.qpn = 77;
  hosts.server.parameters.qpn = 88;
  hosts.call();
  hosts.run(1);
  ASSERT_EQ(hosts.server.events.back(), EventType::kEstablished);
  hosts.wire.fate = [](std::size_t, const ib::Mad&) { return Fate::kLost; };
  hosts.server.accepted.clear();
  hosts.run(1);
  hosts.wire.fate = nullptr;
  hosts.wire.seen.clear();
  hosts.client.events.clear();
  hosts.client.statuses.clear();
  hosts.client.parameters.qpn = 78;
  auto again = hosts.one.cm.create(PortSpace::kTcp, 2, &hosts.client);
  ASSERT_EQ(again->resolve_address({}, v4(2, 7471), 1000), 0);
  hosts.run(1);
  EXPECT_THAT(hosts.wire.seen, ElementsAre("PATH?", "PATH!", "REQ", "REP", "REJ", "DREQ", "DREP"));
  EXPECT_EQ(hosts.server.events.back(), EventType::kRejected);
  EXPECT_EQ(hosts.server.statuses.back(), 10);
  EXPECT_EQ(hosts.client.events.back(), EventType::kDisconnected) << "of the old one";
  hosts.run(10);
  EXPECT_THAT(hosts.client.events, Contains(EventType::kConnectResponse)) << "once the request has been sent again";
  EXPECT_EQ(hosts.server.events.back(), EventType::kEstablished);
}

// Linux has no room for those of an RTU in its event.
TEST(RdmaCm, the_passive_end_is_told_no_private_data_when_the_connection_is_there) {
  TwoHosts hosts;
  hosts.listen();
  hosts.call();
  hosts.run(1);
  ASSERT_EQ(hosts.server.events.back(), EventType::kEstablished);
  EXPECT_TRUE(hosts.server.private_data.back().empty());
}

TEST(RdmaCm, a_program_may_know_the_route) {
  TwoHosts hosts;
  ASSERT_EQ(hosts.caller->set_path({}), -EINVAL) << "an address comes first";
  struct Deaf final : EventSink {
    std::vector<EventType> events;
    void on_event(RdmaId&, Event&& event) override { events.push_back(event.type); }
  } deaf;
  hosts.caller->set_sink(&deaf);
  ASSERT_EQ(hosts.caller->resolve_address({}, v4(2, 7471), 1000), 0);
  hosts.run(1);
  ASSERT_EQ(deaf.events.back(), EventType::kAddrResolved);
  Path path;
  path.hop_limit = 3;
  EXPECT_EQ(hosts.caller->set_path(path), 0);
  EXPECT_EQ(deaf.events.back(), EventType::kRouteResolved);
  EXPECT_EQ(hosts.caller->set_path(path), -EINVAL) << "once";
}

TEST(RdmaCm, groups_are_joined_and_left) {
  TwoHosts hosts(PortSpace::kUdp);
  Address group = v4(1);
  group.ip.raw[12] = 239;
  EXPECT_EQ(hosts.caller->join(7, group), -EINVAL) << "on no port yet";
  ASSERT_EQ(hosts.caller->bind(v4(1)), 0);
  ASSERT_EQ(hosts.caller->join(7, group), 0);
  hosts.run(1);
  EXPECT_THAT(hosts.client.events, ElementsAre(EventType::kMulticastJoin));
  hosts.caller->leave(7);
  hosts.run(1);
  EXPECT_THAT(hosts.wire.seen, ElementsAre("GROUP?", "GROUP!", "GROUP-", "GROUP!"));
  hosts.wire.fate = [](std::size_t, const ib::Mad&) { return Fate::kLost; };
  ASSERT_EQ(hosts.caller->join(8, group), 0);
  hosts.run(20);
  EXPECT_EQ(hosts.client.events.back(), EventType::kMulticastError);
  EXPECT_EQ(hosts.client.statuses.back(), -ETIMEDOUT);
}

TEST(PrivateHeader, is_as_annex_a11_has_it) {
  PrivateHeader header{v4(1, 0x1234), v4(2)};
  const PrivateData data = header.encode();
  ASSERT_EQ(data.size(), 36u);
  EXPECT_EQ(data[1], std::byte{0x40});
  EXPECT_EQ(data[2], std::byte{0x12});
  EXPECT_EQ(data[16], std::byte{10});
  EXPECT_EQ(data[35], std::byte{2});
  const auto back = PrivateHeader::decode(data);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->source.ip, header.source.ip);
  EXPECT_EQ(back->source.port, 0x1234);
  EXPECT_FALSE(PrivateHeader::decode(std::span(data).first(35)));
  PrivateData wrong = data;
  wrong[1] = std::byte{0x50};
  EXPECT_FALSE(PrivateHeader::decode(wrong));
}

}  // namespace
}  // namespace verbatim::cm
