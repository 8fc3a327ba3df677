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

// Folders that each host has of its own, empty at the start; and the home folders of its programs.
inline constexpr const char* kOwnFolders[] = {"/tmp", "/var/tmp", "/dev/shm", "/run", "/dev/hugepages"};
inline constexpr const char* kHome = "/root";  // HOME of a program that is given none

inline constexpr std::uint32_t kPathRoom = 4096;  // PATH_MAX, with the zero at its end
inline constexpr std::uint32_t kMostPathRows = 256;
inline constexpr std::uint32_t kPathText = 1u << 17;

// What programs see at `seen` lies at `real` on the machine; both are absolute, without a slash at their end, and offsets
// into the table's text. Rows with a longer `seen` come first.
struct PathRow {
  std::uint32_t seen, seen_length;
  std::uint32_t real, real_length;
  std::uint32_t is_view;    // 1: `real` is a copy-on-write view of the machine's folder (folder_view.h)
  std::uint32_t is_shared;  // 1: programs work there, in the machine's folder itself
};

// A folder of the host's own lies in the folder of the run; what tells one machine or run from another there is made up.
// File times are virtual ones, kept by the file system that much earlier: what it has set by itself is later than all of
// them and counts as the time at which it is first looked at.
inline constexpr std::uint64_t kOwnDevice = 14;                  // st_dev
inline constexpr std::uint64_t kTreeDevice = 13;                 // of the trees
inline constexpr std::int64_t kFileTimeShift = 1'200'000'000;    // seconds
inline constexpr std::int64_t kFirstMachineTime = 1'600'000'000; // in the file system, since 1970
// kFileNumbersCall, a question to the supervisor: the inode numbers that programs see, and who owns the files. arguments:
// [0] count, [1] 1: the file is new. The mailbox holds FileNumber's.
struct FileNumber {
  std::uint64_t device, inode;  // as the kernel tells them; in the answer `inode` is the program's
  std::uint32_t user, group;    // only in the answer
};
// kFileOwnerCall: chown and its relatives. arguments: [0] user, [1] group, -1: leave it; [2] 1: the file is in a folder of the host's own,
// which keeps its owner; 0: it is the machine's. The mailbox holds its FileNumber, of the machine's with the owner as
// programs see it.

// kFileRightsCall: whether the thread may do what a call does to files in the host's own folders; takes no time. arguments: [0] number of the
// call, [1] its flags, of access and its relatives the mode, of what sets times 1: to the present; [2] 1: by the real user's
// rights. The mailbox holds a FileRights.
struct FileRights {
  // Of the machine's name of each file: where the folder ends from which the way leads on; 0: no folder of the host's own.
  std::uint32_t begin[2];
  char native[2][kPathRoom];
};

// kLockHolderCall: who holds a lock on a file. arguments: [0] the kernel's number of the process. Answered with its virtual one,
// or 0.

// Inode number of a path in a tree.
inline std::uint64_t number_of_path(const char* path, std::size_t size) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<unsigned char>(path[i])) * 0x100000001b3;
  return (hash & 0xffff'ffff'ffff) | 1;
}

struct PathView {
  // Where the program works when that is in a tree: the kernel's own working directory then means nothing. Empty: the
  // kernel knows.
  char working_folder[kPathRoom];
  std::uint32_t rows;
  // Not 0: what the host has of its own was not made yet, when the process began (Request::kFolders).
  std::uint32_t has_no_folders;
  std::uint32_t has_views;  // 1: of a row at least
  std::uint32_t has_written;  // 1: the process has changed something in a folder that is shared, and has said so
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
