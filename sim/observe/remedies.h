// Remedies for common mistakes, selected by the text of a diagnosis: one sentence each.
#pragma once

#include <string_view>

namespace verbatim::observe {

// The remedy for a diagnosis ("… refuses RDMA Write First with PSN 100: there is no memory with rkey …",
// "ibv_modify_qp: EINVAL: …") or for a check's finding ("unsignaled: …"). Empty if none is known.
std::string_view remedy_for(std::string_view text);

}  // namespace verbatim::observe
