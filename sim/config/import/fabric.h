// A fabric as a file of another tool describes it: what every reader of this folder returns, and what the writer makes a
// topology of. Plain values; names are as the file has them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/time.h"

namespace verbatim::config::imports {

// An entry of a forwarding table; port 0 is the switch itself.
struct TableEntry {
  std::uint32_t lid = 0;   // 1 … 0xbfff
  std::uint32_t port = 0;  // 0 … 254
};

struct SonicValues;

// A switch, or an adapter of a host.
struct Device {
  std::string name;  // of the switch, or of the adapter's host
  bool is_switch = false;
  std::string adapter;      // name of an adapter's device as programs see it; empty: by position
  std::uint32_t ports = 0;  // of a switch; 0: as many as it has cables
  // A node of InfiniBand has them; 0 and empty: the file does not say.
  std::uint64_t guid = 0, port_guid = 0, system_guid = 0;
  std::uint32_t lid = 0;
  std::uint32_t device_id = 0;
  std::string description;
  std::vector<TableEntry> table;  // of a switch
  // The buffers and queues of a switch, where the file describes them; else null.
  std::shared_ptr<const SonicValues> values;
  std::vector<std::string> cabled_ports;  // of such a switch, by name
};

struct End {
  std::size_t device = 0;  // index
  std::uint32_t port = 1;  // from 1
  friend auto operator<=>(const End&, const End&) = default;
};

struct Cable {
  End a, b;
  std::string rate;               // as a topology has it, "EDR 4x"; empty: the file does not say
  std::optional<Duration> delay;  // of both ends and the cable together
  std::optional<std::int64_t> length_mm;
  std::string lossless_priorities;  // of Ethernet, "3,4"; empty: not said
  std::uint64_t headroom_bytes = 0;  // of each of them; 0: not said
};

// Values that the file does not give, or that a topology has no key for.
struct Assumption {
  std::string text;
  std::string where;  // the key or file that changes it
};

struct Fabric {
  std::string format;                     // name of the format, for people
  std::string link_layer = "infiniband";  // or roce
  std::string hca, switch_profile;        // empty: by device identifiers and rates
  std::vector<Device> devices;
  std::vector<Cable> cables;
  std::vector<Assumption> assumptions;
};

}  // namespace verbatim::config::imports
