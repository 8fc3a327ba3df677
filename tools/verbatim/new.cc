// `verbatim new`: creates a folder with a fabric and a scenario that can be run at once and then changed.
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <vector>

#include "sim/config/device_limits.h"
#include "sim/config/fields.h"
#include "sim/config/generate/builder.h"
#include "sim/config/load.h"
#include "sim/hca/congestion/controllers.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/output_file.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;

// A link rate, and devices that support it.
struct Rate {
  const char* link_layer;
  const char* written;  // in the topology
  const char* hca;
  const char* switch_profile;
  bool has_pauses = false;  // on Ethernet: the ports of the switch share memory, pause and mark
};
constexpr Rate kRates[] = {{"infiniband", "QDR 4x", "qdr_hca", "infiniscale_iv"},
                           {"infiniband", "FDR 4x", "connectx3", "switchx2"},
                           {"infiniband", "EDR 4x", "edr_hca", "edr_switch"},
                           {"infiniband", "HDR 4x", "connectx6_hdr", "quantum"},
                           {"infiniband", "NDR 4x", "connectx7_ndr", "quantum2"},
                           {"roce", "25 Gbps", "edr_hca", "ethernet_switch"},
                           {"roce", "50 Gbps", "edr_hca", "ethernet_switch"},
                           {"roce", "100 Gbps", "edr_hca", "ethernet_switch"},
                           {"roce", "25 Gbps", "edr_roce", "spectrum", true},
                           {"roce", "50 Gbps", "edr_roce", "spectrum", true},
                           {"roce", "100 Gbps", "edr_roce", "spectrum", true},
                           {"roce", "200 Gbps", "connectx6_hdr", "spectrum2", true},
                           {"roce", "400 Gbps", "connectx7_ndr", "hpcc_switch", true}};
constexpr const char* kUsualRates[] = {"EDR 4x", "100 Gbps"};  // by link layer
constexpr const char* kLinkLayers[] = {"infiniband", "roce"};

struct Fabric {
  const Rate& rate;
  std::int64_t hosts;
  bool is_generated = false;  // even with two hosts
  bool pfc = false;           // as the option says
  std::string controller;     // empty: the profile's
  std::uint32_t down = 0, up = 0;  // oversubscription of the leaves; 0: the shape's

  bool is_roce() const { return rate.link_layer == std::string_view("roce"); }

  // Two hosts are named by their roles.
  std::string host(std::int64_t number) const {
    return hosts == 2 && !is_generated ? (number == 0 ? "server" : "client") : "h" + std::to_string(number);
  }
};

std::string written_hosts(const Fabric& fabric) {
  return fmt::format(R"(  "hosts": [
    {{"name": "{}", "hca": "{}"}},
    {{"name": "{}", "hca": "{}"}}
  ])",
                     fabric.host(0), fabric.rate.hca, fabric.host(1), fabric.rate.hca);
}

std::string direct(const Fabric& fabric) {
  return written_hosts(fabric) + fmt::format(R"(,
  "links": [
    {{"a": "{}", "b": "{}", "rate": "{}", "length": "2 m"}}
  ])",
                                             fabric.host(0), fabric.host(1), fabric.rate.written);
}

std::string generated(const Fabric& fabric, const std::string& shape) {
  std::string before;
  if (fabric.pfc) before += "  \"interface_mtu\": 9000,\n";
  if (!fabric.controller.empty()) {
    before += fmt::format("  \"profile_changes\": {{\"{}\": {{\"congestion_control\": {{\"controller\": \"{}\"}}}}}},\n", fabric.rate.hca,
                          fabric.controller);
  }
  return before + fmt::format(R"(  "generate": {{
    {}, "hosts": {}, "rate": "{}", "length": "2 m",
    "hca": "{}", "switch": "{}"
  }})",
                     shape, fabric.hosts, fabric.rate.written, fabric.rate.hca, fabric.rate.switch_profile);
}

std::string star(const Fabric& fabric) {
  if (fabric.hosts != 2 || fabric.is_generated) return generated(fabric, R"("shape": "star")");
  std::string text = written_hosts(fabric) + fmt::format(R"(,
  "switches": [
    {{"name": "leaf0", "profile": "{}", "ports": 36}}
  ],
  "links": [)",
                                                         fabric.rate.switch_profile);
  for (int i = 0; i < 2; ++i) {
    text += fmt::format("{}\n    {{\"a\": \"{}\", \"b\": \"leaf0:{}\", \"rate\": \"{}\", \"length\": \"2 m\"}}", i == 0 ? "" : ",",
                        fabric.host(i), i + 1, fabric.rate.written);
  }
  return text + "\n  ]";
}

// At most 4 or 16 hosts per leaf, and by default half as many spines: the common oversubscription of 2:1.
std::string leaf_spine(const Fabric& fabric) {
  const std::int64_t per_leaf = fabric.hosts > 64 ? 16 : std::min<std::int64_t>(4, (fabric.hosts + 1) / 2);
  return generated(fabric, fmt::format(R"("shape": "leaf_spine", "hosts_per_leaf": {}, "spines": {})", per_leaf,
                                       fabric.down == 0 ? std::max<std::int64_t>(1, per_leaf / 2)
                                                        : (per_leaf * fabric.up + fabric.down - 1) / fabric.down));
}

// With an explicit k only pods with hosts are built.
std::string fat_tree(const Fabric& fabric) {
  if (fabric.down == 0) {
    std::int64_t k = 2;
    while (k * k * k / 4 < fabric.hosts) k += 2;
    return generated(fabric, fmt::format(R"("shape": "fat_tree", "k": {}, "names": "place")", k));
  }
  const std::int64_t sum = fabric.down + fabric.up;
  std::int64_t k = 2;
  while (k % sum != 0 || k / sum * fabric.down * (k / 2) * k < fabric.hosts) k += 2;
  return generated(fabric, fmt::format(R"("shape": "fat_tree", "k": {}, "names": "place", "per_tier": {{"leaf": {{"oversubscription": "{}:{}"}}}})", k,
                                       fabric.down, fabric.up));
}

constexpr std::int64_t kRails = 4;
std::string rail(const Fabric& fabric) {
  return generated(fabric, fmt::format(R"("shape": "rail", "rails": {}, "hosts_per_leaf": {}{})", kRails, std::min<std::int64_t>(fabric.hosts, 16),
                                       fabric.down == 0 ? "" : fmt::format(R"(, "oversubscription": "{}:{}")", fabric.down, fabric.up)));
}

// Cables of these shapes form cycles, in which packets can wait for each other for ever. On InfiniBand the
// engine `routing` avoids that; on Ethernet packets are dropped instead of paused.
std::string in_circles(const Fabric& fabric, const std::string& routing, std::string shape) {
  if (fabric.is_roce()) shape += R"(, "flow_control": "none")";
  std::string text = generated(fabric, shape);
  if (!fabric.is_roce()) text += ",\n  \"routing_engine\": " + routing;
  return text;
}
std::string up_and_down(const std::string& root) { return fmt::format(R"("updn", "root_switches": ["{}"])", root); }
std::string dragonfly(const Fabric& fabric) { return in_circles(fabric, up_and_down("group0-router0"), R"("shape": "dragonfly")"); }
std::string dragonfly_plus(const Fabric& fabric) { return generated(fabric, R"("shape": "dragonfly_plus")"); }

// Close to a square, or with many switches to a cube; about 4 hosts per switch.
std::string dimensions_of(const Fabric& fabric) {
  constexpr std::int64_t kHostsPerSwitch = 4, kMostOfSquare = 64;
  std::int64_t left = std::max<std::int64_t>(4, (fabric.hosts + kHostsPerSwitch - 1) / kHostsPerSwitch);
  std::string text;
  for (std::int64_t dimensions = left > kMostOfSquare ? 3 : 2; dimensions > 0; --dimensions) {
    const auto power = [dimensions](std::int64_t side) {
      std::int64_t product = 1;
      for (std::int64_t d = 0; d < dimensions; ++d) product *= side;
      return product;
    };
    std::int64_t side = 2;
    while (power(side) < left) ++side;
    text += (text.empty() ? "" : "x") + std::to_string(side);
    left = (left + side - 1) / side;
  }
  return text;
}
std::string torus(const Fabric& fabric) {
  const std::string dimensions = dimensions_of(fabric);
  const bool is_cube = std::ranges::count(dimensions, 'x') == 2;
  return in_circles(fabric, up_and_down(is_cube ? "sw-0-0-0" : "sw-0-0"), fmt::format(R"("shape": "torus", "dimensions": "{}")", dimensions));
}
std::string hyperx(const Fabric& fabric) {
  return in_circles(fabric, R"("dor")", fmt::format(R"("shape": "hyperx", "dimensions": "{}")", dimensions_of(fabric)));
}

struct Shape {
  const char* name;
  const char* what;
  std::int64_t hosts_least, hosts_most;  // device profiles may have lower limits
  std::string (*write)(const Fabric& fabric);
  std::int64_t rails = 0;  // adapters of each host, for flows; 0: programs run instead
  bool has_leaves = false;   // with an oversubscription
  bool has_circles = false;  // of cables: on Ethernet nothing is paused

  // A large fabric starts with flows instead of a process on each host.
  bool has_flows(const Fabric& fabric) const { return rails != 0 || fabric.hosts > kMostPrograms; }
  static constexpr std::int64_t kMostPrograms = 64;
};
constexpr std::int64_t kMostHosts = 10'000;
constexpr Shape kShapes[] = {{"direct", "two hosts on one cable", 2, 2, direct},
                             {"star", "all hosts at one switch", 2, kMostHosts, star},
                             {"leaf_spine", "hosts at leaves, each of which has a cable to every spine", 3, kMostHosts, leaf_spine, 0, true},
                             {"fat_tree", "three tiers of switches with k ports each", 2, kMostHosts, fat_tree, 1, true},
                             {"rail", "hosts of 4 adapters, each at a leaf of its own, with spines above", 2, kMostHosts, rail, kRails, true},
                             {"dragonfly", "groups of routers that are all joined", 2, kMostHosts, dragonfly, 1, false, true},
                             {"dragonfly_plus", "groups of leaves and spines that are all joined", 2, kMostHosts, dragonfly_plus, 1},
                             {"torus", "a grid of switches whose rows are rings", 4, kMostHosts, torus, 1, false, true},
                             {"hyperx", "a grid of switches whose rows are joined in full", 4, kMostHosts, hyperx, 1, false, true}};

template <class Range>
std::string listed(const Range& names) {
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

// Makes a valid name of the folder's, for topology and scenario.
std::string name_of_folder(const fs::path& folder) {
  std::string name = fs::absolute(folder).lexically_normal().filename();
  if (name.empty()) name = fs::absolute(folder).lexically_normal().parent_path().filename();
  const auto is_foreign = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_' && c != '.';
  };
  std::ranges::replace_if(name, is_foreign, '-');
  name.resize(std::min<std::size_t>(name.size(), 60));
  return config::is_valid_name(name) ? name : "fabric";
}

std::string flow_control_text(const Fabric& fabric, const Shape& shape) {
  if (shape.has_circles) return "without pauses: packets that find no space are dropped";
  if (fabric.rate.has_pauses && shape.name != std::string_view("direct")) return "with PFC and ECN";
  return "with credits instead of PFC, and without ECN";
}

std::string summary_of(const Fabric& fabric, const Shape& shape) {
  std::string text = fmt::format("{} hosts, {} ({}), {}", fabric.hosts, shape.name, shape.what, fabric.rate.written);
  if (fabric.is_roce()) text += " RoCEv2 " + flow_control_text(fabric, shape);
  if (fabric.down != 0) text += fmt::format(", oversubscription {}:{}", fabric.down, fabric.up);
  return fabric.controller.empty() ? text : text + ", controller " + fabric.controller;
}

std::string topology_of(const Fabric& fabric, const Shape& shape, const std::string& name) {
  return fmt::format("{{\n  \"name\": \"{}\",\n  \"description\": \"{}\",\n  \"link_layer\": \"{}\",\n{}\n}}\n", name,
                     summary_of(fabric, shape), fabric.rate.link_layer, shape.write(fabric));
}

// Each adapter writes to that of the host half of all hosts further on. Where switches mark, the packets have priority 3,
// which all profiles mark.
std::string flows_of(const Fabric& fabric, const Shape& shape) {
  std::string flows;
  const char* const traffic_class = fabric.rate.has_pauses ? ", \"traffic_class\": 96" : "";
  for (std::int64_t rail = 0; rail < std::max<std::int64_t>(shape.rails, 1); ++rail) {
    const std::string adapter = rail == 0 ? "" : "/" + config::further_device_name(static_cast<std::size_t>(rail));
    for (std::int64_t i = 0; i < fabric.hosts; ++i) {
      flows += fmt::format("{}    {{\"from\": \"{}{}\", \"to\": \"{}{}\", \"bytes\": \"1 MiB\"{}}}", flows.empty() ? "" : ",\n", fabric.host(i), adapter,
                           fabric.host((i + fabric.hosts / 2) % fabric.hosts), adapter, traffic_class);
    }
  }
  return flows;
}

std::string flow_scenario_of(const Fabric& fabric, const Shape& shape, const std::string& name) {
  return fmt::format("{{\n  \"name\": \"{}\",\n  \"description\": \"Each host writes 1 MiB to the one half of all hosts further on; programs can be "
                     "added\",\n  \"topology\": \"topology.json\",\n  \"flows\": [\n{}\n  ],\n  \"time_limit\": \"60 s\",\n  \"expect\": {{\"outcome\": "
                     "\"finished\"}}\n}}\n",
                     name, flows_of(fabric, shape));
}

// Every second host is the client of the previous one.
std::string scenario_of(const Fabric& fabric, const std::string& name) {
  const std::string command = fabric.is_roce() ? "ibv_rc_pingpong -g 1" : "ibv_rc_pingpong";
  std::string programs;
  for (std::int64_t i = 0; i + 1 < fabric.hosts; i += 2) {
    programs += fmt::format("{}    {{\"host\": \"{}\", \"cwd\": \".\", \"command\": \"{}\"}},\n", i == 0 ? "" : ",\n", fabric.host(i), command);
    programs += fmt::format("    {{\"host\": \"{}\", \"cwd\": \".\", \"command\": \"{} {}\", \"start\": \"100 ms\"}}", fabric.host(i + 1), command,
                            fabric.host(i));
  }
  return fmt::format("{{\n  \"name\": \"{}\",\n  \"description\": \"For a program of your own: put it into this folder and write \\\"command\\\": "
                     "\\\"./NAME ARGUMENTS\\\"\",\n  \"topology\": \"topology.json\",\n  \"programs\": [\n{}\n  ],\n  \"time_limit\": \"60 "
                     "s\",\n  \"expect\": {{\"outcome\": \"finished\"}}\n}}\n",
                     name, programs);
}

constexpr const char* kReadmeOfFlows = R"(`scenario.json` says what is sent: each host writes 1 MiB to the one half of all hosts further on, without programs. Beside
`"flows"` it can have `"programs": [{{"host": "{}", "cwd": ".", "command": "./app ARGUMENTS"}}]`; hosts address each other by name: {}, {}, …
)";
constexpr const char* kReadmeOfPrograms = R"(`scenario.json` says which program runs on which host. For one of your own, put it into this folder (compiled as always:
`cc -o app app.c -libverbs`), write `"command": "./app ARGUMENTS"`, and address other hosts by name: {}, {}{}
)";

std::string readme_of(const Fabric& fabric, const Shape& shape, const std::string& name) {
  const std::string traffic = shape.has_flows(fabric)
                                  ? fmt::format(kReadmeOfFlows, fabric.host(0), fabric.host(0), fabric.host(1))
                                  : fmt::format(kReadmeOfPrograms, fabric.host(0), fabric.host(1), fabric.hosts > 2 ? ", …" : "");
  return fmt::format(R"(# {}: {}

`verbatim run scenario.json` runs it, in virtual time and with the same result every time.
{}`topology.json` is the fabric: `verbatim describe topology.json` shows it, `verbatim check *.json` looks for mistakes.
`verbatim run --record run.rec scenario.json` keeps a recording, and `verbatim report run.rec` makes a page of it.
`verbatim explore scenario.json` looks for races. The folder can be moved: all paths in it are relative.
)",
                     name, summary_of(fabric, shape), traffic);
}

// The rate of the options, or nullptr with findings.
const Rate* rate_of(const NewOptions& options, config::Diagnostics& diagnostics) {
  const auto layer = std::ranges::find(kLinkLayers, options.link_layer);
  if (layer == std::end(kLinkLayers)) {
    const std::string near = config::nearest(options.link_layer, {std::begin(kLinkLayers), std::end(kLinkLayers)});
    diagnostics.add("--link-layer", "", config::in_quotes(options.link_layer) + " is not known",
                    near.empty() ? "the link layers are " + listed(kLinkLayers) : "did you mean \"" + near + "\"?");
    return nullptr;
  }
  const std::string wanted = options.rate.empty() ? kUsualRates[layer - std::begin(kLinkLayers)] : options.rate;
  std::string problem, hint;
  const auto rate = config::parse_link_rate(wanted, &problem, &hint);
  std::vector<std::string> known;
  for (const Rate& one : kRates) {
    if (options.link_layer != one.link_layer || (options.pfc && options.link_layer == "roce" && !one.has_pauses)) continue;
    if (std::ranges::find(known, one.written) == known.end()) known.emplace_back(one.written);
    if (rate && config::parse_link_rate(one.written, &problem, &hint)->byte_time == rate->byte_time) return &one;
  }
  diagnostics.add("--rate", "", config::in_quotes(wanted) + " is not a rate that `new` has devices for",
                  "on " + options.link_layer + " it has " + listed(known) + "; other rates can be written into topology.json");
  return nullptr;
}

const Shape* shape_of(const NewOptions& options, config::Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const Shape& shape : kShapes) known.emplace_back(shape.name);
  const std::string wanted = options.shape.empty() ? "star" : options.shape;
  const auto shape = std::ranges::find(kShapes, wanted, [](const Shape& one) { return std::string(one.name); });
  if (shape == std::end(kShapes)) {
    const std::string near = config::nearest(wanted, known);
    diagnostics.add("--shape", "", config::in_quotes(wanted) + " is not a shape",
                    (near.empty() ? "" : "did you mean \"" + near + "\"? ") + "the shapes are " + listed(known));
    return nullptr;
  }
  if (options.hosts >= shape->hosts_least && options.hosts <= shape->hosts_most) return &*shape;
  const std::string range = shape->hosts_least == shape->hosts_most
                                ? std::to_string(shape->hosts_least)
                                : std::to_string(shape->hosts_least) + " to " + std::to_string(shape->hosts_most);
  diagnostics.add("--hosts", "", std::to_string(options.hosts) + " hosts do not make a " + shape->name,
                  std::string(shape->name) + " (" + shape->what + ") has " + range + " hosts");
  return nullptr;
}

// Findings about the options of congestion. Fills the fabric's members of these.
void add_congestion(const NewOptions& options, const Shape& shape, Fabric& fabric, config::Diagnostics& diagnostics) {
  const std::string of_shape = "the shape " + std::string(shape.name);
  if (options.pfc && !fabric.is_roce()) diagnostics.add("--pfc", "", "links of InfiniBand have credits", "add --link-layer roce, or leave it out");
  else if (options.pfc && shape.has_circles)
    diagnostics.add("--pfc", "", of_shape + " has circles of cables, in which paused packets wait for each other", "choose leaf_spine or fat_tree");
  else if (options.pfc && shape.name == std::string_view("direct"))
    diagnostics.add("--pfc", "", of_shape + " has no switch", "choose another shape, such as star");
  if (!options.controller.empty() && !options.pfc)
    diagnostics.add("--controller", "", "without --pfc no switch marks packets", "add --pfc, or leave it out");
  std::vector<std::string> known;
  for (const hca::ControllerRow& row : hca::controller_rows()) known.emplace_back(row.name);
  if (!options.controller.empty() && std::ranges::find(known, options.controller) == known.end()) {
    const std::string near = config::nearest(options.controller, known);
    diagnostics.add("--controller", "", config::in_quotes(options.controller) + " is not a controller",
                    near.empty() ? "they are " + listed(known) : "did you mean \"" + near + "\"?");
  }
  fabric.pfc = options.pfc;
  fabric.controller = options.controller;
  fabric.is_generated = fabric.is_generated || options.pfc;
  if (options.oversubscription.empty()) return;
  const auto ratio = config::parse_port_ratio(options.oversubscription);
  if (!ratio || ratio->sum() > 64) {
    diagnostics.add("--oversubscription", "", config::in_quotes(options.oversubscription) + " is not a ratio of ports", "write it like 2:1");
  } else if (!shape.has_leaves) {
    diagnostics.add("--oversubscription", "", of_shape + " has no leaves with cables up", "choose leaf_spine, fat_tree or rail");
  } else {
    fabric.down = ratio->down;
    fabric.up = ratio->up;
  }
}

struct File {
  const char* name;
  std::string text;
};

// Writes all files or, with an exception, none. A new folder appears complete; files of an existing empty
// folder are written one by one.
void write_all(const fs::path& wanted, const std::vector<File>& files) {
  fs::path to = fs::weakly_canonical(fs::absolute(wanted));
  if (!to.has_filename()) to = to.parent_path();
  const bool is_there = fs::is_directory(to);
  if (!is_there) fs::create_directories(to.parent_path());
  std::string pattern = (is_there ? to : to.parent_path()) / ".verbatim-new-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr)
    throw fs::filesystem_error("cannot make a folder", pattern, std::error_code(errno, std::generic_category()));
  const fs::path making = pattern;
  try {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    ::chmod(making.c_str(), 0777 & ~mask);
    for (const File& file : files) {
      const std::string failure = write_document(making / file.name, file.text);
      if (!failure.empty()) throw std::runtime_error(failure);
    }
    if (!is_there) return fs::rename(making, to);
    for (const File& file : files) fs::rename(making / file.name, to / file.name);
    fs::remove(making);
  } catch (...) {
    std::error_code ignored;
    for (const File& file : files) {
      if (is_there) fs::remove(to / file.name, ignored);
    }
    fs::remove_all(making, ignored);
    throw;
  }
}

// Warnings about device limits become errors here.
void check_devices(const std::string& text, config::Diagnostics& diagnostics) {
  config::FileTexts files;
  const std::string path = "topology.json";
  files.texts[path] = text;
  config::Diagnostics found;
  const auto topology = config::load_topology(path, {profile_folders(), &files, "new"}, found);
  if (topology) config::warn_of_device_limits(*topology, found);
  for (const auto* findings : {&found.findings(), &found.warnings()}) {
    for (const config::Finding& finding : *findings) diagnostics.add("--hosts", "", finding.text, finding.hint);
  }
}

bool has_pingpong() {
  constexpr const char* kFolders[] = {"/usr/local/bin", "/usr/bin", "/bin"};
  return std::ranges::any_of(kFolders, [](const char* folder) { return ::access((std::string(folder) + "/ibv_rc_pingpong").c_str(), X_OK) == 0; });
}

}  // namespace

std::string shapes_of_new() {
  std::string text;
  for (const Shape& shape : kShapes) text += (text.empty() ? "" : "; ") + std::string(shape.name) + ": " + shape.what;
  return text;
}

int make_new(const NewOptions& options) {
  Answer answer("new", options.style);
  const fs::path to = options.folder;
  std::error_code error;
  if (fs::exists(fs::symlink_status(to, error)) && (!fs::is_directory(to, error) || !fs::is_empty(to, error))) {
    complain(config::in_quotes(to.string()) + " is there already and is not an empty folder; name another");
    return kUsage;
  }
  config::Diagnostics diagnostics;
  const Rate* const rate = rate_of(options, diagnostics);
  const Shape* const shape = shape_of(options, diagnostics);
  const std::string name = name_of_folder(to);
  std::vector<File> files;
  std::optional<Fabric> made;
  if (diagnostics.empty()) {
    made.emplace(Fabric{*rate, options.hosts, shape->rails != 0});
    add_congestion(options, *shape, *made, diagnostics);
  }
  if (diagnostics.empty()) {
    const Fabric& fabric = *made;
    files = {{"topology.json", topology_of(fabric, *shape, name)},
             {"scenario.json", shape->has_flows(fabric) ? flow_scenario_of(fabric, *shape, name) : scenario_of(fabric, name)},
             {"README.md", readme_of(fabric, *shape, name)}};
    check_devices(files[0].text, diagnostics);
  }
  if (!diagnostics.empty()) {
    print(diagnostics, "nothing was written");
    return kUsage;
  }
  try {
    write_all(to, files);
  } catch (const std::exception& failure) {
    complain(std::string(failure.what()) + "; nothing was written");
    return kUsage;
  }
  const std::string next = "verbatim run " + config::shell_word(to / "scenario.json");
  answer.document() = {{"folder", to.string()}, {"files", {"topology.json", "scenario.json", "README.md"}}, {"next", next}};
  const bool has_flows = shape->has_flows(*made);
  answer.print("%s: %s\n%s: %s\n%s: how\nnext: %s\n", (to / "topology.json").c_str(), summary_of(*made, *shape).c_str(),
             (to / "scenario.json").c_str(),
             has_flows ? "a flow of 1 MiB from each host to the one half of all hosts further on; programs can be added"
                       : "ibv_rc_pingpong, on every second host the client of the one before; put in your own program",
             (to / "README.md").c_str(), next.c_str());
  if (!has_flows && !has_pingpong()) complain("ibv_rc_pingpong is not installed; its Debian package is ibverbs-utils");
  return answer.end(kAsExpected);
}

}  // namespace verbatim::cli
