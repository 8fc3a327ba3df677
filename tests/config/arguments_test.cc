// {names} in commands, and their ranges: the resulting values, and findings for invalid ones.
#include "sim/config/arguments.h"

#include <gtest/gtest.h>

#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

struct Loaded {
  std::optional<ScenarioSpec> spec;
  std::string findings;
};

Loaded load(const std::string& ranges, const std::string& command) {
  Folder folder;
  Diagnostics diagnostics;
  Loaded loaded;
  loaded.spec = load_scenario(folder.write("s.json", R"({"topology": ")" VERBATIM_SOURCE_DIR R"(/topologies/two_hosts.json", )" +
                                                         (ranges.empty() ? "" : R"("ranges": )" + ranges + ", ") +
                                                         R"("programs": [{"host": "server", "command": )" + command + "}]}"),
                              with_profiles(), diagnostics);
  loaded.findings = text_of(diagnostics);
  return loaded;
}

TEST(Arguments, commands_get_the_greatest_value_until_another_is_set) {
  Loaded loaded = load(R"({"messages": "1..1000", "n": "0..3"})", R"("a --count={messages} x{n}y{n}")");
  ASSERT_TRUE(loaded.spec.has_value()) << loaded.findings;
  EXPECT_EQ(loaded.spec->programs[0].command, (std::vector<std::string>{"a", "--count=1000", "x3y3"}));
  Diagnostics diagnostics;
  set_argument(*loaded.spec, "messages=5", "--set", diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_EQ(loaded.spec->programs[0].command, (std::vector<std::string>{"a", "--count=5", "x3y3"}));
  set_arguments(*loaded.spec, {{"messages", 1}, {"n", 0}});
  EXPECT_EQ(loaded.spec->programs[0].command, (std::vector<std::string>{"a", "--count=1", "x0y0"}));
  EXPECT_EQ(values_of(*loaded.spec), (ArgumentValues{{"messages", 1}, {"n", 0}}));
}

TEST(Arguments, braces_that_are_no_name_are_text_and_so_are_all_without_ranges) {
  const Loaded loaded = load(R"({"n": "1..2"})", R"(["a", "{n}", "{{n}}", "{ n }", "{}", "{3}", "{", "{{{n}}}", "{{n}"])");
  ASSERT_TRUE(loaded.spec.has_value()) << loaded.findings;
  EXPECT_EQ(loaded.spec->programs[0].command,
            (std::vector<std::string>{"a", "2", "{n}", "{ n }", "{}", "{3}", "{", "{{n}}", "{2"}));
  const Loaded plain = load("", R"(["awk", "{print}"])");
  ASSERT_TRUE(plain.spec.has_value()) << plain.findings;
  EXPECT_EQ(plain.spec->programs[0].command, (std::vector<std::string>{"awk", "{print}"}));
}

TEST(Arguments, findings) {
  EXPECT_EQ(load(R"({"messages": "1..9"})", R"("a {mesages} {messages}")").findings,
            "/programs/0/command: {mesages} has no range; did you mean \"messages\"?; {{mesages}} is the text {mesages}\n");
  EXPECT_EQ(load(R"({"n": "1..9", "m": "1..9"})", R"("a {n}")").findings,
            "/ranges/m: no command uses {m}; write it where the number belongs, or leave the range out\n");
  for (const char* range : {"", "5", "9..1", "1...9", "-1..3", "1..", "..9", "a..b", "1..99999999999999999999"}) {
    EXPECT_EQ(load(std::string(R"({"n": ")") + range + "\"}", R"("a {n}")").findings,
              "/ranges/n: \"" + std::string(range) + "\" is not a range of whole numbers from 0; write it like \"1..1000\"\n");
  }
  EXPECT_EQ(load(R"({"1n": "1..9"})", R"("a")").findings,
            "/ranges/1n: \"1n\" is not a name for an argument; a name is a letter, then letters, digits, '_' and '-'\n");
  EXPECT_EQ(load(R"({"n": 9})", R"("a {n}")").spec.has_value(), false);
}

TEST(Arguments, findings_of_what_is_set) {
  const auto finding = [](const std::string& text) {
    Loaded loaded = load(R"({"messages": "2..9"})", R"("a {messages}")");
    Diagnostics diagnostics;
    set_argument(loaded.spec.value(), text, "--set", diagnostics);
    return text_of(diagnostics);
  };
  EXPECT_EQ(finding("messages=2"), "");
  EXPECT_EQ(finding("messages=1"), "1 is out of range for \"messages\"; its range is 2..9\n");
  EXPECT_EQ(finding("messages=10"), "10 is out of range for \"messages\"; its range is 2..9\n");
  EXPECT_EQ(finding("message=3"), "the run has no argument \"message\"; did you mean \"messages\"?\n");
  EXPECT_EQ(finding("messages"), "\"messages\" is not of the form NAME=NUMBER; write it like \"messages=5\"\n");
  EXPECT_EQ(finding("messages=few"), "\"messages=few\" is not of the form NAME=NUMBER; write it like \"messages=5\"\n");
}

}  // namespace
}  // namespace verbatim::config
