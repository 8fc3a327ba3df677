// Folders, files and links that every simulated host has of its own: /proc, /sys, /dev and some of /etc. A tree is
// made of paths; a file's content is asked for each time it is read from its beginning, as from the
// Linux kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/supervisor/machine/path_names.h"

namespace verbatim::supervisor {

struct VirtualNode {
  enum class Kind : std::uint8_t { kFolder, kFile, kLink, kDevice };
  using Text = std::shared_ptr<const std::string>;  // however many read it
  using Content = std::function<Text()>;

  Kind kind = Kind::kFolder;
  Content content;             // of a file, nullptr: reading it fails with EINVAL now; where a link leads
  std::uint64_t device = 0;    // st_rdev of a device
  bool is_machines = false;    // a device of the machine's that is the same everywhere: the kernel opens it
  int open_error = 0;          // what opening it fails with
  int descriptor = -1;         // of a link that stands for what process `owner` has open under that number
  std::uint32_t owner = 0;
  bool is_of_fabric = false;   // a file's content follows what happens in the fabric, as counters of a port do
  std::string written_at;      // of a file that can be written: its name for the kernel in the process
  std::uint32_t mode() const;  // as stat(2) tells it
};

class VirtualTree {
 public:
  // Has all that `base` has, and what is added; base is shared by many.
  explicit VirtualTree(std::shared_ptr<const VirtualTree> base = nullptr) : base_(std::move(base)) {}

  // The folders above are made with it.
  void add_file(const std::string& path, std::function<std::string()> content);
  void add_file(const std::string& path, std::string content);
  void add_file(const std::string& path, VirtualNode::Text content);
  // As add_file() of what the fabric changes while the host's programs do nothing; std::nullopt: reading it fails with EINVAL.
  void add_fabric_file(const std::string& path, std::function<std::optional<std::string>()> content);
  void add_link(const std::string& path, std::string target);
  VirtualNode& add_device(const std::string& path, unsigned major, unsigned minor);
  void add_folder(const std::string& path);
  // Of what was added to this tree itself; nothing lies below it.
  void remove(const std::string& path) { nodes_.erase(path); }
  // What lies at `places` and below them is made when somebody looks there for the first time: few programs do. `make` is called
  // at most once, and adds nothing that this tree has already.
  void add_when_asked(std::vector<std::string> places, std::function<void(VirtualTree&)> make);
  // Nothing is missing below `folder`: what is not there is not there on such a host either.
  void mark_complete(const std::string& folder);
  bool is_complete(const std::string& path) const;
  // Except below `folder`, which is in a complete one.
  void mark_incomplete(const std::string& folder) { incomplete_.insert(folder); }
  // `path` is not there, as on many machines: nobody is told.
  void mark_absent(const std::string& path) { complete_.insert(path); }

  const VirtualNode* find(const std::string& path) const;
  // Names in a folder, in the order of their bytes, and what each is.
  std::vector<std::pair<std::string, VirtualNode::Kind>> names(const std::string& folder) const;

  // Of those that were added to this tree itself.
  VirtualNode* at(const std::string& path);

 private:
  bool is_marked(const std::string& path, std::set<std::string> VirtualTree::*marks) const;

  void add(const std::string& path, VirtualNode node);
  void add_names(const std::string& folder, std::map<std::string, VirtualNode::Kind>& names) const;
  // What is made when asked for.
  struct Part {
    std::vector<std::string> places;
    std::function<void(VirtualTree&)> make;
    std::unique_ptr<VirtualTree> made;  // once, the same whenever that is
  };
  static const VirtualTree& made(Part& part);

  std::shared_ptr<const VirtualTree> base_;
  mutable std::vector<Part> parts_;
  std::map<std::string, VirtualNode> nodes_;
  std::set<std::string> complete_, incomplete_;
};

// Where a path leads through the trees.
struct TreeWalk {
  enum class End : std::uint8_t {
    kNode,        // `node`, at `path`
    kMissing,     // nothing is at `path`
    kOut,         // out of the trees: it is the same as `path`, which says nothing of links in the machine's files
    kDescriptor,  // what process `owner` has open as `descriptor`
    kNoFolder,    // more follows behind a file
    kLoop,        // too many links
  };
  End end = End::kMissing;
  bool entered = false;  // a tree, on the way
  std::string path;
  std::shared_ptr<const VirtualTree> tree;
  const VirtualNode* node = nullptr;
  int descriptor = -1;
  std::uint32_t owner = 0;
};

// `path` (absolute) begins with a tree; the last part's link is followed if `follow`. `tree_at` gives the tree that a
// path is in, or nullptr.
TreeWalk walk_trees(const std::string& path, bool follow,
                    const std::function<std::shared_ptr<const VirtualTree>(const std::string&)>& tree_at);

// Inode number of a path: the same in every run.
std::uint64_t number_of_path(const std::string& path);

}  // namespace verbatim::supervisor
