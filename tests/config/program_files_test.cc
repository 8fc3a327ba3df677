// "files" of a program: copied files, and findings for invalid entries.
#include "tests/config/helpers.h"
#include "verbs_shim/protocol/path_view.h"

namespace verbatim::config {
namespace {

constexpr char kTwoHosts[] = VERBATIM_SOURCE_DIR "/topologies/two_hosts.json";

std::string with_files(const std::string& files, const std::string& more = "") {
  return std::string(R"({"topology": ")") + kTwoHosts + R"(", "programs": [{"host": "server", "command": "a", "files": )" +
         files + more + "}]}";
}

std::string file_findings(const Folder& folder, const std::string& files, const std::string& more = "") {
  Diagnostics diagnostics;
  const auto spec = load_scenario(folder.write("s.json", with_files(files, more)), with_profiles(), diagnostics);
  EXPECT_EQ(spec.has_value(), diagnostics.empty());
  return text_of(diagnostics);
}

std::string file_at_home() { return std::string(protocol::kHome) + "/b"; }

TEST(ProgramFiles, arrive_beside_the_scenario) {
  Folder folder;
  Diagnostics diagnostics;
  const std::string input = folder.write("input.txt", "some words");
  const auto spec = load_scenario(
      folder.write("s.json", with_files(R"({"/tmp/in/a.txt": "input.txt", ")" + file_at_home() + R"(": ")" + input + R"("})")),
      with_profiles(), diagnostics);
  ASSERT_TRUE(spec.has_value()) << text_of(diagnostics);
  EXPECT_EQ(spec->programs.at(0).files.at("/tmp/in/a.txt"), input);
  EXPECT_EQ(spec->programs.at(0).files.at(file_at_home()), input);
}

TEST(ProgramFiles, home_is_what_the_program_is_told) {
  Folder folder;
  folder.write("input.txt", "some words");
  EXPECT_EQ(file_findings(folder, R"({"/srv/one/b": "input.txt"})", R"(, "env": {"HOME": "/srv/one"})"), "");
  EXPECT_NE(file_findings(folder, "{\"" + file_at_home() + "\": \"input.txt\"}", R"(, "env": {"HOME": "/srv/one"})"), "");
}

TEST(ProgramFiles, lie_in_own_folders_only) {
  Folder folder;
  folder.write("input.txt", "some words");
  for (const char* const path : {"/etc/passwd", "/tmp", "/tmp/", "/tmp/../etc/passwd", "/tmp/./a", "/tmp//a", "tmp/a", "/tmpa"}) {
    const std::string text = file_findings(folder, std::string("{\"") + path + "\": \"input.txt\"}");
    EXPECT_NE(text.find(std::string("\"") + path + "\" is not in a folder that the host has for itself"), std::string::npos) << text;
    EXPECT_NE(text.find("these folders are /tmp, /var/tmp, /dev/shm, /run, /dev/hugepages, /root"), std::string::npos) << text;
  }
}

TEST(ProgramFiles, are_copies_of_files_that_can_be_read) {
  Folder folder;
  for (const char* const source : {"missing.txt", "."}) {
    const std::string text = file_findings(folder, std::string(R"({"/tmp/a": ")") + source + "\"}");
    EXPECT_NE(text.find("is not a file that can be read"), std::string::npos) << text;
    EXPECT_NE(text.find("/programs/0/files/~1tmp~1a"), std::string::npos) << "where: " << text;
  }
  EXPECT_NE(file_findings(folder, R"(["a"])").find("an object of strings"), std::string::npos);
  EXPECT_NE(file_findings(folder, R"({"/tmp/a": 3})").find("a string"), std::string::npos);
}

}  // namespace
}  // namespace verbatim::config
