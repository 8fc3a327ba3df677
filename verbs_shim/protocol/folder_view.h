// Copy-on-write views of the folders that programs work in (Request::kView): a run that must not change them, nor see what runs
// beside it write, has a copy of its own below the folder of the run. The copy's folders and files are made when a path first
// leads to them; the supervisor keeps the state, the runtime asks it before the kernel gets a path (a PathRow with `is_view`).
#pragma once

#include <cstdint>

#include "verbs_shim/protocol/path_view.h"

namespace verbatim::protocol {

// arguments[0] of Request::kView.
enum class ViewStep : std::int64_t {
  // The mailbox holds a path in the copy. The folders on it are made, and what it ends at as arguments[1] says. Answered with
  // -errno, kUseCopy, or kUseOriginal and the path of the unchanged original in the mailbox.
  kPrepare,
  // The program has made the file whose FileNumber the mailbox holds.
  kMade,
  // The mailbox holds arguments[1] ViewedFile's, filled by the supervisor.
  kLook,
  // The program has read names in the folder whose FileNumber the mailbox holds.
  kListed,
  // The process has for the first time changed something in the machine's folder that it works in; the mailbox holds its path.
  kWritten,
};

// arguments[1] of kPrepare.
inline constexpr std::int64_t kViewLists = 1;    // a folder at the end of the path is about to be read, changed or removed
inline constexpr std::int64_t kViewOpens = 2;    // a file there is about to be opened
inline constexpr std::int64_t kViewWrites = 4;   // for writing, or its attributes are about to be changed
inline constexpr std::int64_t kViewEmpties = 8;  // for writing, and all of its content goes
inline constexpr std::int64_t kViewNames = 16;   // a name in the folder above is about to be made or removed

inline constexpr std::int64_t kUseCopy = 0, kUseOriginal = 1;

// Attributes of a file in a view that the copy's file system keeps otherwise than the original's.
struct ViewedFile {
  // of the copy, as the kernel reports them; `size` in bytes, `modified_ns` since 1970
  std::uint64_t device, inode;
  std::int64_t size, modified_ns;
  // in the answer: of the original, or made up for a file that the run has made
  std::uint64_t seen_device, seen_inode, links;
  std::int64_t blocks, block_size, changed_ns;
  std::int64_t seen_size;      // of folders; else as above
  std::uint32_t user, group;   // of the original
  std::uint32_t has_original;  // 1: there is one
  std::uint32_t is_unchanged;  // 1: the file is as the original is
};

}  // namespace verbatim::protocol
