#include "tools/verbatim/labs/packed_submission.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "sim/supervisor/machine/path_names.h"
#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/output_file.h"

namespace verbatim::cli {

using Json = nlohmann::ordered_json;

namespace {

// `path` with the folder `from` replaced by `to`.
std::string moved(const std::string& path, const std::string& from, const std::string& to) {
  return supervisor::is_below(path, from) ? to + path.substr(from.size()) : path;
}

}  // namespace

std::string write_packed_submission(const std::string& path, const Lab& lab, const Submission& submission,
                                    supervisor::MachineLooks looks) {
  supervisor::RecordedFiles machine;
  machine.content(machine.real_path("/lib64/ld-linux-x86-64.so.2"));  // read by the kernel
  const std::string folder = machine.real_path(submission.folder());
  const bool is_built = looks.contains(folder + "/lab");
  supervisor::add_looks(machine.looks(), looks);
  const Json manifest = {{"submission",
                          {{"lab", lab.name}, {"folder", folder}, {"is_built", is_built}, {"complaint", submission.complaint()}}},
                         {"version", VERBATIM_VERSION}};
  return write_document(path, [&](int descriptor) {
    return bundle::write_bundle(descriptor, manifest.dump(1, ' ', false, Json::error_handler_t::replace), looks,
                                [](const std::string& look) { return bundle::ContentSource(look); }, {});
  });
}

PackedSubmission::PackedSubmission(bundle::Bundle file)
    : file_(std::move(file)), store_(shim_directory() + "/keeper") {}

std::unique_ptr<PackedSubmission> PackedSubmission::open(const std::string& path, std::string* failure) {
  auto file = bundle::Bundle::open(path, failure);
  if (!file) return nullptr;
  if (*failure = file->damage_summary(); !failure->empty()) return nullptr;
  const Json manifest = Json::parse(file->manifest(), nullptr, false);
  std::unique_ptr<PackedSubmission> opened;
  try {
    const Json& submission = manifest.at("submission");
    opened.reset(new PackedSubmission(std::move(*file)));
    submission.at("lab").get_to(opened->lab_);
    submission.at("folder").get_to(opened->folder_);
    submission.at("complaint").get_to(opened->complaint_);
    submission.at("is_built").get_to(opened->is_built_);
  } catch (const Json::exception&) {
    *failure = path + " is not the bundle of a submission; `verbatim grade --pack FILE FOLDER` makes one";
    return nullptr;
  }
  return opened;
}

supervisor::MachineFiles& PackedSubmission::files_in(const std::filesystem::path& folder) {
  const std::string here = supervisor::real_files().real_path(folder), store = store_.path() + "/bundle";
  supervisor::MachineLooks looks;
  for (const auto& [path, look] : file_.looks()) looks[moved(path, folder_, here)] = look;
  // The folders above are this machine's.
  for (std::string above = here; !above.empty(); above = supervisor::parent_of(above)) {
    supervisor::RecordedFiles machine;
    struct stat status;
    machine.status(above, status);
    supervisor::MachineLooks known = machine.looks();
    supervisor::add_looks(known, looks);
  }
  files_ = std::make_unique<supervisor::FilesOfRecord>(
      std::move(looks), store,
      [this, here, store](const std::string& path) { return file_.extract_file(moved(path, here, folder_), store, path); });
  return *files_;
}

}  // namespace verbatim::cli
