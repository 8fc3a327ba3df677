// Comparison of failures: the part of a message that is common to failures of one kind.
#pragma once

#include <string>
#include <string_view>

namespace verbatim::explore {

// `text` with every number and address replaced by "#": "QP 72 at 103.2 us" and "QP 73 at 99 us" become
// equal. Letters adjacent to a number stay.
std::string without_numbers(std::string_view text);

}  // namespace verbatim::explore
