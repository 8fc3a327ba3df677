// Buffers that the library allocates (ibv_alloc_buf(3)), and the registration call that takes them and every other kind
// of memory (ibv_reg_mr_ex). Headers before rdma-core 64 declare none of these functions and structs.
#include <cstdlib>

#include "verbs_shim/verbs/objects.h"

struct ibv_buf;
struct ibv_dmah;

namespace verbatim::verbs {
namespace {

struct Buffer {
  static constexpr Kind kKind = Kind::kBuffer;
  Kind kind;
  ibv_pd* pd;  // in which it was allocated, and may be registered
  void* address;
  std::size_t size;
};

// Bits of MrAttributes::comp_mask (enum ibv_mr_init_attr_mask).
enum : std::uint64_t {
  kHasIova = 1 << 0,
  kHasAddress = 1 << 1,
  kHasFd = 1 << 2,
  kHasFdOffset = 1 << 3,
  kHasDmah = 1 << 4,
  kHasBuffer = 1 << 5,
};

// struct ibv_mr_init_attr of rdma-core 65. Callers built with an earlier version pass a shorter one: a field is read only
// if its bit is set.
struct MrAttributes {
  std::size_t length;
  int access;
  std::uint64_t comp_mask;
  std::uint64_t iova;
  void* address;
  int fd;
  std::uint64_t fd_offset;
  ibv_dmah* dmah;
  ibv_buf* buffer;
};
static_assert(sizeof(MrAttributes) == 72 && offsetof(MrAttributes, buffer) == 64);

constexpr std::size_t kPage = 4096;

// Registers what `attributes` describe, as rdma-core does for a provider without operations of its own for it.
ibv_mr* register_described(ibv_pd* pd, const MrAttributes& attributes, const char* verb) {
  const std::uint64_t mask = attributes.comp_mask;
  if ((mask & kHasBuffer) != 0) {
    const auto* buffer = object<Buffer>(attributes.buffer, verb);
    if (buffer == nullptr || buffer->pd != pd || (mask & kHasAddress) == 0 || (mask & (kHasFd | kHasFdOffset)) != 0) {
      return refuse(refuse_with(EINVAL, "%s: a buffer of ibv_alloc_buf() is registered by its address, in the protection "
                                        "domain in which it was allocated", verb));
    }
    // An address below the buffer gives a huge offset.
    const std::uint64_t offset =
        reinterpret_cast<std::uint64_t>(attributes.address) - reinterpret_cast<std::uint64_t>(buffer->address);
    if (offset > buffer->size || attributes.length > buffer->size - offset) {
      return refuse(refuse_with(EINVAL, "%s: the range is not within the buffer of %zu bytes", verb, buffer->size));
    }
  }
  if ((mask & ~std::uint64_t{kHasIova | kHasAddress | kHasFd | kHasFdOffset | kHasBuffer}) != 0) {
    return refuse(refuse_with(EOPNOTSUPP, "%s: the adapter has no DMA handles (ibv_alloc_dmah)", verb));
  }
  if ((mask & kHasFd) != 0) {
    if ((mask & kHasAddress) != 0 || (mask & kHasFdOffset) == 0 || (mask & kHasIova) == 0) {
      return refuse(refuse_with(EINVAL, "%s: a dmabuf is registered with its offset and an IOVA, without an address", verb));
    }
    return ibv_reg_dmabuf_mr(pd, attributes.fd_offset, attributes.length, attributes.iova, attributes.fd, attributes.access);
  }
  if ((mask & kHasAddress) == 0 || (mask & kHasFdOffset) != 0) {
    return refuse(refuse_with(EINVAL, "%s: memory is registered by its address, or by a dmabuf's descriptor", verb));
  }
  return register_memory(pd, attributes.address, attributes.length,
                         (mask & kHasIova) != 0 ? attributes.iova : reinterpret_cast<std::uint64_t>(attributes.address),
                         static_cast<unsigned>(attributes.access));
}

}  // namespace
}  // namespace verbatim::verbs

using namespace verbatim;
using verbs::Buffer;

extern "C" {
#pragma GCC visibility push(default)

ibv_mr* ibv_reg_mr_ex(ibv_pd* pd, struct ibv_mr_init_attr* attributes) {
  VERBATIM_ENTER_VERB();
  return verbs::register_described(pd, *reinterpret_cast<const verbs::MrAttributes*>(attributes), "ibv_reg_mr_ex");
}

ibv_mr* ibv_reg_buf_mr(ibv_pd* pd, ibv_buf* buffer, void* address, std::size_t length, int access) {
  VERBATIM_ENTER_VERB();
  verbs::MrAttributes attributes{};
  attributes.length = length;
  attributes.access = access;
  attributes.comp_mask = verbs::kHasAddress | verbs::kHasBuffer;
  attributes.address = address;
  attributes.buffer = buffer;
  return verbs::register_described(pd, attributes, "ibv_reg_buf_mr");
}

// From the program's heap, as in rdma-core.
void* ibv_alloc_buf(ibv_pd* pd, std::size_t size, ibv_buf** buffer) {
  if (verbs::object<verbs::Pd>(pd) == nullptr) return verbs::refuse(EINVAL);
  auto* made = verbs::allocate_object<Buffer>();
  if (made == nullptr) return nullptr;
  if (const int error = ::posix_memalign(&made->address, verbs::kPage, size)) {
    verbs::release_object(made);
    return verbs::refuse(error);
  }
  made->pd = pd;
  made->size = size;
  *buffer = reinterpret_cast<ibv_buf*>(made);
  return made->address;
}

void ibv_free_buf(ibv_buf* buffer) {
  auto* gone = verbs::object<Buffer>(buffer);
  if (gone == nullptr) return;
  ::free(gone->address);
  verbs::release_object(gone);
}

// No buffer of this library is backed by a dmabuf.
int ibv_export_buf_dmabuf_fd(ibv_buf* buffer) {
  errno = verbs::object<Buffer>(buffer) == nullptr ? EINVAL : ENODATA;
  return -1;
}

#pragma GCC visibility pop
}  // extern "C"
