// Converts files of other tools to a topology: the format is recognised by content, a reader makes a Fabric
// (fabric.h), and one writer makes the topology's JSON.
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

// Recognises the format by content; nullopt if it is none of these.
std::optional<Format> recognise(std::string_view text);

// `format`, if given, applies to all sources except forwarding tables; else each is recognised. Several
// sources are several SONiC switches, or one fabric and its forwarding tables. Returns nullopt, with
// findings, on failure.
std::optional<Fabric> read_fabric(std::span<const Source> sources, std::optional<Format> format, Diagnostics& diagnostics);

// The length of a cable, from a file of lengths. Each end is a node, or a node and a port, named as in the
// topology.
struct KnownLength {
  std::string a, b;
  std::int64_t length_mm = 0;
  std::size_t line = 0;  // in the file of lengths
};
// Reads lines `a,b,length`, with or without a header line; # begins a comment. Returns nullopt on findings.
std::optional<std::vector<KnownLength>> read_lengths(std::string_view text, const std::string& path, Diagnostics& diagnostics);

struct Defaults {
  std::string name = "imported";
  std::string length = "2 m";
  std::string rate;                 // empty: EDR 4x, or 100 Gbps on Ethernet
  std::string hca, switch_profile;  // empty: chosen by device identifiers and rates
  std::string cpu = "cpu";
  std::vector<KnownLength> lengths;
  // Text of the base profile of switches whose file has buffer or scheduler values (sonic_values.h); empty:
  // these values are ignored. `profile_stem` begins the names of the written profile files.
  std::string switch_profile_text, profile_stem = "imported";
};

struct ProfileFile {
  std::string name;  // in the folder of the topology
  std::string text;
};

struct Written {
  std::string text;  // of the topology
  std::vector<ProfileFile> profiles;       // files that it refers to
  std::vector<Assumption> assumptions;
  std::vector<KnownLength> unused_lengths;  // that match no cable
  std::size_t hosts = 0, switches = 0, links = 0;
};

// Makes the topology's JSON; changes names that are invalid or not unique. The result depends on the
// arguments only.
Written write_topology(const Fabric& fabric, const Defaults& defaults);

}  // namespace verbatim::config::imports
