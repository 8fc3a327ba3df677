// What a program's file says of the libraries it needs.
#pragma once

#include <string>
#include <vector>

namespace verbatim::supervisor {

struct DynamicNames {
  std::vector<std::string> needed;  // libraries, in their order (DT_NEEDED)
  std::string all;                  // of symbols and libraries, each with a zero behind it

  // Programs built with a sanitizer call its runtime (gcc), or have it within and lend it to their libraries (clang).
  bool has_address_sanitizer() const { return has_symbol("__asan_init"); }
  bool has_thread_sanitizer() const { return has_symbol("__tsan_init"); }
  // The library that has to come before all others, or the program ends at once: AddressSanitizer's runtime. Empty: none.
  std::string needed_first() const;

 private:
  bool has_symbol(const std::string& name) const;
};

// Of the program at `path`; empty when it is no such file of this machine's kind, or its tables do not lie within it.
DynamicNames dynamic_names_of(const std::string& path);

}  // namespace verbatim::supervisor
