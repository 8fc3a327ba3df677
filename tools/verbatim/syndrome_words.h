// Text of an AETH syndrome in the rows of `verbatim report`.
#pragma once

#include <cstdint>
#include <string>

namespace verbatim::cli {

// Sets RunPicture's flags unless it is an ACK.
std::string words_of_syndrome(std::uint8_t syndrome, std::uint32_t* flags);

}  // namespace verbatim::cli
