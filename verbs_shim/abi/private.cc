// Symbols of the private nodes, in the version of the version script.
#include <cerrno>
#include <cstdint>

#include "verbs_shim/abi/private_symbols.h"

#define UNSUPPORTED_COMMAND(name) \
  VERBS_PRIVATE int name() { return EOPNOTSUPP; }
VERBATIM_PRIVATE_COMMANDS(UNSUPPORTED_COMMAND)
VERBATIM_NEWER_PRIVATE_COMMANDS(UNSUPPORTED_COMMAND)

// Memory of dma-buf heaps for confidential guests: no machine of a simulation is one.
VERBS_PRIVATE void* ibv_dmabuf_heap_alloc() {
  errno = EOPNOTSUPP;
  return nullptr;
}
VERBS_PRIVATE void* ibv_dmabuf_heap_cc_shared_init() { return ibv_dmabuf_heap_alloc(); }
VERBS_PRIVATE void ibv_dmabuf_heap_destroy(void*) {}
VERBS_PRIVATE void ibv_dmabuf_heap_free(void*, std::uint64_t, int) {}

// Called by the constructors of provider libraries, whose drivers find no device. Each node has its own name for it.
VERBS_PRIVATE void verbs_register_driver_34(const void*) {}
VERBS_PRIVATE void verbs_register_driver_57(const void*) {}
VERBS_PRIVATE void verbs_register_driver_59(const void*) {}
VERBS_PRIVATE void verbs_register_driver_64(const void*) {}
VERBS_PRIVATE void verbs_register_driver_65(const void*) {}

VERBS_PRIVATE void verbs_set_ops(void*, const void*) {}
VERBS_PRIVATE void verbs_uninit_context(void*) {}
VERBS_PRIVATE void verbs_init_cq(void*, void*, void*, void*) {}
VERBS_PRIVATE void __verbs_log(void*, std::uint32_t, const char*, ...) {}
VERBS_PRIVATE unsigned __ioctl_final_num_attrs(unsigned attributes, void*) { return attributes; }

VERBS_PRIVATE void* _verbs_init_and_alloc_context(void*, int, std::uint64_t, void*, std::uint32_t) {
  errno = EOPNOTSUPP;
  return nullptr;
}

VERBS_PRIVATE void* verbs_open_device(void*, void*) {
  errno = EOPNOTSUPP;
  return nullptr;
}

VERBS_PRIVATE int ibv_read_ibdev_sysfs_file(char*, std::uint64_t, void*, const char*, ...) {
  errno = ENOENT;
  return -1;
}

extern "C" {
__attribute__((visibility("default"))) bool verbs_allow_disassociate_destroy = false;
}
