#include "sim/config/import/subnet_nodes.h"

#include <algorithm>

#include "sim/config/fields.h"
#include "sim/config/quantity.h"

namespace verbatim::config::imports {

namespace {

// Whether the word is a device name of a Linux driver: letters, digits and, after "_", a number.
bool is_device_name(std::string_view word) {
  constexpr std::string_view kDrivers[] = {"mlx4_", "mlx5_", "mthca", "qib", "hfi", "ib"};
  return is_valid_name(word) &&
         std::ranges::any_of(kDrivers, [&](std::string_view driver) { return word.starts_with(driver); });
}

std::string port_text(const SubnetNode& node, std::uint32_t port) {
  return in_quotes(node.id) + " port " + std::to_string(port);
}

class Joiner {
 public:
  Joiner(const std::vector<SubnetNode>& nodes, LineFindings& findings) : nodes_(nodes), findings_(findings) {
    for (std::size_t i = 0; i < nodes.size(); ++i) by_id_[nodes[i].id] = i;
  }

  std::optional<Fabric> join() {
    for (const SubnetNode& node : nodes_) add_devices(node);
    for (const SubnetNode& node : nodes_) {
      for (const auto& [number, port] : node.cabled) cable(node, port);
    }
    if (findings_.count() > 0) return std::nullopt;
    if (several_ports_ > 0) {
      fabric_.assumptions.push_back({std::to_string(several_ports_) +
                                         (several_ports_ == 1 ? " adapter has" : " adapters have") +
                                         " several cabled ports; each further port is an adapter of its own here",
                                     "\"further_adapters\" of the hosts"});
    }
    if (!left_out_.empty()) {
      fabric_.assumptions.push_back({"without a cable, and left out: " + left_out_, "\"hosts\" and \"switches\""});
    }
    return std::move(fabric_);
  }

 private:
  void add_devices(const SubnetNode& node) {
    if (node.cabled.empty()) {
      left_out_ += (left_out_.empty() ? "" : ", ") + node.id;
      return;
    }
    if (node.is_switch) {
      devices_[{node.id, 0}] = fabric_.devices.size();
      fabric_.devices.push_back(node.device);
      fabric_.devices.back().ports = node.ports;
      return;
    }
    if (node.cabled.size() > 1) ++several_ports_;
    bool is_first = true;
    for (const auto& [number, port] : node.cabled) {
      devices_[{node.id, number}] = fabric_.devices.size();
      Device device = node.device;
      device.port_guid = port.guid;
      if (port.lid != 0) device.lid = port.lid;
      if (!is_first) {
        device.guid = 0;
        device.adapter.clear();
      }
      is_first = false;
      fabric_.devices.push_back(std::move(device));
    }
  }

  void cable(const SubnetNode& node, const SubnetPort& port) {
    const auto far = by_id_.find(port.far_id);
    if (far == by_id_.end()) {
      return findings_.add(
          port.line,
          port_text(node, port.number) + " has a cable to " + in_quotes(port.far_id) + ", which the file does not describe",
          "add its block, or remove the line");
    }
    const SubnetNode& there = nodes_[far->second];
    if (port.far_port == 0 || port.far_port > there.ports) {
      return findings_.add(port.line, in_quotes(there.id) + " has no port " + std::to_string(port.far_port),
                           "its ports are 1 to " + std::to_string(there.ports));
    }
    if (&there == &node)
      return findings_.add(port.line, "both ends of the cable are at " + in_quotes(node.id), "remove the line");
    const auto back = there.cabled.find(port.far_port);
    if (back == there.cabled.end()) {
      return findings_.add(
          port.line,
          port_text(node, port.number) + " has a cable to " + port_text(there, port.far_port) + ", which has none",
          "every cable is written at both ends");
    }
    if (back->second.far_id != node.id || back->second.far_port != port.number) {
      return findings_.add(port.line,
                           port_text(node, port.number) + " has a cable to " + port_text(there, port.far_port) +
                               ", whose cable leads to " + in_quotes(back->second.far_id) + " port " +
                               std::to_string(back->second.far_port) + " (line " + std::to_string(back->second.line) + ")",
                           "correct one of them");
    }
    // Adds each cable once, from the end whose node is listed first.
    const std::size_t here = by_id_.at(node.id);
    if (here > far->second) return;
    Cable cable{end(node, port.number), end(there, port.far_port), port.rate, std::nullopt, std::nullopt};
    if (cable.rate.empty()) cable.rate = back->second.rate;
    fabric_.cables.push_back(std::move(cable));
  }

  End end(const SubnetNode& node, std::uint32_t port) const {
    return node.is_switch ? End{devices_.at({node.id, 0}), port} : End{devices_.at({node.id, port}), 1};
  }

  const std::vector<SubnetNode>& nodes_;
  LineFindings& findings_;
  std::map<std::string, std::size_t> by_id_;
  std::map<std::pair<std::string, std::uint32_t>, std::size_t> devices_;
  std::size_t several_ports_ = 0;
  std::string left_out_;
  Fabric fabric_;
};

}  // namespace

std::optional<Fabric> fabric_of(const std::vector<SubnetNode>& nodes, std::string format, LineFindings& findings) {
  auto fabric = Joiner(nodes, findings).join();
  if (fabric) fabric->format = std::move(format);
  return fabric;
}

std::string rate_of_port(std::string_view text) {
  const std::size_t x = text.find('x');
  if (x == text.npos || x == 0) return {};
  std::string problem, hint;
  const auto rate =
      parse_link_rate(std::string(text.substr(x + 1)) + " " + std::string(text.substr(0, x + 1)), &problem, &hint);
  return rate ? format_link_rate(*rate) : std::string();
}

void set_names(Device& device) {
  const auto words = words_of(device.description);
  if (words.empty()) return;
  if (device.is_switch) {
    device.name = device.description;
    return;
  }
  device.name = std::string(words.front());
  if (words.size() == 2 && is_device_name(words.back())) device.adapter = std::string(words.back());
}

}  // namespace verbatim::config::imports
