// Reasons of drops as files for programs name them.
#pragma once

#include <cstdint>
#include <string>

namespace verbatim::observe {

// Value `reason` of a packet-dropped record in words and hyphens, "input-buffer"; its number if it names none.
std::string drop_name(std::uint64_t reason);
// Whether something is lost: stray acknowledgements and frames that nobody asked for are not.
bool is_loss(std::uint64_t reason);

}  // namespace verbatim::observe
