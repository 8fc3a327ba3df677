// A fabric as a file of another tool describes it: the output of every reader of this folder and the input of
// the writer. Plain values, with the names of the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/time.h"

namespace verbatim::config::imports {

// An entry of a forwarding table. Port 0 is the switch itself.
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
  // Nodes of InfiniBand only; 0 or empty if the file does not give the value.
  std::uint64_t guid = 0, port_guid = 0, system_guid = 0;
  std::uint32_t lid = 0;
  std::uint32_t device_id = 0;
  std::string description;
  std::vector<TableEntry> table;  // switches only
  // Buffers and queues of a switch; null if the file does not describe them.
  std::shared_ptr<const SonicValues> values;
  std::vector<std::string> cabled_ports;  // names; only of a switch with `values`
};

struct End {
  std::size_t device = 0;  // index
  std::uint32_t port = 1;  // from 1
  friend auto operator<=>(const End&, const End&) = default;
};

struct Cable {
  End a, b;
  std::string rate;               // as in a topology, "EDR 4x"; empty: not in the file
  std::optional<Duration> delay;  // transceivers of both ends and cable together
  std::optional<std::int64_t> length_mm;
  std::string lossless_priorities;  // on Ethernet, "3,4"; empty: not in the file
  std::uint64_t headroom_bytes = 0;  // for each of these priorities; 0: not in the file
};

// A value that the file does not give, or for which a topology has no key.
struct Assumption {
  std::string text;
  std::string where;  // the key or file that changes it
};

struct Fabric {
  std::string format;                     // name of the format, for people
  std::string link_layer = "infiniband";  // or roce
  std::string hca, switch_profile;        // empty: chosen by device identifiers and rates
  std::vector<Device> devices;
  std::vector<Cable> cables;
  std::vector<Assumption> assumptions;
};

}  // namespace verbatim::config::imports
