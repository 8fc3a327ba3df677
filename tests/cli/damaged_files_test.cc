// Damaged input files that commands have written: exit code 2 and a sentence that names the file.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "sim/core/input_file.h"
#include "tests/cli/command.h"

namespace verbatim::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr char kHosts[] = VERBATIM_SOURCE_DIR "/topologies/two_hosts.json";

class Damaged : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "verbatim-damaged-" + std::to_string(::getpid());
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  std::string text(const std::string& name) const { return InputFile(at(name)).rest().value_or(""); }
  void put(const std::string& name, const std::string& text) { std::ofstream(at(name), std::ios::binary) << text; }
  void run(std::vector<std::string> options) {
    std::vector<std::string> words = {VERBATIM_PROGRAM, "run", "--topology", kHosts, "server=sh -c \"echo a word\""};
    words.insert(words.begin() + 2, options.begin(), options.end());
    const Finished done = run_command(words);
    ASSERT_EQ(done.code, 0) << done.err;
  }
  // Each verb that shows a run refuses the file with exit code 2.
  void expect_refused(const std::string& file, const std::string& named, const std::string& why) {
    for (const char* verb : {"ladder", "explain", "report"}) {
      std::vector<std::string> words = {VERBATIM_PROGRAM, verb, at(file)};
      if (std::string_view(verb) == "report") words.insert(words.end(), {"--out", at("page.html")});
      const Finished refused = run_command(words);
      EXPECT_EQ(refused.code, 2) << verb << ": " << refused.err;
      EXPECT_THAT(refused.err, HasSubstr(at(named))) << verb;
      EXPECT_THAT(refused.err, HasSubstr(why)) << verb;
    }
  }
  void change_json(const std::string& name, const std::function<void(nlohmann::ordered_json&)>& change) {
    auto json = nlohmann::ordered_json::parse(text(name));
    change(json);
    put(name, json.dump());
  }

  std::string folder_;
};

TEST_F(Damaged, recordings_are_refused) {
  run({"--record", at("run.rec")});
  const std::string whole = text("run.rec");
  EXPECT_EQ(run_command({VERBATIM_PROGRAM, "ladder", at("run.rec")}).code, 0);
  for (std::size_t byte = 30; byte < whole.size(); byte += whole.size() / 5) {
    std::string flipped = whole;
    flipped[byte] ^= 0x20;
    put("run.rec", flipped);
    expect_refused("run.rec", "run.rec", "is damaged: ");
  }
  put("run.rec", whole + "x");
  expect_refused("run.rec", "run.rec", "is damaged: bytes follow its end");
  put("run.rec", whole.substr(0, 40));
  expect_refused("run.rec", "run.rec", "is cut off: ");
}

TEST_F(Damaged, run_json_is_refused) {
  run({"--out", at("out"), "--keep-trace"});
  const std::string whole = text("out/run.json");
  EXPECT_EQ(run_command({VERBATIM_PROGRAM, "explain", at("out")}).code, 0);
  put("out/run.json", whole + std::string("\0{}", 3));
  expect_refused("out", "out/run.json", "a NUL byte follows the document");
  put("out/run.json", whole + "x");
  expect_refused("out", "out/run.json", "this is not valid JSON");
  put("out/run.json", "{\"outcome\": " + std::string(100'000, '['));
  expect_refused("out", "out/run.json", "nested more than 64 levels deep");
  put("out/run.json", "[]");
  expect_refused("out", "out/run.json", "is not what a run writes: it is not an object");
  const auto wrong = [&](const char* pointer, const nlohmann::ordered_json& value, const std::string& why) {
    put("out/run.json", whole);
    change_json("out/run.json", [&](auto& json) { json[nlohmann::ordered_json::json_pointer(pointer)] = value; });
    expect_refused("out", "out/run.json", why);
  };
  wrong("/outcome", 7, "/outcome is not a text");
  wrong("/programs", 7, "/programs is not a list");
  wrong("/programs/0", 7, "/programs/0 is not an object");
  wrong("/programs/0/host", 7, "/programs/0/host is not a text");
  wrong("/programs/0/stdout", "../secret", "/programs/0/stdout is not the name of a file in the folder");
  wrong("/checks", {{{"time_ps", 1e300}}}, "/checks/0/time_ps is not a virtual time in picoseconds");
  wrong("/packets", -1, "/packets is not a whole number");
}

TEST_F(Damaged, traces_are_refused) {
  run({"--trace", at("trace")});
  const std::string whole = text("trace");
  EXPECT_EQ(run_command({VERBATIM_PROGRAM, "ladder", at("trace")}).code, 0);
  put("trace", whole + std::string(InputFile::kMostLine + 1, 'x'));
  expect_refused("trace", "trace", "has a line longer than 1 MiB");
  put("trace", "no record\n");
  expect_refused("trace", "trace", "holds no record of a trace");
  put("trace", "999999999999999999.000000 us  host/server  program-started  pid=1\n");
  expect_refused("trace", "trace", "holds no record of a trace");
}

TEST_F(Damaged, nothing_is_lost_of_a_run_that_comes_by_a_pipe) {
  run({"--trace", at("trace")});
  run({"--record", at("run.rec")});
  for (const char* file : {"trace", "run.rec"}) {
    const Finished direct = run_command({VERBATIM_PROGRAM, "ladder", "--json", at(file)});
    const Finished piped = run_command({"/bin/sh", "-c", "cat \"$1\" | \"$0\" ladder --json /dev/stdin", VERBATIM_PROGRAM, at(file)});
    EXPECT_EQ(piped.code, 0) << piped.err;
    EXPECT_THAT(direct.out, HasSubstr("program-started"));
    EXPECT_EQ(piped.out, direct.out) << file;
  }
}

TEST_F(Damaged, replay_files_are_refused_by_name) {
  run({"--freedom", "spec", "--out", at("out")});
  const std::string whole = text("out/run.replay");
  const auto refused = [&](const std::string& why) {
    const Finished done = run_command({VERBATIM_PROGRAM, "replay", at("out/run.replay")});
    EXPECT_EQ(done.code, 2) << done.err;
    EXPECT_THAT(done.err, HasSubstr(at("out/run.replay"))) << why;
    EXPECT_THAT(done.err, HasSubstr(why));
  };
  const auto changed = [&](const std::function<void(nlohmann::ordered_json&)>& change, const std::string& why) {
    put("out/run.replay", whole);
    change_json("out/run.replay", change);
    refused(why);
  };
  put("out/run.replay", whole + std::string(1, '\0'));
  refused("a NUL byte follows the document");
  put("out/run.replay", whole.substr(0, whole.size() / 2));
  refused("this is not valid JSON");
  const auto decision = [](nlohmann::ordered_json answer) {
    return [answer](nlohmann::ordered_json& json) {
      json["decisions"] = {{{"site", "ack-delay"}, {"actor", "hca/server"}, {"occurrence", 1}, {"answer", answer}, {"of", 4}, {"time_ps", 1}}};
    };
  };
  changed(decision(0.5), "0.5 is not a whole number from 0 to 4294967295");
  changed(decision(4), "the answer of a decision is none of its alternatives");
  for (const char* pattern : {"(", "a{6666666166666666666}", "a{1,6666666166666666666}", "(a)\\6666666166666666666"})
    changed([pattern](auto& json) { json["fail_on"] = pattern; }, "is not a whole replay file: ");
  changed([](auto& json) { json["words"] = {"--no-such-option"}; }, "has options that this version does not have");
  const auto first_with = [](nlohmann::ordered_json& json, const std::string& part) -> nlohmann::ordered_json& {
    for (auto& [name, content] : json["files"].items()) {
      if (name.find(part) != std::string::npos) return content;
    }
    ADD_FAILURE() << "no file " << part;
    return json["files"];
  };
  for (const char* part : {"two_hosts.json", "/profiles/"}) {
    changed([&](auto& json) { first_with(json, part) = "{"; }, "run.replay: ");
    changed([&](auto& json) { first_with(json, part) = "{\"nothing\": 1}"; }, "run.replay: ");
  }
}

}  // namespace
}  // namespace verbatim::cli
