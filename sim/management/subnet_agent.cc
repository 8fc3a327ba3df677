#include "sim/management/subnet_agent.h"

#include <algorithm>
#include <cstring>

#include "sim/ib/lid_ranges.h"
#include "sim/mad/fields.h"

namespace verbatim::management {

namespace {

using mad::smp::Data;
using mad::smp::PhysicalState;
using mad::smp::PortInfo;
using mad::smp::PortState;

constexpr std::size_t kForwardingBlock = 64, kMulticastBlock = 32, kPkeyBlock = 32, kGuidBlock = 8;
constexpr std::size_t kPortsPerMask = 16;

// Calls entry(index, byte, bit) for `entries` consecutive entries of `bits` each.
template <class Entry>
void for_entries(std::size_t entries, unsigned bits, const Entry& entry) {
  for (std::size_t i = 0; i < entries; ++i) entry(i, i * bits / 8, static_cast<unsigned>(i * bits % 8));
}

}  // namespace

std::optional<ib::Mad> SubnetAgent::answer(const ib::Mad& request, std::uint8_t in_port) {
  const mad::Header asked = mad::header_of(request);
  const bool sets = asked.method == mad::kSet;
  bool hides_key = false;
  if (!check_key(request, sets, in_port, &hides_key)) return std::nullopt;
  ib::Mad answer = request;
  mad::Header header = asked;
  header.method = mad::kGetResponse;
  Data data = mad::smp::data_of(request);
  if (asked.base_version != 1 || asked.class_version != mad::smp::kClassVersion) {
    header.status = mad::kBadVersion;
  } else if (!sets && asked.method != mad::kGet) {
    header.status = mad::kUnsupportedMethod;
  } else {
    header.status = attribute(asked.attribute_id, {sets, asked.attribute_modifier, in_port, hides_key}, data);
  }
  constexpr std::uint16_t kDirection = 0x8000;
  if (asked.management_class == mad::kSubnetManagementDirected) header.status |= kDirection;
  mad::put_header(answer, header);
  mad::smp::put_data(answer, data);
  return answer;
}

// IBA 14.2.4.2: protection level 0 allows Get by anybody and shows the key, level 1 hides the key.
bool SubnetAgent::check_key(const ib::Mad& request, bool sets, std::uint8_t in_port, bool* hides_key) {
  const std::uint8_t base = node_.is_switch() ? 0 : in_port;
  const PortInfo& info = node_.ports[base].info;
  const std::uint64_t key = mad::smp::mkey_of(request);
  if (info.mkey == 0 || key == info.mkey) return true;
  if (!sets && info.mkey_protect_bits < 2) {
    *hides_key = info.mkey_protect_bits == 1;
    return true;
  }
  hardware_.key_violations(base).mkey.count();
  return false;
}

std::uint8_t SubnetAgent::port_of(std::uint32_t number, std::uint8_t in_port) const {
  if (!node_.is_switch() && number == 0) return in_port;
  return node_.has_port(number) ? static_cast<std::uint8_t>(number) : kNoPort;
}

std::uint16_t SubnetAgent::attribute(std::uint16_t id, const Question& question, Data& data) {
  switch (id) {
    case mad::smp::kNodeDescription:
      if (question.sets) return mad::kUnsupportedMethod;
      data = {};
      std::memcpy(data.data(), node_.description.data(), std::min(node_.description.size(), data.size()));
      return 0;
    case mad::smp::kNodeInfo: {
      if (question.sets) return mad::kUnsupportedMethod;
      mad::smp::NodeInfo info = node_.info;
      info.local_port = question.in_port;
      data = info.encode();
      return 0;
    }
    case mad::smp::kPortInfo:
      return port_info(question, data);
    case mad::smp::kSwitchInfo:
      return node_.is_switch() ? switch_info(question, data) : mad::kUnsupportedAttribute;
    case mad::smp::kGuidInfo:
      return guid_info(question, data);
    case mad::smp::kPkeyTable:
      return pkey_table(question, data);
    case mad::smp::kSlToVlTable:
      return sl_to_vl(question, data);
    case mad::smp::kVlArbitrationTable:
      return vl_arbitration(question, data);
    case mad::smp::kLinearForwardingTable:
      return node_.is_switch() ? forwarding(question, data) : mad::kUnsupportedAttribute;
    case mad::smp::kMulticastForwardingTable:
      return node_.is_switch() ? multicast(question, data) : mad::kUnsupportedAttribute;
    case mad::smp::kVendorPortInfo:
      data = {};  // no port has an FDR10 link
      return 0;
    default:
      return mad::kUnsupportedAttribute;
  }
}

std::uint16_t SubnetAgent::port_info(const Question& question, Data& data) {
  const std::uint8_t number = port_of(question.modifier & 0xff, question.in_port);
  if (number == kNoPort) return mad::kInvalidField;
  PortInfo& info = node_.ports[number].info;
  ib::KeyViolations& violations = hardware_.key_violations(number);
  std::uint16_t status = 0;
  if (question.sets) {
    const PortInfo to = PortInfo::decode(data);
    const bool is_base = !node_.is_switch() || number == 0;
    const bool has_bad_lid = is_base && !ib::is_unicast(ib::Lid{to.lid});
    if (has_bad_lid || to.neighbor_mtu > info.mtu_capacity || to.operational_vls > info.vl_capacity) {
      status = mad::kInvalidField;
    } else {
      if (is_base) {
        info.mkey = to.mkey;
        info.mkey_protect_bits = to.mkey_protect_bits;
        info.mkey_lease_period = to.mkey_lease_period;
        info.gid_prefix = to.gid_prefix;
        info.lid = to.lid;
        info.lmc = to.lmc;
        info.master_sm_lid = to.master_sm_lid;
        info.master_sm_sl = to.master_sm_sl;
        info.subnet_timeout = to.subnet_timeout;
      }
      info.client_reregister = to.client_reregister;
      if (to.width_enabled != 0) info.width_enabled = to.width_enabled;
      if (to.speed_enabled != 0) info.speed_enabled = to.speed_enabled;
      if (to.extended_speed_enabled != 0) info.extended_speed_enabled = to.extended_speed_enabled;
      if (to.neighbor_mtu != 0) info.neighbor_mtu = to.neighbor_mtu;
      if (to.operational_vls != 0) info.operational_vls = to.operational_vls;
      if (to.down_default_state != PhysicalState::kNoChange) info.down_default_state = to.down_default_state;
      info.vl_high_limit = to.vl_high_limit;
      info.vl_stall_count = to.vl_stall_count;
      info.head_lifetime = to.head_lifetime;
      info.inbound_enforcement = to.inbound_enforcement;
      info.outbound_enforcement = to.outbound_enforcement;
      info.filter_raw_inbound = to.filter_raw_inbound;
      info.filter_raw_outbound = to.filter_raw_outbound;
      info.local_physical_errors = to.local_physical_errors;
      info.overrun_errors = to.overrun_errors;
      violations.mkey.set(to.mkey_violations);
      violations.pkey.set(to.pkey_violations);
      violations.qkey.set(to.qkey_violations);
      status = set_port_state(number, to);
      hardware_.on_port_set(number);
      info.client_reregister = false;
    }
  }
  PortInfo shown = info;
  shown.local_port = question.in_port;
  shown.mkey_violations = violations.mkey.value();
  shown.pkey_violations = violations.pkey.value();
  shown.qkey_violations = violations.qkey.value();
  if (question.hides_key) shown.mkey = 0;
  data = shown.encode();
  return status;
}

// IBA 7.2.7, 14.2.5.6: only the steps from Init to Armed to Active, and to Down, from which the link comes up
// in Init.
std::uint16_t SubnetAgent::set_port_state(std::uint8_t number, const PortInfo& to) {
  PortInfo& info = node_.ports[number].info;
  const bool is_own = node_.is_switch() && number == 0;
  if (!is_own && to.physical_state == PhysicalState::kDisabled) {
    hardware_.set_link(number, false);
    info.physical_state = PhysicalState::kDisabled;
    return 0;
  }
  const bool trains_again = to.physical_state == PhysicalState::kPolling || to.physical_state == PhysicalState::kSleep;
  if (!is_own && (to.state == PortState::kDown || trains_again)) {
    if (info.physical_state == PhysicalState::kDisabled && !trains_again) return 0;
    hardware_.set_link(number, false);
    hardware_.set_link(number, true);
    return 0;
  }
  if (to.state == PortState::kNoChange || to.state == info.state) return 0;
  const bool may = is_own || (to.state == PortState::kArmed && info.state == PortState::kInit) ||
                   (to.state == PortState::kActive && info.state == PortState::kArmed);
  if (!may) return mad::kInvalidField;
  info.state = to.state;
  return 0;
}

std::uint16_t SubnetAgent::switch_info(const Question& question, Data& data) {
  mad::smp::SwitchInfo& info = node_.switch_info;
  if (question.sets) {
    const auto to = mad::smp::SwitchInfo::decode(data);
    if (to.linear_top >= info.linear_capacity) return mad::kInvalidField;
    info.linear_top = to.linear_top;
    info.default_port = to.default_port;
    info.default_multicast_primary = to.default_multicast_primary;
    info.default_multicast_not_primary = to.default_multicast_not_primary;
    info.life_time = to.life_time;
    if (to.port_state_change) info.port_state_change = false;  // cleared by writing one (IBA 14.2.5.4)
    info.multicast_top = to.multicast_top;
  }
  data = info.encode();
  return 0;
}

std::uint16_t SubnetAgent::guid_info(const Question& question, Data& data) {
  NodePort& port = node_.base_port(question.in_port);
  const std::size_t first = question.modifier * kGuidBlock;
  if (first >= port.guids.size()) return mad::kInvalidField;
  for_entries(kGuidBlock, 64, [&](std::size_t i, std::size_t byte, unsigned bit) {
    const std::size_t at = first + i;
    if (question.sets && at > 0 && at < port.guids.size()) mad::FieldReader(data).number(byte, bit, 64, port.guids[at]);
    mad::FieldWriter(data).number(byte, bit, 64, at < port.guids.size() ? port.guids[at] : 0);
  });
  if (question.sets) hardware_.on_port_set(node_.is_switch() ? 0 : question.in_port);
  return 0;
}

std::uint16_t SubnetAgent::pkey_table(const Question& question, Data& data) {
  const std::uint32_t asked = node_.is_switch() ? question.modifier >> 16 : question.in_port;
  const std::uint8_t number = port_of(asked, question.in_port);
  const std::size_t first = (question.modifier & 0xffff) * kPkeyBlock;
  if (number == kNoPort || first >= node_.ports[number].pkeys.size()) return mad::kInvalidField;
  std::vector<std::uint16_t>& pkeys = node_.ports[number].pkeys;
  for_entries(kPkeyBlock, 16, [&](std::size_t i, std::size_t byte, unsigned bit) {
    const std::size_t at = first + i;
    if (question.sets && at < pkeys.size()) mad::FieldReader(data).number(byte, bit, 16, pkeys[at]);
    mad::FieldWriter(data).number(byte, bit, 16, at < pkeys.size() ? pkeys[at] : 0);
  });
  if (question.sets) hardware_.on_port_set(number);
  return 0;
}

// IBA 14.2.5.8: bits 0 to 7 of the modifier are the output, bits 8 to 15 the input. A table that is set for
// one input also applies to all inputs without a table of their own.
std::uint16_t SubnetAgent::sl_to_vl(const Question& question, Data& data) {
  const std::uint8_t number = port_of(node_.is_switch() ? question.modifier & 0xff : question.in_port, question.in_port);
  if (number == kNoPort) return mad::kInvalidField;
  const auto in = static_cast<std::uint8_t>(node_.is_switch() ? question.modifier >> 8 & 0xff : 0);
  const bool is_turn = node_.is_switch() && in != 0 && number != 0;
  if (is_turn && in >= node_.ports.size()) return mad::kInvalidField;
  std::array<std::uint8_t, 16>& of_output = node_.ports[number].sl_to_vl;
  std::array<std::uint8_t, 16> lanes = of_output;
  if (const auto turn = node_.turn_lanes.find({in, number}); turn != node_.turn_lanes.end()) lanes = turn->second;
  for_entries(16, 4, [&](std::size_t i, std::size_t byte, unsigned bit) {
    if (question.sets) mad::FieldReader(data).number(byte, bit, 4, lanes[i]);
    mad::FieldWriter(data).number(byte, bit, 4, lanes[i]);
  });
  if (!question.sets) return 0;
  of_output = lanes;
  hardware_.on_port_set(number);
  if (!is_turn) return 0;
  node_.turn_lanes[{in, number}] = lanes;
  hardware_.on_turn_lanes_set(in, number);
  return 0;
}

std::uint16_t SubnetAgent::vl_arbitration(const Question& question, Data& data) {
  const std::uint8_t number = port_of(node_.is_switch() ? question.modifier & 0xffff : question.in_port, question.in_port);
  const std::uint32_t block = question.modifier >> 16;
  if (number == kNoPort || block < 1 || block > kVlArbitrationBlocks) return mad::kInvalidField;
  Data& table = node_.ports[number].vl_arbitration[block - 1];
  if (question.sets) table = data;
  data = table;
  if (question.sets) hardware_.on_arbitration_set(number);
  return 0;
}

std::uint16_t SubnetAgent::forwarding(const Question& question, Data& data) {
  const std::size_t first = std::size_t{question.modifier} * kForwardingBlock;
  if (first >= node_.switch_info.linear_capacity) return mad::kInvalidField;
  std::vector<std::uint8_t>& table = node_.forwarding;
  if (question.sets && table.size() < first + kForwardingBlock) table.resize(first + kForwardingBlock, kNoPort);
  for (std::size_t i = 0; i < kForwardingBlock; ++i) {
    const std::size_t at = first + i;
    if (question.sets) table[at] = std::to_integer<std::uint8_t>(data[i]);
    data[i] = std::byte{at < table.size() ? table[at] : kNoPort};
  }
  if (question.sets) hardware_.on_forwarding_set();
  return 0;
}

// IBA 14.2.5.12: a block has 32 groups with 16 ports each, which the upper bits of the modifier select.
std::uint16_t SubnetAgent::multicast(const Question& question, Data& data) {
  const std::size_t first = std::size_t{question.modifier & 0x1ff} * kMulticastBlock;
  const std::size_t first_port = std::size_t{question.modifier >> 28} * kPortsPerMask;
  if (first >= node_.switch_info.multicast_capacity || first_port >= node_.ports.size()) return mad::kInvalidField;
  std::vector<Node::PortSet>& table = node_.multicast;
  if (question.sets && table.size() < first + kMulticastBlock) table.resize(first + kMulticastBlock);
  for_entries(kMulticastBlock, kPortsPerMask, [&](std::size_t i, std::size_t byte, unsigned bit) {
    std::uint16_t mask = 0;
    if (question.sets) mad::FieldReader(data).number(byte, bit, kPortsPerMask, mask);
    for (std::size_t port = 0; port < kPortsPerMask; ++port) {
      if (question.sets) table[first + i][first_port + port] = (mask >> port & 1) != 0;
      if (!question.sets && first + i < table.size() && table[first + i][first_port + port]) {
        mask = static_cast<std::uint16_t>(mask | 1u << port);
      }
    }
    mad::FieldWriter(data).number(byte, bit, kPortsPerMask, mask);
  });
  if (question.sets) hardware_.on_multicast_set();
  return 0;
}

}  // namespace verbatim::management
