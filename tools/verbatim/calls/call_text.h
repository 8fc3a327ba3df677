// A call of a program in words, as strace shows them: as it begins, with what it reads from memory, and when
// it has ended, with what it has written there. An address that leads nowhere is shown as a number, and so is
// whatever is not decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verbs_shim/protocol/told_calls.h"

namespace verbatim::cli {

// Copies from the program's memory as much as is mapped there, from the beginning on; how many bytes.
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
  std::string result;  // " = 3", once it has ended
  std::string
      subject;  // of a call that says no more than those before it: "polls of CQ 129 in vain"; else empty

  std::string call() const;  // "close(3)"
};

CallText text_of(const protocol::ToldCall& call, const ReadMemory& read);
// `call`: as text_of() was given it, and ended. What the program has changed meanwhile is believed.
void add_result(CallText& text, const protocol::ToldCall& call, const ReadMemory& read);

// The parts of these two.
CallText text_of_system_call(const protocol::ToldCall& call, const ReadMemory& read);
void add_result_of_system_call(CallText& text, const protocol::ToldCall& call, const ReadMemory& read);
CallText text_of_verb(const protocol::ToldCall& call, const ReadMemory& read);
void add_result_of_verb(CallText& text, const protocol::ToldCall& call, const ReadMemory& read);

// "EAGAIN (Resource temporarily unavailable)"; a number for what is no errno.
std::string error_text(std::int64_t error);

}  // namespace verbatim::cli
