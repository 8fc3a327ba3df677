// Two hosts whose management datagrams go through a wire that may lose, repeat or delay any one of them.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/cm/rdma_cm.h"
#include "sim/ib/group_address.h"
#include "sim/management/subnet_administrator.h"
#include "sim/mad/mad.h"

namespace verbatim::cm {

enum class Fate { kArrives, kLost, kTwice, kLate };

inline std::string name_of_message(const ib::Mad& mad) {
  const mad::Header header = mad::header_of(mad);
  if (header.management_class == mad::kSubnetAdministration) {
    const std::string what = header.attribute_id == 0x35 ? "PATH" : "GROUP";
    return what + ((header.method & mad::kResponseBit) != 0 ? "!" : header.method == mad::kDelete ? "-" : "?");
  }
  constexpr const char* kNames[] = {"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR"};
  return header.attribute_id >= 0x10 && header.attribute_id <= 0x1a ? kNames[header.attribute_id - 0x10] : "?";
}

inline Address v4(std::uint8_t host, std::uint16_t port = 0) {
  Address address;
  address.family = Family::kIpv4;
  address.ip.raw[10] = address.ip.raw[11] = 0xff;
  address.ip.raw[12] = host == 0 ? 0 : 10;
  address.ip.raw[15] = host;
  address.port = port;
  return address;
}

class Wire {
 public:
  explicit Wire(Engine& engine) : engine_(engine) {}
  std::function<Fate(std::size_t number, const ib::Mad& mad)> fate;
  Duration late = std::chrono::milliseconds(20);
  std::vector<std::string> seen;

  void send(std::size_t from, const ib::ManagementDatagram& datagram) {
    const Fate what = fate ? fate(seen.size(), datagram.mad) : Fate::kArrives;
    seen.push_back(name_of_message(datagram.mad));
    if (what == Fate::kLost) return;
    deliver(from, datagram, what == Fate::kLate ? late : std::chrono::microseconds(1));
    if (what == Fate::kTwice) deliver(from, datagram, std::chrono::microseconds(3));
  }
  std::function<void(std::size_t from, const ib::ManagementDatagram&)> arrive;

 private:
  struct Flight {
    Flight(Engine& engine, Wire& wire, std::size_t from, const ib::ManagementDatagram& datagram, std::uint32_t number)
        : wire(wire),
          from(from),
          datagram(datagram),
          timer(Timer::of<&Flight::on_timer>(engine, ComponentId{100 + number}, EventClass::kArrival, this)) {}
    void on_timer() { wire.arrive(from, datagram); }
    Wire& wire;
    std::size_t from;
    ib::ManagementDatagram datagram;
    Timer timer;
  };
  void deliver(std::size_t from, const ib::ManagementDatagram& datagram, Duration after) {
    flights_.push_back(std::make_unique<Flight>(engine_, *this, from, datagram, static_cast<std::uint32_t>(flights_.size())));
    flights_.back()->timer.schedule_after(after);
  }
  Engine& engine_;
  std::vector<std::unique_ptr<Flight>> flights_;
};

// The administrator's queries about nodes are not used here.
struct NoNodes final : management::SubnetView {
  std::size_t node_count() const override { return 0; }
  const management::Node& node(std::size_t) const override {
    static const management::Node kNone;
    return kNone;
  }
  std::optional<End> peer(const End&) const override { return std::nullopt; }
};

// Host 1 and host 2, at 10.0.0.1 and 10.0.0.2, with LIDs 1 and 2; the first has the subnet administrator.
class Host final : public ib::ManagementPort, public AddressBook, public management::PathFinder {
 public:
  Host(Engine& engine, Choices& choices, Wire& wire, std::uint8_t number)
      : wire_(wire),
        number_(number),
        facts_{.node_guid = number, .lid = ib::Lid{number}, .gids = {gid(number)}, .pkeys = {0xffff}},
        connections(engine, choices, ComponentId{number}, *this, number, 15,
                    Rng(1, std::string("host") + static_cast<char>('0' + number))),
        queries(engine, ComponentId{number}, *this, ib::Lid{1}),
        cm(engine, ComponentId{number}, *this, {{facts_, connections, queries}}),
        administrator(engine, ComponentId{number}, *this, no_nodes, *this, 5, 16) {}

  void send(const ib::ManagementDatagram& datagram) override { wire_.send(number_, datagram); }
  void receive(std::size_t from, ib::ManagementDatagram datagram) {
    datagram.lid = ib::Lid{static_cast<std::uint16_t>(from)};
    const mad::Header header = mad::header_of(datagram.mad);
    if (header.management_class == mad::kCommunicationManagement) return connections.on_datagram(datagram);
    if (mad::is_answer(header)) return queries.on_datagram(datagram);
    administrator.on_datagram(datagram);
  }

  static ib::Gid gid(std::uint8_t number) {
    ib::Gid gid;
    gid.raw[0] = 0xfe;
    gid.raw[15] = number;
    return gid;
  }
  std::optional<Station> find(const Address& address) const override {
    const std::uint8_t host = address.ip.raw[15];
    if (ib::is_multicast(address.ip)) return Station{address.ip, 0};
    if (host != 1 && host != 2) return std::nullopt;
    return Station{gid(host), host == number_ ? std::optional<std::size_t>(0) : std::nullopt};
  }
  bool reaches(const Address& address) const override {
    return address.family == Family::kIb || address.ip.raw[12] == 10 || ib::is_multicast(address.ip);
  }
  Duration round_trip() const override { return std::chrono::microseconds(40); }
  std::size_t adapter_for(const Address&) const override { return 0; }
  Address own_for(const Address&, std::size_t) const override { return v4(number_); }
  std::optional<management::Path> find(const ib::Gid& from, const ib::Gid& to, std::optional<std::uint16_t>) const override {
    management::Path path;
    path.sgid = from;
    path.dgid = to;
    path.slid = ib::Lid{from.raw[15]};
    path.dlid = ib::Lid{to.raw[15]};
    path.mtu = 5;
    path.packet_life_time = 18;
    return path;
  }

 private:
  Wire& wire_;
  const std::uint8_t number_;
  const PortFacts facts_;

 public:
  ConnectionManager connections;
  management::SubnetQueries queries;
  RdmaCm cm;
  NoNodes no_nodes;
  management::SubnetAdministrator administrator;
};

// Notes what happens, and does what programs do: accepts, answers a reply, disconnects when the peer has.
class Program final : public EventSink {
 public:
  std::vector<EventType> events;
  std::vector<std::int32_t> statuses;
  std::vector<PrivateData> private_data;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> options;  // of enhanced connection establishment: vendor, options
  std::deque<std::unique_ptr<RdmaId>> accepted;
  bool accepts = true, rejects = false, disconnects_when_established = false, answers_disconnect = true;
  ConnectionParameters parameters;

  void on_event(RdmaId& id, Event&& event) override {
    events.push_back(event.type);
    statuses.push_back(event.status);
    private_data.push_back(event.parameters.private_data);
    options.emplace_back(event.parameters.ece_vendor, event.parameters.ece_options);
    switch (event.type) {
      case EventType::kAddrResolved:
        id.resolve_route(2000);
        break;
      case EventType::kRouteResolved:
        id.connect(parameters);
        break;
      case EventType::kConnectRequest:
        id.note_request_taken();
        accepted.push_back(std::move(event.request));
        accepted.back()->set_sink(this);
        if (accepts) accepted.back()->accept(parameters);
        if (rejects) accepted.back()->reject(0, parameters.private_data);
        break;
      case EventType::kConnectResponse:
        id.accept(std::nullopt);
        if (disconnects_when_established) id.disconnect();
        break;
      case EventType::kDisconnected:
        if (answers_disconnect) id.disconnect();
        break;
      default:
        break;
    }
  }
};

struct TwoHosts {
  Engine engine;
  Wire wire{engine};
  DefaultChoices defaults;
  Host one, two;
  Program server, client;
  std::unique_ptr<RdmaId> listener, caller;

  explicit TwoHosts(PortSpace space = PortSpace::kTcp, Choices* choices = nullptr)
      : one(engine, choices != nullptr ? *choices : defaults, wire, 1),
        two(engine, choices != nullptr ? *choices : defaults, wire, 2) {
    wire.arrive = [this](std::size_t from, const ib::ManagementDatagram& datagram) {
      (datagram.lid.value == 1 ? one : two).receive(from, datagram);
    };
    constexpr std::uint8_t kRc = 2, kUd = 4;
    const std::uint8_t type = space == PortSpace::kUdp ? kUd : kRc;
    listener = two.cm.create(space, type, &server);
    caller = one.cm.create(space, type, &client);
  }
  int listen(std::uint16_t port = 7471) {
    const int error = listener->bind(v4(0, port));
    return error != 0 ? error : listener->listen(8);
  }
  int call(std::uint16_t port = 7471) { return caller->resolve_address({}, v4(2, port), 2000); }
  void run(std::int64_t seconds = 1000) { engine.run_until(engine.now() + std::chrono::seconds(seconds)); }
};

}  // namespace verbatim::cm
