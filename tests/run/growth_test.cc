// Objects that a program creates and destroys repeatedly use no memory of the simulator after that.
#include <string>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

// The largest number of the simulator's allocations while this number of connections is made and closed. A
// check keeps the last thousands of datagrams.
long most_pieces(int connections) {
  const support::TemporaryFolder folder;
  const std::string program = support::quoted(CONNECTIONS) + " " + std::to_string(connections),
                    file = folder.path() + "/pieces";
  support::RunRequest request;
  request.program = COUNTED_VERBATIM;
  request.commands = {"server=" + program, "client=" + program + " server"};
  request.options = {"--check", "all=off"};
  request.environment["COUNTED_HEAP"] = file;
  const support::RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  const std::string text = support::text_of_file(file);
  EXPECT_FALSE(text.empty());
  return text.empty() ? 0 : std::stol(text);
}

TEST(Growth, connections_that_have_ended_take_no_memory) {
  constexpr long kFew = 100;                 // less than one in ten connections
  const long after_some = most_pieces(250);  // the number that has figures in the report
  EXPECT_LT(most_pieces(1'250), after_some + kFew);
}

}  // namespace
}  // namespace verbatim
