// Converts a cable's spec to the fabric's parameters.
#pragma once

#include "sim/config/spec.h"
#include "sim/fabric/channel.h"

namespace verbatim::config {

// Time of one byte, including the share of SKIP ordered sets.
ByteTime line_time_of(const LinkSpec& link);
// `link` is resolved.
fabric::LinkParams link_params_of(const LinkSpec& link, bool is_roce);

}  // namespace verbatim::config
