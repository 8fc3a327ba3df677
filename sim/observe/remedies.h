// What to do about a mistake, by what an adapter says of it: the classic confusions, a sentence each.
#pragma once

#include <string_view>

namespace verbatim::observe {

// Of a diagnosis ("… refuses RDMA Write First with PSN 100: there is no memory with rkey …", "ibv_modify_qp: EINVAL: …") or of
// what a check has found ("unsignaled: …"). Empty: nothing is known but the text itself.
std::string_view remedy_for(std::string_view text);

}  // namespace verbatim::observe
