// Files that every simulated host has of its own: /proc, /sys, /dev and some of /etc. A tree maps paths to
// nodes. A file's content is produced at each read from its beginning, as in Linux.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/supervisor/machine/path_names.h"

namespace verbatim::supervisor {

struct VirtualNode {
  enum class Kind : std::uint8_t { kFolder, kFile, kLink, kDevice };
  using Text = std::shared_ptr<const std::string>;  // shared by all readers
  using Content = std::function<Text()>;

  Kind kind = Kind::kFolder;
  Content content;             // of a file (nullptr result: read fails with EINVAL), or the target of a link
  std::uint64_t device = 0;    // st_rdev of a device
  bool is_machines = false;    // a device of the machine, equal everywhere: the kernel opens it
  int open_error = 0;          // errno of opening it
  int descriptor = -1;         // of a link to an open file: the number in process `owner`
  std::uint32_t owner = 0;
  bool is_of_fabric = false;   // the content depends on the fabric, such as port counters
  std::string written_at;      // of a writable file: native path to which the process writes
  // Stores the text of one write to the file, whose value the simulator keeps; null: no such file. Returns 0 or an errno.
  std::function<int(std::string_view text)> store;
  bool is_writable() const { return !written_at.empty() || store != nullptr; }
  std::uint32_t mode() const;  // st_mode
};

class VirtualTree {
 public:
  // Contains all of `base`, which many trees share, and the added nodes.
  explicit VirtualTree(std::shared_ptr<const VirtualTree> base = nullptr) : base_(std::move(base)) {}

  // Functions that add a node also add its parent folders.
  void add_file(const std::string& path, std::function<std::string()> content);
  void add_file(const std::string& path, std::string content);
  void add_file(const std::string& path, VirtualNode::Text content);
  // A file whose content the fabric changes independently of the host's programs; nullopt: read fails with
  // EINVAL.
  void add_fabric_file(const std::string& path, std::function<std::optional<std::string>()> content);
  void add_link(const std::string& path, std::string target);
  VirtualNode& add_device(const std::string& path, unsigned major, unsigned minor);
  void add_folder(const std::string& path);
  // Removes a node without children that was added to this tree itself.
  void remove(const std::string& path) { nodes_.erase(path); }
  // Defers the nodes at `places` and below to the first lookup there, because few programs look. `make` is
  // called at most once, and must not add nodes that this tree already has.
  void add_when_asked(std::vector<std::string> places, std::function<void(VirtualTree&)> make);
  // The tree contains all files below `folder`: a missing one gives ENOENT without a warning.
  void mark_complete(const std::string& folder);
  // Whether `path` or its nearest marked parent is complete or absent.
  bool is_complete(const std::string& path) const;
  // Exception for a folder within a complete one.
  void mark_incomplete(const std::string& folder) { incomplete_.insert(folder); }
  // `path` does not exist, as on many machines: ENOENT without a warning.
  void mark_absent(const std::string& path) { complete_.insert(path); }

  const VirtualNode* find(const std::string& path) const;
  // Names and kinds of nodes in a folder, in byte order.
  std::vector<std::pair<std::string, VirtualNode::Kind>> names(const std::string& folder) const;

  // A node that was added to this tree itself, for changes; nullptr: none.
  VirtualNode* at(const std::string& path);

 private:
  bool is_marked(const std::string& path, std::set<std::string> VirtualTree::*marks) const;

  void add(const std::string& path, VirtualNode node);
  void add_names(const std::string& folder, std::map<std::string, VirtualNode::Kind>& names) const;
  // A deferred part.
  struct Part {
    std::vector<std::string> places;
    std::function<void(VirtualTree&)> make;
    std::unique_ptr<VirtualTree> made;  // nullptr: not yet made
  };
  static const VirtualTree& made(Part& part);

  std::shared_ptr<const VirtualTree> base_;
  mutable std::vector<Part> parts_;
  std::map<std::string, VirtualNode> nodes_;
  std::set<std::string> complete_, incomplete_;
};

// Result of resolving a path through the trees.
struct TreeWalk {
  enum class End : std::uint8_t {
    kNode,        // `node`, at `path`
    kMissing,     // no node at `path`
    kOut,         // outside the trees, at `path`; links in the machine's files are not resolved
    kDescriptor,  // an open file: `descriptor` of process `owner`
    kNoFolder,    // a component follows a file that is not a folder (ENOTDIR)
    kLoop,        // too many links (ELOOP)
  };
  End end = End::kMissing;
  bool entered = false;  // the path has entered a tree
  std::string path;
  std::shared_ptr<const VirtualTree> tree;
  const VirtualNode* node = nullptr;
  int descriptor = -1;
  std::uint32_t owner = 0;
};

// Resolves the absolute path `path`; a link in the last component is followed if `follow`. `tree_at` returns
// the tree that contains a path, or nullptr.
TreeWalk walk_trees(const std::string& path, bool follow,
                    const std::function<std::shared_ptr<const VirtualTree>(const std::string&)>& tree_at);

// Inode number of a path, equal in all runs.
std::uint64_t number_of_path(const std::string& path);

}  // namespace verbatim::supervisor
