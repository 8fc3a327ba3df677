#include "tools/verbatim/labs/submission.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "sim/core/input_file.h"
#include "sim/supervisor/machine/waiting.h"
#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/run_plan.h"
#include "tools/verbatim/worker_pool.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLongestSource = 1 << 20;  // bytes
constexpr unsigned kMostSources = 100;
constexpr unsigned kCompilerSeconds = 60;
constexpr rlim_t kLongestObject = 64 << 20;  // bytes of a file that the compiler writes

bool is_source(const fs::path& path) { return path.extension() == ".c" || path.extension() == ".h"; }

// Files in a compiler's dependency list for make(1), where a backslash escapes a blank in a name.
std::vector<std::string> words_of_list(const fs::path& file) {
  const std::string list = InputFile(file).rest().value_or("");
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '\\' && i + 1 < list.size() && list[i + 1] == ' ') {
      words.back() += list[++i];
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

// Name of a file in `labs` or below that the compiler has read, according to its dependency lists; empty:
// none.
std::string foreign_source(const fs::path& folder, const std::vector<fs::path>& labs) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".d") continue;
    for (const std::string& word : words_of_list(entry.path())) {
      if (word.empty()) continue;
      std::error_code error;
      const std::string read = fs::weakly_canonical(folder / word, error).string();
      const auto holds = [&](const fs::path& lab) { return read.starts_with(lab.string() + "/"); };
      if (!error && std::ranges::any_of(labs, holds)) return fs::path(read).filename();
    }
  }
  return "";
}

// Removes make's own error lines, because the compiler has given the reason.
std::string without_lines_of_make(const std::string& text) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("make: ***") && !line.starts_with("make[")) kept += line + "\n";
  }
  while (kept.ends_with('\n')) kept.pop_back();
  return kept;
}

}  // namespace

std::vector<fs::path> files_beside_program(const Lab& lab) {
  static constexpr std::string_view kOthers[] = {"README.md", "grade.json", "skeleton.c", "solution.c", "buggy.c",
                                                  "lab.c",     "lab",        "lab.d",      "lab.json"};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(lab.folder)) {
    if (entry.is_regular_file() && std::ranges::find(kOthers, entry.path().filename().string()) == std::end(kOthers))
      files.push_back(entry.path());
  }
  return files;
}

Submission::Submission(const Lab& lab, const fs::path& source)
    : lab_(lab), made_((fs::temp_directory_path() / "verbatim-grade-XXXXXX").string()), folder_(made_.path()) {
  if (made_.path().empty())
    throw fs::filesystem_error("cannot make a folder", fs::temp_directory_path(), std::error_code(errno, std::generic_category()));
  const auto take = [&](const fs::path& from, const fs::path& to) {
    fs::copy_file(from, folder_ / to, fs::copy_options::overwrite_existing);
  };
  if (fs::is_directory(source)) {
    unsigned sources = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(source)) {
      if (!is_source(entry.path()) || entry.is_symlink() || !entry.is_regular_file()) continue;
      if (entry.file_size() > kLongestSource || ++sources > kMostSources) continue;
      take(entry.path(), entry.path().filename());
    }
  } else {
    take(source, "lab.c");
  }
  take_files_of_lab();
}

Submission::Submission(const Lab& lab, bool is_built, std::string complaint)
    : lab_(lab), made_((fs::temp_directory_path() / "verbatim-grade-XXXXXX").string()), folder_(made_.path()),
      complaint_(std::move(complaint)), is_built_(is_built) {
  if (made_.path().empty())
    throw fs::filesystem_error("cannot make a folder", fs::temp_directory_path(), std::error_code(errno, std::generic_category()));
  take_files_of_lab();
}

void Submission::take_files_of_lab() {
  const auto take = [&](const fs::path& from, const fs::path& to) {
    fs::copy_file(from, folder_ / to, fs::copy_options::overwrite_existing);
  };
  for (const char* shared : kSharedFiles) take(lab_.shared_file(shared), shared);
  for (const fs::path& file : files_beside_program(lab_)) take(file, file.filename());
  take(lab_.topology, "topology.json");
}

bool Submission::build() {
  if (is_built_) return *is_built_;
  const int make_output = ::memfd_create("verbatim-build", MFD_CLOEXEC);
  const std::string folder = folder_;
  const pid_t child = start_child(ChildOutput::kFile, make_output, [&] {
    ::setpgid(0, 0);  // a process group with the compilers that make starts
    const rlimit size{kLongestObject, kLongestObject}, time{kCompilerSeconds, kCompilerSeconds};
    ::setrlimit(RLIMIT_FSIZE, &size);
    ::setrlimit(RLIMIT_CPU, &time);
    ::alarm(kCompilerSeconds);
    ::execlp("make", "make", "-s", "-C", folder.c_str(), static_cast<char*>(nullptr));
    ::dprintf(2, "make is not installed\n");
    return static_cast<int>(kMachineFault);
  });
  if (child > 0) ::setpgid(child, child);
  const supervisor::ChildEnd end = child > 0 ? supervisor::await_child(child, true) : supervisor::ChildEnd{};
  is_interrupted_ = end.is_interrupted;
  complaint_ = without_lines_of_make(content_of(make_output));
  ::close(make_output);
  if (child <= 0 || !WIFEXITED(end.status) || WEXITSTATUS(end.status) != 0) {
    if (complaint_.empty()) complaint_ = "make has failed, or took longer than a minute";
    return false;
  }
  std::vector<fs::path> labs = {lab_.folder};
  for (const fs::path course : lab_folders()) labs.push_back(fs::weakly_canonical(course));
  const std::string foreign = foreign_source(folder_, labs);
  if (foreign.empty()) return true;
  complaint_ = "it includes " + foreign + " from the folder of the labs; a submission may use only its own files";
  return false;
}

}  // namespace verbatim::cli
