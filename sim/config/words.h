// Text parsing shared by the command line and the JSON files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim::config {

// Splits into words as a POSIX shell does (XCU 2.2, 2.3): blanks separate, '…' "…" and \ quote. Unquoted
// characters that a shell would expand or run ($ ` * ? | & ; < > ( ) and a leading ~ or #) are refused,
// because no shell runs the command. On error nullopt, and a sentence in `problem`.
std::optional<std::vector<std::string>> split_words(std::string_view text, std::string* problem);

// Host byte order; four decimal numbers without leading zeros.
std::optional<std::uint32_t> parse_ipv4(std::string_view text);
struct Ipv4WithPrefix {
  std::uint32_t address, prefix_bits;
};
// "192.168.1.1", or "192.168.1.1/24" with 8 to 31 bits.
std::optional<Ipv4WithPrefix> parse_ipv4_with_prefix(std::string_view text, std::uint32_t usual_bits);
std::string format_ipv4(std::uint32_t address);

// signal_number("SIGSEGV") is 11; 0 if unknown.
int signal_number(std::string_view name);
std::string signal_name(int number);

// Joins words such that split_words returns them.
std::string join_words(const std::vector<std::string>& words);

}  // namespace verbatim::config
