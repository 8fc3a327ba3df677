// Hostile management datagrams sent by a program through umad: an input's bytes are datagrams for the agents
// of both hosts and of the switch between them (subnet management by LID and by directed route, subnet
// administrator, counters, connection management) while connections are made and closed. Nothing may crash or
// run for ever. An input without subnet management, which may legitimately stop everything, ends with an
// honest connection that must succeed.
#include <cstdio>
#include <memory>
#include <vector>

#include "sim/core/check.h"
#include "sim/core/rng.h"
#include "sim/mad/cm_messages.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/simulated.h"

namespace {

using namespace verbatim;
using fuzz::Bytes;

constexpr std::uint64_t kSeed = 1;
constexpr std::uint16_t kPort = 7471;

const config::TopologySpec& topology() {
  static const config::TopologySpec kTopology = fuzz::load_topology("two_hosts.json");
  return kTopology;
}

cm::Address address_of(std::uint32_t ip, std::uint16_t port) {
  cm::Address address;
  address.family = cm::Family::kIpv4;
  address.ip = ib::ipv4_gid(ip);
  address.port = port;
  return address;
}

// Accepts all requests, and connects on request.
class Program final : public cm::EventSink {
 public:
  int established = 0;

  void on_event(cm::RdmaId& id, cm::Event&& event) override {
    constexpr std::size_t kMostAccepted = 64;
    switch (event.type) {
      case cm::EventType::kAddrResolved:
        id.resolve_route(2000);
        break;
      case cm::EventType::kRouteResolved:
        id.connect({.qpn = next_qpn_++});
        break;
      case cm::EventType::kConnectRequest:
        id.note_request_taken();
        if (accepted_.size() >= kMostAccepted) return;
        accepted_.push_back(std::move(event.request));
        accepted_.back()->set_sink(this);
        accepted_.back()->accept(cm::ConnectionParameters{.qpn = next_qpn_++});
        break;
      case cm::EventType::kConnectResponse:
        id.accept(std::nullopt);
        ++established;
        break;
      default:
        break;
    }
  }

 private:
  std::vector<std::unique_ptr<cm::RdmaId>> accepted_;
  std::uint32_t next_qpn_ = 0x4000;  // a queue pair that connects a second time has a stale connection
};

struct Nobody final : management::MadClient {
  void on_message(std::uint32_t, const ib::ManagementDatagram&, management::MadBytes) override {}
  void on_unanswered(std::uint32_t, const ib::ManagementDatagram&) override {}
};

// Sum over all inputs; printed at the end.
struct Sent {
  std::uint64_t datagrams = 0;
  ~Sent() { std::fprintf(stderr, "fuzz_management: %llu datagrams sent\n", static_cast<unsigned long long>(datagrams)); }
} sent;

class Attack {
 public:
  Attack(std::span<const std::uint8_t> input) : bytes_(input), simulation_(topology(), kSeed, choices_) {
    spares_subnet_ = bytes_.chance(1, 2);
    for (std::size_t host = 0; host < 2; ++host) {
      const std::string name = topology().hosts[host].name;
      // The identifiers that its connection manager gives out.
      first_id_[host] = static_cast<std::uint32_t>(Rng(kSeed, "cm/" + name).below(1u << 31)) + 1;
      for (std::uint32_t queue = 0; queue < 2; ++queue) {
        for (const std::uint8_t rmpp : {0, 1}) {
          management::MadRegistration registration;
          registration.queue = ib::Qpn{queue};
          registration.rmpp_version = queue == 0 ? 0 : rmpp;
          const auto agent = simulation_.port_management(host).agents().add(registration, nobody_);
          if (agent > 0) agents_[host][queue].push_back(static_cast<std::uint32_t>(agent));
        }
      }
      listeners_.push_back(simulation_.rdma_cm(host).create(cm::PortSpace::kTcp, 2, &programs_[host]));
      CHECK(listeners_.back()->bind(address_of(0, kPort)) == 0 && listeners_.back()->listen(1024) == 0);
    }
  }

  void play() {
    while (!bytes_.at_end()) step();
    run_for(std::chrono::seconds(20));
    if (!spares_subnet_) return;
    const int before = programs_[0].established;
    const auto caller = call(0);
    run_for(std::chrono::seconds(20));
    CHECK(programs_[0].established > before);
  }

 private:
  std::unique_ptr<cm::RdmaId> call(std::size_t host) {
    auto caller = simulation_.rdma_cm(host).create(cm::PortSpace::kTcp, 2, &programs_[host]);
    CHECK(caller->resolve_address({}, address_of(topology().hosts[1 - host].address, kPort), 2000) == 0);
    return caller;
  }

  void run_for(Duration time) { fuzz::run_for(simulation_.engine(), time); }

  void step() {
    const std::size_t host = bytes_.below(2);
    switch (bytes_.below(16)) {
      case 0:
        if (callers_.size() < 16) callers_.push_back(call(host));
        return;
      case 1:
        if (!callers_.empty()) callers_.pop_back();
        return;
      case 2:
        return run_for(std::chrono::milliseconds(bytes_.below(256)));
      case 3:
        return run_for(std::chrono::microseconds(bytes_.below(256)));
      default:
        return send(host);
    }
  }

  ib::Lid lid() {
    constexpr std::uint16_t kFew = 6;
    const std::uint64_t kind = bytes_.below(16);
    if (kind == 0) return ib::Lid{0xffff};
    if (kind == 1) return ib::Lid{static_cast<std::uint16_t>(bytes_.below(65536))};
    return ib::Lid{static_cast<std::uint16_t>(bytes_.below(kFew))};
  }

  void send(std::size_t host) {
    constexpr std::uint8_t kClasses[] = {mad::kCommunicationManagement, mad::kCommunicationManagement,
                                         mad::kCommunicationManagement, mad::kSubnetAdministration,
                                         mad::kSubnetAdministration,    mad::kPerformanceManagement,
                                         mad::kSubnetManagementLid,     mad::kSubnetManagementDirected};
    std::uint8_t management_class = kClasses[bytes_.below(std::size(kClasses))];
    if (spares_subnet_ && mad::is_subnet_management(management_class)) management_class = mad::kCommunicationManagement;
    ib::ManagementDatagram datagram;
    fill(datagram.mad, management_class);
    if (management_class == mad::kCommunicationManagement) name_connection(datagram.mad);
    const std::uint32_t queue = mad::is_subnet_management(management_class) ? 0 : 1;
    datagram.queue = datagram.remote_queue = ib::Qpn{queue};
    datagram.lid = lid();
    if (bytes_.chance(1, 8)) datagram.service_level = ib::ServiceLevel{static_cast<std::uint8_t>(bytes_.below(16))};
    if (bytes_.chance(1, 16)) datagram.pkey = static_cast<std::uint16_t>(bytes_.below(65536));
    if (bytes_.chance(1, 16)) datagram.remote_queue = ib::Qpn{static_cast<std::uint32_t>(bytes_.below(4))};
    management::MadAgents::Sending sending{datagram, static_cast<std::uint32_t>(bytes_.below(4)),
                                           static_cast<std::uint32_t>(bytes_.below(3))};
    const auto& agents = agents_[host][queue];
    management::MadBytes message(datagram.mad.begin(), datagram.mad.end());
    if (bytes_.chance(1, 16)) message.resize(bytes_.below(2000));
    // umad refuses what is shorter than a header.
    if (message.size() < 36) return;
    ++sent.datagrams;
    simulation_.port_management(host).agents().send(agents[bytes_.below(agents.size())], sending, std::move(message));
  }

  // A header that agents look behind, and a few fields that say something.
  void fill(ib::Mad& mad, std::uint8_t management_class) {
    constexpr std::uint8_t kMethods[] = {mad::kGet, mad::kSet, mad::kSend, mad::kTrap, mad::kReport, mad::kTrapRepress,
                                         mad::kGetTable, mad::kDelete, mad::kGetResponse, mad::kGetTableResponse};
    mad::Header header;
    header.management_class = management_class;
    const bool is_second = management_class == mad::kCommunicationManagement || management_class == mad::kSubnetAdministration;
    header.class_version = is_second ? 2 : 1;
    header.method = management_class == mad::kCommunicationManagement ? mad::kSend : kMethods[bytes_.below(std::size(kMethods))];
    header.transaction_id = bytes_.below(256);
    header.attribute_id = management_class == mad::kCommunicationManagement
                              ? static_cast<std::uint16_t>(0x10 + bytes_.below(12))
                              : static_cast<std::uint16_t>(bytes_.below(bytes_.chance(1, 8) ? 65536 : 0x40));
    header.attribute_modifier = static_cast<std::uint32_t>(bytes_.chance(1, 8) ? bytes_.next() : bytes_.below(40));
    if (management_class == mad::kSubnetManagementDirected)
      header.class_specific = static_cast<std::uint16_t>(bytes_.below(65536));
    put_header(mad, header);
    for (std::uint64_t fields = bytes_.below(12); fields > 0; --fields) {
      const std::size_t at = mad::kHeaderBytes + bytes_.below(mad.size() - mad::kHeaderBytes);
      mad[at] = static_cast<std::byte>(bytes_.below(256));
    }
    if (bytes_.chance(1, 16)) mad[bytes_.below(mad::kHeaderBytes)] = static_cast<std::byte>(bytes_.below(256));
    if (management_class == mad::kCommunicationManagement && bytes_.chance(1, 2)) ask_for_service(mad);
  }

  // The numbers of a connection that there may be.
  void name_connection(ib::Mad& mad) {
    for (const std::size_t at : {mad::kHeaderBytes, mad::kHeaderBytes + 4}) {
      if (bytes_.chance(1, 8)) continue;
      const std::uint32_t id = first_id_[bytes_.below(2)] + static_cast<std::uint32_t>(bytes_.below(16));
      for (std::size_t i = 0; i < 4; ++i) mad[at + i] = static_cast<std::byte>(id >> (24 - 8 * i));
    }
  }

  // A REQ or a SIDR_REQ to those who listen.
  void ask_for_service(ib::Mad& mad) {
    constexpr std::uint64_t kService = 0x0000'0000'0106'0000 | kPort;
    constexpr std::size_t kPrivate = 140, kSidrPrivate = 16;
    const bool is_datagram = bytes_.chance(1, 4);
    mad[17] = is_datagram ? std::byte{0x17} : std::byte{0x10};
    const std::size_t service = mad::kHeaderBytes + 8;
    for (std::size_t i = 0; i < 8; ++i) mad[service + i] = static_cast<std::byte>(kService >> (56 - 8 * i));
    mad[mad::kHeaderBytes + (is_datagram ? kSidrPrivate : kPrivate) + 1] = std::byte{0x40};
  }

  Bytes bytes_;
  DefaultChoices choices_;
  config::Simulation simulation_;
  Nobody nobody_;
  Program programs_[2];
  std::vector<std::uint32_t> agents_[2][2];  // by host and queue
  std::uint32_t first_id_[2];
  std::vector<std::unique_ptr<cm::RdmaId>> listeners_, callers_;
  bool spares_subnet_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Attack({data, size}).play();
  return 0;
}
