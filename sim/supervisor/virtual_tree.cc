#include "sim/supervisor/virtual_tree.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <utility>

namespace verbatim::supervisor {

namespace {

constexpr int kMostLinks = 40;  // as Linux follows them

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start < path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    if (end > start) parts.push_back(path.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

std::uint32_t VirtualNode::mode() const {
  switch (kind) {
    case Kind::kFolder:
      return S_IFDIR | 0755;
    case Kind::kFile:
      return S_IFREG | 0444;
    case Kind::kLink:
      return S_IFLNK | 0777;
    case Kind::kDevice:
      return S_IFCHR | 0666;
  }
  return 0;
}

void VirtualTree::add(const std::string& path, VirtualNode node) {
  if (!path.empty()) add_folder(parent_of(path));
  nodes_.insert_or_assign(path, std::move(node));
}

void VirtualTree::add_file(const std::string& path, VirtualNode::Content content) {
  add(path, {VirtualNode::Kind::kFile, std::move(content), 0});
}

void VirtualTree::add_file(const std::string& path, std::string content) {
  add_file(path, [text = std::move(content)] { return text; });
}

void VirtualTree::add_link(const std::string& path, std::string target) {
  add(path, {VirtualNode::Kind::kLink, [text = std::move(target)] { return text; }, 0});
}

void VirtualTree::add_device(const std::string& path, unsigned major, unsigned minor) {
  add(path, {VirtualNode::Kind::kDevice, [] { return std::string(); }, makedev(major, minor)});
}

void VirtualTree::add_folder(const std::string& path) {
  if (path.empty() || nodes_.contains(path)) return;
  add_folder(parent_of(path));
  nodes_[path];
}

const VirtualNode* VirtualTree::find(const std::string& path) const {
  const auto it = nodes_.find(path);
  return it == nodes_.end() ? nullptr : &it->second;
}

std::vector<std::pair<std::string, VirtualNode::Kind>> VirtualTree::names(const std::string& folder) const {
  std::vector<std::pair<std::string, VirtualNode::Kind>> names;
  const std::string start = folder + "/";
  for (auto it = nodes_.lower_bound(start); it != nodes_.end() && it->first.starts_with(start); ++it) {
    std::string name = it->first.substr(start.size());
    if (name.find('/') == std::string::npos) names.emplace_back(std::move(name), it->second.kind);
  }
  return names;
}

std::string VirtualTree::resolve(const std::string& path, bool follow) const {
  std::vector<std::string> left = parts_of(path);
  std::string done;
  for (int links = 0; !left.empty();) {
    const std::string part = left.front();
    left.erase(left.begin());
    if (part == ".") continue;
    if (part == "..") {
      done = parent_of(done);
      continue;
    }
    const std::string next = done + "/" + part;
    const VirtualNode* node = find(next);
    const bool leads_on =
        node != nullptr && node->kind == VirtualNode::Kind::kLink && (follow || !left.empty());
    if (!leads_on || ++links > kMostLinks) {
      done = next;
      continue;
    }
    const std::string target = node->content();
    if (target.starts_with('/')) done.clear();
    std::vector<std::string> parts = parts_of(target);
    left.insert(left.begin(), parts.begin(), parts.end());
  }
  return done;
}

std::string normal_path(const std::string& path) { return VirtualTree().resolve(path, false); }

std::uint64_t number_of_path(const std::string& path) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return (hash & 0xffff'ffff'ffff) | 1;
}

}  // namespace verbatim::supervisor
