#include "sim/config/cable_rows.h"
#include "sim/config/spec.h"
#include "sim/config/tables.h"
#include "verbs_shim/protocol/huge_pages.h"
#include "verbs_shim/protocol/layout.h"

namespace verbatim::config {

namespace {

const Object& vlan_table() {
  using V = VlanSpec;
  static const Object table = make_object<V>(
      "a VLAN", "a VLAN interface of an adapter, with a network of its own",
      {for_people("description", "for people"),
       bind<&V::id>({.key = "id", .kind = Kind::kInteger, .required = true, .doc = "the VLAN's identifier", .min = 1, .max = 4094}),
       without_default(bind<&V::address_text>(
           {.key = "address",
            .kind = Kind::kInterface,
            .doc = "IPv4 address of the interface, and the bits of its network, 16 if they are left out; without one, in VLAN 1 "
                   "the first host gets 100.64.4.1/22, the second 100.64.4.2/22, in VLAN 2 100.64.8.1/22, and so on"}))});
  return table;
}

// Jumbo frames have 9000 bytes; hosts need not accept IP datagrams above 576 (RFC 791).
template <auto Member>
Field interface_mtu_row(std::string_view doc) {
  return bind<Member>({.key = "interface_mtu", .kind = Kind::kInteger, .doc = doc, .min = 576, .max = 9216});
}

// For adapters and switches.
template <auto Member>
Field node_row() {
  using N = NodeSpec;
  static const Object table = make_object<N>(
      "a node", "identity of a node in an InfiniBand subnet; what is left out follows from the order of names",
      {without_default(bind<&N::guid_text>({.key = "guid", .kind = Kind::kText, .doc = "node GUID, such as \"0x0002c90200000001\""})),
       without_default(bind<&N::port_guid_text>({.key = "port_guid", .kind = Kind::kText, .doc = "GUID of the adapter's port; a switch has that of the node"})),
       without_default(bind<&N::system_guid_text>({.key = "system_guid", .kind = Kind::kText, .doc = "system image GUID; left out: that of the node"})),
       without_default(bind<&N::lid>({.key = "lid", .kind = Kind::kInteger, .doc = "LID that the simulated subnet manager assigns", .min = 1, .max = 0xbfff})),
       without_default(bind<&N::description>({.key = "description", .kind = Kind::kText, .doc = "NodeDescription, up to 63 bytes; left out: of an adapter the host and the device, of a switch its name"})),
       without_default(bind<&N::device_id>({.key = "device_id", .kind = Kind::kInteger, .doc = "in NodeInfo; left out: that of the profile", .min = 1, .max = 0xffff}))});
  return bind_object<Member>({.key = "node", .kind = Kind::kObject, .doc = "on InfiniBand: identity in the subnet, as imported fabrics have it"}, table);
}

const Object& further_adapter_table() {
  using A = FurtherAdapterSpec;
  static const Object table = make_object<A>(
      "an adapter", "an adapter of a host beyond its first",
      {for_people("description", "for people"),
       without_default(bind<&A::device>(
           {.key = "device",
            .kind = Kind::kName,
            .doc = "the adapter's name, as programs see it; left out: mlx5_1, mlx5_2, … by position"})),
       bind<&A::hca>({.key = "hca", .kind = Kind::kReference, .doc = "adapter profile, found as the host's"}),
       without_default(bind<&A::address_text>(
           {.key = "address",
            .kind = Kind::kInterface,
            .doc = "IPv4 address of the adapter's interface, and the bits of its network, 16 if they are left out; without "
                   "one, the adapter mlx5_1 of the first host gets 172.17.0.1/16, that of the second 172.17.0.2/16, mlx5_2 "
                   "172.18.0.1/16, and so on"})),
       without_default(interface_mtu_row<&A::interface_mtu>("on Ethernet: MTU of the adapter's interface, bytes; left out: the topology's")),
       bind_objects<&A::vlans>({.key = "vlans",
                                .kind = Kind::kObjects,
                                .doc = "on Ethernet: VLANs that the adapter is in, as interfaces eth1.10 and the like"},
                               vlan_table()),
       node_row<&A::node>()},
      &hca_profile_table(), "hca");
  return table;
}

const Object& host_table() {
  using H = HostSpec;
  using P = HugePagesSpec;
  constexpr std::int64_t kMost2Mib = protocol::kMostHugePages[0], kMost1Gib = protocol::kMostHugePages[1];
  static const Object huge_pages = make_object<P>(
      "huge pages", "pages that a host has for MAP_HUGETLB and hugetlbfs",
      {bind<&P::of_2_mib>({.key = "2MiB", .kind = Kind::kInteger, .doc = "pages of 2 MiB", .max = kMost2Mib}),
       bind<&P::of_1_gib>({.key = "1GiB", .kind = Kind::kInteger, .doc = "pages of 1 GiB", .max = kMost1Gib})});
  static const Object table = make_object<H>(
      "a host", "a computer with an adapter, or several",
      {for_people("description", "for people"),
       bind<&H::name>(
           {.key = "name", .kind = Kind::kName, .required = true, .doc = "host name, as programs see it"}),
       bind<&H::hca>({.key = "hca",
                      .kind = Kind::kReference,
                      .doc = "adapter profile: a file beside this one, or a name from the profiles folder"}),
       bind<&H::device>({.key = "device", .kind = Kind::kName, .doc = "the adapter's name, as programs see it"}),
       bind_objects<&H::further_adapters>({.key = "further_adapters",
                                           .kind = Kind::kObjects,
                                           .doc = "adapters beyond the first; a cable's end names one as \"host/device\""},
                                          further_adapter_table()),
       without_default(interface_mtu_row<&H::interface_mtu>("on Ethernet: MTU of the first adapter's interface, bytes; left out: the topology's")),
       bind_objects<&H::vlans>({.key = "vlans",
                                .kind = Kind::kObjects,
                                .doc = "on Ethernet: VLANs that the first adapter is in, as interfaces eth0.10 and the like"},
                               vlan_table()),
       node_row<&H::node>(),
       bind<&H::cpu>({.key = "cpu", .kind = Kind::kReference, .doc = "processor profile, found as the adapter profile is"}),
       bind<&H::address_text>(
           {.key = "address",
            .kind = Kind::kAddress,
            .doc = "IPv4 address on the management network; left out: 10.0.0.1, 10.0.0.2, … in the order of the file"}),
       bind_object<&H::huge_pages>({.key = "huge_pages",
                                    .kind = Kind::kObject,
                                    .doc = "size of the pages that programs get for MAP_HUGETLB, whatever the machine has"},
                                   huge_pages),
       bind<&H::open_files>({.key = "open_files",
                             .kind = Kind::kInteger,
                             .doc = "RLIMIT_NOFILE that programs start with; they may raise it to 65536",
                             .min = 16,
                             .max = protocol::kMostDescriptors})},
      &hca_profile_table(), "hca");
  return table;
}

const Object& switch_table() {
  using S = SwitchSpec;
  static const Object table = make_object<S>(
      "a switch", "a switch",
      {for_people("description", "for people"),
       bind<&S::name>({.key = "name", .kind = Kind::kName, .required = true, .doc = "name of the switch"}),
       bind<&S::profile>(
           {.key = "profile",
            .kind = Kind::kReference,
            .doc = "switch profile: a file beside this one, or a name from the profiles folder"}),
       bind<&S::ports>(
           {.key = "ports", .kind = Kind::kInteger, .doc = "number of ports", .min = 1, .max = 254}),
       node_row<&S::node>(),
       without_default(bind<&S::forwarding_table>(
           {.key = "forwarding_table",
            .kind = Kind::kTextList,
            .doc = "for the routing engine file: \"7:1\" sends what goes to LID 7 out by port 1, \"8-15:2\" several LIDs; others have no route"}))},
      &switch_profile_table(), "profile");
  return table;
}

const Object& link_table() {
  using L = LinkSpec;
  static const Object table = make_object<L>(
      "a link", "a cable between two ports",
      {for_people("description", "for people"),
       bind<&L::a>({.key = "a",
                    .kind = Kind::kText,
                    .required = true,
                    .doc = "one end: \"host\" or \"host:1\", or \"switch:port\"; of a host's further adapter "
                           "\"host/device\""}),
       bind<&L::b>({.key = "b", .kind = Kind::kText, .required = true, .doc = "the other end"}),
       bind<&L::rate>({.key = "rate",
                       .kind = Kind::kLinkRate,
                       .required = true,
                       .doc = "speed and width, such as \"EDR 4x\", or a data rate, such as \"100 Gbps\""}),
       bind<&L::length_mm>(
           {.key = "length", .kind = Kind::kLength, .doc = "length of the cable", .min = 0, .max = 100'000'000}),
       bind<&L::delay_fs_per_mm>({.key = "delay_per_length",
                                  .kind = Kind::kDelayPerLength,
                                  .doc = "delay of the cable per metre; copper 4.6 ns/m, fibre 4.96 ns/m",
                                  .min = 0,
                                  .max = 100'000}),
       bind<&L::transceiver_delay>(
           {.key = "transceiver_delay",
            .kind = Kind::kDuration,
            .doc = "coding and decoding of both ends together, without the block of fec",
            .max = kSecondPs}),
       bind<&L::fec>({.key = "fec",
                      .kind = Kind::kText,
                      .doc = "forward error correction: a byte leaves the decoder when its whole block has arrived",
                      .choices = fec_names()}),
       without_default(bind<&L::start_bytes>(
           {.key = "start_bytes",
            .kind = Kind::kInteger,
            .doc = "line bytes per packet ahead of the LRH (start delimiter), on Ethernet beyond the preamble; left "
                   "out: 1 at SDR, DDR and QDR, else 0",
            .max = 64})),
       without_default(bind<&L::end_bytes>(
           {.key = "end_bytes",
            .kind = Kind::kInteger,
            .doc = "line bytes per packet behind the VCRC (end delimiter, gap), on Ethernet beyond the least gap; "
                   "left out: 1 at SDR, DDR and QDR, else 0",
            .max = 64})),
       bind<&L::skip_interval_symbols>(
           {.key = "skip_interval_symbols",
            .kind = Kind::kInteger,
            .doc = "symbols of a lane from one SKIP ordered set of four symbols, which makes up for clocks that differ, to the next; "
                   "its time is spread over all bytes; 0: SKIP sets take no time",
            .max = 65536}),
       flow_control_row<&L::flow_control>(),
       pfc_row<&L::pfc>(),
       bind<&L::credit_update_bytes>({.key = "credit_update_bytes",
                                      .kind = Kind::kInteger,
                                      .doc = "line bytes of a flow control packet (IBA 7.9.4)",
                                      .min = 1,
                                      .max = 64}),
       bind<&L::credit_update_interval>({.key = "credit_update_interval",
                                         .kind = Kind::kDuration,
                                         .doc = "flow control packets leave at multiples of this time; 0: at once",
                                         .max = kSecondPs}),
       without_default(bind<&L::credit_refresh_interval>(
           {.key = "credit_refresh_interval",
            .kind = Kind::kDuration,
            .doc = "longest time between two flow control packets, at most 65536 symbol times (EDR: 20.97152 us), which is the "
                   "default on InfiniBand; 0, the default on Ethernet: they leave only when there are new credits",
            .max = kSecondPs}))});
  return table;
}

const Object& partition_table() {
  using P = PartitionSpec;
  static const Object table = make_object<P>(
      "a partition", "hosts that may talk with each other (IBA 10.9)",
      {for_people("description", "for people"),
       bind<&P::name>({.key = "name", .kind = Kind::kName, .required = true, .doc = "name of the partition"}),
       bind<&P::number>(
           {.key = "number",
            .kind = Kind::kInteger,
            .required = true,
            .doc = "its 15 bits of the P_Key; 32767 is the default partition, of which all hosts are "
                   "full members unless it is written here",
            .min = 1,
            .max = 0x7fff}),
       bind<&P::full>({.key = "full",
                       .kind = Kind::kTextList,
                       .doc = "hosts that talk with all members; \"*\": all hosts that are not named"}),
       bind<&P::limited>(
           {.key = "limited",
            .kind = Kind::kTextList,
            .doc = "hosts that talk with full members only; \"*\": all hosts that are not named"})});
  return table;
}

const Object& torus_table() {
  using T = TorusSpec;
  static const Object table = make_object<T>(
      "a torus", "a torus or mesh of switches",
      {for_people("description", "for people"),
       without_default(bind<&T::shape>({.key = "shape",
                                        .kind = Kind::kText,
                                        .required = true,
                                        .doc = "up to three sizes, such as \"torus 4 4\" or \"mesh 3 5 2\"; m or t behind a size says what this dimension is"})),
       without_default(bind<&T::switches>({.key = "switches",
                                           .kind = Kind::kTextList,
                                           .required = true,
                                           .doc = "names of the switches of all places; the last size counts fastest"}))});
  return table;
}

const Object& management_network_table() {
  using M = ManagementNetworkSpec;
  static const Object table = make_object<M>(
      "the management network",
      "network for TCP and UDP between hosts; every pair is connected, and nothing is lost but by faults",
      {bind<&M::latency>({.key = "latency",
                          .kind = Kind::kDuration,
                          .doc = "one way",
                          .min = 1'000,
                          .max = 10 * kSecondPs}),
       bind<&M::bits_per_second>({.key = "bandwidth",
                                  .kind = Kind::kRate,
                                  .doc = "per connection and direction",
                                  .min = 1'000,
                                  .max = 10'000'000'000'000})});
  return table;
}

const Object& load_balancing_table() {
  using L = fabric::LoadBalancing;
  static const Object table = make_object<L>(
      "load balancing", "how switches choose among equally good outputs",
      {bind<&L::by>({.key = "by",
                     .kind = Kind::kText,
                     .doc = "flow: the hash of a flow chooses, and it keeps its path (on InfiniBand: the forwarding table); flowlet: a flow that has paused may take another; "
                            "packet: each packet of an RDMA WRITE takes its own, from adapters that can put packets into order "
                            "(profile key gap_time), which do so then; on InfiniBand this is adaptive routing, to such adapters",
                     .choices = {"flow", "flowlet", "packet"}}),
       bind<&L::gap>({.key = "gap", .kind = Kind::kDuration, .doc = "with flowlet: so long a pause lets a flow take another port", .min = 1,
                      .max = kSecondPs}),
       bind<&L::grade_bytes>({.key = "grade",
                              .kind = Kind::kSize,
                              .doc = "with flowlet and packet: ports are compared by what waits there, in steps of this size, up to seven; "
                                     "one of the best is taken at random; 0: one of all",
                              .max = std::int64_t{1} << 30})});
  return table;
}

}  // namespace

const Object& topology_table() {
  using T = TopologySpec;
  static const Object table = make_object<T>(
      "a topology", "Hosts, switches and the cables between them",
      {for_people("$schema", "the JSON Schema, for editors"),
       bind<&T::name>({.key = "name", .kind = Kind::kName, .required = true, .doc = "name of the topology"}),
       bind<&T::description>({.key = "description", .kind = Kind::kText, .doc = "for people"}),
       bind<&T::link_layer>({.key = "link_layer",
                             .kind = Kind::kText,
                             .doc = "link layer of all links; roce: Ethernet with RoCEv2, lossless",
                             .choices = {"infiniband", "roce"}}),
       bind<&T::subnet_manager>({.key = "subnet_manager",
                                 .kind = Kind::kText,
                                 .doc = "subnet manager that gives addresses and tables to an InfiniBand subnet: the simulation, before the "
                                        "first packet, or a program on one of the hosts, such as OpenSM: until then ports are in Init",
                                 .choices = {"simulated", "none"}}),
       bind_object<&T::congestion_control>({.key = "congestion_control",
                                            .kind = Kind::kObject,
                                            .doc = "on InfiniBand, set by the simulation's own subnet manager; left out: off"},
                                           subnet_congestion_table()),
       bind<&T::ecmp_seed>({.key = "ecmp_seed",
                            .kind = Kind::kText,
                            .doc = "on Ethernet: number mixed into the hash of a flow where several ports are on paths of equal length; "
                                   "own: a number of each switch, drawn by its name from the run's seed; same: one number for all "
                                   "switches, so that every tier splits flows as the one before it and most ways stay empty "
                                   "(polarisation)",
                            .choices = {"own", "same"}}),
       bind_object<&T::load_balancing>({.key = "load_balancing",
                                        .kind = Kind::kObject,
                                        .doc = "unit that chooses one of several ports on paths of equal length"},
                                       load_balancing_table()),
       interface_mtu_row<&T::interface_mtu>("on Ethernet: MTU of all adapters' interfaces, bytes; RDMA's active_mtu is the greatest whose packets "
                                            "fit: 1024 with 1500, 4096 with 9000"),
       bind<&T::convergence_time>({.key = "convergence_time",
                                   .kind = Kind::kDuration,
                                   .doc = "on Ethernet: from the failure or repair of a cable between switches to when all switches have the "
                                          "routes of the cables that are intact, as a routing protocol brings them about",
                                   .max = 1'000'000 * kSecondPs}),
       bind<&T::allow_mismatch>({.key = "allow_mismatch",
                                 .kind = Kind::kBoolean,
                                 .doc = "run although the ends of a cable do not fit each other, as in fabrics that are set up wrongly: pauses at one "
                                        "end alone, or different maps of DSCP values; the run's warnings name the cables"}),
       bind<&T::routing_engine>({.key = "routing_engine",
                                 .kind = Kind::kText,
                                 .doc = "how the simulated subnet manager of InfiniBand lays routes, as OpenSM's option of this name: minhop, updn, dnup, "
                                        "ftree, dor, lash, dfsssp, torus-2QoS or file (the switches' forwarding_table), with ar_ before minhop, updn, dnup, ftree and dor also adaptive routing (load_balancing by packet), or several with commas between them, of which the first takes effect that "
                                        "can route the fabric; else minhop does, unless no_fallback is among them"}),
       without_default(bind<&T::root_switches>(
           {.key = "root_switches",
            .kind = Kind::kTextList,
            .doc = "names of the root switches for the engines updn and ftree, OpenSM's root_guid_file; left out: they are found from the "
                   "cabling"})),
       bind_object<&T::torus_2qos>(
           {.key = "torus_2qos", .kind = Kind::kObject, .doc = "the torus for the engine torus-2QoS, OpenSM's torus-2QoS.conf"}, torus_table()),
       bind<&T::sweep_time>({.key = "sweep_time",
                             .kind = Kind::kText,
                             .doc = "on InfiniBand: from the failure or repair of a cable between switches to when all switches have the tables that "
                                    "the subnet manager lays for what is left; or off: they keep their tables"}),
       without_default(bind<&T::profile_changes>(
           {.key = "profile_changes",
            .kind = Kind::kObjectMap,
            .doc = "values of profiles that are others in this topology: for each profile, by its reference in this file, the keys "
                   "with their values, such as {\"edr_roce\": {\"congestion_control\": {\"controller\": \"hpcc\"}}}; lists are replaced as a "
                   "whole"})),
       bind_object<&T::generate>({.key = "generate",
                                  .kind = Kind::kObject,
                                  .doc = "a regular shape instead of written hosts, switches and links"},
                                 generator_table()),
       bind_objects<&T::hosts>({.key = "hosts", .kind = Kind::kObjects, .doc = "the hosts, in order"},
                               host_table()),
       bind_objects<&T::switches>({.key = "switches", .kind = Kind::kObjects, .doc = "the switches"},
                                  switch_table()),
       bind_objects<&T::links>({.key = "links", .kind = Kind::kObjects, .doc = "the cables"}, link_table()),
       bind_objects<&T::partitions>({.key = "partitions",
                                     .kind = Kind::kObjects,
                                     .doc = "P_Keys and the hosts that may communicate with them; each host's table has "
                                            "the default partition first, then the "
                                            "others by number"},
                                    partition_table()),
       bind_object<&T::management_network>(
           {.key = "management_network", .kind = Kind::kObject, .doc = "the network of TCP connections"},
           management_network_table())});
  return table;
}

}  // namespace verbatim::config
