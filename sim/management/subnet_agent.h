// The subnet management agent of a node (IBA 14.3): executes the subnet manager's Get and Set requests if the
// management key is correct.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/management/node.h"

namespace verbatim::management {

class SubnetAgent {
 public:
  // Both must outlive the agent.
  SubnetAgent(Node& node, NodeHardware& hardware) : node_(node), hardware_(hardware) {}

  // Response to a Get or Set received by a port. nullopt: a wrong key; the request is counted and ignored
  // (IBA 14.2.4).
  std::optional<ib::Mad> answer(const ib::Mad& request, std::uint8_t in_port);

 private:
  struct Question {
    bool sets;
    std::uint32_t modifier;
    std::uint8_t in_port;
    bool hides_key;
  };

  // Whether the request may be executed.
  bool check_key(const ib::Mad& request, bool sets, std::uint8_t in_port, bool* hides_key);
  // Each function returns the status and replaces `data` by the resulting values.
  std::uint16_t attribute(std::uint16_t id, const Question& question, mad::smp::Data& data);
  std::uint16_t port_info(const Question& question, mad::smp::Data& data);
  std::uint16_t set_port_state(std::uint8_t port, const mad::smp::PortInfo& to);
  std::uint16_t switch_info(const Question& question, mad::smp::Data& data);
  std::uint16_t guid_info(const Question& question, mad::smp::Data& data);
  std::uint16_t pkey_table(const Question& question, mad::smp::Data& data);
  std::uint16_t sl_to_vl(const Question& question, mad::smp::Data& data);
  std::uint16_t vl_arbitration(const Question& question, mad::smp::Data& data);
  std::uint16_t forwarding(const Question& question, mad::smp::Data& data);
  std::uint16_t multicast(const Question& question, mad::smp::Data& data);
  // The port selected by a modifier; kNoPort: none.
  std::uint8_t port_of(std::uint32_t number, std::uint8_t in_port) const;

  Node& node_;
  NodeHardware& hardware_;
};

}  // namespace verbatim::management
