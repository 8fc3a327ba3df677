#include "tools/verbatim/fabric_deadlock.h"

#include <algorithm>
#include <string>

#include "sim/core/words.h"

namespace verbatim::cli {

namespace {

std::vector<fabric::Port*> switch_ports(config::Simulation& simulation) {
  std::vector<fabric::Port*> ports;
  for (std::size_t i = 0; i < simulation.topology().switches.size(); ++i) {
    fabric::Switch& one = simulation.fabric_switch(i);
    for (std::uint32_t number = 1; number <= one.port_count(); ++number)
      ports.push_back(&one.port(fabric::PortNumber{static_cast<std::uint8_t>(number)}));
  }
  return ports;
}

// "s0:2 -> s1:2 -> s0:2", with lanes if the outputs have several.
std::string text_of(const std::vector<fabric::LoopOutput>& loop, const config::Simulation& simulation) {
  const auto is_of_many = [](const fabric::LoopOutput& output) { return output.port->operational_lanes() > 1; };
  const bool has_lanes = std::ranges::any_of(loop, is_of_many);
  const auto name = [&](const fabric::LoopOutput& output) {
    const std::string& component = simulation.components().name(output.port->id());
    const std::string port = component.substr(component.find('/') + 1);
    return has_lanes ? join(port, simulation.topology().is_roce() ? " priority " : " VL ", output.lane.value) : port;
  };
  std::string text;
  for (const fabric::LoopOutput& output : loop) text += name(output) + " -> ";
  return text + name(loop.front());
}

}  // namespace

void FabricDeadlock::on_timeout() {
  const Instant now = simulation_.engine().now();
  if (found_ != kNever || now < next_search_) return;
  next_search_ = now + kInterval;
  if (diagnose(fabric::LoopKind::kForEver)) found_ = now;
}

void FabricDeadlock::on_end() {
  if (found_ == kNever) diagnose(fabric::LoopKind::kNow);
}

bool FabricDeadlock::diagnose(fabric::LoopKind kind) {
  if (ports_.empty()) ports_ = switch_ports(simulation_);
  const std::vector<fabric::LoopOutput> loop = fabric::find_credit_loop(ports_, kind);
  if (loop.empty()) return false;
  simulation_.tracer().diagnose({loop.front().port->id(), 0, 0,
                                 "credit loop: " + text_of(loop, simulation_) +
                                     ": each of these output ports waits for buffer space, which is full of packets that wait "
                                     "for the next port, so none of them can send"});
  return true;
}

}  // namespace verbatim::cli
