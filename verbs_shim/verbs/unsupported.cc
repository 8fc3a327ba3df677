// Features that this device lacks: every slot is filled and returns EOPNOTSUPP, as in a provider without the
// feature.
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
