#include "sim/management/subnet_records.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/mad/fields.h"

namespace verbatim::management {

namespace {

namespace sa = mad::sa;
using mad::FieldWriter;

constexpr std::uint16_t kNodeRecord = 0x11, kPortInfoRecord = 0x12, kSlToVlRecord = 0x13, kSwitchInfoRecord = 0x14,
                        kForwardingRecord = 0x15, kMulticastForwardingRecord = 0x17, kSmInfoRecord = 0x18, kLinkRecord = 0x20,
                        kGuidInfoRecord = 0x30, kPkeyRecord = 0x33, kVlArbitrationRecord = 0x36;
constexpr std::uint16_t kTooManyRecords = 0x0400;  // ERR_TOO_MANY_RECORDS
constexpr std::size_t kMostRecords = 100'000;

// Position of a record's component, in bits. Its index in the list is its bit in the component mask.
struct Component {
  std::uint16_t at, bits;
};
struct Format {
  std::uint16_t attribute;
  std::size_t bytes;
  std::vector<Component> components;
};

constexpr std::uint16_t kPortInfoAt = 32;
// IBA 15.2.5; of PortInfo only the components up to the lanes.
const Format kFormats[] = {
    {kNodeRecord, 108, {{0, 16},   {16, 16}, {32, 8},   {40, 8},   {48, 8},   {56, 8},  {64, 64}, {128, 64},
                        {192, 64}, {256, 16}, {272, 16}, {288, 32}, {320, 8}, {328, 24}, {352, 512}}},
    {kPortInfoRecord, 68, {{0, 16}, {16, 8}, {24, 8},
                           {kPortInfoAt, 64}, {kPortInfoAt + 64, 64}, {kPortInfoAt + 128, 16}, {kPortInfoAt + 144, 16},
                           {kPortInfoAt + 160, 32}, {kPortInfoAt + 192, 16}, {kPortInfoAt + 208, 16}, {kPortInfoAt + 224, 8},
                           {kPortInfoAt + 232, 8}, {kPortInfoAt + 240, 8}, {kPortInfoAt + 248, 8}, {kPortInfoAt + 256, 4},
                           {kPortInfoAt + 260, 4}, {kPortInfoAt + 264, 4}, {kPortInfoAt + 268, 4}, {kPortInfoAt + 272, 2},
                           {kPortInfoAt + 274, 3}, {kPortInfoAt + 277, 3}, {kPortInfoAt + 280, 4}, {kPortInfoAt + 284, 4},
                           {kPortInfoAt + 288, 4}, {kPortInfoAt + 292, 4}, {kPortInfoAt + 296, 4}}},
    {kSlToVlRecord, 16, {{0, 16}, {16, 8}, {24, 8}}},
    {kSwitchInfoRecord, 24, {{0, 16}}},
    {kForwardingRecord, 72, {{0, 16}, {16, 16}}},
    {kMulticastForwardingRecord, 72, {{0, 16}, {16, 4}, {20, 3}, {23, 9}}},
    {kSmInfoRecord, 28, {{0, 16}, {16, 16}, {32, 64}, {96, 64}, {160, 32}, {192, 4}, {196, 4}}},
    {kLinkRecord, 8, {{0, 16}, {16, 8}, {24, 8}, {32, 16}}},
    {kGuidInfoRecord, 72, {{0, 16}, {16, 8}}},
    {kPkeyRecord, 72, {{0, 16}, {16, 16}, {32, 8}}},
    {kVlArbitrationRecord, 72, {{0, 16}, {16, 8}, {24, 8}}},
    {sa::PathRecord::kAttribute, sa::PathRecord::kBytes,
     {{0, 64},    {0, 64},   {64, 128}, {192, 128}, {320, 16}, {336, 16}, {352, 1},  {353, 3},
      {356, 20},  {376, 8},  {384, 8},  {392, 1},   {393, 7},  {400, 16}, {416, 12}, {428, 4}}},
    {sa::McMemberRecord::kAttribute, sa::McMemberRecord::kBytes,
     {{0, 128}, {128, 128}, {256, 32}, {288, 16}, {304, 2}, {306, 6}, {312, 8}, {320, 16}}},
};

const Format* format_of(std::uint16_t attribute) {
  const auto* const found = std::ranges::find(kFormats, attribute, &Format::attribute);
  return found == std::end(kFormats) ? nullptr : found;
}

bool is_equal(std::span<const std::byte> a, std::span<const std::byte> b, const Component& where) {
  for (std::size_t bit = where.at; bit < std::size_t{where.at} + where.bits; ++bit) {
    const auto mask = std::byte{0x80} >> static_cast<int>(bit % 8);
    if (((a[bit / 8] ^ b[bit / 8]) & mask) != std::byte{0}) return false;
  }
  return true;
}

// IBA 15.2.5.3: with the highest bit of the modifier, a record matches if its capabilities include all
// requested ones.
bool has_capabilities(std::span<const std::byte> record, std::span<const std::byte> asked) {
  constexpr std::size_t kAt = (kPortInfoAt + 160) / 8;
  for (std::size_t i = kAt; i < kAt + 4; ++i) {
    if ((record[i] & asked[i]) != asked[i]) return false;
  }
  return true;
}

bool matches(const Format& format, const Record& record, const sa::Message& question) {
  constexpr std::uint32_t kBitwise = 1u << 31;
  constexpr std::size_t kCapabilities = 7;
  for (std::size_t i = 0; i < format.components.size(); ++i) {
    if ((question.component_mask >> i & 1) == 0) continue;
    const bool bitwise = format.attribute == kPortInfoRecord && i == kCapabilities &&
                         (question.header.attribute_modifier & kBitwise) != 0;
    if (bitwise ? !has_capabilities(record, question.data) : !is_equal(record, question.data, format.components[i])) return false;
  }
  return true;
}

Record make_record(std::uint16_t attribute) { return Record(format_of(attribute)->bytes); }

void put(Record& record, std::size_t at, std::span<const std::byte> data) {
  std::memcpy(&record[at], data.data(), std::min(data.size(), record.size() - at));
}

struct PortPlace {
  const Node& node;
  std::size_t index;
  std::uint8_t number;
  const NodePort& port;
  std::uint16_t lid;
};

}  // namespace

// All ports of adapters, and all ports of switches including port 0.
template <class Add>
void SubnetRecords::for_ports(const Add& add) const {
  for (std::size_t index = 0; index < subnet_.node_count(); ++index) {
    const Node& node = subnet_.node(index);
    for (std::size_t number = node.is_switch() ? 0 : 1; number < node.ports.size(); ++number) {
      const auto place = static_cast<std::uint8_t>(number);
      add(PortPlace{node, index, place, node.ports[number], node.base_port(place).info.lid});
    }
  }
}

std::vector<Record> SubnetRecords::all(std::uint16_t attribute) const {
  std::vector<Record> records;
  const auto begin = [&](std::uint16_t lid) -> Record& {
    Record& record = records.emplace_back(make_record(attribute));
    FieldWriter(record).number(0, 0, 16, lid);
    return record;
  };
  const auto blocks = [](std::size_t entries, std::size_t each) { return (entries + each - 1) / each; };
  for_ports([&](const PortPlace& at) {
    const bool is_first = at.number == (at.node.is_switch() ? 0 : 1);
    const bool is_external = at.number > 0;
    switch (attribute) {
      case kNodeRecord: {
        if (!is_first) return;
        Record& record = begin(at.lid);
        mad::smp::NodeInfo info = at.node.info;
        info.local_port = at.number;
        constexpr std::size_t kInfoAt = 4, kDescriptionAt = 44;
        put(record, kInfoAt, info.encode());
        put(record, kDescriptionAt, std::as_bytes(std::span(at.node.description)));
        return;
      }
      case kPortInfoRecord: {
        Record& record = begin(at.lid);
        record[2] = std::byte{at.number};
        mad::smp::PortInfo info = at.port.info;
        info.mkey = 0;  // hidden from requests without it (IBA 15.2.5.3)
        info.local_port = at.number;
        put(record, 4, info.encode());
        return;
      }
      case kSlToVlRecord: {
        Record& record = begin(at.lid);
        record[2] = record[3] = std::byte{at.number};
        for (std::size_t i = 0; i < at.port.sl_to_vl.size(); ++i) {
          FieldWriter(record).number(8 + i / 2, i % 2 * 4, 4, at.port.sl_to_vl[i]);
        }
        return;
      }
      case kSwitchInfoRecord:
        if (is_first && at.node.is_switch()) put(begin(at.lid), 4, at.node.switch_info.encode());
        return;
      case kForwardingRecord:
        for (std::size_t block = 0; is_first && at.node.is_switch() && block < blocks(at.node.forwarding.size(), 64); ++block) {
          Record& record = begin(at.lid);
          FieldWriter(record).number(2, 0, 16, block);
          for (std::size_t i = 0; i < 64; ++i) {
            const std::size_t lid = block * 64 + i;
            record[8 + i] = std::byte{lid < at.node.forwarding.size() ? at.node.forwarding[lid] : kNoPort};
          }
        }
        return;
      case kSmInfoRecord: {
        if (is_first && at.lid == at.port.info.master_sm_lid && !at.node.is_switch()) {
          mad::smp::SmInfo info;
          info.guid = at.node.info.port_guid;
          put(begin(at.lid), 4, info.encode());
        }
        return;
      }
      case kLinkRecord: {
        const auto far = is_external && at.port.is_link_up() ? subnet_.peer({at.index, at.number}) : std::nullopt;
        if (!far) return;
        Record& record = begin(at.lid);
        record[2] = std::byte{at.number};
        record[3] = std::byte{far->port};
        FieldWriter(record).number(4, 0, 16, subnet_.node(far->node).base_port(far->port).info.lid);
        return;
      }
      case kGuidInfoRecord:
        for (std::size_t block = 0; is_first && block < blocks(at.port.guids.size(), 8); ++block) {
          Record& record = begin(at.lid);
          record[2] = std::byte(block);
          for (std::size_t i = 0; i < 8 && block * 8 + i < at.port.guids.size(); ++i) {
            FieldWriter(record).number(8 + i * 8, 0, 64, at.port.guids[block * 8 + i]);
          }
        }
        return;
      case kPkeyRecord:
        for (std::size_t block = 0; block < blocks(at.port.pkeys.size(), 32); ++block) {
          Record& record = begin(at.lid);
          FieldWriter(record).number(2, 0, 16, block);
          record[4] = std::byte{at.number};
          for (std::size_t i = 0; i < 32 && block * 32 + i < at.port.pkeys.size(); ++i) {
            FieldWriter(record).number(8 + i * 2, 0, 16, at.port.pkeys[block * 32 + i]);
          }
        }
        return;
      case kVlArbitrationRecord:
        for (std::size_t block = 0; at.port.info.vl_arbitration_low_capacity > 0 && block < kVlArbitrationBlocks; ++block) {
          Record& record = begin(at.lid);
          record[2] = std::byte{at.number};
          record[3] = std::byte(block + 1);
          put(record, 8, at.port.vl_arbitration[block]);
        }
        return;
      default:
        return;
    }
  });
  return records;
}

// All paths from and to adapters that match the query.
std::vector<Record> SubnetRecords::paths(const sa::Message& question) const {
  using sa::PathRecord;
  const PathRecord asked = PathRecord::decode(std::span(question.data).first<PathRecord::kBytes>());
  constexpr std::uint64_t kDlid = 1 << 4, kSlid = 1 << 5;
  const std::uint64_t mask = question.component_mask;
  const auto has_pkey = (mask & PathRecord::kPkey) != 0 ? std::optional(asked.pkey) : std::nullopt;
  std::vector<ib::Gid> sources, destinations;
  for_ports([&](const PortPlace& at) {
    if (at.node.is_switch()) return;
    ib::Gid gid;
    for (int i = 0; i < 8; ++i) {
      gid.raw[i] = static_cast<std::uint8_t>(at.port.info.gid_prefix >> (56 - 8 * i));
      gid.raw[8 + i] = static_cast<std::uint8_t>(at.node.info.port_guid >> (56 - 8 * i));
    }
    const auto fits = [&](std::uint64_t of_gid, const ib::Gid& asked_gid, std::uint64_t of_lid, std::uint16_t asked_lid) {
      return ((mask & of_gid) == 0 || gid == asked_gid) && ((mask & of_lid) == 0 || at.lid == asked_lid);
    };
    if (fits(PathRecord::kSgid, asked.sgid, kSlid, asked.slid)) sources.push_back(gid);
    if (fits(PathRecord::kDgid, asked.dgid, kDlid, asked.dlid)) destinations.push_back(gid);
  });
  std::vector<Record> records;
  for (const ib::Gid& from : sources) {
    for (const ib::Gid& to : destinations) {
      const auto path = paths_.find(from, to, has_pkey);
      if (!path || records.size() == kMostRecords) continue;
      const auto bytes = record_of(*path);
      records.emplace_back(bytes.begin(), bytes.end());
    }
  }
  return records;
}

std::optional<std::vector<Record>> SubnetRecords::select(const sa::Message& question, std::span<const Record> groups) const {
  const Format* const format = format_of(question.header.attribute_id);
  if (format == nullptr) return std::nullopt;
  if (format->attribute == sa::PathRecord::kAttribute) return paths(question);
  const bool of_groups = format->attribute == sa::McMemberRecord::kAttribute;
  std::vector<Record> records = of_groups ? std::vector<Record>(groups.begin(), groups.end()) : all(format->attribute);
  std::erase_if(records, [&](const Record& record) { return !matches(*format, record, question); });
  return records;
}

MadBytes answer_of(const sa::Message& question, const std::vector<Record>& records) {
  sa::Message answer = question;
  const bool is_table = question.header.method == mad::kGetTable;
  answer.header.method = question.header.method | mad::kResponseBit;
  answer.data = {};
  constexpr std::size_t kUnit = 8;  // unit of the attribute offset
  const std::size_t size = records.empty() ? 0 : (records[0].size() + kUnit - 1) / kUnit * kUnit;
  if (!is_table) {
    answer.header.status = records.empty() ? sa::kNoRecords : records.size() > 1 ? kTooManyRecords : std::uint16_t{0};
    if (records.size() == 1) std::ranges::copy(records[0], answer.data.begin());
    const ib::Mad mad = sa::encode(answer);
    return MadBytes(mad.begin(), mad.end());
  }
  answer.attribute_offset = static_cast<std::uint16_t>(size / kUnit);
  const ib::Mad mad = sa::encode(answer);
  MadBytes bytes(mad.begin(), mad.begin() + mad::data_offset(mad::kSubnetAdministration));
  for (const Record& record : records) {
    bytes.insert(bytes.end(), record.begin(), record.end());
    bytes.resize(bytes.size() + size - record.size());
  }
  return bytes;
}

}  // namespace verbatim::management
