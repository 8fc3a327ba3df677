// What paths mean on a simulated host. Some lead to trees that the simulator makes up; some folders lie elsewhere on
// the machine than where programs see them; all others are the machine's. One such table lies in every process region.
#pragma once

#include <cstdint>
#include <cstring>

namespace verbatim::protocol {

// Trees of the host's own: the supervisor answers for everything at and below them.
inline constexpr const char* kTrees[] = {
    "/proc",           "/sys",           "/dev",
    "/etc/hosts",      "/etc/hostname",  "/etc/machine-id", "/etc/resolv.conf", "/etc/localtime",
    "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf"};

inline constexpr std::uint32_t kPathRoom = 4096;  // PATH_MAX, with the zero at its end
inline constexpr std::uint32_t kMostPathRows = 256;
inline constexpr std::uint32_t kPathText = 1u << 17;

// What programs see at `seen` lies at `real` on the machine; both are absolute, without a slash at their end, and offsets
// into the table's text. Rows with a longer `seen` come first.
struct PathRow {
  std::uint32_t seen, seen_length;
  std::uint32_t real, real_length;
};

struct PathView {
  // Where the program works when that is in a tree: the kernel's own working directory then means nothing. Empty: the
  // kernel knows.
  char working_folder[kPathRoom];
  std::uint32_t rows;
  std::uint32_t reserved;
  PathRow row[kMostPathRows];
  char text[kPathText];
};

// Whether `path` is `folder` or below it.
inline bool path_is_below(const char* path, const char* folder, std::size_t folder_length) {
  return std::strncmp(path, folder, folder_length) == 0 && (path[folder_length] == 0 || path[folder_length] == '/');
}

inline bool path_is_in_tree(const char* path) {
  for (const char* const tree : kTrees) {
    if (path_is_below(path, tree, std::strlen(tree))) return true;
  }
  return false;
}

}  // namespace verbatim::protocol
