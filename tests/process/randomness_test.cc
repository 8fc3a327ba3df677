// Repeatable randomness: all sources differ from each other, repeat with the seed and change with it.
#include <set>
#include <sstream>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

const std::string kProgram = support::quoted(std::string(PROCESS_FOLDER) + "/randomness");

support::RunReport with_seed(const std::string& seed) {
  return support::run(
      {.commands = {"server=" + kProgram, "client=" + kProgram}, .options = {"--seed", seed}});
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Randomness, repeats_with_the_seed_and_differs_otherwise) {
  const auto first = with_seed("1"), again = with_seed("1"), other = with_seed("2");
  ASSERT_EQ(first.code, 0) << first.story();
  EXPECT_EQ(first.outputs, again.outputs);
  EXPECT_EQ(first.digest(), again.digest());
  EXPECT_NE(first.digest(), other.digest());

  // No random value occurs twice in two programs and two seeds; everything else is equal.
  std::set<std::string> values;
  std::size_t count = 0;
  std::set<std::string> addresses;
  for (const auto* run : {&first, &other}) {
    for (const char* host : {"server", "client"}) {
      const auto lines = lines_of(run->output(host));
      ASSERT_EQ(lines.size(), 8u) << run->output(host);
      for (std::size_t i = 0; i < 7; ++i, ++count) values.insert(lines[i].substr(lines[i].find(' ')));
      addresses.insert(lines[7].substr(0, lines[7].find(" pid ")));
    }
  }
  EXPECT_EQ(count, 28u);
  EXPECT_EQ(values.size(), count) << first.output("server") << other.output("server");
  EXPECT_EQ(addresses.size(), 1u) << *addresses.begin();
}

}  // namespace
}  // namespace verbatim
