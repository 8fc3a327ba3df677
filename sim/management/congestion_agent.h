// The congestion control agent of a node (IBA A10.4): stores the settings that a manager writes, applies them
// to the node's ports, and reports the log.
//
// A nonzero key must be in every Set and, with the protect bit, in every Get. A datagram with a wrong key is
// counted and gets no response; the node sends a trap to the destination in ClassPortInfo (trap_target). When
// the lease period has passed since the first wrong key without a correct one, every key is accepted until a
// manager sets CongestionKeyInfo; a period of 0 never passes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/mad/congestion.h"
#include "sim/management/node.h"

namespace verbatim::management {

// The device that the settings apply to.
class CongestionHardware {
 public:
  // For a port of a switch.
  virtual void set_marking(std::uint8_t port, const ib::MarkingSetting& setting) = 0;
  // For an adapter.
  virtual void set_injection(const ib::InjectionSetting& setting) = 0;
  // Logs of a switch, and of an adapter. Null: empty.
  virtual ib::MarkingLog* marking_log() = 0;
  virtual ib::InjectionLog* injection_log() = 0;

 protected:
  ~CongestionHardware() = default;
};

class CongestionAgent {
 public:
  // Both must outlive the agent.
  CongestionAgent(const Node& node, CongestionHardware& hardware) : node_(node), hardware_(hardware) {}

  // Response to a datagram received by a port; one that is not Get or Set gets a response with an error
  // status. nullopt: the key is wrong.
  std::optional<ib::Mad> answer(const ib::Mad& request, std::uint8_t in_port, Instant now);

  const mad::congestion::TrapTarget& trap_target() const { return trap_target_; }

  // Applies the setting as if a manager had sent it.
  void set_switch(const mad::congestion::SwitchSetting& setting);
  void set_injection(const ib::InjectionSetting& setting);

 private:
  struct Question {
    bool sets;
    std::uint32_t modifier;
    std::uint8_t in_port;
    Instant now;
  };

  bool check_key(const ib::Mad& request, bool sets, Instant now);
  // Returns the status, and replaces `mad` by the resulting values.
  std::uint16_t attribute(std::uint16_t id, const Question& question, ib::Mad& mad);
  std::uint16_t key_info(const Question& question, mad::congestion::Data& data, std::uint64_t key);
  std::uint16_t switch_setting(const Question& question, mad::congestion::Data& data);
  std::uint16_t port_setting(const Question& question, mad::congestion::Data& data);
  std::uint16_t ca_setting(const Question& question, mad::congestion::Data& data);
  std::uint16_t control_table(const Question& question, mad::congestion::Data& data);
  std::uint16_t log(const Question& question, ib::Mad& mad);
  void apply_marking();

  const Node& node_;
  CongestionHardware& hardware_;
  mad::congestion::KeyInfo key_;
  std::optional<Instant> lease_began_;  // nullopt: no wrong key since the last correct one
  bool is_lease_over_ = false;
  mad::congestion::TrapTarget trap_target_;
  mad::congestion::SwitchSetting switch_;
  // By port; valid ones override the switch's setting.
  std::vector<mad::congestion::PortSettings::Element> ports_;
  std::uint16_t ca_control_map_ = 0;
  ib::InjectionSetting injection_;
};

}  // namespace verbatim::management
