// Meaning of paths on a simulated host. Some lead to trees that the simulator provides. Some folders are
// stored at another path of the machine. All others are the machine's. Every process region holds one such
// table.
#pragma once

#include <cstdint>
#include <cstring>

namespace verbatim::protocol {

// Trees of the host: the supervisor answers all calls on these paths and below.
inline constexpr const char* kTrees[] = {
    "/proc",           "/sys",           "/dev",
    "/etc/hosts",      "/etc/hostname",  "/etc/machine-id", "/etc/resolv.conf", "/etc/localtime",
    "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf"};

// Folders of each host, empty at the start, in addition to the home folders of its programs.
inline constexpr const char* kOwnFolders[] = {"/tmp", "/var/tmp", "/dev/shm", "/run", "/dev/hugepages"};
inline constexpr const char* kHome = "/root";  // default HOME of a program

inline constexpr std::uint32_t kPathRoom = 4096;  // PATH_MAX, with the terminating zero
inline constexpr std::uint32_t kMostPathRows = 256;
inline constexpr std::uint32_t kPathText = 1u << 17;

// Path `seen` of programs is stored at path `real` of the machine. Both are absolute without a trailing
// slash, and offsets into the table's text. Rows are ordered by descending length of `seen`.
struct PathRow {
  std::uint32_t seen, seen_length;
  std::uint32_t real, real_length;
  std::uint32_t is_view;    // 1: `real` is a copy-on-write view of the machine's folder (folder_view.h)
  std::uint32_t is_shared;  // 1: programs use the machine's folder itself
};

// Attributes of files in the host's own folders, independent of machine and run. File times are virtual; the
// file system stores them kFileTimeShift earlier. A time that the file system has set itself is later than
// all of these, and is replaced by the virtual time of the first stat.
inline constexpr std::uint64_t kOwnDevice = 14;                  // st_dev
inline constexpr std::uint64_t kTreeDevice = 13;                 // st_dev in trees
inline constexpr std::int64_t kFileTimeShift = 1'200'000'000;    // seconds
inline constexpr std::int64_t kFirstMachineTime = 1'600'000'000; // seconds since 1970, in the file system
// kFileNumbersCall: asks for inode numbers as programs see them, and owners. arguments: [0] count, [1] 1: the
// files are new, [2] 1: one new file, which gets the group of its folder, the second FileNumber. The mailbox holds
// FileNumber structures. Returns 0; with [2], 1 if the thread is not in that group and lacks CAP_FSETID.
struct FileNumber {
  std::uint64_t device, inode;  // st_dev and st_ino of the machine; in the answer, `inode` is the program's
  std::uint32_t user, group;    // in the answer only
};
// kFileOwnerCall: chown(2) and related calls. arguments: [0] user, [1] group, -1: unchanged; [2] 1: a file in
// one of the host's own folders, whose owner is stored; 0: a file of the machine. The mailbox holds its
// FileNumber; for a file of the machine, with the owner as programs see it.

// kFileRightsCall: asks whether the thread has the rights for a call on files in the host's own folders;
// takes no virtual time. arguments: [0] number of the call; [1] its flags, for access(2) its mode, for calls
// that set times 1 if to the current time; [2] 1: use the real user's rights. The mailbox holds a FileRights. Returns
// 0, -errno, or kClearsSetGroupId: chmod(2) is permitted, but clears S_ISGID.
inline constexpr long kClearsSetGroupId = 1;
struct FileRights {
  // For each file, length of the prefix of its path on the machine that is the host's folder; 0: not in such
  // a folder.
  std::uint32_t begin[2];
  char native[2][kPathRoom];
};

// kLockHolderCall: asks for the holder of a file lock. arguments: [0] native process id. Returns the virtual
// one, or 0.

// kLockWaitCall: the thread has tried to get a record lock (F_SETLKW); takes no virtual time. arguments: [0] native id of the
// process that holds it; 0: the thread does not wait, or no longer. Returns 0 or -EDEADLK.

// Inode number of a path in a tree.
inline std::uint64_t number_of_path(const char* path, std::size_t size) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<unsigned char>(path[i])) * 0x100000001b3;
  return (hash & 0xffff'ffff'ffff) | 1;
}

struct PathView {
  // The program's working folder if it is in a tree; the native one is then meaningless. Empty: the native
  // one is valid.
  char working_folder[kPathRoom];
  std::uint32_t rows;
  // Not 0: the host's folders did not exist when the process began (Request::kFolders).
  std::uint32_t has_no_folders;
  std::uint32_t has_views;  // 1: at least one row is a view
  std::uint32_t has_written;  // 1: the process has changed and reported a file in a shared folder
  PathRow row[kMostPathRows];
  char text[kPathText];
};

// True if `path` is `folder` or below it.
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
