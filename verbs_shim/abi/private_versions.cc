// Symbols of the private nodes, in the other versions; see private_symbols.h. All of them have one behaviour in all nodes.
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>

#include "verbs_shim/abi/private_symbols.h"

#define VERSION(symbol, name, number) __asm__(".symver " #symbol ", " #name "@IBVERBS_PRIVATE_" #number);
#define UP_TO_64(name) VERSION(other_##name, name, 57) VERSION(other_##name, name, 59) VERSION(other_##name, name, 64)
// For a name of all nodes.
#define FROM_57_TO_65(name) UP_TO_64(name) VERSION(other_##name, name, 65)

#define UNSUPPORTED_COMMAND(name)                         \
  VERBS_PRIVATE int other_##name() { return EOPNOTSUPP; } \
  FROM_57_TO_65(name)
VERBATIM_PRIVATE_COMMANDS(UNSUPPORTED_COMMAND)

#define NEWER_COMMAND(name)                               \
  VERBS_PRIVATE int other_##name() { return EOPNOTSUPP; } \
  UP_TO_64(name)
VERBATIM_NEWER_PRIVATE_COMMANDS(NEWER_COMMAND)

#define NO_POINTER(name)              \
  VERBS_PRIVATE void* other_##name() { \
    errno = EOPNOTSUPP;               \
    return nullptr;                   \
  }
NO_POINTER(ibv_dmabuf_heap_alloc)
UP_TO_64(ibv_dmabuf_heap_alloc)
NO_POINTER(ibv_dmabuf_heap_cc_shared_init)
UP_TO_64(ibv_dmabuf_heap_cc_shared_init)
NO_POINTER(_verbs_init_and_alloc_context)
FROM_57_TO_65(_verbs_init_and_alloc_context)
NO_POINTER(verbs_open_device)
FROM_57_TO_65(verbs_open_device)

#define NOTHING(name) VERBS_PRIVATE void other_##name() {}
NOTHING(ibv_dmabuf_heap_destroy)
UP_TO_64(ibv_dmabuf_heap_destroy)
NOTHING(ibv_dmabuf_heap_free)
UP_TO_64(ibv_dmabuf_heap_free)
NOTHING(verbs_set_ops)
FROM_57_TO_65(verbs_set_ops)
NOTHING(verbs_uninit_context)
FROM_57_TO_65(verbs_uninit_context)
NOTHING(verbs_init_cq)
FROM_57_TO_65(verbs_init_cq)
NOTHING(__verbs_log)
FROM_57_TO_65(__verbs_log)

VERBS_PRIVATE unsigned other___ioctl_final_num_attrs(unsigned attributes, void*) { return attributes; }
FROM_57_TO_65(__ioctl_final_num_attrs)

VERBS_PRIVATE int other_ibv_read_ibdev_sysfs_file() {
  errno = ENOENT;
  return -1;
}
FROM_57_TO_65(ibv_read_ibdev_sysfs_file)

extern "C" {
__attribute__((visibility("default"))) bool other_verbs_allow_disassociate_destroy = false;
}
FROM_57_TO_65(verbs_allow_disassociate_destroy)

// The private functions that programs call, of verbs_shim/verbs.
extern "C" int ibv_query_gid_type(ibv_context*, std::uint8_t, unsigned, unsigned*);
extern "C" const char* ibv_wr_opcode_str(ibv_wr_opcode);
VERBS_PRIVATE int other_ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned index, unsigned* type) {
  return ibv_query_gid_type(context, port, index, type);
}
FROM_57_TO_65(ibv_query_gid_type)
VERBS_PRIVATE const char* other_ibv_wr_opcode_str(ibv_wr_opcode opcode) { return ibv_wr_opcode_str(opcode); }
FROM_57_TO_65(ibv_wr_opcode_str)

// By which provider libraries of the time before rdma-core register.
VERBS_PRIVATE void other_ibv_register_driver(const char*, const void*) {}
__asm__(".symver other_ibv_register_driver, ibv_register_driver@IBVERBS_1.1");
