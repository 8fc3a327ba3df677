// Two endpoints, full or light, with a switch between them and a connection of work sources.
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/hca/light/light_adapter.h"
#include "tests/hca/driver.h"

namespace verbatim::test {

using hca::Endpoint;
using hca::SourceWork;

// A profile without waits: clock edges are a picosecond apart, stages take one packet after the other, and
// the bus is faster than the cable.
inline hca::HcaProfile unhindered() {
  hca::HcaProfile profile = test_profile();
  profile.core_clock_hz = 1'000'000'000'000;
  profile.doorbell = {10'000, 1};
  profile.wqe_decode = {25'000, 1};
  profile.packetize = {20'000, 1};
  profile.receive_check = {30'000, 1};
  profile.acknowledge = {15'000, 1};
  profile.completion = {12'500, 1};
  profile.pcie.generation = 5;
  profile.pcie.outstanding_reads = 1024;
  profile.gather_buffer_bytes = 1 << 18;
  return profile;
}

// Loses the packets with these numbers, from 0, that leave a port.
struct Losses final : fabric::PacketFaults {
  std::set<std::uint64_t> numbers;
  std::uint64_t seen = 0;
  fabric::PacketFate on_packet(const fabric::Port&, ib::Packet&) override { return {.is_lost = numbers.contains(seen++)}; }
};

struct Traffic final : hca::WorkSource {
  SourceWork each{SourceWork::Operation::kWrite, 100'000};
  const Engine* engine = nullptr;
  std::vector<std::pair<std::int64_t, ib::WcStatus>> completed;
  std::vector<std::uint32_t> received;
  bool has_adapter_failed = false;

  SourceWork next_work(std::uint32_t) override { return each; }
  void on_completed(std::uint32_t, ib::WcStatus status) override { completed.emplace_back(to_ps(engine->now()), status); }
  void on_received(std::uint32_t, std::uint32_t bytes) override { received.push_back(bytes); }
  void on_adapter_failed(std::uint32_t) override { has_adapter_failed = true; }
};

struct Setting {
  bool is_light = true;         // the first endpoint
  bool is_far_end_light = true;  // the second endpoint
  bool roce = false;
  fabric::LinkParams link = test_link();
  hca::HcaProfile profile = unhindered();
  std::uint8_t static_rate = 0;  // ibv_rate of both directions
};

// Two endpoints, LIDs 1 and 2, with a switch between them and a connection of sources.
struct EndpointNet {
  explicit EndpointNet(const Setting& setting = {}) : setting(setting), components(World::component_names()) {
    tracer.add(trace);
    ends[0] = make("client", 1, setting.is_light);
    ends[1] = make("server", 2, setting.is_far_end_light);
    device = std::make_unique<fabric::Switch>(engine, tracer, components.id("switch"), fabric::SwitchProfile(),
                                              std::vector{components.id("switch/p1"), components.id("switch/p2")});
    for (std::uint8_t i = 0; i < 2; ++i) connect(*ports[i], device->port(fabric::PortNumber{std::uint8_t(i + 1)}), setting.link);
    device->set_forwarding_table({fabric::Switch::kNoRoute, fabric::PortNumber{1}, fabric::PortNumber{2}});
    if (setting.roce) {
      fabric::RouteTable routes(3);
      for (std::uint8_t i = 1; i <= 2; ++i) routes.set(i, i);
      device->set_ethernet_routes(ib::MacAddress{0}, std::make_shared<fabric::RouteTable>(routes));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      sources[i].engine = &engine;
      at[i] = ends[i]->add_source(sources[i], 64);
    }
    join(at[0], at[1]);
  }

  void join(hca::SourceEnd first, hca::SourceEnd second) {
    const hca::SourceEnd own[] = {first, second};
    for (std::size_t i = 0; i < 2; ++i) {
      hca::SourcePath path;
      path.address.dlid = static_cast<std::uint16_t>(2 - i);
      path.address.port = 1;
      path.address.static_rate = setting.static_rate;
      path.address.is_global = setting.roce;
      path.address.dgid[15] = setting.roce ? static_cast<std::uint8_t>(2 - i) : 0;
      path.peer = own[1 - i];
      path.first_psn = 1000;
      ends[i]->connect_source(own[i].number, path);
    }
  }

  std::unique_ptr<Endpoint> make(const std::string& name, std::uint16_t lid, bool is_light) {
    hca::PortAddress address;
    address.lid = ib::Lid{lid};
    address.gids.emplace_back().raw[15] = static_cast<std::uint8_t>(lid);
    address.roce = setting.roce;
    address.mac = ib::MacAddress{lid};
    address.neighbours = &neighbours;
    const ComponentId id = components.id(name + "/hca");
    fabric::PortParams params = World::port_params(setting.profile);
    auto& port = ports[lid - 1];
    const auto give_port = [&](auto& owner) {
      port = std::make_unique<fabric::Port>(engine, tracer, components.id(name + "/p1"), fabric::PortNumber{1}, params, owner);
      owner.attach(*port);
    };
    if (!is_light) {
      auto hca = std::make_unique<hca::Hca>(engine, tracer, choices, id, "mlx5_0", setting.profile, address);
      give_port(*hca);
      return hca;
    }
    auto light = hca::LightEndpoint::make(engine, tracer, choices, id, setting.profile, address);
    give_port(*light);
    return light;
  }

  void post(std::uint32_t count, std::size_t end = 0) { ends[end]->post_source(at[end].number, count); }
  void run() {
    engine.run();
    tracer.finish();
  }
  void run_for(Duration duration) { engine.run_until(engine.now() + duration); }

  const Setting setting;
  const hca::Neighbours neighbours = World::two_neighbours();
  Engine engine;
  Tracer tracer{engine};
  DefaultChoices choices;
  ComponentTable components;
  Recorder trace;
  Traffic sources[2];
  std::unique_ptr<Endpoint> ends[2];
  std::unique_ptr<fabric::Port> ports[2];
  std::unique_ptr<fabric::Switch> device;
  hca::SourceEnd at[2];
};

// Departures of packets by port: time, opcode and PSN.
inline std::vector<std::vector<std::uint64_t>> departures(const EndpointNet& net) {
  std::vector<std::vector<std::uint64_t>> rows;
  for (const TraceRecord& record : net.trace.all(TraceEvent::kPacketTransmitted)) {
    const auto when = static_cast<std::uint64_t>(record.time_ps);
    rows.push_back({record.component, when, record.values[0], record.values[1], record.values[2]});
  }
  std::ranges::sort(rows);
  return rows;
}

}  // namespace verbatim::test
