// The congestion control agent of a node (IBA A10.4): keeps the settings that a manager writes, gives them to the node's ports,
// and answers with the log.
//
// A key that is not 0 must be in every Set, and with the protect bit in every Get, too. A datagram with a wrong one is counted
// and gets no answer; the node sends a trap to where ClassPortInfo says (trap_target). When the lease period has passed since the
// first wrong key without a right one, every key is right until a manager sets CongestionKeyInfo; 0: it never passes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/mad/congestion.h"
#include "sim/management/node.h"

namespace verbatim::management {

// The device whose ports the settings are for.
class CongestionHardware {
 public:
  // A switch's port.
  virtual void set_marking(std::uint8_t port, const ib::MarkingSetting& setting) = 0;
  // An adapter.
  virtual void set_injection(const ib::InjectionSetting& setting) = 0;
  // A switch's, and an adapter's. Null: it is empty.
  virtual ib::MarkingLog* marking_log() = 0;
  virtual ib::InjectionLog* injection_log() = 0;

 protected:
  ~CongestionHardware() = default;
};

class CongestionAgent {
 public:
  // Both outlive it.
  CongestionAgent(const Node& node, CongestionHardware& hardware) : node_(node), hardware_(hardware) {}

  // The answer to what has come in by a port; to what is no Get or Set, one that says so. Nothing: the key is wrong.
  std::optional<ib::Mad> answer(const ib::Mad& request, std::uint8_t in_port, Instant now);

  const mad::congestion::TrapTarget& trap_target() const { return trap_target_; }

  // As a manager would set them.
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
  // The status; `mad` as it was given becomes what is so.
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
  std::optional<Instant> lease_began_;  // nothing: no wrong key has come since the last right one
  bool is_lease_over_ = false;
  mad::congestion::TrapTarget trap_target_;
  mad::congestion::SwitchSetting switch_;
  std::vector<mad::congestion::PortSettings::Element> ports_;  // by port; those that are valid count instead of the switch's
  std::uint16_t ca_control_map_ = 0;
  ib::InjectionSetting injection_;
};

}  // namespace verbatim::management
