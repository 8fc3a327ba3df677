// Names of drop reasons in machine-readable files.
#pragma once

#include <cstdint>
#include <string>

namespace verbatim::observe {

// Name of the value `reason` of a packet-dropped record, "input-buffer"; the number if it is unknown.
std::string drop_name(std::uint64_t reason);
// Whether data is lost. Dropped stray acknowledgements and unsolicited frames are no loss.
bool is_loss(std::uint64_t reason);

}  // namespace verbatim::observe
