#include "sim/supervisor/trees/network_files.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <cstdint>
#include <vector>

namespace verbatim::supervisor {

namespace {

// vlan, padded as by Linux' 8021q module; it exists only if there is a VLAN. The counts are 0:
// adapters count packets.
void add_vlans(VirtualTree& tree, const std::string& folder, const std::vector<Interface>& interfaces) {
  std::string all = "VLAN Dev name\t | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\n";
  bool has_any = false;
  for (const Interface& one : interfaces) {
    if (!one.vlan) continue;
    has_any = true;
    const std::string& parent =
        interfaces.at(static_cast<std::size_t>(one.vlan->parent) - kLoopbackIndex).name;
    all += fmt::format("{:<15}| {}  | {}\n", one.name, one.vlan->id, parent);
    std::string text =
        fmt::format("{}  VID: {}\t REORDER_HDR: 1  dev->priv_flags: 1021\n", one.name, one.vlan->id);
    const auto count = [&](const char* what) { text += fmt::format("{:>30} {:>12}\n", what, 0); };
    count("total frames received");
    count("total bytes received");
    count("Broadcast/Multicast Rcvd");
    text += "\n";
    count("total frames transmitted");
    count("total bytes transmitted");
    text += fmt::format(
        "Device: {}\nINGRESS priority mappings: 0:0  1:0  2:0  3:0  4:0  5:0  6:0 7:0\n EGRESS priority "
        "mappings: \n",
        parent);
    tree.add_file(folder + "/" + one.name, text);
  }
  if (has_any) tree.add_file(folder + "/config", all);
}

// if_inet6 and route, padded as in Linux; IPv4 addresses are in memory byte order.
void add_addresses(VirtualTree& tree, const std::string& folder, const HostSpec& host,
                   const std::vector<Interface>& interfaces) {
  constexpr int kOfHost = 0x10, kGlobal = 0, kPermanent = 0x80;
  std::string addresses;
  for (const Interface& one : interfaces) {
    for (const std::uint8_t byte : one.v6.bytes()) addresses += fmt::format("{:02x}", byte);
    addresses += fmt::format(" {:02x} {:02x} {:02x} {:02x} {:>8}\n", one.index, one.prefix6_bits,
                             one.is_loopback() ? kOfHost : kGlobal, kPermanent, one.name);
  }
  tree.add_file(folder + "/if_inet6", addresses);
  std::string routes = fmt::format(
      "{:<127}\n", "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT");
  for (const ib::IpRoute& route : routes_of(host)) {
    const std::uint32_t mask = ib::network_of(~std::uint32_t{0}, route.network.prefix_bits);
    const std::string& name =
        interfaces.at(static_cast<std::size_t>(interface_index(route.adapter)) - kLoopbackIndex).name;
    routes += fmt::format("{:<127}\n", fmt::format("{}\t{:08X}\t00000000\t0001\t0\t0\t0\t{:08X}\t0\t0\t0",
                                                   name, htonl(route.network.address), htonl(mask)));
  }
  tree.add_file(folder + "/route", routes);
}

std::string device_table(const std::vector<Interface>& interfaces) {
  std::string text =
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo "
      "colls carrier "
      "compressed\n";
  for (const Interface& one : interfaces) {
    text += fmt::format(
        "{1:>6}: {0:7} {0:7} {0:4} {0:4} {0:4} {0:5} {0:10} {0:9} {0:8} {0:7} {0:4} {0:4} {0:4} {0:5} {0:7} "
        "{0:10}\n",
        0, one.name);
  }
  return text;
}

}  // namespace

void add_network_files(VirtualTree& tree, const std::string& folder, const HostSpec& host) {
  const std::vector<Interface> interfaces = interfaces_of(host);
  add_addresses(tree, folder, host, interfaces);
  add_vlans(tree, folder + "/vlan", interfaces);
  tree.add_file(folder + "/dev", device_table(interfaces));
  tree.add_file(folder + "/arp",
                "IP address       HW type     Flags       HW address            Mask     Device\n");
  tree.add_file(folder + "/packet", "sk       RefCnt Type Proto  Iface R Rmem   User   Inode\n");
  for (const char* absent : {"/wireless", "/ip_tables_names", "/ip6_tables_names", "/rt_cache", "/sctp"})
    tree.mark_absent(folder + absent);
}

}  // namespace verbatim::supervisor
