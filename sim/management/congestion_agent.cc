#include "sim/management/congestion_agent.h"

#include <algorithm>
#include <chrono>

#include "sim/mad/fields.h"

namespace verbatim::management {

namespace congestion = mad::congestion;

// A lease begins with the first wrong key and ends with the first correct one. Its expiry is no event: the
// next datagram detects it.
bool CongestionAgent::check_key(const ib::Mad& request, bool sets, Instant now) {
  if (lease_began_ && key_.lease_period != 0 &&
      now >= *lease_began_ + std::chrono::seconds(key_.lease_period))
    is_lease_over_ = true;
  const bool is_right = congestion::key_of(request) == key_.key;
  if (is_right && !is_lease_over_) lease_began_.reset();
  if (is_right || is_lease_over_ || key_.key == 0 || (!sets && !key_.is_protected)) return true;
  if (!lease_began_) lease_began_ = now;
  constexpr std::uint16_t kMost = 0xffff;
  if (key_.violations < kMost) ++key_.violations;
  return false;
}

std::optional<ib::Mad> CongestionAgent::answer(const ib::Mad& request, std::uint8_t in_port, Instant now) {
  ib::Mad mad = request;
  mad::Header header = mad::header_of(request);
  const bool sets = header.method == mad::kSet;
  header.status = 0;
  if (header.base_version != 1 || header.class_version != congestion::kClassVersion) {
    header.status = mad::kBadVersion;
  } else if (!sets && header.method != mad::kGet) {
    header.status = mad::kUnsupportedMethod;
  } else if (!check_key(request, sets, now)) {
    return std::nullopt;
  } else {
    header.status = attribute(header.attribute_id, {sets, header.attribute_modifier, in_port, now}, mad);
  }
  header.method = mad::kGetResponse;
  mad::put_header(mad, header);
  return mad;
}

std::uint16_t CongestionAgent::attribute(std::uint16_t id, const Question& question, ib::Mad& mad) {
  using Answer = std::uint16_t (CongestionAgent::*)(const Question&, congestion::Data&);
  congestion::Data data = congestion::data_of(mad);
  const auto put = [&](std::uint16_t status) {
    if (status == 0) congestion::put_data(mad, data);
    return status;
  };
  const auto of = [&](bool is_here, Answer answer) {
    return is_here ? put((this->*answer)(question, data)) : mad::kUnsupportedAttribute;
  };
  const auto only_get = [&](const congestion::Data& value) {
    if (question.sets) return mad::kUnsupportedAttribute;
    data = value;
    return put(0);
  };
  switch (id) {
    case congestion::kClassPortInfo:
      if (question.sets) trap_target_ = congestion::TrapTarget::decode(data);
      data = trap_target_.encode();
      return put(0);
    case congestion::kCongestionInfo: {
      congestion::Info info;
      info.table_blocks = node_.is_switch() ? std::uint8_t{0} : std::uint8_t{ib::InjectionSetting::kBlocks};
      return only_get(info.encode());
    }
    case congestion::kTimeStamp:
      return only_get(congestion::encode_time_stamp(congestion::ticks_of(question.now)));
    case congestion::kCongestionKeyInfo:
      return put(key_info(question, data, congestion::key_of(mad)));
    case congestion::kCongestionLog:
      return log(question, mad);
    case congestion::kSwitchCongestionSetting:
      return of(node_.is_switch(), &CongestionAgent::switch_setting);
    case congestion::kSwitchPortCongestionSetting:
      return of(node_.is_switch(), &CongestionAgent::port_setting);
    case congestion::kCaCongestionSetting:
      return of(!node_.is_switch(), &CongestionAgent::ca_setting);
    case congestion::kCongestionControlTable:
      return of(!node_.is_switch(), &CongestionAgent::control_table);
    default:
      return mad::kUnsupportedAttribute;
  }
}

// The key is hidden from a Get without it. Set writes the violation counter, as that of PortInfo.
std::uint16_t CongestionAgent::key_info(const Question& question, congestion::Data& data, std::uint64_t key) {
  const bool knows_key = key == key_.key || question.sets;
  if (question.sets) {
    key_ = congestion::KeyInfo::decode(data);
    lease_began_.reset();
    is_lease_over_ = false;
  }
  congestion::KeyInfo shown = key_;
  if (!knows_key) shown.key = 0;
  data = shown.encode();
  return 0;
}

std::uint16_t CongestionAgent::log(const Question& question, ib::Mad& mad) {
  if (question.sets) return mad::kUnsupportedAttribute;
  if (node_.is_switch()) {
    ib::MarkingLog empty, *const found = hardware_.marking_log();
    ib::MarkingLog& log = found == nullptr ? empty : *found;
    congestion::put_log(mad, congestion::encode_log(log, question.now));
    log.events.note_read();
    log.ports.reset();
    return 0;
  }
  ib::InjectionLog empty, *const found = hardware_.injection_log();
  ib::InjectionLog& log = found == nullptr ? empty : *found;
  congestion::put_log(mad, congestion::encode_log(log, node_.base_port(question.in_port).info.lid, question.now));
  log.events.note_read();
  log.levels = 0;
  return 0;
}

void CongestionAgent::set_switch(const congestion::SwitchSetting& to) {
  using S = congestion::SwitchSetting;
  const auto sets = [&](std::uint32_t bit) { return (to.control_map & bit) != 0; };
  switch_.control_map = to.control_map;
  if (sets(S::kVictimMask)) switch_.victim_mask = to.victim_mask;
  if (sets(S::kCreditMask)) switch_.credit_mask = to.credit_mask;
  if (sets(S::kThreshold)) {
    switch_.threshold = to.threshold;
    switch_.packet_size = to.packet_size;
  }
  if (sets(S::kStarvation)) {
    switch_.starvation_threshold = to.starvation_threshold;
    switch_.starvation_delay = to.starvation_delay;
  }
  if (sets(S::kMarkingRate)) switch_.marking_rate = to.marking_rate;
  apply_marking();
}

std::uint16_t CongestionAgent::switch_setting(const Question& question, congestion::Data& data) {
  if (question.sets) set_switch(congestion::SwitchSetting::decode(data));
  data = switch_.encode();
  return 0;
}

std::uint16_t CongestionAgent::port_setting(const Question& question, congestion::Data& data) {
  constexpr std::size_t kPorts = congestion::PortSettings::kPorts;
  const std::size_t first = question.modifier * kPorts;
  if (question.modifier > 255 / kPorts || first >= node_.ports.size()) return mad::kInvalidField;
  ports_.resize(node_.ports.size());
  const std::size_t count = std::min(kPorts, node_.ports.size() - first);
  congestion::PortSettings settings = congestion::PortSettings::decode(data);
  for (std::size_t i = 0; i < count; ++i) {
    // Credit starvation is not modelled.
    if (question.sets && !settings.elements[i].is_starvation) ports_[first + i] = settings.elements[i];
  }
  if (question.sets) apply_marking();
  settings = {};
  std::copy_n(ports_.begin() + static_cast<std::ptrdiff_t>(first), count, settings.elements.begin());
  data = settings.encode();
  return 0;
}

void CongestionAgent::apply_marking() {
  for (std::size_t i = 1; i < node_.ports.size(); ++i) {
    const auto port = static_cast<std::uint8_t>(i);
    ib::MarkingSetting setting{switch_.threshold, switch_.packet_size, switch_.marking_rate,
                               congestion::has_port(switch_.victim_mask, port)};
    if (i < ports_.size() && ports_[i].is_valid) {
      setting.threshold = ports_[i].threshold;
      setting.packet_size = ports_[i].packet_size;
      setting.marking_rate = ports_[i].marking_rate;
    }
    hardware_.set_marking(port, setting);
  }
}

void CongestionAgent::set_injection(const ib::InjectionSetting& setting) {
  ca_control_map_ = 0xffff;
  injection_ = setting;
  hardware_.set_injection(injection_);
}

std::uint16_t CongestionAgent::ca_setting(const Question& question, congestion::Data& data) {
  if (question.sets) {
    const congestion::CaSetting to = congestion::CaSetting::decode(data);
    injection_.is_by_level = (to.port_control & 1) != 0;
    ca_control_map_ = to.control_map;
    for (std::size_t level = 0; level < to.levels.size(); ++level) {
      if ((to.control_map >> level & 1) != 0) injection_.levels[level] = to.levels[level];
    }
    hardware_.set_injection(injection_);
  }
  congestion::CaSetting shown;
  shown.port_control = injection_.is_by_level ? 1 : 0;
  shown.control_map = ca_control_map_;
  shown.levels = injection_.levels;
  data = shown.encode();
  return 0;
}

std::uint16_t CongestionAgent::control_table(const Question& question, congestion::Data& data) {
  using Setting = ib::InjectionSetting;
  if (question.modifier >= Setting::kBlocks) return mad::kInvalidField;
  congestion::TableBlock block = congestion::TableBlock::decode(data);
  const auto at = injection_.table.begin() + static_cast<std::ptrdiff_t>(question.modifier * Setting::kBlockEntries);
  if (question.sets) {
    if (block.limit >= Setting::kEntries) return mad::kInvalidField;
    injection_.limit = block.limit;
    std::ranges::copy(block.entries, at);
    hardware_.set_injection(injection_);
  }
  block.limit = injection_.limit;
  std::copy_n(at, block.entries.size(), block.entries.begin());
  data = block.encode();
  return 0;
}

}  // namespace verbatim::management
