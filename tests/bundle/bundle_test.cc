// Bundles keep everything that was put in, and extraction gives the files back.
#include "sim/bundle/bundle.h"

#include "tests/bundle/sample.h"

namespace verbatim::bundle {
namespace {

namespace fs = std::filesystem;

struct stat status_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status;
}

Bundle opened(const std::string& path) {
  std::string failure;
  auto bundle = Bundle::open(path, &failure);
  EXPECT_EQ(failure, "");
  return std::move(bundle.value());
}

TEST(Bundle, keeps_manifest_looks_and_documents) {
  const SampleFolder folder;
  write_sample(folder, folder.at("a.vbundle"));
  EXPECT_TRUE(text_of(folder.at("a.vbundle")).starts_with("verbatim-bundle 1\n"));
  const Bundle bundle = opened(folder.at("a.vbundle"));
  EXPECT_EQ(bundle.manifest(), kSampleManifest);
  EXPECT_EQ(bundle.looks(), sample_looks());
  std::string failure;
  EXPECT_EQ(bundle.document("scenario/topology.json", &failure), "{}\n");
  EXPECT_EQ(bundle.document("other.json", &failure), std::nullopt);
  EXPECT_EQ(failure, folder.at("a.vbundle") + ": document other.json is missing");
  EXPECT_EQ(bundle.document("scenario/topology.json", &failure, 2), std::nullopt);
  EXPECT_TRUE(bundle.damage().empty());
}

TEST(Bundle, stores_equal_contents_once) {
  const SampleFolder folder;
  write_sample(folder, folder.at("a.vbundle"));
  const Bundle bundle = opened(folder.at("a.vbundle"));
  EXPECT_EQ(bundle.index().contents.size(), 4u);  // loader, empty file, hosts, topology
  EXPECT_EQ(bundle.content_of("/usr/lib/ld.so"), bundle.content_of("/usr/lib/copy.so"));
  EXPECT_EQ(bundle.content_of("/usr/lib/ld.so")->bytes, sample_texts().at("/usr/lib/ld.so").size());
  EXPECT_EQ(bundle.content_of("/etc/missing"), nullptr);
  EXPECT_EQ(bundle.beginning_of(*bundle.content_of("/etc/hosts"), 4), "127.");
  EXPECT_EQ(bundle.beginning_of(*bundle.content_of("/etc/hosts"), 4000), sample_texts().at("/etc/hosts"));
  EXPECT_LT(bundle.file_bytes(), sample_texts().at("/usr/lib/ld.so").size());
}

TEST(Bundle, extracts_files_with_permissions_and_times) {
  const SampleFolder folder;
  write_sample(folder, folder.at("a.vbundle"));
  ASSERT_EQ(opened(folder.at("a.vbundle")).extract(folder.at("out")), "");
  for (const auto& [path, text] : sample_texts())
    EXPECT_EQ(text_of(folder.at("out/root" + path)), text) << path;
  EXPECT_EQ(text_of(folder.at("out/extra/scenario/topology.json")), "{}\n");
  EXPECT_EQ(status_of(folder.at("out/root"
                                "/usr/lib/ld.so"))
                .st_mode,
            S_IFREG | 0755u);  // without set-user-ID
  EXPECT_EQ(status_of(folder.at("out/root"
                                "/usr/lib/python/empty.py"))
                .st_mode,
            S_IFREG | 0400u);
  EXPECT_EQ(status_of(folder.at("out/root"
                                "/usr/lib/python/also-empty.py"))
                .st_mode,
            S_IFREG | 0644u);
  EXPECT_EQ(status_of(folder.at("out/root"
                                "/usr/lib"))
                .st_mode,
            S_IFDIR | 0700u);
  EXPECT_NE(status_of(folder.at("out/root"
                                "/usr/lib/ld.so"))
                .st_ino,
            status_of(folder.at("out/root"
                                "/usr/lib/copy.so"))
                .st_ino);
  EXPECT_EQ(status_of(folder.at("out/root"
                                "/usr/lib/ld.so"))
                .st_mtim.tv_sec,
            1'700'000'000);
  EXPECT_EQ(status_of(folder.at("out/root"
                                "/usr/lib/ld.so"))
                .st_mtim.tv_nsec,
            123);
  EXPECT_FALSE(
      fs::exists(fs::symlink_status(folder.at("out/root"
                                              "/lib"))));  // links are looks, and not files
}

TEST(Bundle, extracts_one_file) {
  const SampleFolder folder;
  write_sample(folder, folder.at("a.vbundle"));
  const Bundle bundle = opened(folder.at("a.vbundle"));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(bundle.extract_file("/usr/lib/ld.so", folder.at("out"), "/usr/lib/ld.so"), "");
  EXPECT_EQ(text_of(folder.at("out/root") + "/usr/lib/ld.so"), sample_texts().at("/usr/lib/ld.so"));
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder.at("out"))) {
    if (!entry.is_directory()) files.push_back(entry.path().filename());
  }
  EXPECT_EQ(files, std::vector<std::string>{"ld.so"});
  EXPECT_EQ(bundle.extract_file("/etc/missing", folder.at("out"), "/etc/missing"),
            folder.at("a.vbundle") + ": it has no content of /etc/missing");
  EXPECT_EQ(bundle.extract_file("../a", folder.at("out"), "/a"),
            folder.at("a.vbundle") + ": it has no content of ../a");
}

TEST(Bundle, extracts_into_no_folder_that_has_a_root) {
  const SampleFolder folder;
  write_sample(folder, folder.at("a.vbundle"));
  const Bundle bundle = opened(folder.at("a.vbundle"));
  fs::create_directory(folder.at("elsewhere"));
  fs::create_directory(folder.at("out"));
  fs::create_symlink(folder.at("elsewhere"), folder.at("out/root"));
  EXPECT_EQ(bundle.extract(folder.at("out")), "cannot write " + folder.at("out/root") + ": File exists");
  EXPECT_TRUE(fs::is_empty(folder.at("elsewhere")));
  EXPECT_EQ(bundle.extract(folder.at("no/parent")),
            "cannot write " + folder.at("no/parent") + ": No such file or directory");
  EXPECT_EQ(bundle.extract(folder.at("topology.json")),
            "cannot write " + folder.at("topology.json") + ": Not a directory");
}

TEST(Bundle, extracts_paths_near_the_limit) {
  const SampleFolder folder;
  supervisor::MachineLooks looks;
  std::string deep;
  while (deep.size() + 256 <= 4093) deep += "/" + std::string(255, 'd');
  deep += "/" + std::string(4092 - deep.size(), 'e');
  for (const char* name : {"/a", "/b"}) looks[deep + name] = look_of_file(0644, 4);
  write_file(folder.at("text"), "text");
  const int file = ::open(folder.at("deep").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(write_bundle(file, "", looks, [&](const std::string&) { return folder.at("text"); }, {}), "");
  ::close(file);
  EXPECT_EQ(opened(folder.at("deep")).extract(folder.at("out")), "");
}

TEST(Bundle, knows_contents_that_are_not_included) {
  const SampleFolder folder;
  write_file(folder.at("large"), "large");
  supervisor::MachineLooks looks{{"/data/large", look_of_file(0644, 5)}};
  const auto left_out = [&](const std::string&) {
    ContentSource source(folder.at("large"));
    source.is_included = false;
    return source;
  };
  const int file = ::open(folder.at("a.vbundle").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(write_bundle(file, "", looks, left_out, {}), "");
  ::close(file);
  const Bundle bundle = opened(folder.at("a.vbundle"));
  ASSERT_NE(bundle.content_of("/data/large"), nullptr);
  EXPECT_FALSE(bundle.content_of("/data/large")->is_included());
  EXPECT_EQ(bundle.content_of("/data/large")->bytes, 5u);
  EXPECT_EQ(bundle.extract(folder.at("out")), "");
  EXPECT_FALSE(
      fs::exists(folder.at("out/root"
                           "/data")));
  EXPECT_TRUE(bundle.damage().empty());
}

TEST(Bundle, has_a_checksum_of_its_files) {
  const SampleFolder folder;
  write_sample(folder, folder.at("a"));
  write_sample(folder, folder.at("b"));
  EXPECT_EQ(text_of(folder.at("a")), text_of(folder.at("b")));
  EXPECT_EQ(opened(folder.at("a")).checksum(), opened(folder.at("b")).checksum());
  EXPECT_EQ(opened(folder.at("a")).checksum().size(), 32u);
  write_file(folder.at("machine/etc/hosts"), "127.0.0.2 localhost\n");
  ASSERT_EQ(write_looks(folder, folder.at("c"), sample_looks(),
                        {{"scenario/topology.json", folder.at("topology.json")}}),
            "");
  EXPECT_NE(opened(folder.at("a")).checksum(), opened(folder.at("c")).checksum());
}

TEST(Bundle, refuses_to_write_what_could_not_be_read) {
  const SampleFolder folder;
  write_sample(folder, folder.at("a"));
  const auto failure_of = [&](const std::string& path, const supervisor::MachineLook& look) {
    supervisor::MachineLooks looks = sample_looks();
    looks[path] = look;
    return write_looks(folder, folder.at("b"), looks);
  };
  EXPECT_EQ(failure_of("/usr/../x", look_of_nothing()),
            "the bundle could not be read: it is damaged: path /usr/../x is not allowed");
  EXPECT_EQ(failure_of("/gone", look_of_file(0644, 0)),
            "cannot read " + folder.at("machine/gone") + ": No such file or directory");
  fs::create_directory(folder.at("machine/folder"));
  EXPECT_EQ(failure_of("/folder", look_of_file(0644, 0)),
            "cannot read " + folder.at("machine/folder") + ": it is not a regular file");
  EXPECT_EQ(failure_of("/etc/hosts/x", look_of_link("y")),
            "the bundle could not be read: it is damaged: path /etc/hosts/x is below a file or link");
  EXPECT_EQ(write_bundle(-1, "", {}, {}, {}), "cannot write the bundle: Bad file descriptor");
}

// Holes compress a thousandfold, and a reader must not expand such a bundle.
TEST(Bundle, refuses_contents_that_expand_too_much) {
  const SampleFolder folder;
  write_file(folder.at("holes"), "");
  fs::resize_file(folder.at("holes"), std::uint64_t{600} << 20);
  const int file = ::open(folder.at("a").c_str(), O_WRONLY | O_CREAT, 0600);
  const std::string failure = write_bundle(file, "", {{"/holes", look_of_file(0644, 0)}},
                                           [&](const std::string&) { return folder.at("holes"); }, {});
  ::close(file);
  EXPECT_TRUE(failure.starts_with("the files expand to more than 2")) << failure;
}

}  // namespace
}  // namespace verbatim::bundle
