// Files of other tools to a topology: the format is recognised by content, a reader makes a Fabric of it (fabric.h), and one
// writer makes JSON of that.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostics.h"
#include "sim/config/import/fabric.h"
#include "sim/config/import/sonic.h"

namespace verbatim::config::imports {

enum class Format { kIbnetdiscover, kOpensmLinks, kForwardingTables, kEdgeList, kHtsim, kSonic };

struct FormatName {
  Format format;
  std::string_view name;  // on the command line
  std::string_view what;
};
std::span<const FormatName> format_names();
std::optional<Format> format_named(std::string_view name);

// By content; nothing: it is none of these.
std::optional<Format> recognise(std::string_view text);

// `format`, unless it is nullopt, is that of all sources but forwarding tables. Several sources are several switches of
// SONiC, or one fabric and forwarding tables of it. Nothing, and findings, where they cannot be read.
std::optional<Fabric> read_fabric(std::span<const Source> sources, std::optional<Format> format, Diagnostics& diagnostics);

// Values that a file does not give.
struct Defaults {
  std::string name = "imported";
  std::string length = "2 m";
  std::string rate;                 // empty: EDR 4x, or 100 Gbps on Ethernet
  std::string hca, switch_profile;  // empty: by device identifiers and rates
  std::string cpu = "cpu";
};

struct Written {
  std::string text;  // a topology
  std::vector<Assumption> assumptions;
  std::size_t hosts = 0, switches = 0, links = 0;
};

// Names are made valid and different from each other. Everything follows from the fabric and the defaults.
Written write_topology(const Fabric& fabric, const Defaults& defaults);

}  // namespace verbatim::config::imports
