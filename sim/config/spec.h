// The content of the JSON files after checking: plain structs with every reference resolved. Code that uses
// them needs no error handling.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/arguments.h"
#include "sim/config/byte_matrix.h"
#include "sim/config/quantity.h"
#include "sim/core/time.h"
#include "sim/fabric/switch.h"
#include "sim/hca/hca_profile.h"
#include "sim/ib/congestion.h"
#include "sim/ib/ip_network.h"
#include "sim/subnet/routing.h"
#include "sim/workload/size_distribution.h"
#include "sim/workload/traffic.h"
#include "verbs_shim/protocol/region.h"

namespace verbatim::workload {
class MessageGraph;
struct FlowFile;
}

namespace verbatim::config {

// Costs of a host's processor.
struct CpuProfile {
  std::string name;
  std::uint64_t timestamp_counter_hz = 2'000'000'000;
  std::string instruction_set = "x86-64-v2";
  protocol::CallCosts costs{};
};

// Identity of a node of an InfiniBand subnet, if it shall not follow from the node's name.
struct NodeSpec {
  std::string guid_text, port_guid_text, system_guid_text;  // as written, hexadecimal; empty: not given
  std::uint32_t lid = 0;                                    // 0: not given
  std::string description;                                  // empty: not given
  std::uint32_t device_id = 0;                              // 0: not given
  std::string pointer;                                      // empty: the file gives nothing of this

  std::uint64_t guid = 0, port_guid = 0, system_guid = 0;  // resolved; 0: not given
};

// Pages that a host reserves for MAP_HUGETLB.
struct HugePagesSpec {
  std::uint32_t of_2_mib = 2'048;
  std::uint32_t of_1_gib = 4;
};

// A VLAN with an interface of its own at an adapter.
struct VlanSpec {
  std::uint32_t id = 0;
  std::string address_text;  // with or without network bits; empty: assigned by VLAN and by the host's position
  std::string pointer;

  // Resolved.
  ib::IpInterface interface;
};

// An adapter of a host other than its first one.
struct FurtherAdapterSpec {
  std::string device;           // its name, as programs see it; empty: mlx5_1, mlx5_2, … by position
  std::string hca = "edr_hca";  // reference as written
  std::string address_text;     // with or without network bits; empty: assigned by position
  std::uint32_t interface_mtu = 0;  // bytes; 0: the topology's
  std::vector<VlanSpec> vlans;
  NodeSpec node;
  std::string pointer;

  // Resolved.
  hca::HcaProfile hca_profile;
  ib::IpInterface interface;
};
// Default name of a host's adapter; `number` is 1 for the first further one.
inline std::string further_device_name(std::size_t number) { return "mlx5_" + std::to_string(number); }

struct HostSpec {
  std::string name;
  std::string hca = "edr_hca";  // reference as written
  std::string device = "mlx5_0";  // the adapter's name, as programs see it
  std::string cpu = "cpu";
  HugePagesSpec huge_pages;
  std::uint32_t open_files = 1024;
  std::string address_text;  // empty: assigned by position
  std::uint32_t interface_mtu = 0;  // of the first adapter, in bytes; 0: the topology's
  std::vector<FurtherAdapterSpec> further_adapters;
  std::vector<VlanSpec> vlans;  // of the first adapter
  NodeSpec node;                // of the first adapter
  std::string pointer;       // place in the file

  // Resolved.
  std::uint32_t address = 0;  // IPv4, host byte order
  hca::HcaProfile hca_profile;
  CpuProfile cpu_profile;
};

struct SwitchSpec {
  std::string name;
  std::string profile = "edr_switch";
  std::uint32_t ports = 36;
  NodeSpec node;
  // For the routing engine `file`: "LID:PORT" or "LID-LID:PORT"; empty: not given.
  std::vector<std::string> forwarding_table;
  std::string pointer;

  fabric::SwitchProfile switch_profile;  // resolved
};

// One end of a cable.
struct Endpoint {
  bool is_switch = false;
  std::size_t node = 0;    // index into adapters or switches
  std::uint32_t port = 1;  // from 1
  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

// Priority-based flow control of a cable.
struct PauseSpec {
  std::string ends = "both";                  // ends that send and obey pauses: both, a or b
  std::string lossless_priorities = "0-7";  // as written: "3", "3,4", "0-7"
  std::uint32_t quanta = 65535;
  std::string response = "ideal";  // or ieee, or a duration
  std::string headroom = "bound";  // or sonic, or a size
};

struct LinkSpec {
  static constexpr Duration kLatestRefresh{-1};  // until resolved: as seldom as InfiniBand allows; never on Ethernet
  std::string a, b;  // as written
  LinkRate rate;
  std::int64_t length_mm = 2'000;
  std::int64_t delay_fs_per_mm = 4'600;
  Duration transceiver_delay{0};  // sum of both ends: coding and error correction
  static constexpr std::uint32_t kByRate = ~0u;  // until resolved
  std::uint32_t start_bytes = kByRate, end_bytes = kByRate;  // line bytes before and after each packet
  std::uint32_t credit_update_bytes = 8;             // line bytes of a flow control packet
  Duration credit_update_interval{0};                // they leave at multiples of it; 0: at once
  Duration credit_refresh_interval{kLatestRefresh};  // maximum time between two; 0: only with new credits
  std::uint32_t skip_interval_symbols = 0;           // symbols per SKIP ordered set; 0: SKIP takes no time
  std::string fec = "none";
  static constexpr const char* kBySwitch = "";  // until resolved
  std::string flow_control = kBySwitch;         // credits, pfc or none
  PauseSpec pfc;
  std::string pointer;

  Endpoint end_a, end_b;  // resolved
  // Whether the end sends and obeys pauses.
  bool has_pauses_at(const Endpoint& end) const {
    return flow_control == "pfc" && (pfc.ends == "both" || end == (pfc.ends == "a" ? end_a : end_b));
  }
  std::uint8_t lossless_lanes = 0;  // resolved, with pfc: bit n for priority n
  Duration pause_response{0};
  std::uint32_t headroom_bytes = 0;
  Duration propagation() const {
    return cable_delay(length_mm, delay_fs_per_mm) + transceiver_delay + fec_block_time(rate, fec);
  }
};

// One tier of a generated shape: its switches, and its cables to the tier above or within the tier.
struct TierSpec {
  std::string switch_profile;         // empty: the generator's
  LinkRate rate;                      // width 0: the generator's
  static constexpr std::int64_t kOfGenerator = -1;
  std::int64_t length_mm = kOfGenerator;
  std::int64_t delay_fs_per_mm = kOfGenerator;
  std::uint32_t cables = 0;           // side by side to each neighbour; 0: the generator's
  std::string oversubscription;       // as written; empty: the generator's
  std::string pointer;                // empty: the file has no such tier
};

// Tiers by name; each shape uses some of them.
struct TiersSpec {
  TierSpec host, leaf, agg, core, spine, router, global, switches;
};

// A regular shape whose parts are added to those of the file. 0 and empty texts mean keys that are not given.
struct GeneratorSpec {
  std::string shape;  // a name of kShapes (generate/shapes.h); empty: nothing is generated
  std::uint32_t hosts = 2;
  std::uint32_t hosts_per_leaf = 0;
  std::uint32_t spines = 0;
  std::uint32_t cables_per_spine = 0;  // from each leaf
  std::uint32_t rails = 1;             // adapters of each host
  std::uint32_t k = 0;                 // of fat_tree: ports of each switch
  std::uint32_t tiers = 0;             // of fat_tree
  std::string oversubscription;        // of all tiers: "2:1"
  std::uint32_t cables = 0;            // side by side, between two switches that are joined
  std::uint32_t a = 0, p = 0, h = 0;   // of dragonfly: routers of a group, hosts and global cables of a router
  std::uint32_t groups = 0;
  std::uint32_t leaves_per_group = 0, spines_per_group = 0;
  std::string dimensions;              // of torus and hyperx: "4x4x2"
  std::uint32_t hosts_per_switch = 0;
  TiersSpec per_tier;
  std::string names;                   // of switches: number or place; empty: the shape's default
  std::string host_names = "number";   // or place
  std::string host_prefix = "h";
  std::string hca = "edr_hca";
  std::string cpu = "cpu";
  std::string switch_profile = "edr_switch";
  LinkRate rate;
  std::int64_t length_mm = 2'000;
  std::int64_t delay_fs_per_mm = 4'600;
  std::string flow_control = LinkSpec::kBySwitch;  // of every cable
  PauseSpec pfc;                                   // of every cable
};

// Hosts that may communicate with each other.
struct PartitionSpec {
  std::string name;
  std::uint32_t number = 0;
  std::vector<std::string> full, limited;  // hosts; "*" is every host that is not named
  std::string pointer;

  std::vector<std::size_t> full_members, limited_members;  // resolved, ascending
};

// Congestion control that the simulation's own subnet manager configures, named like OpenSM's options.
struct SubnetCongestionSpec {
  std::uint32_t threshold = 0, packet_size = 0, marking_rate = 0;  // of every port of every switch
  std::string victim_mask = "0x0";                                 // as written
  std::uint32_t port_control = 0;                                  // of every adapter
  std::vector<std::string> ccti_timer, ccti_increase, trigger_threshold, ccti_min;  // as written: service level and value
  std::string cct;                                                                  // as written
  std::string pointer;  // empty: not given

  std::bitset<256> victims;        // resolved, by port
  ib::InjectionSetting injection;  // resolved
  bool is_given() const { return !pointer.empty(); }
};

struct ManagementNetworkSpec {
  Duration latency{20'000'000};
  std::int64_t bits_per_second = 10'000'000'000;
};

// An adapter, as a node of the fabric.
struct AdapterSpec {
  std::string name;        // the host's name; of a further adapter also the device's: "server/mlx5_1"
  std::size_t host = 0;    // index into hosts
  std::size_t number = 0;  // within its host; 0 is the host's first

  // Index of its network interface, as programs see it; 1 is the loopback interface.
  static constexpr std::uint32_t kFirstInterface = 2;
  std::uint32_t interface_index() const { return kFirstInterface + static_cast<std::uint32_t>(number); }
};

// Settings of the routing engine torus-2QoS.
struct TorusSpec {
  std::string shape;                  // as written: "torus 4 4m"; empty: not given
  std::vector<std::string> switches;  // by place in the torus; the last dimension varies fastest
};

struct TopologySpec {
  std::string file;  // as the user named it
  std::string name, description;
  std::string link_layer = "infiniband";
  std::string subnet_manager = "simulated";  // or none
  std::string ecmp_seed = "own";             // hash seeds of Ethernet switches: own or same
  fabric::LoadBalancing load_balancing;       // by packet on InfiniBand: adaptive routing
  static constexpr std::uint32_t kUsualInterfaceMtu = 1500;
  std::uint32_t interface_mtu = kUsualInterfaceMtu;  // of the interfaces of all adapters on Ethernet, in bytes
  // Ethernet: time from the failure or repair of a cable between switches to new routes.
  static constexpr Duration kUsualConvergenceTime{200'000'000'000};
  Duration convergence_time = kUsualConvergenceTime;
  bool allow_mismatch = false;  // the ends of a cable may have different settings
  std::string routing_engine = "minhop";  // OpenSM's list of engines, and no_fallback
  std::vector<std::string> root_switches;
  TorusSpec torus_2qos;
  // InfiniBand: time from the failure or repair of a cable between switches to the subnet manager's new
  // tables, or "off". OpenSM sweeps as soon as a switch's trap 128 arrives. Debian's OpenSM needs 1.1 ms in
  // this simulator for 8 hosts and 3 switches, without its own computing time; the default is an estimate for
  // some hundred ports. Large fabrics take seconds.
  std::string sweep_time = "100 ms";
  std::string profile_changes;  // JSON: keys and values by reference of a profile; empty: none
  GeneratorSpec generate;
  std::vector<HostSpec> hosts;
  std::vector<SwitchSpec> switches;
  std::vector<LinkSpec> links;
  std::vector<PartitionSpec> partitions;
  ManagementNetworkSpec management_network;
  SubnetCongestionSpec congestion_control;

  std::vector<std::string> mismatches;  // resolved, if mismatches are allowed: one sentence each
  // Resolved: the first adapter of each host, in the order of the hosts, then all further adapters.
  std::vector<AdapterSpec> adapters;
  subnet::Routing routing;        // without the number of lanes, which follows from the cables
  std::optional<Duration> sweep;  // nullopt: routes never change
  const hca::HcaProfile& hca_profile(const AdapterSpec& adapter) const {
    const HostSpec& owner = hosts[adapter.host];
    return adapter.number == 0 ? owner.hca_profile : owner.further_adapters[adapter.number - 1].hca_profile;
  }
  const NodeSpec& node_of(const AdapterSpec& adapter) const {
    const HostSpec& owner = hosts[adapter.host];
    return adapter.number == 0 ? owner.node : owner.further_adapters[adapter.number - 1].node;
  }
  // The adapter's device name, as programs see it.
  const std::string& device_name(const AdapterSpec& adapter) const {
    const HostSpec& owner = hosts[adapter.host];
    return adapter.number == 0 ? owner.device : owner.further_adapters[adapter.number - 1].device;
  }
  ib::IpInterface interface_of(std::size_t adapter) const {
    const AdapterSpec& of = adapters[adapter];
    const HostSpec& owner = hosts[of.host];
    return of.number == 0 ? ib::IpInterface::of_first(owner.address) : owner.further_adapters[of.number - 1].interface;
  }
  // On Ethernet, in bytes.
  std::uint32_t interface_mtu_of(const AdapterSpec& adapter) const {
    const HostSpec& owner = hosts[adapter.host];
    const std::size_t further = adapter.number;
    const std::uint32_t own = further == 0 ? owner.interface_mtu : owner.further_adapters[further - 1].interface_mtu;
    return own == 0 ? interface_mtu : own;
  }
  const std::vector<VlanSpec>& vlans_of(const AdapterSpec& adapter) const {
    const HostSpec& owner = hosts[adapter.host];
    return adapter.number == 0 ? owner.vlans : owner.further_adapters[adapter.number - 1].vlans;
  }
  // Interface index of the adapter's first VLAN interface, like AdapterSpec::interface_index(). VLAN
  // interfaces follow those of all adapters of the host, in the order of the adapters.
  std::uint32_t first_vlan_interface(const AdapterSpec& adapter) const {
    const HostSpec& owner = hosts[adapter.host];
    std::size_t before = 1 + owner.further_adapters.size();
    for (std::size_t number = 0; number < adapter.number; ++number) before += vlans_of({{}, adapter.host, number}).size();
    return AdapterSpec::kFirstInterface + static_cast<std::uint32_t>(before);
  }
  // Interface name as programs see it: eth0.10.
  static std::string vlan_interface_name(const AdapterSpec& adapter, const VlanSpec& vlan) {
    return "eth" + std::to_string(adapter.number) + "." + std::to_string(vlan.id);
  }
  // Host name that resolves to the adapter's addresses: the host's name, or "server-mlx5_1" for a further
  // adapter.
  std::string address_name(std::size_t adapter) const {
    const AdapterSpec& of = adapters[adapter];
    return of.number == 0 ? of.name : hosts[of.host].name + "-" + device_name(of);
  }
  // Networks of the further adapters, each once, ascending.
  std::vector<ib::IpNetwork> further_networks;
  std::vector<ib::IpRoute> routes_of(std::size_t host_index) const;
  // Indices of a host's adapters, in the order in which programs see them.
  std::vector<std::size_t> adapters_of(std::size_t host_index) const;

  // Whether a host can run programs: none of its adapters is a light endpoint.
  bool runs_programs(std::size_t host_index) const {
    const auto is_light = [](const FurtherAdapterSpec& adapter) { return adapter.hca_profile.is_light(); };
    const HostSpec& of = hosts[host_index];
    return !of.hca_profile.is_light() && std::ranges::none_of(of.further_adapters, is_light);
  }

  bool is_roce() const { return link_layer == "roce"; }
  // Whether addresses and tables are set before the first packet. If not, a program must set them.
  bool manages_subnet() const { return is_roce() || subnet_manager == "simulated"; }
  // Index of a host by name.
  std::optional<std::size_t> host(std::string_view host_name) const;
  const std::string& node_name(const Endpoint& end) const {
    return end.is_switch ? switches[end.node].name : adapters[end.node].name;
  }
};

struct ProgramSpec {
  std::string host;
  std::vector<std::string> command;
  Duration start{0};
  std::map<std::string, std::string> environment;
  std::string working_directory;
  std::map<std::string, std::string> files;  // key: path that programs see; value: file on this machine
  std::string expect_exit = "0";  // an exit code or the name of a signal
  bool background = false;        // gets SIGTERM when all other programs have ended
  Duration kill{0};               // 0: never
  bool kill_is_drawn = false;     // drawn by freedom spec within its budget, not given by the file
  std::vector<std::string> expect_output;
  std::string pointer;

  std::size_t host_index = 0;                // resolved
  std::vector<std::string> written_command;  // with names of arguments; empty: equal to `command`
};

// Traffic without a program: a number of bytes from one adapter to another.
struct FlowSpec {
  std::string from, to;  // hosts, or "host/device" for a further adapter, as written
  std::int64_t bytes = 0;
  Duration start{0};
  std::int64_t message_size = 1 << 20;
  std::string operation = "write";  // or send, or read
  std::uint32_t queue_pairs = 1;
  static constexpr std::uint32_t kOfPath = workload::FlowKind::kOfPath;
  std::uint32_t service_level = kOfPath;  // of its packets and their answers; kOfPath: as in the subnet manager's path record
  std::uint32_t traffic_class = 0;  // of its packets, on Ethernet
  std::uint32_t acknowledgement_traffic_class = workload::FlowKind::kAsData;  // of its packets without data
  std::uint8_t timeout = workload::FlowKind{}.timeout;  // of its queue pairs; not a key of the file
  std::string pointer;

  bool is_resolved = false;                      // both ends are adapters, and different ones
  std::size_t from_adapter = 0, to_adapter = 0;  // resolved: indices into TopologySpec::adapters
};

// Many flows by one rule, or operations of ranks that wait for each other (is_graph()): collectives, training
// patterns, GOAL.
struct WorkloadSpec {
  static constexpr std::int64_t kNotGiven = -1;
  std::string name;     // empty until resolved: the pattern, or the file's name
  std::string pattern;  // permutation, shift, incast, all-to-all, random, hot-spot, or a graph's; empty: read from a file
  std::vector<std::string> hosts;  // as written, with * and [0-63]; empty: all
  std::vector<std::string> to;     // as written, with * and [0-63]: receivers of an incast, or hot hosts
  std::int64_t size = kNotGiven;   // bytes of each flow
  std::string sizes;               // a distribution by name or file
  std::string matrix;              // of all-to-all: file with the bytes of each pair
  std::int64_t senders = kNotGiven, distance = 1;
  std::int64_t share = kNotGiven;  // of the flows that go to hot hosts, in parts of kFractionParts
  std::int64_t load = kNotGiven;   // of each host's link, in parts of kFractionParts
  Duration duration{kNotGiven};    // how long flows arrive
  std::int64_t flows = kNotGiven;  // of each host
  std::int64_t in_flight = 1;      // flows of each host at once
  Duration start{0};
  std::int64_t message_size = 1 << 20;
  std::string operation = "write";  // or send; for flows also read
  std::uint32_t queue_pairs = 1, depth = 128;
  std::uint32_t service_level = FlowSpec::kOfPath;
  std::uint32_t traffic_class = 0, acknowledgement_traffic_class = workload::FlowKind::kAsData;
  Duration on{0}, off{0};
  bool background = false;
  std::int64_t seed = kNotGiven;
  std::string pointer;

  std::string file;  // as written: GOAL, a connection matrix, or a list of flows
  std::shared_ptr<const workload::FlowFile> flow_file;  // resolved, of a connection matrix or a list of flows

  // For graphs.
  std::string algorithm;  // empty: the pattern's first
  std::string root;       // of a broadcast: a host; empty: the first
  std::uint32_t channels = 1;
  std::int64_t chunk = kNotGiven;
  std::uint32_t repeat = 1;
  Duration compute{0};
  std::int64_t jitter = 0, stragglers = 0;  // in parts of kFractionParts
  std::uint32_t straggler_factor = 2;
  std::uint32_t micro_batches = 8;
  std::uint32_t tokens = 1024, experts = 0, experts_per_token = 2;  // experts 0: one for each host
  std::int64_t eager_size = kNotGiven;
  bool is_graph() const;

  std::shared_ptr<const workload::MessageGraph> file_graph;  // resolved, of a file
  bool is_goal = false;                                      // resolved: the file is GOAL, else an execution trace
  std::size_t root_member = 0;                         // resolved
  std::vector<std::uint32_t> member_queue_pairs;       // resolved: upper bound, by member
  bool is_ready_graph = false;                         // resolved without findings, if is_graph()

  bool is_resolved = false;                            // resolved without findings, if not is_graph()
  std::vector<std::uint32_t> members, targets;  // resolved: adapters; indices into members
  std::vector<std::uint64_t> rates;             // resolved, with a load: bits per second of each member's link
  std::shared_ptr<const ByteMatrix> bytes_by_pair;          // resolved; null: all pairs have the same
  std::optional<workload::SizeDistribution> distribution;  // resolved; nullopt: all flows have one size
};

// A scripted fault. It hits packets that one end of a link sends, a whole link, one end of a link, or an
// adapter.
struct FaultSpec {
  std::string action;              // drop, duplicate, corrupt, delay, mark, link_down, pause_storm, device_fatal
  std::string network = "fabric";  // or management
  std::string protocol = "any";    // of the management network: any, tcp, udp
  std::string from, to, link;      // ends of a link, or hosts, as written
  std::string host;                // host of the failing adapter
  std::string opcode = "any";      // or an operation of the opcode table
  static constexpr std::int64_t kNotGiven = -1;
  std::int64_t nth = 1, every = 1;
  std::int64_t count = kNotGiven;  // number of times; 0: no limit
  std::int64_t rate = kNotGiven;   // probability for each packet, in parts of kFractionParts
  std::int64_t burst = 1;          // packets in a row each time
  std::string burst_lengths = "fixed";  // or geometric
  Duration after{0};
  Duration delay{0};
  std::string icrc = "invalid";
  std::int64_t byte = 0;     // offset in the payload
  Duration at{0}, until{0};  // until 0: for ever
  std::string priorities;    // of a pause storm, as written; empty: all lossless ones
  std::string pointer;
  bool is_drawn = false;  // drawn by freedom spec within its budget, not given by the file

  Endpoint end;                                   // resolved: the output that the packets leave by, or one end of the link
  std::optional<std::size_t> from_host, to_host;  // resolved, on the management network; nullopt: any
  std::size_t adapter_index = 0;                  // resolved, if an adapter fails
  std::uint8_t storming_lanes = 0;                // resolved, for a pause storm: bit n for priority n
  bool of_management() const { return network == "management"; }
  bool of_adapter() const { return action == "device_fatal"; }
  bool is_random() const { return rate != kNotGiven; }
  // Maximum number of hits; 0: no limit, the default of random faults.
  std::int64_t times() const { return count != kNotGiven ? count : is_random() ? 0 : 1; }
};

struct ExpectSpec {
  std::string outcome = "finished";  // finished, deadlock, time-limit
  std::string digest;                // empty: any
  Duration virtual_time_max{0};      // 0: any
};

// Limits of what a run with freedom spec may draw beyond the choices that are always free.
struct FreedomSpec {
  std::int64_t faults = 0;         // packets that may be lost, duplicated or late, in all
  std::int64_t failing_calls = 0;  // calls of programs on each host that may fail without a cause
  std::int64_t failures = 0;       // links, adapters and programs that may fail, in all
  bool accesses = false;           // threads may also be delayed before accesses to memory
};

struct ScenarioSpec {
  std::string file;
  std::string name, description;
  std::string topology_reference;
  std::string root;  // bundle whose files programs see in place of the machine's, a path; empty: none
  std::vector<ProgramSpec> programs;
  std::vector<FlowSpec> flows;
  std::vector<WorkloadSpec> workloads;
  Duration until{0};  // the run ends then at the latest, as expected; 0: when everything is done
  std::vector<FaultSpec> faults;
  std::int64_t seed = 1;
  std::string freedom = "friendly";  // or spec
  FreedomSpec spec;                  // with freedom spec only
  Duration time_limit{0};            // 0: none
  ExpectSpec expect;
  std::map<std::string, std::string> ranges;  // of the commands' arguments, as written

  TopologySpec topology;                          // resolved
  std::map<std::string, ArgumentSpec> arguments;  // resolved, by name
  // Resolved: the flows in their order, then those of the workloads in their order, drawn with the seed
  // (draw_traffic()).
  workload::Traffic traffic;
};

}  // namespace verbatim::config
