// What an AETH syndrome says, as the rows of `verbatim report` have it.
#pragma once

#include <cstdint>
#include <string>

namespace verbatim::cli {

// Sets RunPicture's flags of those that are no ACK.
std::string words_of_syndrome(std::uint8_t syndrome, std::uint32_t* flags);

}  // namespace verbatim::cli
