#include "sim/supervisor/trees/management_tree.h"

#include <fmt/format.h>
#include <rdma/ib_user_mad.h>

namespace verbatim::supervisor {

std::string umad_device(std::size_t device) { return fmt::format("/dev/infiniband/umad{}", device); }
std::string issm_device(std::size_t device) { return fmt::format("/dev/infiniband/issm{}", device); }

void add_port_management(VirtualTree& tree, const ManagedPort& port) {
  constexpr unsigned kMajor = 231, kFirstIssm = 64;  // from Linux' devices.txt
  const std::string place = "devices/pci0000:00/" + port.bus + "/infiniband_mad/";
  tree.mark_complete("/sys/class/infiniband_mad");
  tree.add_file("/sys/class/infiniband_mad/abi_version", fmt::format("{}\n", IB_USER_MAD_ABI_VERSION));
  const auto add = [&](const std::string& path, unsigned minor) {
    const std::string device = path.substr(path.rfind('/') + 1), folder = "/sys/" + place + device;
    tree.add_file(folder + "/ibdev", port.name + "\n");
    tree.add_file(folder + "/port", "1\n");
    tree.add_file(folder + "/dev", fmt::format("{}:{}\n", kMajor, minor));
    tree.add_link(folder + "/device", "../../../" + port.bus);
    tree.add_link("/sys/class/infiniband_mad/" + device, "../../" + place + device);
    tree.add_device(path, kMajor, minor);
  };
  const auto number = static_cast<unsigned>(port.device);
  add(umad_device(port.device), number);
  if (port.has_subnet_management) add(issm_device(port.device), kFirstIssm + number);
}

}  // namespace verbatim::supervisor
