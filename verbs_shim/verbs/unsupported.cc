// Features that this device lacks: every slot is filled and returns EOPNOTSUPP, as in a provider without the
// feature. Exported functions do the same.
#include <type_traits>

#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {
namespace {

// A function of any signature that fails, returning a pointer or an errno value.
template <typename Result, typename... Arguments>
struct Unsupported {
  static Result call(Arguments...) {
    errno = EOPNOTSUPP;
    if constexpr (std::is_pointer_v<Result>) {
      return nullptr;
    } else {
      return EOPNOTSUPP;
    }
  }
};

template <typename Result, typename... Arguments>
void fill(Result (**slot)(Arguments...)) {
  *slot = Unsupported<Result, Arguments...>::call;
}

void placeholder() {}

}  // namespace

void fill_unsupported(verbs_context* verbs) {
  fill(&verbs->modify_flow_action_esp);
  fill(&verbs->destroy_flow_action);
  fill(&verbs->create_flow_action_esp);
  fill(&verbs->modify_qp_rate_limit);
  verbs->ABI_placeholder1 = placeholder;
  verbs->ABI_placeholder2 = placeholder;
}

}  // namespace verbatim::verbs

// Headers before rdma-core 65 declare neither these functions nor their structs: processing hints for PCI Express
// (ibv_alloc_dmah(3)), device memory as a dmabuf (ibv_dm_export_dmabuf_fd(3)), and completion counters
// (ibv_create_comp_cntr(3)).
struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_comp_cntr;
struct ibv_comp_cntr_init_attr;
struct ibv_comp_cntr_caps;
struct ibv_qp_attach_comp_cntr_attr;

using verbatim::verbs::refuse;
using verbatim::verbs::refuse_with;

extern "C" {
#pragma GCC visibility push(default)

ibv_dmah* ibv_alloc_dmah(ibv_context*, ibv_dmah_init_attr*) {
  return refuse(refuse_with(EOPNOTSUPP, "ibv_alloc_dmah: the adapter has no processing hints for PCI Express"));
}
int ibv_dealloc_dmah(ibv_dmah*) { return EOPNOTSUPP; }

int ibv_dm_export_dmabuf_fd(ibv_dm*) {
  errno = refuse_with(EOPNOTSUPP, "ibv_dm_export_dmabuf_fd: nothing on a simulated host exports memory as a dmabuf");
  return -1;
}

int _ibv_query_comp_cntr_caps(ibv_context*, ibv_comp_cntr_caps* capabilities, std::size_t size) {
  std::memset(static_cast<void*>(capabilities), 0, size);
  return EOPNOTSUPP;
}
ibv_comp_cntr* ibv_create_comp_cntr(ibv_context*, ibv_comp_cntr_init_attr*) {
  return refuse(refuse_with(EOPNOTSUPP, "ibv_create_comp_cntr: the adapter has no completion counters"));
}
int ibv_destroy_comp_cntr(ibv_comp_cntr*) { return EOPNOTSUPP; }
int ibv_set_comp_cntr(ibv_comp_cntr*, std::uint64_t) { return EOPNOTSUPP; }
int ibv_set_err_comp_cntr(ibv_comp_cntr*, std::uint64_t) { return EOPNOTSUPP; }
int ibv_inc_comp_cntr(ibv_comp_cntr*, std::uint64_t) { return EOPNOTSUPP; }
int ibv_inc_err_comp_cntr(ibv_comp_cntr*, std::uint64_t) { return EOPNOTSUPP; }
int ibv_read_comp_cntr(ibv_comp_cntr*, std::uint64_t*) { return EOPNOTSUPP; }
int ibv_read_err_comp_cntr(ibv_comp_cntr*, std::uint64_t*) { return EOPNOTSUPP; }
int ibv_qp_attach_comp_cntr(ibv_qp*, ibv_comp_cntr*, ibv_qp_attach_comp_cntr_attr*) { return EOPNOTSUPP; }

#pragma GCC visibility pop
}  // extern "C"
