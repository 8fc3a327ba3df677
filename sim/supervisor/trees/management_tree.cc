#include "sim/supervisor/trees/management_tree.h"

#include <fmt/format.h>
#include <rdma/ib_user_mad.h>

namespace verbatim::supervisor {

void add_port_management(VirtualTree& tree, const std::string& bus, const std::string& name, bool has_subnet_management) {
  constexpr unsigned kMajor = 231, kFirstIssm = 64;  // as Linux's devices.txt gives them
  const std::string place = "devices/pci0000:00/" + bus + "/infiniband_mad/";
  tree.mark_complete("/sys/class/infiniband_mad");
  tree.add_file("/sys/class/infiniband_mad/abi_version", fmt::format("{}\n", IB_USER_MAD_ABI_VERSION));
  const auto add = [&](const char* device, unsigned minor) {
    const std::string folder = "/sys/" + place + device;
    tree.add_file(folder + "/ibdev", name + "\n");
    tree.add_file(folder + "/port", "1\n");
    tree.add_file(folder + "/dev", fmt::format("{}:{}\n", kMajor, minor));
    tree.add_link(folder + "/device", "../../../" + bus);
    tree.add_link(std::string("/sys/class/infiniband_mad/") + device, "../../" + place + device);
    tree.add_device(std::string("/dev/infiniband/") + device, kMajor, minor);
  };
  add("umad0", 0);
  if (has_subnet_management) add("issm0", kFirstIssm);
}

}  // namespace verbatim::supervisor
