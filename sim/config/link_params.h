// A cable as the fabric wants it, from the topology's words.
#pragma once

#include "sim/config/spec.h"
#include "sim/fabric/channel.h"

namespace verbatim::config {

// Time of a byte, with the share of SKIP ordered sets.
ByteTime line_time_of(const LinkSpec& link);
// `link` is resolved.
fabric::LinkParams link_params_of(const LinkSpec& link, bool is_roce);

}  // namespace verbatim::config
