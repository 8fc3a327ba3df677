// What a program's file says of the libraries it needs.
#pragma once

#include <string>
#include <vector>

namespace verbatim::supervisor {

struct DynamicNames {
  std::vector<std::string> needed;  // libraries, in their order (DT_NEEDED)
  std::string all;                  // of symbols and libraries, each with a zero behind it

  // Built with AddressSanitizer: it calls its runtime (gcc), or has it within and lends it to its libraries.
  bool has_address_sanitizer() const;
  // The library that has to come before all others, or the program ends at once: AddressSanitizer's runtime. Empty: none.
  std::string library_to_be_first() const;
};

// Of the program at `path`; empty when it is no such file of this machine's kind, or its tables do not lie within it.
DynamicNames dynamic_names_of(const std::string& path);

}  // namespace verbatim::supervisor
