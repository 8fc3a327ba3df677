// Devices: listed once and kept for the life of the process, so that the program's pointers stay valid.
#include <endian.h>
#include <stdlib.h>

#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {
namespace {

// Zeros in place of a vendor library's operations table; larger than any of theirs.
const unsigned char kNoOperations[512] = {};

Device* devices[protocol::ListDevices::kMaxDevices];
std::uint32_t device_count;
bool devices_known;

// Appends to a zero-terminated string in a buffer of `size` bytes, without the C library's locale.
void append(char* text, std::size_t size, const char* more) {
  std::size_t used = strnlen(text, size - 1);
  while (*more != 0 && used + 1 < size) text[used++] = *more++;
  text[used] = 0;
}

void append_number(char* text, std::size_t size, std::uint32_t number) {
  char digits[12];
  int at = sizeof(digits) - 1;
  digits[at] = 0;
  do {
    digits[--at] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  append(text, size, digits + at);
}

Device* make_device(const protocol::ListDevices::Device& found, std::uint32_t index) {
  auto* device = static_cast<Device*>(shim::allocate(sizeof(Device)));
  if (device == nullptr) return nullptr;
  device->base.node_type = IBV_NODE_CA;
  device->base.transport_type = IBV_TRANSPORT_IB;
  std::memcpy(device->base.name, found.name, sizeof(device->base.name) - 1);
  append(device->base.dev_name, sizeof(device->base.dev_name), "uverbs");
  append_number(device->base.dev_name, sizeof(device->base.dev_name), index);
  append(device->base.dev_path, sizeof(device->base.dev_path), "/sys/class/infiniband_verbs/");
  append(device->base.dev_path, sizeof(device->base.dev_path), device->base.dev_name);
  append(device->base.ibdev_path, sizeof(device->base.ibdev_path), "/sys/class/infiniband/");
  append(device->base.ibdev_path, sizeof(device->base.ibdev_path), device->base.name);
  device->foreign_ops = kNoOperations;
  device->node_guid = found.node_guid;
  device->index = index;
  device->port_count = found.port_count;
  device->vendor_id = found.vendor_id;
  return device;
}

int find_devices() {
  if (!shim::attached()) return ENOSYS;
  if (devices_known) return 0;
  protocol::ListDevices command{};
  if (int error = execute(command, 0)) return error;
  if (devices_known) return 0;  // another thread has listed them meanwhile
  std::uint32_t count = command.count;
  if (count > protocol::ListDevices::kMaxDevices) count = protocol::ListDevices::kMaxDevices;
  for (std::uint32_t i = 0; i < count; ++i) {
    devices[i] = make_device(command.devices[i], i);
    if (devices[i] == nullptr) return ENOMEM;
  }
  device_count = count;
  devices_known = true;
  return 0;
}

}  // namespace

ibv_device* device_by_index(std::uint32_t index) {
  return find_devices() == 0 && index < device_count ? &devices[index]->base : nullptr;
}

}  // namespace verbatim::verbs

using namespace verbatim;
using verbs::Device;

// The list is allocated with malloc: qperf releases it with free().
extern "C" ibv_device** ibv_get_device_list(int* num_devices) {
  if (num_devices != nullptr) *num_devices = 0;
  if (int error = verbs::find_devices()) return verbs::refuse(error);
  auto** list = static_cast<ibv_device**>(calloc(verbs::device_count + 1, sizeof(ibv_device*)));
  if (list == nullptr) return verbs::refuse(ENOMEM);
  for (std::uint32_t i = 0; i < verbs::device_count; ++i) list[i] = &verbs::devices[i]->base;
  if (num_devices != nullptr) *num_devices = static_cast<int>(verbs::device_count);
  return list;
}

extern "C" void ibv_free_device_list(ibv_device** list) { free(list); }

extern "C" const char* ibv_get_device_name(ibv_device* device) { return device->name; }

extern "C" __be64 ibv_get_device_guid(ibv_device* device) {
  return htobe64(reinterpret_cast<Device*>(device)->node_guid);
}

extern "C" int ibv_get_device_index(ibv_device* device) {
  return static_cast<int>(reinterpret_cast<Device*>(device)->index);
}

// A forked child gets no rings (they are not part of its memory), and no memory of the parent needs
// protection.
extern "C" int ibv_fork_init(void) { return 0; }
extern "C" ibv_fork_status ibv_is_fork_initialized(void) { return IBV_FORK_UNNEEDED; }
extern "C" __attribute__((visibility("default"))) int ibv_dontfork_range(void*, std::size_t) { return 0; }
extern "C" __attribute__((visibility("default"))) int ibv_dofork_range(void*, std::size_t) { return 0; }
