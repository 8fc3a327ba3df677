// Explanations name places in the program.
#include "tests/explore/explore_runs.h"

namespace verbatim::cli {
namespace {

// The place of the post is in the program, although three functions of headers lie between it and the library.
TEST_F(Explore, a_message_over_a_socket_that_overtakes_a_write_is_explained) {
  const Finished run =
      explore(out_, {"--runs", "100", "--shrink-time", "10s"},
              {"--topology", kTopology, "server=" ANNOUNCED_WRITE, "client=" ANNOUNCED_WRITE " 10.0.0.1"});
  ASSERT_EQ(run.code, 1) << run.out << run.err;
  expect_found(run.out, "cause: a message over a socket \\(4 bytes, which client sent by write\\(.* reaches server at .* of an RDMA WRITE for QP "
                        "[0-9]+ \\(posted at announced_write\\.c:[0-9]+\\) become visible at");
  expect_found(run.out, "what to do: let client poll the completion of the WRITE before it sends the message");
}

}  // namespace
}  // namespace verbatim::cli
