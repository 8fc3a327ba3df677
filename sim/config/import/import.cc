#include "sim/config/import/import.h"

#include <algorithm>
#include <utility>

#include "sim/config/import/edge_list.h"
#include "sim/config/import/htsim_topology.h"
#include "sim/config/import/ibnetdiscover.h"
#include "sim/config/import/lines.h"
#include "sim/config/import/opensm.h"
#include "sim/config/quantity.h"
#include "sim/config/words.h"

namespace verbatim::config::imports {

namespace {

constexpr FormatName kNames[] = {
    {Format::kIbnetdiscover, "ibnetdiscover", "output of ibnetdiscover, or a net file of ibsim"},
    {Format::kOpensmLinks, "opensm-subnet", "opensm-subnet.lst"},
    {Format::kForwardingTables, "opensm-lfts", "forwarding tables: opensm-lfts.dump, opensm.fdbs, ibroute"},
    {Format::kEdgeList, "hpcc", "HPCC's edge list"},
    {Format::kHtsim, "htsim", "htsim's .topo"},
    {Format::kSonic, "sonic", "SONiC's config_db.json, one for each switch"}};

std::string_view name_of(Format format) { return std::ranges::find(kNames, format, &FormatName::format)->what; }

bool is_number(std::string_view word) { return whole_number(word, 1'000'000'000).has_value(); }

// Recognises a format by one line.
std::optional<Format> format_of_line(std::string_view line, const std::vector<std::string_view>& words) {
  if (line.starts_with("Unicast lids") || line.find("dump_ucast_routes: Switch ") != line.npos)
    return Format::kForwardingTables;
  if (line.starts_with("{ CA") || line.starts_with("{ SW")) return Format::kOpensmLinks;
  if (words[0].starts_with("vendid=") || words[0].starts_with("switchguid=") || words[0].starts_with("caguid="))
    return Format::kIbnetdiscover;
  const bool is_node = words[0] == "Switch" || words[0] == "Ca" || words[0] == "Hca" || words[0] == "Rt";
  if (is_node && words.size() > 1 && is_number(words[1])) return Format::kIbnetdiscover;
  if (words.size() >= 2 && is_number(words[1]) && (words[0] == "Nodes" || words[0] == "Tiers" || words[0] == "Podsize"))
    return Format::kHtsim;
  return std::nullopt;
}

// Recognises files of traffic, which users often give by mistake.
std::string traffic_in(std::string_view text) {
  Lines lines(text);
  bool is_first = true;
  while (lines.next()) {
    const auto words = words_of(lines.text());
    if (words.empty() || words[0].starts_with('#')) continue;
    if (words[0] == "Connections") return "a connection matrix of htsim";
    if (words[0] == "num_ranks") return "a GOAL program";
    if (is_first && words.size() == 1 && is_number(words[0])) return "a list of flows of HPCC";
    is_first = false;
  }
  return {};
}

std::optional<Fabric> read_one(const Source& source, Format format, Diagnostics& diagnostics) {
  LineFindings findings(source.path, diagnostics);
  switch (format) {
    case Format::kIbnetdiscover:
      return read_ibnetdiscover(source.text, findings);
    case Format::kOpensmLinks:
      return read_opensm_links(source.text, findings);
    case Format::kEdgeList:
      return read_edge_list(source.text, findings);
    case Format::kHtsim:
      return read_htsim_topology(source.text, findings);
    case Format::kForwardingTables:
    case Format::kSonic:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::span<const FormatName> format_names() { return kNames; }

std::optional<Format> format_named(std::string_view name) {
  const auto found = std::ranges::find(kNames, name, &FormatName::name);
  return found == std::end(kNames) ? std::nullopt : std::optional(found->format);
}

std::optional<Format> recognise(std::string_view text) {
  constexpr std::size_t kLinesLookedAt = 1000;
  if (!traffic_in(text.substr(0, 65'536)).empty()) return std::nullopt;
  Lines lines(text);
  bool is_first = true;
  for (std::size_t i = 0; i < kLinesLookedAt && lines.next(); ++i) {
    const std::string_view line = trimmed(lines.text());
    const auto words = words_of(line);
    if (words.empty() || line.front() == '#') continue;
    if (const auto format = format_of_line(line, words)) return format;
    if (!is_first) continue;
    is_first = false;
    if (words.size() == 3 && std::ranges::all_of(words, is_number)) return Format::kEdgeList;
    if (line.front() == '{' &&
        (text.find("\"DEVICE_METADATA\"") != text.npos || text.find("\"DEVICE_NEIGHBOR\"") != text.npos))
      return Format::kSonic;
  }
  return std::nullopt;
}

std::optional<std::vector<KnownLength>> read_lengths(std::string_view text, const std::string& path, Diagnostics& diagnostics) {
  LineFindings findings(path, diagnostics);
  std::vector<KnownLength> lengths;
  Lines lines(text);
  bool is_first = true;
  while (lines.next() && !findings.is_full()) {
    const std::string_view line = trimmed(lines.text().substr(0, lines.text().find('#')));
    if (line.empty()) continue;
    const std::size_t first = line.find(','), last = line.rfind(',');
    const bool is_title = std::exchange(is_first, false) && line.ends_with("length");
    if (is_title) continue;
    if (first == last || line.find(',', first + 1) != last) {
      findings.add(lines.number(), "the line has not three cells", "write a,b,length, such as leaf1:3,spine1:1,40 m");
      continue;
    }
    KnownLength one{.line = lines.number()};
    one.a = trimmed(line.substr(0, first));
    one.b = trimmed(line.substr(first + 1, last - first - 1));
    const std::string_view length = trimmed(line.substr(last + 1));
    std::string problem, hint;
    if (const auto mm = parse_quantity(length, Dimension::kLength, &problem, &hint); mm && *mm >= 0) {
      one.length_mm = *mm;
      lengths.push_back(std::move(one));
    } else {
      findings.add(lines.number(), in_quotes(length) + " is no length", "write, for example, 40 m");
    }
  }
  if (findings.count() > 0) return std::nullopt;
  return lengths;
}

std::optional<Fabric> read_fabric(std::span<const Source> sources, std::optional<Format> format, Diagnostics& diagnostics) {
  std::vector<Source> switches;
  std::vector<const Source*> tables;
  const Source* source = nullptr;
  std::optional<Format> kind;
  for (const Source& one : sources) {
    std::optional<Format> found = recognise(one.text);
    if (format && found != Format::kForwardingTables) found = format;
    if (!found) {
      const std::string traffic = traffic_in(one.text);
      std::string names;
      for (const FormatName& name : kNames) names += (names.empty() ? "" : ", ") + std::string(name.name);
      diagnostics.add(
          one.path, "",
          traffic.empty() ? "this is no fabric in a format that is known" : "this is " + traffic + ": traffic, not a fabric",
          traffic.empty() ? "--format says which one it is: " + names : "give the file of the topology");
    } else if (*found == Format::kForwardingTables) {
      tables.push_back(&one);
    } else if (*found == Format::kSonic && (!kind || kind == found)) {
      kind = found;
      switches.push_back(one);
    } else if (source != nullptr || kind) {
      diagnostics.add(one.path, "", "this is " + std::string(name_of(*found)) + ", and there is a fabric already",
                      "import one fabric at a time");
    } else {
      kind = found;
      source = &one;
    }
  }
  if (!diagnostics.empty()) return std::nullopt;
  if (!kind) {
    diagnostics.add(sources.empty() ? "" : sources.front().path, "",
                    tables.empty() ? "there is nothing to import" : "forwarding tables alone are no fabric",
                    "give the output of ibnetdiscover or opensm-subnet.lst as well");
    return std::nullopt;
  }
  auto fabric = source == nullptr ? read_sonic(switches, diagnostics) : read_one(*source, *kind, diagnostics);
  for (const Source* const one : tables) {
    LineFindings findings(one->path, diagnostics);
    const auto read = read_forwarding_tables(one->text, findings);
    if (read && fabric && fabric->link_layer != "infiniband")
      findings.add(0, "switches of Ethernet have no tables of LIDs", "leave this file out");
    else if (read && fabric)
      give_tables(*read, *fabric, findings);
  }
  if (!diagnostics.empty()) return std::nullopt;
  return fabric;
}

}  // namespace verbatim::config::imports
