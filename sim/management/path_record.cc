#include "sim/management/path_record.h"

#include <algorithm>
#include <cerrno>

#include "sim/mad/sa_records.h"

namespace verbatim::management {

using mad::sa::PathRecord;

namespace {

PathRecord to_record(const Path& path) {
  constexpr std::uint8_t kExactly = 2;
  PathRecord record;
  record.dgid = path.dgid;
  record.sgid = path.sgid;
  record.dlid = path.dlid.value;
  record.slid = path.slid.value;
  record.flow_label = path.flow_label;
  record.hop_limit = path.hop_limit;
  record.traffic_class = path.traffic_class;
  record.reversible = true;
  record.numb_path = 1;
  record.pkey = path.pkey;
  record.sl = path.service_level;
  record.mtu_selector = record.rate_selector = record.packet_life_time_selector = kExactly;
  record.mtu = path.mtu;
  record.rate = path.rate;
  record.packet_life_time = path.packet_life_time;
  return record;
}

Path to_path(const PathRecord& record) {
  Path path;
  path.dgid = record.dgid;
  path.sgid = record.sgid;
  path.dlid = ib::Lid{record.dlid};
  path.slid = ib::Lid{record.slid};
  path.flow_label = record.flow_label;
  path.hop_limit = record.hop_limit;
  path.traffic_class = record.traffic_class;
  path.pkey = record.pkey;
  path.service_level = record.sl;
  path.mtu = record.mtu;
  path.rate = record.rate;
  path.packet_life_time = record.packet_life_time;
  return path;
}

}  // namespace

ib::Mad encode_path_question(const ib::Gid& from, const ib::Gid& to, std::uint16_t pkey) {
  PathRecord record;
  record.sgid = from;
  record.dgid = to;
  record.pkey = pkey;
  record.reversible = true;
  record.numb_path = 1;
  mad::sa::Message message;
  message.header.method = mad::kGet;
  message.header.attribute_id = PathRecord::kAttribute;
  message.component_mask =
      PathRecord::kDgid | PathRecord::kSgid | PathRecord::kReversible | PathRecord::kNumbPath | PathRecord::kPkey;
  std::ranges::copy(record.encode(), message.data.begin());
  return mad::sa::encode(message);
}

std::optional<PathAnswer> decode_path_answer(const ib::Mad& mad) {
  const auto message = mad::sa::decode(mad);
  if (!message || message->header.method != mad::kGetResponse || message->header.attribute_id != PathRecord::kAttribute)
    return std::nullopt;
  PathAnswer answer;
  if (message->header.status != 0) {
    answer.error = EINVAL;  // Linux reports every refusal as EINVAL
    return answer;
  }
  answer.path = to_path(PathRecord::decode(std::span(message->data).first<PathRecord::kBytes>()));
  return answer;
}

std::array<std::byte, 64> record_of(const Path& path) { return to_record(path).encode(); }
Path path_of(std::span<const std::byte, 64> record) { return to_path(PathRecord::decode(record)); }

std::optional<ib::Mad> answer_path_question(const ib::Mad& mad, const PathFinder& paths) {
  auto message = mad::sa::decode(mad);
  if (!message || message->header.method != mad::kGet || message->header.attribute_id != PathRecord::kAttribute)
    return std::nullopt;
  const PathRecord asked = PathRecord::decode(std::span(message->data).first<PathRecord::kBytes>());
  const bool has_ends = (message->component_mask & PathRecord::kDgid) != 0 && (message->component_mask & PathRecord::kSgid) != 0;
  const bool has_pkey = (message->component_mask & PathRecord::kPkey) != 0;
  if (!has_ends) return std::nullopt;  // not a request for a single path
  const auto found = paths.find(asked.sgid, asked.dgid, has_pkey ? std::optional(asked.pkey) : std::nullopt);
  message->header.method = mad::kGetResponse;
  message->header.status = found ? 0 : mad::sa::kNoRecords;
  message->data = {};
  if (found) std::ranges::copy(record_of(*found), message->data.begin());
  return mad::sa::encode(*message);
}

}  // namespace verbatim::management
