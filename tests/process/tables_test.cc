// TABLES.md says what is there: the programs and the system calls, made from the sources.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/verbatim_run.h"
#include "verbs_shim/protocol/system_calls.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;
using protocol::CallClass;

const std::string kFolder = VERBATIM_SOURCE_DIR "/tests/process/";

// The comment at the head of a program, as one line.
std::string purpose(const fs::path& file) {
  std::istringstream text(support::text_of_file(file));
  std::string all;
  for (std::string line; std::getline(text, line) && line.starts_with("// ");) {
    all += (all.empty() ? "" : " ") + line.substr(3);
  }
  return all;
}

std::string program_table() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kFolder + "programs")) files.push_back(entry.path());
  std::ranges::sort(files);
  std::string table = "| program | covers |\n|---|---|\n";
  for (const fs::path& file : files) {
    table += "| `" + file.stem().string() + "` | " + purpose(file) + " |\n";
  }
  return std::to_string(files.size()) +
         " programs in `programs/`, each run by Linux itself and in the simulator, which print the same, and "
         "in slices\n"
         "and call by call, which give one digest (`process_test`):\n\n" +
         table;
}

std::string call_table() {
  struct Row {
    CallClass call_class;
    const char *name, *meaning;
  };
  constexpr Row kRows[] = {
      {CallClass::kPassing, "Passing", "let through: touches the process itself or the file system only"},
      {CallClass::kLocal, "Local", "answered inside the process: clocks, identity, signal state"},
      {CallClass::kByDescriptor, "ByDescriptor",
       "the supervisor's for a virtual descriptor, let through for a real one"},
      {CallClass::kByPath, "ByPath",
       "the supervisor's for /sys, /proc, /dev/infiniband, let through for other paths"},
      {CallClass::kVirtual, "Virtual", "the supervisor's"},
      {CallClass::kRefused, "Refused", "refused by name"},
  };
  std::string table = "| class | who answers | calls |\n|---|---|---|\n";
  int all = 0;
  for (const Row& row : kRows) {
    int count = 0;
    for (const protocol::SystemCall& call : protocol::kSystemCalls.rows) {
      if (call.name != nullptr && call.call_class == row.call_class) ++count;
    }
    all += count;
    table += std::string("| ") + row.name + " | " + row.meaning + " | " + std::to_string(count) + " |\n";
  }
  const auto with_errno = [](int error) {
    std::string names;
    for (const protocol::SystemCall& call : protocol::kSystemCalls.rows) {
      if (call.name == nullptr || call.call_class != CallClass::kRefused || call.refusal != error) continue;
      names += (names.empty() ? "`" : ", `") + std::string(call.name) + "`";
    }
    return names;
  };
  return "Of " + std::to_string(all) + " system calls of x86-64 (`verbs_shim/protocol/system_calls.h`):\n\n" +
         table + "\nRefused with EPERM, as to a program without privilege: " + with_errno(EPERM) +
         ".\n\nRefused with ENOSYS, as by an older kernel, unless `--strict=warn` lets them reach the "
         "machine: " +
         with_errno(ENOSYS) + ".\n";
}

// VERBATIM_WRITE_TABLES=1 writes the file instead.
TEST(Tables, are_true) {
  const std::string expected = "# Programs and system calls\n\nMade by `tables_test`, which checks it.\n\n" +
                               program_table() + "\n" + call_table();
  if (std::getenv("VERBATIM_WRITE_TABLES") != nullptr) std::ofstream(kFolder + "TABLES.md") << expected;
  EXPECT_EQ(support::text_of_file(kFolder + "TABLES.md"), expected)
      << "VERBATIM_WRITE_TABLES=1 tables_test writes it";
}

}  // namespace
}  // namespace verbatim
