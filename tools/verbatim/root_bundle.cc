#include "tools/verbatim/root_bundle.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/verbatim/install_paths.h"

namespace verbatim::cli {

using Json = nlohmann::ordered_json;

RootBundle::RootBundle(bundle::Bundle file) : file_(std::move(file)), folder_(shim_directory() + "/keeper") {}

std::shared_ptr<RootBundle> RootBundle::open(const std::string& path, supervisor::MachineFiles& machine,
                                             std::vector<std::string> shown, std::string* failure) {
  auto file = bundle::Bundle::open(path, failure);
  if (!file) return nullptr;
  if (*failure = file->damage_summary(); !failure->empty()) return nullptr;
  const Json manifest = Json::parse(file->manifest(), nullptr, false);
  if (!manifest.is_object() || !manifest.contains("root")) {
    *failure = path + " is the bundle of a run; `verbatim pack --root FOLDER` makes a root of files";
    return nullptr;
  }
  const std::shared_ptr<RootBundle> root(new RootBundle(std::move(*file)));
  const std::string folder = root->folder_.path() + "/root-bundle";
  root->root_ = std::make_unique<supervisor::FilesOfRecord>(
      root->file_.looks(), folder,
      [&bundle = root->file_, folder](const std::string& look) { return bundle.extract_file(look, folder, look); });
  root->files_ = std::make_unique<supervisor::FilesOverRoot>(*root->root_, machine, std::move(shown));
  return root;
}

std::string write_root_bundle(int descriptor, const std::string& folder) {
  constexpr const char* kEmpty[] = {"/proc", "/sys", "/dev", "/tmp", "/run"};
  const std::string base = supervisor::real_files().real_path(folder);
  supervisor::RecordedFiles files;
  // The recorder's paths begin with `base`.
  std::vector<std::string> open = {""};
  while (!open.empty()) {
    const std::string path = std::move(open.back());
    open.pop_back();
    struct stat status;
    if (const int error = files.status(base + path, status); error != 0)
      return base + path + " cannot be read: " + std::strerror(error);
    std::string target;
    std::vector<std::string> names;
    if (S_ISREG(status.st_mode)) files.content(base + path);
    if (S_ISLNK(status.st_mode)) files.target(base + path, target);
    if (!S_ISDIR(status.st_mode)) continue;
    if (std::ranges::find(kEmpty, path) == std::end(kEmpty)) {
      if (const int error = files.names(base + path, names); error != 0)
        return base + path + " cannot be listed: " + std::strerror(error);
      for (const std::string& name : names) open.push_back(path + "/" + name);
    }
  }
  supervisor::MachineLooks looks;
  for (const auto& [path, look] : files.looks()) {
    supervisor::MachineLook& of_root = looks[path.substr(std::min(base.size(), path.size()))];
    of_root = look;
    if (S_ISDIR(look.attributes.mode) && !look.names) of_root.names.emplace();
  }
  const Json manifest = {{"root", true}, {"version", VERBATIM_VERSION}};
  return bundle::write_bundle(descriptor, manifest.dump(), looks,
                              [&](const std::string& path) { return bundle::ContentSource(base + path); }, {});
}

}  // namespace verbatim::cli
