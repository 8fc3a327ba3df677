#include "tools/verbatim/calls/call_text.h"

#include <string.h>

#include <cstdio>

namespace verbatim::cli {

std::string in_hex(std::uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "%#llx", static_cast<unsigned long long>(value));
  return value == 0 ? "0x0" : text;
}

std::string error_text(std::int64_t error) {
  const char* const name = error > 0 && error < 4096 ? strerrorname_np(static_cast<int>(error)) : nullptr;
  if (name == nullptr) return std::to_string(error);
  return std::string(name) + " (" + strerrordesc_np(static_cast<int>(error)) + ")";
}

std::string CallText::call() const {
  std::string text = name + "(";
  for (std::size_t i = 0; i < arguments.size(); ++i) text += (i == 0 ? "" : ", ") + arguments[i];
  return text + ")";
}

CallText text_of(const protocol::ReportedCall& call, const ReadMemory& read) {
  return call.kind == protocol::ReportedCallKind::kSystemCall ? text_of_system_call(call, read)
                                                      : text_of_verb(call, read);
}

void add_result(CallText& text, const protocol::ReportedCall& call, const ReadMemory& read) {
  call.kind == protocol::ReportedCallKind::kSystemCall ? add_result_of_system_call(text, call, read)
                                               : add_result_of_verb(text, call, read);
}

}  // namespace verbatim::cli
