// Checks of adapters from Lumina (SIGCOMM 2023): recovery from each single loss, intervals between
// notifications.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "sim/ib/packet_observer.h"
#include "tests/reproduce/fabric.h"
#include "tests/reproduce/target.h"

namespace verbatim::reproduce {
namespace {

constexpr const char* kCable = "100 Gbps";
constexpr std::int64_t kMtu = 1024, kPackets = 10;

// Packets arriving at switch `s`: requests from the senders' cables, answers from the receiver's.
class AtSwitch final : public ib::PacketObserver {
 public:
  struct Seen {
    std::int64_t time_ps;
    ib::Opcode opcode;
    std::uint32_t psn;
    std::uint8_t syndrome;
    ib::Gid destination;
    std::uint32_t queue_pair;
  };
  AtSwitch(std::uint32_t receiver_port, std::set<std::uint32_t> sender_ports)
      : receiver_port_(receiver_port), sender_ports_(std::move(sender_ports)) {}
  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId) override {
    if (record.event != TraceEvent::kPacketReceived) return;
    const Seen seen{record.time_ps, packet.bth.opcode, packet.bth.psn.value, packet.aeth.syndrome, packet.grh->destination,
                    packet.bth.destination.value};
    if (record.component == receiver_port_) answers.push_back(seen);
    if (sender_ports_.contains(record.component)) requests.push_back(seen);
  }
  std::vector<Seen> requests, answers;

 private:
  const std::uint32_t receiver_port_;
  const std::set<std::uint32_t> sender_ports_;
};

Shape around_a_switch(const Json& adapter, std::size_t senders) {
  Shape shape("roce");
  shape.profile("adapter", adapter);
  shape.fabric_switch("s", "ethernet_switch");
  shape.host("receiver", "adapter");
  shape.cable("receiver", "s", kCable);
  for (std::size_t i = 0; i < senders; ++i) {
    shape.host("sender" + std::to_string(i), "adapter");
    shape.cable("sender" + std::to_string(i), "s", kCable);
  }
  return shape;
}

AtSwitch observer_of(const Fabric& fabric, const Shape& shape, std::size_t senders) {
  std::set<std::uint32_t> ports;
  for (std::size_t i = 0; i < senders; ++i) ports.insert(fabric.port(shape.end("s", "sender" + std::to_string(i))));
  return {fabric.port(shape.end("s", "receiver")), ports};
}

config::FlowSpec flow(std::size_t sender, std::int64_t bytes) {
  config::FlowSpec spec;
  spec.from = "sender" + std::to_string(sender);
  spec.to = "receiver";
  spec.bytes = spec.message_size = bytes;
  return spec;
}

struct Loss {
  bool is_completed = false;
  std::size_t sent_again = 0;
  double generation_us = 0, reaction_us = 0;  // of the NAK; 0: there was none
};

// A message of kPackets; the switch drops the `nth` one, from 1.
Loss lose(const Json& adapter, std::int64_t nth) {
  const Shape shape = around_a_switch(adapter, 1);
  Fabric fabric(shape);
  AtSwitch seen = observer_of(fabric, shape, 1);
  fabric.simulation().tracer().add(seen);
  const workload::Flow& message = fabric.add(flow(0, kPackets * kMtu));
  fabric.add_faults({{{"action", "drop"}, {"from", shape.end("s", "receiver")}, {"nth", nth}, {"count", 1}}});
  fabric.run();
  Loss loss;
  loss.is_completed = message.is_done() && message.status() == ib::WcStatus::kSuccess;
  loss.sent_again = seen.requests.size() - kPackets;
  constexpr std::uint8_t kNakSequenceError = 0x60;
  const auto nak = std::ranges::find(seen.answers, kNakSequenceError, &AtSwitch::Seen::syndrome);
  if (nak == seen.answers.end()) return loss;
  const auto again = std::ranges::find_if(seen.requests, [&](const AtSwitch::Seen& request) {
    return request.time_ps > nak->time_ps && request.psn == nak->psn;
  });
  if (again == seen.requests.end()) return loss;
  loss.generation_us = static_cast<double>(nak->time_ps - seen.requests.at(static_cast<std::size_t>(nth)).time_ps) * 1e-6;
  loss.reaction_us = static_cast<double>(again->time_ps - nak->time_ps) * 1e-6;
  return loss;
}

struct Notifications {
  double scope = 0;  // 1: port, 2: destination address, 3: queue pair
  double interval_us = 0;  // minimum interval within the scope
};

// Two senders with two queue pairs each; all packets are marked on the last cable.
Notifications notifications(const std::string& profile) {
  const Json adapter = changed_profile(profile, {{"congestion_control", {{"controller", "none"}, {"ecn_capable", true}}}});
  const Shape shape = around_a_switch(adapter, 2);
  Fabric fabric(shape);
  AtSwitch seen = observer_of(fabric, shape, 2);
  fabric.simulation().tracer().add(seen);
  for (const std::size_t sender : {0, 0, 1, 1}) fabric.add(flow(sender, 1 << 28));
  fabric.add_faults({{{"action", "mark"}, {"from", shape.end("s", "receiver")}, {"count", 0}}});
  fabric.run_until(Instant(kMillisecond));
  const auto least_distance = [&](const auto& key_of) {
    std::map<decltype(key_of(seen.answers.front())), std::int64_t> last;
    std::int64_t least = to_ps(kMillisecond);
    for (const AtSwitch::Seen& answer : seen.answers) {
      if (answer.opcode != ib::Opcode::kCongestionNotification) continue;
      const auto key = key_of(answer);
      if (const auto before = last.find(key); before != last.end()) least = std::min(least, answer.time_ps - before->second);
      last[key] = answer.time_ps;
    }
    return static_cast<double>(least) * 1e-6;
  };
  using Address = std::array<std::uint8_t, sizeof(ib::Gid::raw)>;
  const auto address = [](const AtSwitch::Seen& answer) { return std::to_array(answer.destination.raw); };
  const double distances[] = {least_distance([](const AtSwitch::Seen&) { return 0; }),
                              least_distance([&](const AtSwitch::Seen& answer) -> Address { return address(answer); }),
                              least_distance([&](const AtSwitch::Seen& answer) {
                                return std::pair(address(answer), answer.queue_pair);
                              })};
  // Half of the interval in all profiles, so rounding has no effect.
  constexpr double kApartUs = 2;
  for (std::size_t i = 0; i < std::size(distances); ++i) {
    if (distances[i] > kApartUs) return {static_cast<double>(i + 1), distances[i]};
  }
  return {};
}

}  // namespace

Simulated measure_lumina(const Wanted& wanted) {
  Simulated simulated;
  std::size_t completed = 0, sent_again = 0;
  const Json connectx5 = changed_profile("connectx5", Json::object());
  for (std::int64_t nth = 1; nth <= kPackets; ++nth) {
    const Loss loss = lose(connectx5, nth);
    completed += loss.is_completed ? 1 : 0;
    sent_again += loss.sent_again;
  }
  simulated["go_back_n.completed"] = static_cast<double>(completed);
  simulated["go_back_n.sent_again"] = static_cast<double>(sent_again);
  for (const std::string profile : {"connectx5", "connectx6_hdr", "connectx4_edr"}) {
    if (wanted.contains("nack_generation." + profile)) {
      const Loss loss = lose(changed_profile(profile, Json::object()), 3);
      simulated["nack_generation." + profile] = loss.generation_us;
      simulated["nack_reaction." + profile] = loss.reaction_us;
    }
    const Notifications found = notifications(profile);
    simulated["notification_scope." + profile] = found.scope;
    simulated["notification_interval." + profile] = found.interval_us;
  }
  return simulated;
}

}  // namespace verbatim::reproduce
