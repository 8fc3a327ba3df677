// Folders, files and links that every simulated host has of its own: /sys, /dev/infiniband and most of /proc.
// A tree is made of paths; a file's content is asked for each time it is read from its beginning, as from the
// Linux kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace verbatim::supervisor {

struct VirtualNode {
  enum class Kind : std::uint8_t { kFolder, kFile, kLink, kDevice };
  using Content = std::function<std::string()>;

  Kind kind = Kind::kFolder;
  Content content;             // of a file; where a link leads
  std::uint64_t device = 0;    // st_rdev of a device
  std::uint32_t mode() const;  // as stat(2) tells it
};

class VirtualTree {
 public:
  // The folders above are made with it.
  void add_file(const std::string& path, VirtualNode::Content content);
  void add_file(const std::string& path, std::string content);
  void add_link(const std::string& path, std::string target);
  void add_device(const std::string& path, unsigned major, unsigned minor);
  void add_folder(const std::string& path);

  const VirtualNode* find(const std::string& path) const;
  // Names in a folder, in the order of their bytes, and what each is.
  std::vector<std::pair<std::string, VirtualNode::Kind>> names(const std::string& folder) const;

  // Where `path` (absolute) leads when links are followed, the last part's too if `follow`; "." and ".." are
  // gone. A path that leaves the tree or does not exist is told as it is.
  std::string resolve(const std::string& path, bool follow) const;

 private:
  void add(const std::string& path, VirtualNode node);
  std::map<std::string, VirtualNode> nodes_;
};

// The path without "//", "/./" and "/../" and without a slash at its end.
std::string normal_path(const std::string& path);
// Inode number of a path: the same in every run.
std::uint64_t number_of_path(const std::string& path);

}  // namespace verbatim::supervisor
