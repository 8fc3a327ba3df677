// Datagrams of congestion control management (IBA A10.4): the key, and the attributes of switches and
// adapters. Fields have the positions of libibmad. OpenSM uses the same, except for an adapter's log, which
// it does not read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/ib/congestion.h"
#include "sim/mad/mad.h"

namespace verbatim::mad::congestion {

inline constexpr std::uint8_t kClassVersion = 2;
// A log occupies the log data and management data of a datagram; other attributes only the management data.
// Bytes.
inline constexpr std::size_t kLogOffset = 32, kLogBytes = 224, kDataOffset = 64, kDataBytes = 192;
using Data = std::array<std::byte, kDataBytes>;
using LogData = std::array<std::byte, kLogBytes>;

// Attributes (IBA A10.4.3).
inline constexpr std::uint16_t kClassPortInfo = 0x0001, kNotice = 0x0002, kCongestionInfo = 0x0011, kCongestionKeyInfo = 0x0012,
                               kCongestionLog = 0x0013, kSwitchCongestionSetting = 0x0014, kSwitchPortCongestionSetting = 0x0015,
                               kCaCongestionSetting = 0x0016, kCongestionControlTable = 0x0017, kTimeStamp = 0x0018;

std::uint64_t key_of(const ib::Mad& mad);
void put_key(ib::Mad& mad, std::uint64_t key);
Data data_of(const ib::Mad& mad);
void put_data(ib::Mad& mad, const Data& data);
void put_log(ib::Mad& mad, const LogData& log);

struct KeyInfo {
  std::uint64_t key = 0;  // 0: every key is accepted
  bool is_protected = false;
  std::uint16_t lease_period = 0, violations = 0;

  Data encode() const;
  static KeyInfo decode(std::span<const std::byte> bytes);
};

// Destination of the class's traps (IBA 13.4.8.1): the part of ClassPortInfo that Set writes.
struct TrapTarget {
  ib::Gid gid;  // zero: no GRH
  std::uint8_t traffic_class = 0, service_level = 0, hop_limit = 0;
  std::uint32_t flow_label = 0;
  std::uint16_t lid = 0;  // 0: no destination
  std::uint16_t pkey = 0;
  std::uint32_t qp = 0, qkey = 0;

  // The whole ClassPortInfo of an agent's response.
  Data encode() const;
  static TrapTarget decode(std::span<const std::byte> bytes);
};

struct Info {
  std::uint16_t capabilities = 0;
  std::uint8_t table_blocks = 0;  // blocks of 64 entries

  Data encode() const;
};

// Mask of ports: bit n is port n; the most significant bit of the first byte is bit 255.
using PortMask = std::array<std::byte, 32>;
bool has_port(const PortMask& mask, std::uint8_t port);
void set_port(PortMask& mask, std::uint8_t port);

struct SwitchSetting {
  // Bits of control_map: the valid fields below.
  static constexpr std::uint32_t kVictimMask = 1, kCreditMask = 2, kThreshold = 4, kStarvation = 8, kMarkingRate = 16;

  std::uint32_t control_map = 0;
  PortMask victim_mask{}, credit_mask{};
  std::uint8_t threshold = 0, packet_size = 0;
  std::uint8_t starvation_threshold = 0;
  std::uint16_t starvation_delay = 0, marking_rate = 0;

  Data encode() const;
  static SwitchSetting decode(std::span<const std::byte> bytes);
};

// Settings of 32 ports; block n starts with port 32 n.
struct PortSettings {
  static constexpr std::size_t kPorts = 32;
  struct Element {
    bool is_valid = false, is_starvation = false;
    std::uint8_t threshold = 0, packet_size = 0;
    std::uint16_t marking_rate = 0;
    friend bool operator==(const Element&, const Element&) = default;
  };
  std::array<Element, kPorts> elements;

  Data encode() const;
  static PortSettings decode(std::span<const std::byte> bytes);
};

struct CaSetting {
  std::uint16_t port_control = 0;  // bit 0: by service level instead of by queue pair
  std::uint16_t control_map = 0;   // bit n: the entry of service level n is valid
  std::array<ib::InjectionSetting::Level, ib::kServiceLevels> levels;

  Data encode() const;
  static CaSetting decode(std::span<const std::byte> bytes);
};

struct TableBlock {
  std::uint16_t limit = 0;
  std::array<ib::InjectionDelay, ib::InjectionSetting::kBlockEntries> entries;

  Data encode() const;
  static TableBlock decode(std::span<const std::byte> bytes);
};

Data encode_time_stamp(std::uint32_t ticks);

LogData encode_log(const ib::MarkingLog& log, Instant now);
LogData encode_log(const ib::InjectionLog& log, std::uint16_t own_lid, Instant now);

// In units of ib::kCongestionTick, modulo 2^32.
std::uint32_t ticks_of(Instant now);

}  // namespace verbatim::mad::congestion
