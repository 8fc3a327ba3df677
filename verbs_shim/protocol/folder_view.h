// Copy-on-write views of working folders (Request::kView). A run that must not change the folders in which
// programs work, nor see concurrent changes, has a copy of its own below the run's folder. Folders and files
// of the copy are created when a path first leads to them. The supervisor keeps the state; the runtime asks
// it before it passes a path to the kernel (a PathRow with `is_view`).
#pragma once

#include <cstdint>

#include "verbs_shim/protocol/path_view.h"

namespace verbatim::protocol {

// arguments[0] of Request::kView.
enum class ViewStep : std::int64_t {
  // The mailbox holds a path in the copy. Its folders are created, and its last component as arguments[1]
  // requires. Result: -errno, kUseCopy, or kUseOriginal with the path of the unchanged original in the
  // mailbox.
  kPrepare,
  // The program has created the file whose FileNumber is in the mailbox.
  kMade,
  // The mailbox holds arguments[1] ViewedFile's, which the supervisor fills in.
  kLook,
  // The program has read names in the folder whose FileNumber is in the mailbox.
  kListed,
  // The process has made its first change in the machine's folder in which it works; the mailbox holds that
  // folder's path.
  kWritten,
};

// arguments[1] of kPrepare.
inline constexpr std::int64_t kViewLists = 1;    // the folder at the path is about to be read, changed or removed
inline constexpr std::int64_t kViewOpens = 2;    // the file at the path is about to be opened
inline constexpr std::int64_t kViewWrites = 4;   // for writing, or its attributes are about to be changed
inline constexpr std::int64_t kViewEmpties = 8;  // for writing, with its content discarded
inline constexpr std::int64_t kViewNames = 16;   // a name in the path's last folder is about to be created or removed

inline constexpr std::int64_t kUseCopy = 0, kUseOriginal = 1;

// Attributes of a file in a view in which the copy's file system differs from the original's.
struct ViewedFile {
  // The copy, as reported by the kernel; `size` in bytes, `modified_ns` since 1970.
  std::uint64_t device, inode;
  std::int64_t size, modified_ns;
  // Result: from the original, or generated for a file that the run has created.
  std::uint64_t seen_device, seen_inode, links;
  std::int64_t blocks, block_size, changed_ns;
  std::int64_t seen_size;      // for folders; else as above
  std::uint32_t user, group;   // owner of the original
  std::uint32_t has_original;  // 1: there is an original
  std::uint32_t is_unchanged;  // 1: the file equals the original
};

}  // namespace verbatim::protocol
