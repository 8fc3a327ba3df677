// A bundle of every kind of look, and a folder of files for it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "sim/bundle/bundle.h"
#include "sim/bundle/bundle_index.h"

namespace verbatim::bundle {

// A folder that is removed with *this.
class SampleFolder {
 public:
  SampleFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "bundle_test_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~SampleFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  SampleFolder(const SampleFolder&) = delete;
  SampleFolder& operator=(const SampleFolder&) = delete;
  std::string at(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline void write_file(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline supervisor::MachineLook look_of_file(std::uint32_t permissions, std::int64_t size) {
  supervisor::MachineLook look;
  look.attributes.mode = S_IFREG | permissions;
  look.attributes.size = size;
  look.attributes.inode = 17;
  look.attributes.modified_ns = -5;
  look.has_content = true;
  look.may_change = false;
  return look;
}

inline supervisor::MachineLook look_of_folder(std::vector<std::string> names) {
  supervisor::MachineLook look;
  look.attributes.mode = S_IFDIR | 0755;
  look.names = std::move(names);
  return look;
}

inline supervisor::MachineLook look_of_link(const std::string& target) {
  supervisor::MachineLook look;
  look.attributes.mode = S_IFLNK | 0777;
  look.target = target;
  return look;
}

inline supervisor::MachineLook look_of_nothing(int error = ENOENT) {
  supervisor::MachineLook look;
  look.error = error;
  return look;
}

// Texts of the sample's contents by path; the loader and its copy are equal, as are the empty files.
inline std::map<std::string, std::string> sample_texts() {
  std::string loader;
  for (int i = 0; i < 2'000; ++i) loader += std::to_string(i * 7919 % 104'729);
  return {{"/usr/lib/ld.so", loader},
          {"/usr/lib/copy.so", loader},
          {"/usr/lib/python/empty.py", ""},
          {"/usr/lib/python/also-empty.py", ""},
          {"/etc/hosts", "127.0.0.1 localhost\n"}};
}

inline supervisor::MachineLooks sample_looks() {
  const auto texts = sample_texts();
  const auto size = [&](const char* path) { return static_cast<std::int64_t>(texts.at(path).size()); };
  supervisor::MachineLooks looks;
  looks[""] = look_of_folder({"etc", "lib", "usr"});
  looks["/lib"] = look_of_link("usr/lib");
  looks["/etc/hosts"] = look_of_file(0644, size("/etc/hosts"));
  looks["/etc/hosts/below"] = look_of_nothing(ENOTDIR);
  looks["/etc/missing"] = look_of_nothing();
  looks["/usr/lib/ld.so"] = look_of_file(04755, size("/usr/lib/ld.so"));
  looks["/usr/lib/ld.so"].attributes.modified_ns = 1'700'000'000'000'000'123;
  looks["/usr/lib/copy.so"] = look_of_file(0755, size("/usr/lib/copy.so"));
  looks["/usr/lib/python"] = look_of_folder({"also-empty.py", "empty.py"});
  looks["/usr/lib/python/empty.py"] = look_of_file(0, 0);
  looks["/usr/lib/python/also-empty.py"] = look_of_file(0644, 0);
  return looks;
}

inline constexpr char kSampleManifest[] = R"({"seed": 1})";

// Writes the sample to `path`, with the files of `folder` as contents. Returns the writer's sentence.
inline std::string write_looks(const SampleFolder& folder, const std::string& path,
                               const supervisor::MachineLooks& looks,
                               const std::map<std::string, std::string>& documents = {}) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const std::string failure = write_bundle(
      file, kSampleManifest, looks,
      [&](const std::string& of) { return ContentSource(folder.at("machine" + of)); }, documents);
  ::close(file);
  return failure;
}

inline void write_sample(const SampleFolder& folder, const std::string& path) {
  for (const auto& [of, text] : sample_texts()) write_file(folder.at("machine" + of), text);
  write_file(folder.at("topology.json"), "{}\n");
  ASSERT_EQ(
      write_looks(folder, path, sample_looks(), {{"scenario/topology.json", folder.at("topology.json")}}),
      "");
}

}  // namespace verbatim::bundle
