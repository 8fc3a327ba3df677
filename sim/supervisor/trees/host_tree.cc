#include "sim/supervisor/trees/host_tree.h"

#include <fmt/format.h>
#include <linux/if.h>
#include <rdma/rdma_user_cm.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "sim/supervisor/net/adapter_queries.h"
#include "sim/supervisor/net/interfaces.h"
#include "sim/supervisor/trees/management_tree.h"
#include "sim/supervisor/trees/processor_tree.h"
#include "sim/supervisor/trees/virtual_paths.h"
#include "verbs_shim/protocol/commands.h"
#include "verbs_shim/protocol/path_view.h"

namespace verbatim::supervisor {

namespace {

using Content = std::function<std::string()>;

protocol::QueryGid gid_of(hca::Hca& hca, std::uint32_t index) {
  protocol::QueryGid query{};
  query.port = 1;
  query.index = index;
  return ask(hca, query);
}

std::string guid(std::uint64_t value) {
  return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}\n", value >> 48, value >> 32 & 0xffff, value >> 16 & 0xffff,
                     value & 0xffff);
}

std::string gid(const std::uint8_t (&raw)[16]) {
  std::string text;
  for (int i = 0; i < 16; i += 2) text += fmt::format("{}{:02x}{:02x}", i > 0 ? ":" : "", raw[i], raw[i + 1]);
  return text + "\n";
}

// Linux' rate_show(); the lane speed is in units of 100 Mb/s.
std::string rate(const protocol::QueryPort& port) {
  struct Speed {
    std::uint32_t code;
    int hundreds;
    const char* name;
  };
  constexpr Speed kSpeeds[] = {{1, 25, ""},       {2, 50, " DDR"},   {4, 100, " QDR"},  {8, 100, " FDR10"},
                               {16, 140, " FDR"}, {32, 250, " EDR"}, {64, 500, " HDR"}, {128, 1000, " NDR"}};
  const int lanes = port.active_width == 1   ? 1
                    : port.active_width == 2 ? 4
                    : port.active_width == 4 ? 8
                    : port.active_width == 8 ? 12
                                             : 2;
  for (const Speed& speed : kSpeeds) {
    if (speed.code != port.active_speed) continue;
    const int all = speed.hundreds * lanes;
    return fmt::format("{}{} Gb/sec ({}X{})\n", all / 10, all % 10 != 0 ? "." + std::to_string(all % 10) : "",
                       lanes, speed.name);
  }
  return "0 Gb/sec\n";
}

std::string port_state(std::uint32_t state) {
  constexpr const char* kNames[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
  return fmt::format("{}: {}\n", state, state < std::size(kNames) ? kNames[state] : "UNKNOWN");
}

std::string physical_state(std::uint32_t state) {
  constexpr const char* kNames[] = {
      "<unknown>",         "Sleep",   "Polling", "Disabled", "PortConfigurationTraining", "LinkUp",
      "LinkErrorRecovery", "Phy Test"};
  return fmt::format("{}: {}\n", state, state < std::size(kNames) ? kNames[state] : "<unknown>");
}

// File names as in Linux.
void add_counters(VirtualTree& tree, const std::string& folder, const HostSpec& host, std::size_t device) {
  using ib::PortCounters;
  const auto add = [&](const char* name, auto value) {
    tree.add_fabric_file(folder + name, [&host, device, value] {
      return std::to_string(value(host.port_counters ? host.port_counters(device) : PortCounters{})) + "\n";
    });
  };
  const auto add_count = [&](const char* name, auto counter) {
    add(name, [counter](const PortCounters& counters) { return counters.*counter; });
  };
  // IBA 16.1.3.5: data counters count 4-byte words.
  add("port_xmit_data", [](const PortCounters& counters) { return counters.xmit_bytes / 4; });
  add("port_rcv_data", [](const PortCounters& counters) { return counters.rcv_bytes / 4; });
  add_count("port_xmit_packets", &PortCounters::xmit_packets);
  add_count("port_rcv_packets", &PortCounters::rcv_packets);
  add_count("multicast_xmit_packets", &PortCounters::multicast_xmit_packets);
  add_count("multicast_rcv_packets", &PortCounters::multicast_rcv_packets);
  add("unicast_xmit_packets", [](const PortCounters& all) { return all.xmit_packets - all.multicast_xmit_packets; });
  add("unicast_rcv_packets", [](const PortCounters& all) { return all.rcv_packets - all.multicast_rcv_packets; });
  add("port_xmit_wait", [](const PortCounters& counters) { return counters.xmit_wait.count() / ib::kWaitTick.count(); });
  add_count("port_xmit_discards", &PortCounters::xmit_discards);
  add_count("port_rcv_errors", &PortCounters::rcv_errors);
  add_count("VL15_dropped", &PortCounters::vl15_dropped);
  add_count("link_downed", &PortCounters::link_downed);
  add_count("symbol_error", &PortCounters::symbol_errors);
  add_count("link_error_recovery", &PortCounters::link_error_recoveries);
  add_count("port_rcv_remote_physical_errors", &PortCounters::rcv_remote_physical_errors);
  add_count("port_rcv_switch_relay_errors", &PortCounters::rcv_switch_relay_errors);
  add_count("port_xmit_constraint_errors", &PortCounters::xmit_constraint_errors);
  add_count("port_rcv_constraint_errors", &PortCounters::rcv_constraint_errors);
  add_count("local_link_integrity_errors", &PortCounters::local_link_integrity_errors);
  add_count("excessive_buffer_overrun_errors", &PortCounters::excessive_buffer_overruns);
}

// Counters of the mlx5 driver.
void add_hw_counters(VirtualTree& tree, const std::string& folder, const hca::Hca& hca) {
  using hca::CongestionCounters, hca::QueueCounters;
  const auto add_queue = [&](const char* name, auto counter) {
    tree.add_fabric_file(folder + name, [&hca, counter] { return std::to_string(hca.queue_counters().*counter) + "\n"; });
  };
  add_queue("out_of_buffer", &QueueCounters::out_of_buffer);
  add_queue("out_of_sequence", &QueueCounters::out_of_sequence);
  add_queue("duplicate_request", &QueueCounters::duplicate_request);
  add_queue("rnr_nak_retry_err", &QueueCounters::rnr_nak_retry_err);
  add_queue("packet_seq_err", &QueueCounters::packet_seq_err);
  add_queue("implied_nak_seq_err", &QueueCounters::implied_nak_seq_err);
  add_queue("local_ack_timeout_err", &QueueCounters::local_ack_timeout_err);
  add_queue("resp_local_length_error", &QueueCounters::resp_local_length_error);
  add_queue("resp_cqe_error", &QueueCounters::resp_cqe_error);
  add_queue("req_cqe_error", &QueueCounters::req_cqe_error);
  add_queue("req_remote_invalid_request", &QueueCounters::req_remote_invalid_request);
  add_queue("req_remote_access_errors", &QueueCounters::req_remote_access_errors);
  add_queue("resp_cqe_flush_error", &QueueCounters::resp_cqe_flush_error);
  add_queue("req_cqe_flush_error", &QueueCounters::req_cqe_flush_error);
  add_queue("req_transport_retries_exceeded", &QueueCounters::req_transport_retries_exceeded);
  add_queue("req_rnr_retries_exceeded", &QueueCounters::req_rnr_retries_exceeded);
  add_queue("rx_icrc_encapsulated", &QueueCounters::rx_icrc_encapsulated);
  if (!hca.address().roce) return;
  const auto add = [&](const char* name, auto counter) {
    tree.add_fabric_file(folder + name, [&hca, counter] { return std::to_string(hca.congestion_counters().*counter) + "\n"; });
  };
  add("np_cnp_sent", &CongestionCounters::np_cnp_sent);
  add("np_ecn_marked_roce_packets", &CongestionCounters::np_ecn_marked_roce_packets);
  add("rp_cnp_handled", &CongestionCounters::rp_cnp_handled);
  add("rp_cnp_ignored", &CongestionCounters::rp_cnp_ignored);
}

void add_port(VirtualTree& tree, const std::string& folder, const HostSpec& host, std::size_t device,
              const protocol::QueryPort& port) {
  hca::Hca& hca = *host.devices[device];
  const auto add = [&](const char* name, auto show) {
    tree.add_fabric_file(folder + name, [&hca, show] { return show(port_of(hca)); });
  };
  using Port = protocol::QueryPort;
  add("lid", [](const Port& port) { return fmt::format("{:#x}\n", port.lid); });
  add("lid_mask_count", [](const Port& port) { return fmt::format("{}\n", port.lmc); });
  add("sm_lid", [](const Port& port) { return fmt::format("{:#x}\n", port.sm_lid); });
  add("sm_sl", [](const Port& port) { return fmt::format("{}\n", port.sm_sl); });
  add("state", [](const Port& port) { return port_state(port.state); });
  add("phys_state", [](const Port& port) { return physical_state(port.phys_state); });
  add("rate", rate);
  add("cap_mask", [](const Port& port) { return fmt::format("0x{:08x}\n", port.port_cap_flags); });
  tree.add_file(folder + "link_layer", hca.address().roce ? "Ethernet\n" : "InfiniBand\n");
  for (std::uint32_t i = 0; i < port.pkey_table_length; ++i) {
    tree.add_fabric_file(folder + "pkeys/" + std::to_string(i), [&hca, i] {
      protocol::QueryPkey query{};
      query.port = 1;
      query.index = i;
      return fmt::format("0x{:04x}\n", ask(hca, query).pkey);
    });
  }
  for (std::int32_t i = 0; i < port.gid_table_length; ++i) {
    const auto index = static_cast<std::uint32_t>(i);
    tree.add_fabric_file(folder + "gids/" + std::to_string(i),
                         [&hca, index] { return gid(gid_of(hca, index).gid); });
    // As in Linux, an empty entry has no attributes, and an entry of an InfiniBand port has no interface.
    const auto add_attribute = [&](const char* name, auto show) {
      tree.add_fabric_file(folder + "gid_attrs/" + name + "/" + std::to_string(i), [&hca, index, show] {
        const protocol::QueryGid entry = gid_of(hca, index);
        const bool is_empty = std::all_of(std::begin(entry.gid), std::end(entry.gid), [](auto byte) { return byte == 0; });
        return is_empty ? std::nullopt : show(entry);
      });
    };
    using Entry = protocol::QueryGid;
    add_attribute("types", [](const Entry& entry) -> std::optional<std::string> {
      return entry.gid_type == 2 ? "RoCE v2\n" : "IB/RoCE v1\n";
    });
    add_attribute("ndevs", [&host](const Entry& entry) -> std::optional<std::string> {
      const std::vector<Interface> all = interfaces_of(host);
      const auto found = std::ranges::find(all, static_cast<int>(entry.netdev_index), &Interface::index);
      return found == all.end() ? std::nullopt : std::optional(found->name + "\n");
    });
  }
  add_counters(tree, folder + "counters/", host, device);
  add_hw_counters(tree, folder + "hw_counters/", hca);
}

// The parts of a PCI device that libpci reads: configuration header and memory ranges.
void add_pci_device(VirtualTree& tree, const std::string& slot, std::uint32_t vendor, std::uint32_t device,
                    std::uint32_t device_class, std::size_t number) {
  constexpr std::uint64_t kFirstAddress = 0x8000'0000, kSize = 32ull << 20;
  constexpr std::uint32_t kMemory64 = 0xc;  // prefetchable, 64 bits
  const std::uint64_t address = kFirstAddress + number * kSize;
  std::string header(256, '\0');
  const auto put = [&](std::size_t at, std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) header[at + i] = static_cast<char>(value >> 8 * i);
  };
  constexpr std::uint64_t kMemoryAndBusMaster = 6;
  put(0x00, vendor, 2);
  put(0x02, device, 2);
  put(0x04, kMemoryAndBusMaster, 2);
  put(0x09, device_class, 3);
  put(0x10, address | kMemory64, 8);
  put(0x2c, vendor, 2);
  put(0x2e, device, 2);
  tree.add_file(slot + "/config", header);
  std::string resources = fmt::format("{:#018x} {:#018x} {:#018x}\n", address, address + kSize - 1, 0x14'220c);
  for (int i = 1; i < 13; ++i) resources += fmt::format("{0:#018x} {0:#018x} {0:#018x}\n", 0);
  tree.add_file(slot + "/resource", resources);
  tree.add_file(slot + "/irq", "0\n");
  tree.add_file(slot + "/revision", "0x00\n");
  tree.add_file(slot + "/vendor", fmt::format("{:#06x}\n", vendor));
  tree.add_file(slot + "/device", fmt::format("{:#06x}\n", device));
  tree.add_file(slot + "/subsystem_vendor", fmt::format("{:#06x}\n", vendor));
  tree.add_file(slot + "/subsystem_device", fmt::format("{:#06x}\n", device));
  tree.add_file(slot + "/class", fmt::format("{:#08x}\n", device_class));
}

// Data for an adapter's files. Queried when the tree is made: each query is recorded in the trace, and the
// records must not depend on the files that programs read.
struct AdapterFacts {
  protocol::DeviceAttributes attributes;
  protocol::QueryPort port;
};

void add_adapter(VirtualTree& tree, const HostSpec& host, std::size_t device, const AdapterFacts& facts) {
  hca::Hca& hca = *host.devices[device];
  const std::string bus = bus_address(device);
  const std::string& name = hca.device_name();
  const std::string uverbs = fmt::format("uverbs{}", device);
  const std::string slot = "/sys/devices/pci0000:00/" + bus, folder = slot + "/infiniband/" + name;
  const protocol::DeviceAttributes& attributes = facts.attributes;
  tree.add_link("/sys/bus/pci/devices/" + bus, "../../../devices/pci0000:00/" + bus);
  tree.add_link(slot + "/subsystem", "../../../bus/pci");
  // Open MPI selects UCX automatically if the driver's name begins with mlx.
  const std::string driver = "bus/pci/drivers/mlx5_core";
  tree.add_link(slot + "/driver", "../../../" + driver);
  tree.add_link("/sys/" + driver + "/" + bus, "../../../../devices/pci0000:00/" + bus);
  // The adapter's OUI stands for the PCI id of its maker, which has 16 bits.
  add_pci_device(tree, slot, attributes.vendor_id & 0xffff, attributes.vendor_part_id, hca.address().roce ? 0x02'0000 : 0x02'0700,
                 device);
  tree.add_file(slot + "/numa_node", "0\n");
  tree.add_file(slot + "/local_cpus", "1\n");
  tree.add_file(slot + "/local_cpulist", "0\n");

  tree.add_file(folder + "/node_type", "1: CA\n");
  tree.add_file(folder + "/node_guid", guid(attributes.node_guid));
  tree.add_file(folder + "/sys_image_guid", guid(attributes.sys_image_guid));
  tree.add_file(folder + "/node_desc", host.name + " " + name + "\n");
  tree.add_file(folder + "/fw_ver", std::string(attributes.firmware_version) + "\n");
  tree.add_file(folder + "/hw_rev", fmt::format("{:x}\n", attributes.hw_ver));
  tree.add_file(folder + "/hca_type", fmt::format("MT{}\n", attributes.vendor_part_id));
  tree.add_file(folder + "/board_id", "VERBATIM0001\n");
  tree.add_link(folder + "/device", "../../../" + bus);
  tree.add_link(folder + "/subsystem", "../../../../../class/infiniband");
  add_port(tree, folder + "/ports/1/", host, device, facts.port);
  tree.add_link("/sys/class/infiniband/" + name, "../../devices/pci0000:00/" + bus + "/infiniband/" + name);

  const std::string verbs = slot + "/infiniband_verbs/" + uverbs;
  constexpr unsigned kMajor = 231, kFirstVerbs = 192;  // from Linux' devices.txt
  const auto minor = kFirstVerbs + static_cast<unsigned>(device);
  tree.add_file(verbs + "/ibdev", name + "\n");
  tree.add_file(verbs + "/abi_version", "1\n");
  tree.add_file(verbs + "/dev", fmt::format("{}:{}\n", kMajor, minor));
  tree.add_link(verbs + "/device", "../../../" + bus);
  tree.add_link("/sys/class/infiniband_verbs/" + uverbs,
                "../../devices/pci0000:00/" + bus + "/infiniband_verbs/" + uverbs);
  tree.add_device("/dev/infiniband/" + uverbs, kMajor, minor);
}

// Path below /sys.
std::string place_of(const Interface& interface) {
  return interface.device ? fmt::format("devices/pci0000:00/{}/net/{}", bus_address(*interface.device), interface.name)
                          : "devices/virtual/net/" + interface.name;
}

// Attributes that `ip link` shows. eth0 belongs to the first adapter, which has the host's address.
void add_interface(VirtualTree& tree, const std::vector<Interface>& all, const Interface& interface) {
  constexpr unsigned kShown = IFF_UP | IFF_BROADCAST | IFF_LOOPBACK | IFF_MULTICAST;  // the kernel derives the other flags
  const std::string name = interface.name;
  const std::string place = place_of(interface);
  const std::string folder = "/sys/" + place;
  const std::pair<const char*, std::string> fields[] = {
      {"address", hardware_text(interface.hardware)},
      {"addr_len", std::to_string(interface.hardware.size())},
      {"broadcast", hardware_text(interface.broadcast)},
      {"carrier", "1"},
      {"dev_id", "0x0"},
      {"flags", fmt::format("{:#x}", interface.flags & kShown)},
      {"ifindex", std::to_string(interface.index)},
      {"iflink", std::to_string(interface.vlan ? interface.vlan->parent : interface.index)},
      {"mtu", std::to_string(interface.mtu)},
      {"operstate", interface.is_loopback() ? "unknown" : "up"},
      {"tx_queue_len", "1000"},
      {"type", std::to_string(interface.kind)}};
  for (const auto& [field, text] : fields) tree.add_file(folder + "/" + field, text + "\n");
  if (interface.device) tree.add_link(folder + "/device", "../../../" + bus_address(*interface.device));
  tree.add_link("/sys/class/net/" + name, "../../" + place);
  if (!interface.vlan) return;
  tree.add_file(folder + "/uevent", fmt::format("DEVTYPE=vlan\nINTERFACE={}\nIFINDEX={}\n", name, interface.index));
  const Interface& parent = all[static_cast<std::size_t>(interface.vlan->parent) - kLoopbackIndex];
  tree.add_link(folder + "/lower_" + parent.name, "../../../../" + place_of(parent));
  tree.add_link("/sys/" + place_of(parent) + "/upper_" + name, "../../../../../" + place);
}

// /sys, and the adapters' files in /dev.
void add_hardware(VirtualTree& tree, const HostSpec& host, const std::vector<AdapterFacts>& adapters,
                  const HugePagePool& huge_pages) {
  for (const char* folder :
       {"/sys/class/infiniband", "/sys/class/infiniband_verbs", "/sys/class/net", "/dev/infiniband",
        "/sys/bus/pci/devices", "/sys/bus/pci/drivers", "/sys/module", "/sys/fs", "/sys/block", "/sys/devices/pci0000:00"}) {
    tree.mark_complete(folder);
  }
  for (std::size_t device = 0; device < host.devices.size(); ++device) add_adapter(tree, host, device, adapters[device]);
  if (!host.devices.empty()) {
    tree.add_file("/sys/class/infiniband_verbs/abi_version", "6\n");
    for (std::size_t device = 0; device < host.port_management.size(); ++device) {
      const hca::Hca& hca = *host.devices[device];
      add_port_management(tree, {device, bus_address(device), hca.device_name(), !hca.address().roce});
    }
    constexpr unsigned kMiscellaneous = 10, kRdmaCm = 122;
    tree.add_device(kRdmaCmDevice, kMiscellaneous, kRdmaCm);
    const std::string folder = "/sys/devices/virtual/misc/rdma_cm";
    tree.add_file(folder + "/abi_version", fmt::format("{}\n", RDMA_USER_CM_ABI_VERSION));
    tree.add_file(folder + "/dev", fmt::format("{}:{}\n", kMiscellaneous, kRdmaCm));
    tree.add_link("/sys/class/misc/rdma_cm", "../../devices/virtual/misc/rdma_cm");
  }
  const std::vector<Interface> interfaces = interfaces_of(host);
  for (const Interface& interface : interfaces) add_interface(tree, interfaces, interface);
  add_huge_pages(tree, huge_pages);
}

}  // namespace

std::shared_ptr<const VirtualTree> make_common_tree(std::uint64_t timestamp_counter_hz) {
  // Consecutive runs of one process share it.
  constexpr std::size_t kMost = 64;
  thread_local std::map<std::uint64_t, std::shared_ptr<const VirtualTree>> known;
  if (known.size() >= kMost) known.clear();
  auto& common = known[timestamp_counter_hz];
  if (common == nullptr) {
    auto tree = std::make_shared<VirtualTree>();
    add_devices(*tree);
    add_processor(*tree, timestamp_counter_hz);
    common = std::move(tree);
  }
  return common;
}

std::shared_ptr<VirtualTree> make_host_tree(std::shared_ptr<const VirtualTree> common, const HostSpec& host,
                                            VirtualNode::Text hosts_file, const HugePagePool& huge_pages) {
  auto tree = std::make_shared<VirtualTree>(std::move(common));
  for (const char* path : protocol::kTrees) {
    if (virtual_content(path, host)) tree->add_file(path, [path, &host] { return *virtual_content(path, host); });
  }
  tree->add_file("/etc/hosts", std::move(hosts_file));
  std::vector<AdapterFacts> adapters;
  for (hca::Hca* const hca : host.devices) {
    const protocol::DeviceAttributes attributes = ask(*hca, protocol::QueryDevice{}).attributes;
    adapters.push_back({attributes, port_of(*hca)});
  }
  tree->add_when_asked({"/sys", "/dev/infiniband"}, [&host, &huge_pages, adapters = std::move(adapters)](VirtualTree& rest) {
    add_hardware(rest, host, adapters, huge_pages);
  });
  return tree;
}

}  // namespace verbatim::supervisor
