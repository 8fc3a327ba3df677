// Bundle::extract: files below a folder, without following a link.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "sim/bundle/bundle.h"
#include "sim/bundle/bundle_index.h"
#include "sim/bundle/bundle_paths.h"
#include "sim/bundle/descriptor_io.h"
#include "sim/bundle/frames.h"
#include "sim/core/open_file.h"

namespace verbatim::bundle {

struct NewFile {
  std::uint32_t content, permissions;
  std::string path;          // below the folder
  std::int64_t modified_ns;  // since 1970; -1: the present
};

namespace {

// Opens a folder below `at`, and makes it if it is missing. -1 and errno on failure.
int open_folder(int at, const char* name) {
  if (::mkdirat(at, name, 0700) != 0 && errno != EEXIST) return -1;
  return ::openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// The folder of each path in turn. Neighbours in a sorted order mostly have the same one.
class Folders {
 public:
  explicit Folders(int base) : base_(base) {}

  // The folder of `path` and its last component. -1 and errno on failure.
  std::pair<int, std::string> of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == path.npos ? "" : path.substr(0, slash);
    const std::string name = slash == path.npos ? path : path.substr(slash + 1);
    if (folder.empty()) return {base_, name};
    if (current_.get() >= 0 && folder == current_path_) return {current_.get(), name};
    OwnedDescriptor at;
    for (std::size_t begin = 0; begin < folder.size();) {
      const std::size_t end = std::min(folder.find('/', begin), folder.size());
      OwnedDescriptor next(
          open_folder(begin == 0 ? base_ : at.get(), folder.substr(begin, end - begin).c_str()));
      if (next.get() < 0) return {-1, name};
      at = std::move(next);
      begin = end + 1;
    }
    current_ = std::move(at);
    current_path_ = folder;
    return {current_.get(), name};
  }

 private:
  int base_;
  OwnedDescriptor current_;
  std::string current_path_;
};

std::vector<NewFile> files_of(const BundleIndex& index) {
  std::vector<NewFile> files;
  for (const auto& [path, number] : index.looks_contents) {
    const supervisor::MachineLook& look = index.looks.at(path);
    if (index.contents[number].is_included())
      files.push_back({number, permissions_of(look), "root" + path, look.attributes.modified_ns});
  }
  for (const auto& [name, number] : index.documents) files.push_back({number, 0600, "extra/" + name, -1});
  // Contents are read front to back.
  std::ranges::stable_sort(files, {}, &NewFile::content);
  return files;
}

void set_time(int file, std::int64_t modified_ns) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  const timespec modified = {modified_ns / kNsPerSecond, modified_ns % kNsPerSecond};
  const timespec both[2] = {modified, modified};
  ::futimens(file, both);
}

std::string failed(const std::string& path, int error) {
  return "cannot write " + printable(path) + ": " + std::strerror(error);
}

}  // namespace

std::string Bundle::extract(const std::string& folder) const {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return failed(folder, errno);
  const OwnedDescriptor base(open_file(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (base.get() < 0) return failed(folder, errno);
  for (const char* name : {"root", "extra"}) {
    if (::mkdirat(base.get(), name, 0700) != 0) return failed(folder + "/" + name, errno);
  }
  Folders folders(base.get());
  FrameReader reader;
  const std::vector<NewFile> files = files_of(index_);
  for (const NewFile& file : files) {
    const auto [at, name] = folders.of(file.path);
    if (at < 0) return failed(folder + "/" + file.path, errno);
    const std::string failure = write_file(reader, file, at, name, folder);
    if (!failure.empty()) return failure;
  }
  return "";
}

std::string Bundle::extract_file(const std::string& look, const std::string& folder, const std::string& path) const {
  const auto number = index_.looks_contents.find(look);
  if (number == index_.looks_contents.end() || !index_.contents[number->second].is_included())
    return printable(path_) + ": it has no content of " + printable(look);
  for (const std::string& part : {folder, folder + "/root"}) {
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return failed(part, errno);
  }
  const OwnedDescriptor base(open_file(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (base.get() < 0) return failed(folder, errno);
  const supervisor::MachineLook& found = index_.looks.at(look);
  const NewFile file = {number->second, permissions_of(found), "root" + path, found.attributes.modified_ns};
  Folders folders(base.get());
  const auto [at, name] = folders.of(file.path);
  if (at < 0) return failed(folder + "/" + file.path, errno);
  FrameReader reader;
  const std::string part = ".verbatim-part-" + std::to_string(::getpid());
  const std::string failure = write_file(reader, file, at, part, folder);
  if (failure.empty() && ::renameat(at, part.c_str(), at, name.c_str()) == 0) return "";
  const int error = errno;
  ::unlinkat(at, part.c_str(), 0);
  return failure.empty() ? failed(folder + "/" + file.path, error) : failure;
}

std::string Bundle::write_file(FrameReader& reader, const NewFile& file, int at, const std::string& name,
                               const std::string& folder) const {
  const OwnedDescriptor target(
      ::openat(at, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (target.get() < 0) return failed(folder + "/" + file.path, errno);
  int error = 0;
  const std::string problem = read_content(reader, file.content, [&](std::string_view part) {
    error = write_all(target.get(), part);
    return error == 0;
  });
  if (error == 0 && problem.empty() && ::fchmod(target.get(), file.permissions) != 0) error = errno;
  if (error == 0 && file.modified_ns >= 0) set_time(target.get(), file.modified_ns);
  if (error != 0) return failed(folder + "/" + file.path, error);
  return problem.empty() ? "" : printable(path_) + ": " + users_of(file.content) + " " + problem;
}

}  // namespace verbatim::bundle
