// The text of a program's call, in the style of strace: at its start with the data that it reads from memory,
// and at its end with the data that it has written there. Invalid addresses, and data that is not decoded,
// are shown as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verbs_shim/protocol/reported_calls.h"

namespace verbatim::cli {

// Copies the mapped beginning of a range of the program's memory; returns the number of bytes.
using ReadMemory = std::function<std::size_t(std::uint64_t address, std::span<std::byte> to)>;

template <class T>
std::optional<T> value_at(const ReadMemory& read, std::uint64_t address) {
  T value;
  if (address == 0 || read(address, std::as_writable_bytes(std::span(&value, 1))) != sizeof value)
    return std::nullopt;
  return value;
}

std::string in_hex(std::uint64_t value);

struct CallText {
  std::string name;
  std::vector<std::string> arguments;
  std::string result;  // " = 3", after the call's end
  std::string
      subject;  // text for repeated calls: "polls of CQ 129 in vain"; empty if the call cannot be combined with others

  std::string call() const;  // "close(3)"
};

CallText text_of(const protocol::ReportedCall& call, const ReadMemory& read);
// `call` is the call given to text_of(), after its end. Memory is read again, so it may show changes made by
// the program.
void add_result(CallText& text, const protocol::ReportedCall& call, const ReadMemory& read);

// Used by the two functions above.
CallText text_of_system_call(const protocol::ReportedCall& call, const ReadMemory& read);
void add_result_of_system_call(CallText& text, const protocol::ReportedCall& call, const ReadMemory& read);
CallText text_of_verb(const protocol::ReportedCall& call, const ReadMemory& read);
void add_result_of_verb(CallText& text, const protocol::ReportedCall& call, const ReadMemory& read);

// "EAGAIN (Resource temporarily unavailable)"; a number if it is not an errno.
std::string error_text(std::int64_t error);

}  // namespace verbatim::cli
