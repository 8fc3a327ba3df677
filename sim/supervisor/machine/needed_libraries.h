// Dynamic section of a program or library: libraries, symbols and symbol versions.
#pragma once

#include <string>
#include <vector>

namespace verbatim::supervisor {

struct NeededVersion {
  std::string soname, version;  // "libibverbs.so.1", "IBVERBS_1.1"
};

struct DynamicNames {
  std::vector<std::string> needed;  // libraries in their order (DT_NEEDED)
  std::string run_path;             // DT_RUNPATH, or DT_RPATH without it: folders separated by ':'
  std::vector<NeededVersion> needed_versions;  // without weak ones, which the loader accepts if they are missing
  std::vector<std::string> defined_versions;   // of a library, including its own name
  std::string all;                  // names of symbols and libraries, each zero-terminated

  // Programs built with a sanitizer call its runtime (gcc), or contain and export it (clang).
  bool has_address_sanitizer() const { return has_symbol("__asan_init"); }
  bool has_thread_sanitizer() const { return has_symbol("__tsan_init"); }
  // Library that must be preloaded first, or the program ends at once: AddressSanitizer's
  // runtime. Empty: none.
  std::string needed_first() const;

 private:
  bool has_symbol(const std::string& name) const;
};

// Empty if `path` is no 64-bit ELF file, or its tables are not inside it.
DynamicNames dynamic_names_of(const std::string& path);

}  // namespace verbatim::supervisor
