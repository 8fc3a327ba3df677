#include "sim/supervisor/trees/virtual_tree.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "sim/core/check.h"
#include "verbs_shim/protocol/path_view.h"

namespace verbatim::supervisor {

namespace {

constexpr int kMostLinks = 40;  // MAXSYMLINKS of Linux

bool holds(const std::vector<std::string>& places, const std::string& path) {
  return std::ranges::any_of(places, [&](const std::string& place) { return is_below(path, place); });
}

bool leads_to(const std::vector<std::string>& places, const std::string& folder) {
  return std::ranges::any_of(places, [&](const std::string& place) { return is_below(place, folder); });
}

VirtualNode::Text shared(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

}  // namespace

std::uint32_t VirtualNode::mode() const {
  switch (kind) {
    case Kind::kFolder:
      return S_IFDIR | 0755;
    case Kind::kFile:
      return S_IFREG | (is_writable() ? 0644 : 0444);
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

void VirtualTree::add_file(const std::string& path, std::function<std::string()> content) {
  add(path, {VirtualNode::Kind::kFile, [make = std::move(content)] { return shared(make()); }, 0});
}

void VirtualTree::add_file(const std::string& path, std::string content) { add_file(path, shared(std::move(content))); }

void VirtualTree::add_file(const std::string& path, VirtualNode::Text content) {
  add(path, {VirtualNode::Kind::kFile, [text = std::move(content)] { return text; }, 0});
}

void VirtualTree::add_fabric_file(const std::string& path, std::function<std::optional<std::string>()> content) {
  const auto text = [make = std::move(content)] {
    std::optional<std::string> made = make();
    return made ? shared(std::move(*made)) : nullptr;
  };
  VirtualNode node{VirtualNode::Kind::kFile, text, 0};
  node.is_of_fabric = true;
  add(path, std::move(node));
}

void VirtualTree::add_link(const std::string& path, std::string target) {
  add(path, {VirtualNode::Kind::kLink, [text = shared(std::move(target))] { return text; }, 0});
}

VirtualNode& VirtualTree::add_device(const std::string& path, unsigned major, unsigned minor) {
  add(path, {VirtualNode::Kind::kDevice, [] { return shared(""); }, makedev(major, minor)});
  return nodes_.at(path);
}

VirtualNode* VirtualTree::at(const std::string& path) {
  const auto it = nodes_.find(path);
  return it == nodes_.end() ? nullptr : &it->second;
}

void VirtualTree::add_when_asked(std::vector<std::string> places, std::function<void(VirtualTree&)> make) {
  parts_.push_back({std::move(places), std::move(make), nullptr});
}

const VirtualTree& VirtualTree::made(Part& part) {
  if (part.made == nullptr) {
    part.made = std::make_unique<VirtualTree>();
    part.make(*part.made);
    // A node outside of the part's places would be found only after the part was made.
    for (const auto& entry : part.made->nodes_) CHECK(leads_to(part.places, entry.first) || holds(part.places, entry.first));
    for (const std::string& path : part.made->complete_) CHECK(holds(part.places, path));
  }
  return *part.made;
}

void VirtualTree::mark_complete(const std::string& folder) {
  add_folder(folder);
  complete_.insert(folder);
}

bool VirtualTree::is_complete(const std::string& path) const {
  for (std::string above = path; !above.empty(); above = parent_of(above)) {
    if (is_marked(above, &VirtualTree::complete_)) return true;
    if (is_marked(above, &VirtualTree::incomplete_)) return false;
  }
  return false;
}

bool VirtualTree::is_marked(const std::string& path, std::set<std::string> VirtualTree::*marks) const {
  if ((this->*marks).contains(path)) return true;
  for (Part& part : parts_) {
    if (holds(part.places, path) && made(part).is_marked(path, marks)) return true;
  }
  return base_ != nullptr && base_->is_marked(path, marks);
}

void VirtualTree::add_folder(const std::string& path) {
  if (path.empty() || nodes_.contains(path)) return;
  add_folder(parent_of(path));
  nodes_[path];
}

const VirtualNode* VirtualTree::find(const std::string& path) const {
  if (const auto it = nodes_.find(path); it != nodes_.end()) return &it->second;
  for (Part& part : parts_) {
    if (!holds(part.places, path)) continue;
    if (const VirtualNode* const node = made(part).find(path)) return node;
  }
  return base_ == nullptr ? nullptr : base_->find(path);
}

void VirtualTree::add_names(const std::string& folder, std::map<std::string, VirtualNode::Kind>& names) const {
  const std::string start = folder + "/";
  for (auto it = nodes_.lower_bound(start); it != nodes_.end() && it->first.starts_with(start); ++it) {
    std::string name = it->first.substr(start.size());
    if (name.find('/') == std::string::npos) names.emplace(std::move(name), it->second.kind);
  }
  for (Part& part : parts_) {
    if (leads_to(part.places, folder) || holds(part.places, folder)) made(part).add_names(folder, names);
  }
  if (base_ != nullptr) base_->add_names(folder, names);
}

std::vector<std::pair<std::string, VirtualNode::Kind>> VirtualTree::names(const std::string& folder) const {
  std::map<std::string, VirtualNode::Kind> names;
  add_names(folder, names);
  return {names.begin(), names.end()};
}

TreeWalk walk_trees(const std::string& path, bool follow,
                    const std::function<std::shared_ptr<const VirtualTree>(const std::string&)>& tree_at) {
  std::deque<std::string> left;
  const auto take = [&left](const std::string& text) {
    std::vector<std::string> parts = parts_of(text);
    // A trailing slash requires a folder.
    if (text.ends_with('/')) parts.push_back(".");
    left.insert(left.begin(), parts.begin(), parts.end());
  };
  take(path);
  TreeWalk walk;
  const auto out = [&](const std::string& at) {
    walk.end = TreeWalk::End::kOut;
    walk.path = at;
    for (const std::string& part : left) walk.path += "/" + part;
    if (walk.path.empty()) walk.path.push_back('/');
    return walk;
  };
  std::string done;
  for (int links = 0; !left.empty();) {
    const std::string part = left.front();
    left.pop_front();
    if (part == ".") continue;
    if (part == "..") {
      done = parent_of(done);
      continue;
    }
    const std::string next = done + "/" + part;
    walk.tree = tree_at(next);
    if (walk.tree == nullptr) {
      if (walk.entered) return out(next);
      done = next;
      continue;
    }
    walk.entered = true;
    const VirtualNode* const node = walk.tree->find(next);
    walk.path = next;
    if (node == nullptr) {
      for (const std::string& rest : left) walk.path += "/" + rest;
      return walk;
    }
    if (node->kind == VirtualNode::Kind::kLink && (follow || !left.empty())) {
      if (++links > kMostLinks) {
        walk.end = TreeWalk::End::kLoop;
        return walk;
      }
      if (node->descriptor >= 0 && left.empty()) {
        walk.end = TreeWalk::End::kDescriptor;
        walk.descriptor = node->descriptor;
        walk.owner = node->owner;
        return walk;
      }
      const std::string target = *node->content();
      if (target.starts_with('/')) done.clear();
      take(target);
      continue;
    }
    if (node->kind != VirtualNode::Kind::kFolder && !left.empty()) {
      walk.end = TreeWalk::End::kNoFolder;
      return walk;
    }
    done = next;
  }
  walk.tree = done.empty() ? nullptr : tree_at(done);
  if (walk.tree == nullptr) return out(done);
  walk.path = done;
  walk.node = walk.tree->find(done);
  walk.end = walk.node == nullptr ? TreeWalk::End::kMissing : TreeWalk::End::kNode;
  return walk;
}

std::uint64_t number_of_path(const std::string& path) {
  return protocol::number_of_path(path.data(), path.size());
}

}  // namespace verbatim::supervisor
