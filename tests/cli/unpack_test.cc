// `verbatim unpack` and `verify` on bundles that are made here.
#include <nlohmann/json.hpp>
#include <set>

#include "tests/bundle/sample.h"
#include "tests/cli/command.h"

namespace verbatim::bundle {
namespace {

using cli::verbatim;
using Json = nlohmann::json;

Json sample_run() {
  return {{"replay", 2},
          {"version", "1.0"},
          {"digest", "00112233445566778899aabbccddeeff"},
          {"digest_version", 2},
          {"words", {"--seed", "1", "a.json"}},
          {"working_directory", "/w"},
          {"search_path", "/usr/bin"},
          {"decisions", Json::array()},
          {"files", {{"/w/star.json", R"({"hosts": 8, "links": [{"rate": "100 Gbps"}]})"}}}};
}

// Writes a bundle of the sample's files, with changes to its run and looks.
void write_run(const SampleFolder& folder, const std::string& name, const Json& run,
               const supervisor::MachineLooks& looks) {
  for (const auto& [path, text] : sample_texts()) write_file(folder.at("machine" + path), text);
  write_file(folder.at("machine/usr/lib/ld.so"),
             "\x7f"
             "ELF loader");
  write_file(folder.at("machine/usr/lib/tool"),
             "\x7f"
             "ELF tool");
  write_file(folder.at("machine/root"
                       "/key.pem"),
             "key");
  const std::string manifest = Json{{"has_decisions", false}, {"run", run}}.dump();
  const int file = ::open(folder.at(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  EXPECT_EQ(write_bundle(file, manifest, looks,
                         [&](const std::string& path) { return folder.at("machine" + path); }, {}),
            "");
  ::close(file);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Unpack, lists_files_with_sizes_kinds_and_paths) {
  const SampleFolder folder;
  auto looks = sample_looks();
  looks["/usr/lib/tool"] = look_of_file(0755, 9);
  write_run(folder, "a.vbundle", sample_run(), looks);
  const cli::Finished list = verbatim({"unpack", "--list", folder.at("a.vbundle")});
  EXPECT_EQ(list.code, 0);
  EXPECT_EQ(list.err, "");
  EXPECT_TRUE(has(list.out, "file     /etc/hosts\n")) << list.out;
  EXPECT_TRUE(has(list.out, "library  /usr/lib/ld.so\n"));
  EXPECT_TRUE(has(list.out, "program  /usr/lib/tool\n"));
  EXPECT_TRUE(has(list.out, "6 files, which take")) << list.out;
  EXPECT_TRUE(has(list.out, "2 folders listed, 1 links, 2 names that do not exist, 0 files not opened\n"))
      << list.out;
}

TEST(Unpack, names_files_that_one_may_not_want_to_mail) {
  const SampleFolder folder;
  auto looks = sample_looks();
  looks
      ["/root"
       "/key.pem"] = look_of_file(0600, 3);
  write_run(folder, "a.vbundle", sample_run(), looks);
  EXPECT_EQ(verbatim({"unpack", "--list", folder.at("a.vbundle")}).err,
            "verbatim: warning: /root"
            "/key.pem may hold keys or passwords, by its name\n");
}

TEST(Unpack, writes_files_to_a_new_folder) {
  const SampleFolder folder;
  write_run(folder, "a.vbundle", sample_run(), sample_looks());
  const cli::Finished unpacked = verbatim({"unpack", folder.at("a.vbundle"), "-o", folder.at("out")});
  EXPECT_EQ(unpacked.code, 0) << unpacked.err;
  EXPECT_EQ(text_of(folder.at("out/root"
                              "/etc/hosts")),
            "127.0.0.1 localhost\n");
  EXPECT_EQ(Json::parse(text_of(folder.at("out/manifest.json")))["run"]["version"], "1.0");
  const cli::Finished again = verbatim({"unpack", folder.at("a.vbundle"), "-o", folder.at("out")});
  EXPECT_EQ(again.code, 2);
  EXPECT_EQ(again.err, "verbatim: " + folder.at("out") + " exists; name a new folder with --out\n");
  // Without --out, the folder has the bundle's name and is made in the current folder.
  const cli::Finished here = cli::run_command({VERBATIM_PROGRAM, "unpack", "../a.vbundle"}, folder.at("out"));
  EXPECT_EQ(here.code, 0) << here.err;
  EXPECT_TRUE(std::filesystem::exists(folder.at("out/a/manifest.json")));
}

TEST(Unpack, names_a_damaged_file) {
  const SampleFolder folder;
  write_run(folder, "a.vbundle", sample_run(), sample_looks());
  std::string bytes = text_of(folder.at("a.vbundle"));
  bytes[kBundleBegin.size() + 12] ^= 1;  // in the first content
  write_file(folder.at("a.vbundle"), bytes);
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--list"}, {"-o", folder.at("out")}}) {
    std::vector<std::string> words{"unpack", folder.at("a.vbundle")};
    words.insert(words.end(), options.begin(), options.end());
    const cli::Finished damaged = verbatim(words);
    EXPECT_EQ(damaged.code, 2);
    EXPECT_TRUE(has(damaged.err, "/etc/hosts is damaged: ")) << damaged.err;
  }
  const cli::Finished other = verbatim({"unpack", cli::kTopology});
  EXPECT_EQ(other.code, 2);
  EXPECT_EQ(other.err, "verbatim: topologies/two_hosts.json is not a bundle; `verbatim pack` makes them\n");
}

// The output of `verify` for a changed run and changed looks.
cli::Finished verified(const Json& run, const supervisor::MachineLooks& looks,
                       const std::vector<std::string>& options = {}) {
  const SampleFolder folder;
  write_run(folder, "here.vbundle", sample_run(), sample_looks());
  write_run(folder, "there.vbundle", run, looks);
  std::vector<std::string> words{"verify", folder.at("here.vbundle"), folder.at("there.vbundle")};
  words.insert(words.end(), options.begin(), options.end());
  return verbatim(words);
}

TEST(Verify, equal_runs_are_equal) {
  const cli::Finished equal = verified(sample_run(), sample_looks());
  EXPECT_EQ(equal.code, 0);
  EXPECT_TRUE(equal.out.ends_with("there.vbundle\nthe runs are equal\n")) << equal.out;
  EXPECT_EQ(equal.err, "");
}

TEST(Verify, names_what_differs_between_the_simulators_inputs) {
  Json run = sample_run();
  run["version"] = "1.1";
  run["digest"] = "ff112233445566778899aabbccddeeff";
  run["words"] = {"--seed", "2", "a.json"};
  run["files"]["/w/star.json"] = R"({"hosts": 8, "links": [{"rate": "200 Gbps"}]})";
  const cli::Finished differs = verified(run, sample_looks());
  EXPECT_EQ(differs.code, 1);
  EXPECT_TRUE(has(differs.out, "\nversion is 1.0 here, 1.1 there\n")) << differs.out;
  EXPECT_TRUE(has(differs.out, "\noptions are --seed 1 a.json here, --seed 2 a.json there\n"));
  EXPECT_TRUE(has(differs.out, "\ntopology star.json: /links/0/rate is 100 Gbps here, 200 Gbps there\n"));
  EXPECT_TRUE(has(
      differs.out,
      "\ndigest is 00112233445566778899aabbccddeeff here, ff112233445566778899aabbccddeeff there\nthe runs differ\n"));
}

TEST(Verify, shows_long_texts_where_they_differ) {
  Json run = sample_run();
  run["search_path"] = "/usr/bin:" + std::string(100, 'x') + "/here/" + std::string(100, 'y');
  Json other = run;
  other["search_path"] = "/usr/bin:" + std::string(100, 'x') + "/there/" + std::string(100, 'y');
  const SampleFolder folder;
  write_run(folder, "a", run, {});
  write_run(folder, "b", other, {});
  const std::string out = verbatim({"verify", folder.at("a"), folder.at("b")}).out;
  EXPECT_TRUE(has(out, "\nPATH is …xxxxxxxxx/here/yyy")) << out;
  EXPECT_TRUE(has(out, "yyy… here, …xxxxxxxxx/there/yyy")) << out;
}

TEST(Verify, names_what_differs_between_the_machines_files) {
  const auto first = [](const std::string& path, const supervisor::MachineLook& look) {
    auto looks = sample_looks();
    looks[path] = look;
    const auto out = Json::parse(verified(sample_run(), looks, {"--json"}).out);
    return out["differences"].empty() ? "" : out["differences"][0].get<std::string>();
  };
  EXPECT_EQ(first("/usr/lib/python", look_of_folder({"also-empty.py", "empty.py", "new.py"})),
            "/usr/lib/python has 2 entries here, 3 there; new.py is only there");
  EXPECT_EQ(first("/usr/lib/python", look_of_folder({"empty.py", "new.py"})),
            "/usr/lib/python has 2 entries here, 2 there; also-empty.py is only here, new.py only there");
  EXPECT_EQ(first("/etc/missing", look_of_folder({})), "/etc/missing is missing here, a folder there");
  EXPECT_EQ(first("/etc/missing", look_of_nothing(EACCES)),
            "/etc/missing is missing here, refused (Permission denied) there");
  EXPECT_EQ(first("/lib", look_of_link("usr/lib64")), "/lib leads to usr/lib here, to usr/lib64 there");
  EXPECT_EQ(first("/lib", look_of_folder({})), "/lib is a link here, a folder there");
  EXPECT_EQ(first("/etc/hosts", look_of_file(0644, 21)), "/etc/hosts has 20 bytes here, 21 there");
  EXPECT_EQ(first("/etc/hosts", look_of_file(0600, 20)), "/etc/hosts has mode 0644 here, 0600 there");
  EXPECT_EQ(first("/srv", look_of_folder({})), "/srv was looked at only there");
  supervisor::MachineLook later = sample_looks()["/etc/hosts"];
  later.attributes.modified_ns += 1;
  EXPECT_EQ(first("/etc/hosts", later), "/etc/hosts has other times or inode numbers here than there");
  later = sample_looks()["/etc/hosts"];
  later.attributes.user = 7;
  EXPECT_EQ(first("/etc/hosts", later), "/etc/hosts belongs to user 0 and group 0 here, 7 and 0 there");
}

TEST(Verify, equal_digests_are_equal_runs_whatever_differs) {
  auto looks = sample_looks();
  looks["/srv"] = look_of_nothing();
  const cli::Finished equal = verified(sample_run(), looks);
  EXPECT_EQ(equal.code, 0);
  EXPECT_TRUE(equal.out.ends_with(
      "\n/srv was looked at only there\nthe runs are equal, although their inputs differ\n"))
      << equal.out;
}

TEST(Verify, compares_folders_of_runs) {
  const SampleFolder folder;
  const auto write = [&](const std::string& name, const std::string& digest, int seed, const Json& code) {
    const Json run = {{"outcome", "finished"}, {"version", "1.0"}, {"digest", digest},
                      {"digest_version", 2},   {"seed", seed},     {"code", code}};
    write_file(folder.at(name + "/run.json"), run.dump());
  };
  write("a", "aa", 1, {{{"file", "libc.so.6"}, {"digest", "1"}}, {{"file", "tool"}, {"digest", "2"}}});
  write("b", "bb", 2, {{{"file", "libc.so.6"}, {"digest", "3"}}, {{"file", "other"}, {"digest", "2"}}});
  const cli::Finished differs = verbatim({"verify", folder.at("a"), folder.at("b")});
  EXPECT_EQ(differs.code, 1);
  EXPECT_TRUE(
      differs.out.ends_with("\nseed is 1 here, 2 there\n"
                            "program or library libc.so.6 has other content here than there\n"
                            "program or library tool was executed only here\n"
                            "program or library other was executed only there\n"
                            "digest is aa here, bb there\nthe runs differ\n"))
      << differs.out;
  write("b", "bb", 1, Json::array());
  EXPECT_TRUE(has(verbatim({"verify", folder.at("a"), folder.at("b")}).out,
                  "none of the inputs that are known of both does"));
}

#ifdef VERBATIM_CAN_RUN
TEST(Verify, a_run_has_digests_of_its_programs_and_libraries) {
  const SampleFolder folder;
  ASSERT_EQ(verbatim({"run", "--quiet", "--out", folder.at("out"), "--topology", cli::kTopology,
                      "server=sh -c true"})
                .code,
            0);
  std::set<std::string> names;
  const Json run = Json::parse(text_of(folder.at("out/run.json")));
  for (const Json& file : run.at("code")) {
    names.insert(file["file"]);
    EXPECT_EQ(file["digest"].get<std::string>().size(), 32u) << file;
  }
  EXPECT_TRUE(names.contains("libc.so.6"));
  EXPECT_FALSE(names.contains("libverbatim_runtime.so"));
}
#endif

TEST(Verify, compares_roots_of_files) {
  const SampleFolder folder;
  write_sample(folder, folder.at("a"));
  write_sample(folder, folder.at("b"));
  const cli::Finished equal = verbatim({"verify", folder.at("a"), folder.at("b")});
  EXPECT_EQ(equal.code, 0);
  EXPECT_TRUE(equal.out.ends_with("\nthe files are equal\n")) << equal.out;
  write_file(folder.at("machine/etc/hosts"), "127.0.0.2 localhost\n");
  ASSERT_EQ(write_looks(folder, folder.at("b"), sample_looks()), "");
  const cli::Finished differs = verbatim({"verify", folder.at("a"), folder.at("b")});
  EXPECT_EQ(differs.code, 1);
  EXPECT_TRUE(has(differs.out,
                  "/etc/hosts has other content here than there (20 bytes)\nthe files differ\n"))
      << differs.out;
}

TEST(Verify, refuses_what_is_no_run) {
  const SampleFolder folder;
  write_file(folder.at("a"), "verbatim-bundle 1\nx");
  const cli::Finished wrong = verbatim({"verify", folder.at("a"), folder.at("b")});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(wrong.err.starts_with("verbatim: " + folder.at("a") +
                                    " is cut off or damaged: its end is missing\nverbatim: "))
      << wrong.err;
  write_run(folder, "c", {{"version", 7}}, {});
  const cli::Finished manifest = verbatim({"verify", folder.at("c"), folder.at("c")});
  EXPECT_EQ(manifest.code, 2);
  EXPECT_TRUE(has(manifest.err, folder.at("c") + " has no valid manifest: ")) << manifest.err;
}

}  // namespace
}  // namespace verbatim::bundle
