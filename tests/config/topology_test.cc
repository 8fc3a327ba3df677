#include <gtest/gtest.h>

#include <filesystem>

#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

// `hosts`, `switches`, `links` are the contents of the lists.
std::string topology(const std::string& hosts, const std::string& switches, const std::string& links,
                     const std::string& more = "") {
  return "{\"name\": \"t\", \"hosts\": [" + hosts + "], \"switches\": [" + switches + "], \"links\": [" +
         links + "]" + more + "}";
}
const std::string kHosts = R"({"name": "a"}, {"name": "b"})";
const std::string kSwitch = R"({"name": "s", "ports": 4})";
const std::string kLinks =
    R"({"a": "a", "b": "s:1", "rate": "EDR 4x"}, {"a": "b", "b": "s:2", "rate": "EDR 4x"})";

TopologySpec shipped(const std::string& name) {
  Diagnostics diagnostics;
  const auto spec = load_topology(VERBATIM_SOURCE_DIR "/topologies/" + name + ".json", {}, diagnostics);
  EXPECT_TRUE(spec.has_value()) << text_of(diagnostics);
  return spec.value();
}

TEST(Topology, shipped_ones_have_no_finding) {
  const std::pair<const char*, const char*> kAdapters[] = {{"two_hosts", "connectx-6-like"},
                                                           {"two_hosts_direct", "connectx-6-like"},
                                                           {"qdr_pair", "connectx-qdr"},
                                                           {"hdr_pair", "connectx-6"}};
  for (const auto& [name, adapter] : kAdapters) {
    const TopologySpec spec = shipped(name);
    EXPECT_EQ(spec.hosts.at(0).name, "server");
    EXPECT_EQ(spec.hosts.at(1).name, "client");
    EXPECT_EQ(spec.hosts.at(0).address, 0x0a000001u);
    EXPECT_EQ(spec.hosts.at(1).address, 0x0a000002u);
    EXPECT_EQ(spec.hosts.at(0).hca_profile.name, adapter);
    EXPECT_EQ(spec.hosts.at(1).hca_profile.name, adapter);
  }
  for (const char* rails : {"rails_4", "rails_2_roce"}) EXPECT_EQ(shipped(rails).adapters.size(), 2 * shipped(rails).hosts.size());
  EXPECT_EQ(shipped("two_hosts").links.at(0).propagation(), Duration(9'200));
  for (const char* pushing : {"qdr_pair", "hdr_pair"})
    EXPECT_GT(shipped(pushing).hosts.at(0).hca_profile.blueflame_bytes, 0u);
}

TEST(Topology, least_valid_one) { EXPECT_EQ(topology_findings(topology(kHosts, kSwitch, kLinks)), ""); }

TEST(Topology, further_adapters_are_nodes_of_their_own) {
  const std::string hosts = R"({"name": "a", "further_adapters": [{}, {"device": "rdma9"}]}, {"name": "b"})";
  const std::string links = kLinks + R"(, {"a": "a/mlx5_1", "b": "s:3", "rate": "EDR 4x"}, {"a": "a/rdma9:1", "b": "s:4", "rate": "EDR 4x"})";
  EXPECT_EQ(topology_findings(topology(hosts, kSwitch, links)), "");
  const std::string twice = R"({"name": "a", "further_adapters": [{"device": "mlx5_0"}]}, {"name": "b"})";
  EXPECT_NE(topology_findings(topology(twice, kSwitch, kLinks)).find("/hosts/0/further_adapters/0: the host has two adapters named "
                                                                     "\"mlx5_0\"; give each adapter"),
            std::string::npos)
      << topology_findings(topology(twice, kSwitch, kLinks));
  const std::string loose = R"({"name": "a", "further_adapters": [{}]}, {"name": "b"})";
  EXPECT_EQ(topology_findings(topology(loose, kSwitch, kLinks)),
            "/hosts/0/further_adapters/0: the adapter \"a/mlx5_1\" has no cable; add a link with the end \"a/mlx5_1\"\n");
  EXPECT_EQ(topology_findings(topology(hosts, kSwitch, links, R"(, "link_layer": "roce")")), "");
}

// Findings for host b and host a, which has two further adapters with the given content.
std::string further_findings(const std::string& first, const std::string& second, const std::string& more_of_b = "") {
  const std::string hosts = R"({"name": "a", "further_adapters": [{)" + first + "}, {" + second + R"(}]}, {"name": "b")" + more_of_b + "}";
  return topology_findings(topology(
      hosts, kSwitch, kLinks + R"(, {"a": "a/mlx5_1", "b": "s:3", "rate": "EDR 4x"}, {"a": "a/mlx5_2", "b": "s:4", "rate": "EDR 4x"})"));
}

TEST(Topology, further_adapters_have_networks_of_their_own) {
  const TopologySpec spec = shipped("rails_4");
  EXPECT_EQ(spec.interface_of(1).address, 0x0a000002u);
  const std::size_t further = spec.adapters_of(1).at(1);
  EXPECT_EQ(spec.adapters[further].name, "h1/mlx5_1");
  EXPECT_EQ(spec.address_name(further), "h1-mlx5_1");
  EXPECT_EQ(spec.interface_of(further).address, 0xac110002u) << "172.17.0.2";
  EXPECT_EQ(spec.interface_of(further).network, (ib::IpNetwork{0xac110000, 16, 0xac110000}));
  ASSERT_EQ(spec.routes_of(1).size(), 2u);
  EXPECT_EQ(spec.routes_of(1).at(1).adapter, 1u);
  const TopologySpec given = shipped("rails_2_roce");
  EXPECT_EQ(given.interface_of(given.adapters_of(1).at(1)).network, (ib::IpNetwork{0xc0a80100, 24, 0xc0a80100}));
}

TEST(Topology, only_ethernet_has_a_seed_of_flow_hashes) {
  const auto findings = [](const std::string& more) { return topology_findings(topology(kHosts, kSwitch, kLinks, more)); };
  EXPECT_EQ(findings(R"(, "link_layer": "roce", "ecmp_seed": "same")"), "");
  EXPECT_EQ(findings(R"(, "ecmp_seed": "own")"), "");
  EXPECT_EQ(findings(R"(, "ecmp_seed": "same")"),
            "/ecmp_seed: switches of InfiniBand do not spread flows by a hash; leave it out, or choose the link layer \"roce\"\n");
  EXPECT_EQ(findings(R"(, "link_layer": "roce", "ecmp_seed": "sane")"),
            "/ecmp_seed: \"sane\" is not allowed here; did you mean \"same\"?\n");
}

std::string vlan_findings(const std::string& vlans, const std::string& more = R"(, "link_layer": "roce")") {
  return topology_findings(topology(R"({"name": "a", "vlans": [)" + vlans + R"(]}, {"name": "b"})", kSwitch, kLinks, more));
}

TEST(Topology, vlans_are_checked) {
  EXPECT_EQ(vlan_findings(R"({"id": 1}, {"id": 4094, "address": "192.168.1.1/24"})"), "");
  EXPECT_EQ(vlan_findings(R"({"id": 10})", ""),
            "/hosts/0/vlans/0: there are no VLANs on InfiniBand; leave them out, or choose the link layer \"roce\"\n");
  EXPECT_EQ(vlan_findings(R"({"id": 10}, {"id": 10, "address": "192.168.1.1/24"})"),
            "/hosts/0/vlans/1/id: the adapter is in VLAN 10 already; name each VLAN once\n");
  EXPECT_EQ(vlan_findings(R"({"id": 1}, {"id": 2}, {"id": 3})"),
            "/hosts/0/vlans/2: these VLANs need 9 GIDs; the GID table of \"edr_hca\" has 8 entries "
            "(gid_table_length of its profile)\n");
  for (const char* const bad : {"0", "4095"})
    EXPECT_NE(vlan_findings(R"({"id": )" + std::string(bad) + "}").find("/hosts/0/vlans/0/id"), std::string::npos) << bad;
  EXPECT_EQ(vlan_findings(R"({"id": 10, "address": "10.0.0.2/24"})"),
            "/hosts/0/vlans/0/address: the address 10.0.0.2 is already that of \"b\"; choose another\n");
}

// Each adapter has a GID table of its own. By default, its position decides its network, which differs from
// those of the host's other adapters.
TEST(Topology, vlans_of_further_adapters_are_checked) {
  const auto findings = [](const std::string& first, const std::string& further) {
    const std::string hosts = R"({"name": "a", "vlans": [)" + first + R"(], "further_adapters": [{"vlans": [)" + further +
                              R"(]}]}, {"name": "b"})";
    const std::string links = std::string(kLinks) + R"(, {"a": "a/mlx5_1", "b": "s:3", "rate": "EDR 4x"})";
    return topology_findings(topology(hosts, kSwitch, links, R"(, "link_layer": "roce")"));
  };
  EXPECT_EQ(findings(R"({"id": 1}, {"id": 2})", R"({"id": 3}, {"id": 1, "address": "192.168.1.1/24"})"), "");
  EXPECT_EQ(findings(R"({"id": 1})", R"({"id": 1})"),
            "/hosts/0/further_adapters/0/vlans/0: the address 100.64.4.1 is already that of \"a-eth0.1\"; VLAN interfaces without "
            "\"address\" get one by VLAN and host, the same for all adapters of the host; write an \"address\" here\n");
  EXPECT_EQ(findings("", R"({"id": 1}, {"id": 2}, {"id": 3})"),
            "/hosts/0/further_adapters/0/vlans/2: these VLANs need 9 GIDs; the GID table of \"edr_hca\" has 8 entries "
            "(gid_table_length of its profile)\n");
}

TEST(Topology, addresses_of_further_adapters_are_hosts_and_unique) {
  EXPECT_EQ(further_findings(R"("address": "10.1.0.1/31")", R"("address": "10.1.0.3")"), "");
  EXPECT_EQ(further_findings(R"("address": "10.0.0.2/24")", ""),
            "/hosts/0/further_adapters/0/address: the address 10.0.0.2 is already that of \"b\"; choose another\n");
  EXPECT_EQ(further_findings(R"("address": "172.18.0.1")", ""),
            "/hosts/0/further_adapters/1: the address 172.18.0.1 is already that of \"a/mlx5_1\"; adapters mlx5_1 without \"address\" "
            "get 172.17.0.1, 172.17.0.2, … in the order of the hosts, adapters mlx5_2 172.18.0.1, …; write an \"address\" here\n");
  EXPECT_EQ(further_findings(R"("address": "224.0.0.1")", ""),
            "/hosts/0/further_adapters/0/address: \"224.0.0.1\" cannot be the address of a host; choose one such as \"10.0.0.1\"\n");
  for (const char* const end : {"192.168.1.0/24", "192.168.1.255/24"}) {
    EXPECT_EQ(further_findings(R"("address": ")" + std::string(end) + "\"", ""),
              "/hosts/0/further_adapters/0/address: \"" + std::string(end) +
                  "\" is the lowest or the highest address of the network 192.168.1.0/24; choose an address between them\n");
  }
  for (const char* const bad : {"192.168.1", "192.168.1.1/7", "192.168.1.1/32", "192.168.1.1/024", "192.168.1.1/", "192.168.1.1/2x"}) {
    EXPECT_EQ(further_findings(R"("address": ")" + std::string(bad) + "\"", ""),
              "/hosts/0/further_adapters/0/address: \"" + std::string(bad) +
                  "\" is not the IPv4 address of an interface; write it like \"192.168.1.1/24\", with a network of 8 to 31 bits\n");
  }
}

TEST(Topology, as_many_further_adapters_get_addresses_as_there_are_networks) {
  std::string adapters = "{}", links = kLinks;
  for (int i = 2; i <= 16; ++i) adapters += ", {}";
  const std::string hosts = R"({"name": "a", "further_adapters": [)" + adapters + R"(]}, {"name": "b"})";
  const std::string findings = topology_findings(topology(hosts, kSwitch, links));
  EXPECT_NE(findings.find("/hosts/0/further_adapters/15: only the first 15 further adapters of a host get an address by themselves; "
                          "give this one an \"address\"\n"),
            std::string::npos)
      << findings;
  EXPECT_EQ(findings.find("/hosts/0/further_adapters/14: only"), std::string::npos);
}

TEST(Topology, names_of_addresses_are_not_those_of_hosts) {
  const std::string hosts = R"({"name": "a", "further_adapters": [{}]}, {"name": "a-mlx5_1"})";
  const std::string links = R"({"a": "a", "b": "s:1", "rate": "EDR 4x"}, {"a": "a-mlx5_1", "b": "s:2", "rate": "EDR 4x"},
                               {"a": "a/mlx5_1", "b": "s:3", "rate": "EDR 4x"})";
  EXPECT_EQ(topology_findings(topology(hosts, kSwitch, links)),
            "/hosts/0/further_adapters/0: the name of this adapter's address would be \"a-mlx5_1\", which is a host; rename the host "
            "or the device\n");
}

TEST(Topology, all_findings_come_at_once_in_file_order) {
  EXPECT_EQ(topology_findings(
                R"({"name": 7, "hosts": [{"nam": "a"}], "links": [{"a": "a", "b": "b", "rate": "200 Gbp"}],
                         "link_layer": "token ring", "colour": "red"})"),
            "/name: 7 is a number where a string is expected\n"
            "/hosts/0/nam: unknown key; did you mean \"name\"?\n"
            "/hosts/0: the key \"name\" is missing; host name, as programs see it\n"
            "/links/0/rate: \"200 Gbp\" is not a rate; did you mean \"200 Gbps\"?\n"
            "/link_layer: \"token ring\" is not allowed here; allowed: \"infiniband\", \"roce\"\n"
            "/colour: unknown key; a topology has the keys name, description, link_layer, subnet_manager, congestion_control, ecmp_seed, "
            "load_balancing, interface_mtu, convergence_time, allow_mismatch, routing_engine, root_switches, torus_2qos, sweep_time, profile_changes, "
            "generate, hosts, "
            "switches, "
            "links, partitions, management_network\n");
}

TEST(Topology, names_are_unique_among_hosts_and_switches) {
  EXPECT_EQ(
      topology_findings(
          topology(R"({"name": "a"}, {"name": "a"})", kSwitch,
                   R"({"a": "a", "b": "s:1", "rate": "EDR"}, {"a": "s:2", "b": "s:3", "rate": "EDR"})")),
      "/hosts/1/name: the name \"a\" is already that of /hosts/0; give every host and switch a name of its "
      "own\n"
      "/links/1: both ends of the cable are at \"s\"; a cable joins two different devices\n");
  EXPECT_NE(
      topology_findings(topology(kHosts, R"({"name": "a"})", "")).find("/switches/0/name: the name \"a\""),
      std::string::npos);
}

TEST(Topology, ends_of_links_must_exist) {
  EXPECT_EQ(topology_findings(topology(
                R"({"name": "server"}, {"name": "client"})", kSwitch,
                R"({"a": "sevrer", "b": "s:1", "rate": "EDR"}, {"a": "client:2", "b": "s:5", "rate": "EDR"},
                                 {"a": "client", "b": "s", "rate": "EDR"}, {"a": "x:1", "b": "s:0", "rate": "EDR"})")),
            "/links/0/a: there is no host or switch \"sevrer\"; did you mean \"server\"?\n"
            "/links/1/a: \"client:2\" is not a port of \"client\"; its only port is 1\n"
            "/links/1/b: \"s:5\" is not a port of \"s\"; its ports are 1 to 4\n"
            "/links/2/b: \"s\" does not say which port of the switch; write \"s:1\"; its ports are 1 to 4\n"
            "/links/3/a: there is no host or switch \"x\"; name one of \"hosts\" or \"switches\"\n"
            "/links/3/b: \"s:0\" is not a port of \"s\"; its ports are 1 to 4\n");
}

TEST(Topology, one_cable_in_one_port) {
  EXPECT_EQ(
      topology_findings(topology(kHosts, kSwitch, kLinks + R"(, {"a": "s:1", "b": "b", "rate": "EDR"})")),
      "/links/2/a: there is already a cable in \"s:1\", from /links/0/b; use another port\n"
      "/links/2/b: there is already a cable in \"b\", from /links/1/a; an adapter has one port\n");
}

TEST(Topology, every_host_has_a_cable_and_a_path_to_every_other) {
  EXPECT_EQ(topology_findings(topology(kHosts, kSwitch, R"({"a": "a", "b": "s:1", "rate": "EDR"})")),
            "/hosts/1: the host \"b\" has no cable; add a link with the end \"b\"\n");
  EXPECT_EQ(topology_findings(
                topology(kHosts, kSwitch + R"(, {"name": "r"})",
                         R"({"a": "a", "b": "s:1", "rate": "EDR"}, {"a": "b", "b": "r:1", "rate": "EDR"})")),
            "/hosts/1: no path leads from \"b\" to \"a\"; join the two parts by a link between switches\n");
  EXPECT_EQ(topology_findings(topology("", "", "")),
            "/hosts: there is no host; add at least one {\"name\": …}\n");
}

TEST(Topology, addresses_are_hosts_and_unique) {
  EXPECT_EQ(
      topology_findings(topology(R"({"name": "a", "address": "10.0.0.2"}, {"name": "b"})", kSwitch, kLinks)),
      "/hosts/1: the address 10.0.0.2 is already that of \"a\"; hosts without \"address\" get 10.0.0.1, "
      "10.0.0.2, "
      "… in the order of the file; write an \"address\" here\n");
  EXPECT_EQ(
      topology_findings(topology(
          R"({"name": "a", "address": "127.0.0.1"}, {"name": "b", "address": "1.2.3"})", kSwitch, kLinks)),
      "/hosts/1/address: \"1.2.3\" is not an IPv4 address; write it like \"10.0.0.1\"\n"
      "/hosts/0/address: \"127.0.0.1\" cannot be the address of a host; choose one such as \"10.0.0.1\"\n");
  EXPECT_EQ(
      topology_findings(topology(R"({"name": "a", "address": "127.0.0.1"}, {"name": "b"})", kSwitch, kLinks)),
      "/hosts/0/address: \"127.0.0.1\" cannot be the address of a host; choose one such as \"10.0.0.1\"\n");
}

TEST(Topology, ranges_and_types) {
  EXPECT_EQ(topology_findings(topology(kHosts, R"({"name": "s", "ports": 255})", kLinks)),
            "/switches/0/ports: 255 is out of range; allowed: 1 to 254\n");
  EXPECT_EQ(topology_findings(topology(kHosts, R"({"name": "s", "ports": 4.0})", kLinks)),
            "/switches/0/ports: 4.0 is a number with decimals where a whole number is expected\n");
  EXPECT_EQ(topology_findings(topology(kHosts, R"({"name": "s", "ports": 18446744073709551615})", kLinks)),
            "/switches/0/ports: 18446744073709551615 is out of range; allowed: 1 to 254\n");
  EXPECT_EQ(topology_findings(topology(kHosts, kSwitch, kLinks,
                                       R"(, "management_network": {"latency": "0 s", "bandwidth": 10})")),
            "/management_network/latency: \"0 s\" is out of range; allowed: 1 ns to 10 s\n"
            "/management_network/bandwidth: 10 has no unit; write a string with a unit, such as \"10 Gbps\"\n");
  EXPECT_EQ(topology_findings(topology(kHosts, kSwitch, R"({"a": "a", "b": "s:1", "rate": 100}, {"a": "b", "b": "s:2", "rate": "EDR"})")),
            "/links/0/rate: 100 has no unit; write a string with a unit, such as \"100 Gbps\", or on InfiniBand speed and width, such as "
            "\"EDR 4x\"\n");
  EXPECT_EQ(
      topology_findings(topology(R"({"name": "a b"}, 7)", kSwitch, kLinks)),
      "/hosts/0/name: \"a b\" is not a name; a name has 1 to 63 letters, digits, '-', '_' or '.', and begins "
      "with a letter or digit\n"
      "/hosts/1: 7 is not an object; write a host as { … }\n");
}

TEST(Topology, what_a_link_of_a_rate_can_have) {
  const auto link = [](const std::string& more) {
    return topology_findings(topology(kHosts, "", R"({"a": "a", "b": "b", )" + more + "}"));
  };
  EXPECT_EQ(link(R"x("rate": "EDR", "fec": "RS(528,514)", "credit_refresh_interval": "20971520 ps")x"), "");
  EXPECT_EQ(
      link(R"x("rate": "QDR", "fec": "RS(528,514)")x"),
      "/links/0/fec: QDR links have no forward error correction; leave it out, or choose a faster link\n");
  for (const char* interval : {"10.24 ns", "20971521 ps"}) {
    const std::string text =
        link(R"("rate": "EDR", "credit_refresh_interval": ")" + std::string(interval) + "\"");
    EXPECT_NE(text.find("/links/0/credit_refresh_interval: "), std::string::npos) << text;
    EXPECT_NE(text.find("allowed: 0, or more than 10.24 ns up to "), std::string::npos) << text;
  }
}

TEST(Topology, interfaces_of_ethernet_have_an_mtu) {
  Folder folder;
  Diagnostics diagnostics;
  const std::string hosts = R"({"name": "a", "interface_mtu": 9000, "further_adapters": [{"interface_mtu": 4200}]}, {"name": "b"})";
  const std::string links = R"({"a": "a", "b": "s:1", "rate": "EDR"}, {"a": "b", "b": "s:2", "rate": "EDR"}, {"a": "a/mlx5_1", "b": "s:3", "rate": "EDR"})";
  const auto text = [&](const std::string& keys) {
    return R"({"name": "t", )" + keys + R"("hosts": [)" + hosts + R"(], "switches": [{"name": "s"}], "links": [)" + links + "]}";
  };
  const auto spec = load_topology(folder.write("t.json", text(R"("link_layer": "roce", )")), with_profiles(), diagnostics);
  ASSERT_TRUE(spec.has_value()) << text_of(diagnostics);
  std::vector<std::uint32_t> mtus;
  for (const AdapterSpec& adapter : spec->adapters) mtus.push_back(spec->interface_mtu_of(adapter));
  EXPECT_EQ(mtus, (std::vector<std::uint32_t>{9000, 1500, 4200}));
  EXPECT_EQ(topology_findings(text(R"("link_layer": "roce", "interface_mtu": 575, )")),
            "/interface_mtu: 575 is out of range; allowed: 576 to 9216\n");
  EXPECT_EQ(topology_findings(text(R"("interface_mtu": 9000, )")),
            "/interface_mtu: adapters of InfiniBand have no interface MTU; leave it out, or choose the link layer \"roce\"\n"
            "/hosts/0/interface_mtu: adapters of InfiniBand have no interface MTU; leave it out, or choose the link layer \"roce\"\n"
            "/hosts/0/further_adapters/0/interface_mtu: adapters of InfiniBand have no interface MTU; leave it out, or choose the link "
            "layer \"roce\"\n");
}

TEST(Topology, larger_than_a_subnet) {
  std::string switches;
  for (int i = 0; i < 50'000; ++i) {
    switches += std::string(i == 0 ? "" : ", ") + R"({"name": "x)" + std::to_string(i) + R"("})";
  }
  EXPECT_EQ(
      topology_findings(
          topology(R"({"name": "a"}, {"name": "b"})", switches, R"({"a": "a", "b": "b", "rate": "EDR"})")),
      "/hosts: 50002 adapters and switches need more LIDs than a subnet has; the limit is 49151\n"
      "/switches: hosts, switches and their ports add up to 1850006 components; the limit is 1000000; give the switches "
      "fewer ports\n");
}

TEST(Topology, profiles_must_exist_and_are_read_once) {
  EXPECT_EQ(topology_findings(topology(R"({"name": "a", "hca": "edr"}, {"name": "b"})", kSwitch, kLinks)),
            "/hosts/0/hca: there is no profile \"edr\"; the adapter profiles are connect_ib, connectx3, connectx4_edr, connectx5, "
            "connectx6_hdr, connectx7_ndr, edr_hca, edr_light, edr_roce, edr_roce_light, qdr_hca; or name a file, relative to this one\n");
  Folder folder;
  folder.write("slow.json", R"({"profile": "hca", "name": "slow", "core_clock": "4 MH"})");
  Diagnostics diagnostics;
  load_topology(
      folder.write("t.json", topology(R"({"name": "a", "hca": "slow"}, {"name": "b", "hca": "slow.json"})",
                                      kSwitch, kLinks)),
      with_profiles(), diagnostics);
  ASSERT_EQ(diagnostics.findings().size(), 1u) << text_of(diagnostics);
  EXPECT_EQ(to_string(diagnostics.findings()[0]),
            folder.path() + "/slow.json: /core_clock: \"4 MH\" is not a frequency; did you mean \"4 MHz\"?");
}

// Reported once for any number of hosts, with the generator's key if it has one.
TEST(Topology, an_unknown_profile_is_reported_once_with_its_key) {
  EXPECT_EQ(topology_findings(R"({"name": "t", "generate": {"shape": "star", "hosts": 8, "rate": "EDR", "switch": "edr_swich", "hca": "cx5"}})"),
            "/generate/hca: there is no profile \"cx5\"; the adapter profiles are connect_ib, connectx3, connectx4_edr, connectx5, "
            "connectx6_hdr, connectx7_ndr, edr_hca, edr_light, edr_roce, edr_roce_light, qdr_hca; or name a file, relative to this one\n"
            "/generate/switch: there is no profile \"edr_swich\"; did you mean \"edr_switch\"? the switch profiles are edr_switch, "
            "ethernet_switch, hpcc_switch, infiniscale_iv, quantum, quantum2, spectrum, spectrum2, switch_ib2, switchx2; or name a file, relative to this one\n");
}

TEST(Topology, a_key_of_a_profile_in_a_host_or_a_switch_says_so) {
  EXPECT_EQ(topology_findings(topology(R"({"name": "a", "congestion_control": {"controller": "dcqcn-nv"}}, {"name": "b"})",
                                       R"({"name": "s", "ports": 4, "marking": {}})", kLinks)),
            "/hosts/0/congestion_control: unknown key; it is a key of profiles: write it to a profile's file, and name that as \"hca\"\n"
            "/switches/0/marking: unknown key; it is a key of profiles: write it to a profile's file, and name that as \"profile\"\n");
}

// Each of their buffers is larger than credits can grant.
TEST(Topology, adapters_of_ethernet_on_infiniband_are_one_finding) {
  const std::string hosts = R"({"name": "a", "hca": "edr_roce"}, {"name": "b", "hca": "edr_roce"})";
  EXPECT_EQ(topology_findings(topology(hosts, kSwitch, kLinks)),
            "/link_layer: the adapter profile \"edr_roce\" of host \"a\" is of an Ethernet device, and the fabric is InfiniBand; add "
            "\"link_layer\": \"roce\", or choose another profile\n");
  EXPECT_EQ(topology_findings(topology(hosts, kSwitch, kLinks, R"(, "link_layr": "roce")")),
            "/link_layr: unknown key; did you mean \"link_layer\"?\n");
}

TEST(Topology, findings_that_need_several_values_come_with_the_others) {
  EXPECT_EQ(topology_findings(topology(R"({"name": "a", "addres": "x"}, {"name": "a"}, {"name": "c"})", kSwitch,
                                       R"({"a": "a", "b": "s:9", "rate": "EDRR"}, {"a": "x", "b": "s:1", "rate": "EDR", "lenght": "1 m"})")),
            "/hosts/0/addres: unknown key; did you mean \"address\"?\n"
            "/links/0/rate: \"EDRR\" is not a link rate; did you mean \"EDR\"?\n"
            "/links/1/lenght: unknown key; did you mean \"length\"?\n"
            "/hosts/1/name: the name \"a\" is already that of /hosts/0; give every host and switch a name of its own\n"
            "/links/0/b: \"s:9\" is not a port of \"s\"; its ports are 1 to 4\n"
            "/links/1/a: there is no host or switch \"x\"; name one of \"hosts\" or \"switches\"\n");
}

// Errors that are consequences of a finding are not reported: ends of links whose names cannot be read, lanes
// of a wrong link layer.
TEST(Topology, no_finding_only_because_of_another) {
  EXPECT_EQ(topology_findings(R"({"name": "t", "hosts": 7, "switches": [{"name": "s", "ports": 999}],
                                  "links": [{"a": "a", "b": "s:500", "rate": "EDR"}]})"),
            "/hosts: 7 is not a list; write [ … ], one object for each entry\n"
            "/switches/0/ports: 999 is out of range; allowed: 1 to 254\n");
  EXPECT_EQ(topology_findings(topology(R"({"name": "a", "vlans": [{"id": 1}]}, {"name": "b"})", kSwitch, kLinks, R"(, "link_layer": "eth")")),
            "/link_layer: \"eth\" is not allowed here; allowed: \"infiniband\", \"roce\"\n");
  EXPECT_EQ(topology_findings(topology(kHosts, kSwitch, R"({"a": "a", "rate": "EDR"}, {"a": "b", "b": "s:2"})")),
            "/links/0: the key \"b\" is missing; the other end\n"
            "/links/1: the key \"rate\" is missing; speed and width, such as \"EDR 4x\", or a data rate, such as \"100 Gbps\"\n");
}

TEST(Topology, a_profile_of_another_kind_is_refused) {
  EXPECT_EQ(topology_findings(topology(R"({"name": "a", "cpu": "edr_hca"}, {"name": "b", "cpu": "edr_hca"})", kSwitch, kLinks)),
            "/hosts/0/cpu: \"edr_hca\" is an adapter profile, not a processor profile; the processor profiles are cpu, cpu_2011, cpu_2020; "
            "or name a file, relative to this one\n");
}

}  // namespace
}  // namespace verbatim::config
