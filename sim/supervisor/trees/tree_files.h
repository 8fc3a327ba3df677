// Open files and folders of a host's own trees.
#pragma once

#include <fcntl.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/supervisor/files/virtual_file.h"
#include "sim/supervisor/trees/virtual_tree.h"

namespace verbatim::supervisor {

// An open file with a path in a tree and a position.
class TreeFile : public VirtualFile {
 public:
  explicit TreeFile(std::string path) : path_(std::move(path)) {}
  const std::string& tree_path() const override { return path_; }
  std::uint32_t readiness() const override { return POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM; }
  std::string describe() const override { return path_; }
  int access_mode() const override;
  std::uint64_t position() const { return position_; }
  std::int64_t seek(std::int64_t offset, int whence) override;

 protected:
  virtual std::uint64_t size() const = 0;
  std::uint64_t position_ = 0;

 private:
  std::string path_;
};

// A regular file. Its content is produced anew at each read from the beginning.
class ContentFile final : public TreeFile {
 public:
  // `access`: O_RDONLY, or O_WRONLY or O_RDWR if the node can be written.
  ContentFile(std::string path, const VirtualNode& node, int access = O_RDONLY)
      : TreeFile(std::move(path)), content_(node.content), store_(node.store), access_(access),
        is_of_fabric_(node.is_of_fabric) {}
  int access_mode() const override { return access_; }
  bool reaches_beyond_host() const override { return is_of_fabric_; }
  bool can_be_polled() const override;
  std::uint32_t mode() const override;
  IoResult read(std::size_t limit, std::vector<std::byte>& bytes) override;
  std::int64_t read_at(std::uint64_t position, std::size_t limit, std::vector<std::byte>& bytes) override;
  IoResult read_async(std::uint64_t position, std::size_t limit, std::vector<std::byte>& bytes) override {
    return read_at(position, limit, bytes);
  }
  IoResult write(std::span<const std::byte> bytes) override;

 private:
  std::uint64_t size() const override { return text_ == nullptr ? 0 : text_->size(); }
  VirtualNode::Content content_;
  std::function<int(std::string_view)> store_;
  int access_;
  bool is_of_fabric_;
  VirtualNode::Text text_;
};

class FolderFile final : public TreeFile {
 public:
  using Names = std::vector<std::pair<std::string, VirtualNode::Kind>>;
  FolderFile(std::string path, std::function<Names()> list)
      : TreeFile(std::move(path)), list_(std::move(list)) {}
  std::uint32_t mode() const override;
  bool can_be_polled() const override { return false; }
  IoResult read(std::size_t limit, std::vector<std::byte>& bytes) override;
  std::int64_t entries(std::size_t limit, std::vector<std::byte>& bytes) override;

 private:
  std::uint64_t size() const override { return names_.size(); }
  std::function<Names()> list_;
  Names names_;
};

}  // namespace verbatim::supervisor
