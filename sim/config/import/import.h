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
// A cable's ends, each a node or a node and a port as the topology names them, and its length.
struct KnownLength {
  std::string a, b;
  std::int64_t length_mm = 0;
  std::size_t line = 0;  // of the file that says so
};
// Reads lines `a,b,length`, with a line of titles or without; # begins a comment. None: there are findings.
std::optional<std::vector<KnownLength>> read_lengths(std::string_view text, const std::string& path, Diagnostics& diagnostics);

struct Defaults {
  std::string name = "imported";
  std::string length = "2 m";
  std::string rate;                 // empty: EDR 4x, or 100 Gbps on Ethernet
  std::string hca, switch_profile;  // empty: by device identifiers and rates
  std::string cpu = "cpu";
  std::vector<KnownLength> lengths;
  // Name of the profile for switches whose file has values of its own; empty: they are left out of account. Files of profiles
  // are named by the stem.
  std::string switch_profile_text, profile_stem = "imported";
};

struct ProfileFile {
  std::string name;  // beside the topology
  std::string text;
};

struct Written {
  std::string text;  // a topology
  std::vector<ProfileFile> profiles;       // that it refers to
  std::vector<Assumption> assumptions;
  std::vector<KnownLength> unused_lengths;  // of no cable
  std::size_t hosts = 0, switches = 0, links = 0;
};

// Names are made valid and different from each other. Everything follows from the fabric and the defaults.
Written write_topology(const Fabric& fabric, const Defaults& defaults);

}  // namespace verbatim::config::imports
