#include "tools/verbatim/labs/submission.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

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

// The words of a compiler's list of what it read, which make(1) reads: blanks in names have a backslash before them.
std::vector<std::string> words_of_list(const fs::path& file) {
  std::ifstream list(file);
  std::vector<std::string> words(1);
  for (char c; list.get(c);) {
    if (c == '\\' && list.peek() == ' ') {
      words.back() += static_cast<char>(list.get());
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

// A source that brings in files of the labs themselves, by the compiler's lists of what it read. Empty: none does.
std::string foreign_source(const fs::path& folder, const fs::path& labs) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".d") continue;
    for (const std::string& word : words_of_list(entry.path())) {
      if (word.empty()) continue;
      std::error_code error;
      const fs::path read = fs::weakly_canonical(folder / word, error);
      if (!error && read.string().starts_with(labs.string() + "/")) return read.filename();
    }
  }
  return "";
}

}  // namespace

Submission::Submission(const Lab& lab, const fs::path& folder) : lab_(lab) {
  std::string name = (fs::temp_directory_path() / "verbatim-grade-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    throw fs::filesystem_error("cannot make a folder", name, std::error_code(errno, std::generic_category()));
  folder_ = name;
  unsigned sources = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!is_source(entry.path()) || entry.is_symlink() || !entry.is_regular_file()) continue;
    if (entry.file_size() > kLongestSource || ++sources > kMostSources) continue;
    fs::copy_file(entry.path(), folder_ / entry.path().filename());
  }
  const auto take = [&](const fs::path& from, const fs::path& to) {
    fs::copy_file(from, folder_ / to, fs::copy_options::overwrite_existing);
  };
  for (const char* shared : kSharedFiles) take(lab.folder.parent_path() / shared, shared);
  take(lab.topology, "topology.json");
  for (const fs::directory_entry& entry : fs::directory_iterator(lab.folder)) {
    if (entry.path().filename().string().starts_with("scenario")) take(entry.path(), entry.path().filename());
  }
}

Submission::~Submission() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

bool Submission::build() {
  const int said = ::memfd_create("verbatim-build", MFD_CLOEXEC);
  const std::string folder = folder_;
  const pid_t child = start_child(ChildOutput::kFile, said, [&] {
    const rlimit size{kLongestObject, kLongestObject}, time{kCompilerSeconds, kCompilerSeconds};
    ::setrlimit(RLIMIT_FSIZE, &size);
    ::setrlimit(RLIMIT_CPU, &time);
    ::alarm(kCompilerSeconds);
    ::execlp("make", "make", "-s", "-C", folder.c_str(), static_cast<char*>(nullptr));
    ::dprintf(2, "make is not installed\n");
    return static_cast<int>(kMachineFault);
  });
  int status = -1;
  if (child > 0) ::waitpid(child, &status, 0);
  complaint_ = content_of(said);
  ::close(said);
  if (child <= 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    if (complaint_.empty()) complaint_ = "it could not be compiled within a minute";
    return false;
  }
  const std::string foreign = foreign_source(folder_, fs::weakly_canonical(lab_.folder.parent_path()));
  if (foreign.empty()) return true;
  complaint_ = "it includes " + foreign + " of the labs themselves";
  return false;
}

}  // namespace verbatim::cli
