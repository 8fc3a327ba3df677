#include "sim/supervisor/machine/host_paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "sim/core/check.h"
#include "sim/supervisor/machine/path_names.h"
#include "verbs_shim/protocol/huge_pages.h"

namespace verbatim::supervisor {

int OwnFolders::make() const {
  if (folders.empty() || access(folders.front().real.c_str(), F_OK) == 0) return 0;
  for (const Folder& folder : folders) {
    if (mkdir(folder.real.c_str(), 0700) != 0 || chmod(folder.real.c_str(), folder.mode) != 0) return errno;
  }
  const timespec times[2] = {{time_seconds, 0}, {time_seconds, 0}};
  for (const Folder& folder : folders) utimensat(AT_FDCWD, folder.real.c_str(), times, AT_SYMLINK_NOFOLLOW);
  return 0;
}

void HostPaths::make_folders() const {
  const int error = folders_ == nullptr ? 0 : folders_->make();
  if (error != 0 && on_refused_folder_) on_refused_folder_(error);
}

std::string HostPaths::copy_in_view(const std::string& native) const {
  return views_ == nullptr ? "" : views_->copy_of(native);
}

// The view of "/" does not contain what a row stores elsewhere, such as the host's own folders.
std::string HostPaths::copy_of_seen(const std::string& seen) const {
  const auto* const row = row_of_seen(seen);
  const bool is_elsewhere = row != nullptr && row->first != row->second && !machines_.contains(row->first);
  return is_elsewhere && views_all() ? "" : copy_in_view(native(seen));
}

std::string HostPaths::executable(const std::string& seen) const {
  if (!views_all()) return native_in_use(seen, protocol::kViewOpens);
  const std::string native = follow(seen, true, protocol::kViewOpens).native;
  return views_->executable(seen, native);
}

HostPaths::Followed HostPaths::follow(const std::string& path, bool follows_last, std::int64_t use) const {
  constexpr int kMostLinks = 40;  // the limit of Linux
  const bool has_slash = path.size() > 1 && path.ends_with('/');
  std::vector<std::string> rest = parts_of(path);
  std::ranges::reverse(rest);
  std::string done;
  int links = 0;
  const auto with_rest = [&] {
    std::string whole = done;
    for (; !rest.empty(); rest.pop_back()) whole += "/" + rest.back();
    return whole;
  };
  while (!rest.empty()) {
    const std::string part = std::move(rest.back());
    rest.pop_back();
    if (part == ".") continue;
    const std::string before = done;
    if (part == "..") {
      done = parent_of(done);
      continue;
    }
    done += "/" + part;
    if (in_tree(done)) {
      const std::string whole = with_rest();
      return {0, whole, whole};
    }
    if (rest.empty() && !follows_last && !has_slash) break;
    char target[PATH_MAX];
    const ssize_t size = readlink(native_in_use(done, 0).c_str(), target, sizeof target);
    if (size < 0 && errno == EINVAL) continue;
    if (size < 0) {
      done = with_rest();
      break;
    }
    if (++links > kMostLinks) return {ELOOP, done, done};
    const std::string link(target, static_cast<std::size_t>(size));
    done = link.starts_with('/') ? "" : before;
    const std::vector<std::string> parts = parts_of(link);
    rest.insert(rest.end(), parts.rbegin(), parts.rend());
  }
  return {0, done.empty() ? "/" : done, native_in_use(done, use)};
}

std::string HostPaths::native_in_use(const std::string& seen, std::int64_t use) const {
  std::string real = native(seen);
  if (const std::string copy = copy_of_seen(seen); !copy.empty()) return views_->prepare(copy, use).path;
  if (folders_ == nullptr) return real;
  // Deeper paths cannot exist before their folder does.
  const std::string above = real.substr(0, real.rfind('/'));
  const auto is_folder = [&](const OwnFolders::Folder& folder) { return folder.real == real || folder.real == above; };
  if (std::ranges::any_of(folders_->folders, is_folder)) make_folders();
  return real;
}

void HostPaths::add(const std::string& seen, const std::string& real) {
  std::erase_if(rows_, [&](const auto& row) { return row.first == seen; });
  rows_.emplace_back(seen, real);
  std::ranges::stable_sort(rows_, [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
}

const std::pair<std::string, std::string>* HostPaths::row_of_seen(const std::string& path) const {
  const auto it = std::ranges::find_if(rows_, [&](const auto& row) { return is_below(path, row.first); });
  return it == rows_.end() ? nullptr : &*it;
}

std::string HostPaths::native(const std::string& seen) const {
  const auto* const row = row_of_seen(seen);
  return row == nullptr ? seen : row->second + seen.substr(row->first.size());
}

std::string HostPaths::seen(const std::string& native) const {
  for (const char* const mark : protocol::kHugeFileMark) {
    if (native.starts_with(mark)) return "/memfd:" + native.substr(std::strlen(mark));
  }
  if (const std::string original = views_ == nullptr ? "" : views_->original_of(native); !original.empty())
    return this->seen(original);
  const std::pair<std::string, std::string>* found = nullptr;
  for (const auto& row : rows_) {
    if (is_below(native, row.second) && (found == nullptr || row.second.size() > found->second.size())) found = &row;
  }
  return found == nullptr ? native : found->first + native.substr(found->second.size());
}

bool HostPaths::in_tree(const std::string& path) const {
  return protocol::path_is_in_tree(path.c_str()) && row_of_seen(path) == nullptr;
}

// Rows for processes: the host's own rows, translated into views, and one for each viewed or
// shared working folder.
std::vector<HostPaths::Row> HostPaths::table() const {
  std::vector<Row> table;
  for (const auto& [seen, real] : rows_) {
    const bool is_elsewhere = views_all() && seen != real && !machines_.contains(seen);
    const std::string copy = is_elsewhere ? "" : copy_in_view(real);
    const bool is_shared = std::ranges::find(shared_, real) != shared_.end();
    table.push_back({seen, copy.empty() ? real : copy, !copy.empty(), is_shared});
  }
  for (const std::string& folder : views_ != nullptr ? views_->originals() : shared_) {
    if (in_tree(folder) || native(folder) != folder) continue;
    const auto* const row = row_of_seen(folder);
    if (row != nullptr && row->first == folder) continue;
    const std::string copy = copy_in_view(folder);
    table.push_back({folder, copy.empty() ? folder : copy, !copy.empty(), copy.empty()});
  }
  if (views_all()) {
    for (const std::string& root : views_->files().roots()) table.push_back({"", root, true, false});
  }
  std::ranges::stable_sort(table, [](const Row& a, const Row& b) { return a.seen.size() > b.seen.size(); });
  return table;
}

bool HostPaths::fit() const {
  const std::vector<Row> rows = table();
  std::size_t text = 0;
  for (const Row& row : rows) text += row.seen.size() + 1 + row.real.size() + 1;
  return rows.size() <= protocol::kMostPathRows && text <= protocol::kPathText;
}

void HostPaths::store(ProcessRegion& region, const std::string& working_folder) const {
  protocol::PathView& view = region.path_view();
  CHECK(fit());
  const std::size_t size = std::min<std::size_t>(working_folder.size(), protocol::kPathRoom - 1);
  std::memcpy(view.working_folder, working_folder.data(), size);
  view.working_folder[size] = 0;
  std::uint32_t used = 0;
  const auto put = [&](const std::string& text) {
    std::memcpy(view.text + used, text.c_str(), text.size() + 1);
    const std::uint32_t at = used;
    used += static_cast<std::uint32_t>(text.size()) + 1;
    return at;
  };
  view.rows = 0;
  view.has_views = views_ != nullptr && !views_->originals().empty();
  for (const auto& [seen, real, is_view, is_shared] : table()) {
    protocol::PathRow& row = view.row[view.rows++];
    row.seen = put(seen);
    row.seen_length = static_cast<std::uint32_t>(seen.size());
    row.real = put(real);
    row.real_length = static_cast<std::uint32_t>(real.size());
    row.is_view = is_view ? 1 : 0;
    row.is_shared = is_shared ? 1 : 0;
  }
  view.has_no_folders = folders_ != nullptr && !folders_->folders.empty() &&
                        access(folders_->folders.front().real.c_str(), F_OK) != 0;
}

std::string working_folder_of(ProcessRegion& region) {
  const char* const text = region.path_view().working_folder;
  return std::string(text, ::strnlen(text, protocol::kPathRoom - 1));
}

}  // namespace verbatim::supervisor
