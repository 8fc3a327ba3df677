// What is the same in two failures of one kind.
#pragma once

#include <string>
#include <string_view>

namespace verbatim::explore {

// `text` with every number and address in it replaced by "#", so that "QP 72 at 103.2 us" and "QP 73 at 99 us" are the same.
// Letters around a number stay.
std::string without_numbers(std::string_view text);

}  // namespace verbatim::explore
