// The status line of a real terminal: when it may be written, and what removes it.
#include "tools/verbatim/shell/status_line.h"

#include <gtest/gtest.h>

namespace verbatim::cli {
namespace {

TEST(StatusLine, of_terminals_that_have_room_and_know_sequences) {
  EXPECT_TRUE(StatusLine::fits("xterm-256color", 24));
  EXPECT_FALSE(StatusLine::fits("xterm", 4));
  for (const char* kind : {static_cast<const char*>(nullptr), "", "dumb", "unknown"}) EXPECT_FALSE(StatusLine::fits(kind, 24));
}

TEST(StatusLine, is_written_in_the_last_row_once_and_cut_to_the_columns) {
  StatusLine line(24, 11);
  EXPECT_EQ(line.begin(), "\n\033[A\0337\033[1;23r\0338");
  EXPECT_EQ(line.draw("server | terminal 1"), "\0337\033[24;1H\033[7m\033[2Kserver | t\033[0m\0338");
  EXPECT_EQ(line.draw("server | terminal 1"), "");
  EXPECT_NE(line.draw("client"), "");
  EXPECT_EQ(line.end(), "\0337\033[r\033[24;1H\033[2K\0338");
}

TEST(StatusLine, waits_for_the_end_of_a_sequence_and_of_a_character) {
  StatusLine line(24, 80);
  for (const char* part : {"\033", "\033[", "\033[1;3", "\033]0;title", "\033]0;title\033", "\033(", "\xc3", "\xe2\x82", "\xf0\x9f\x98"}) {
    StatusLine own = line;
    own.follow(part);
    EXPECT_EQ(own.draw("x"), "") << part;
  }
  for (const char* whole : {"text", "\033[1;31m", "\033]0;title\a", "\033]0;title\033\\", "\033(B", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\033M"}) {
    StatusLine own = line;
    own.follow(whole);
    EXPECT_NE(own.draw("x"), "") << whole;
  }
}

TEST(StatusLine, comes_again_when_a_program_has_erased_it_or_taken_its_region) {
  const std::string region = "\033[1;23r";
  StatusLine line(24, 80);
  line.draw("x");
  for (const char* gone : {"\033[2J", "\033[J"}) {
    line.follow(gone);
    const std::string drawn = line.draw("x");
    EXPECT_NE(drawn, "") << gone;
    EXPECT_EQ(drawn.find(region), std::string::npos) << gone;
  }
  for (const char* gone : {"\033[r", "\033c", "\033[!p", "\033[?1049h", "\033[?1049l"}) {
    line.follow(gone);
    EXPECT_NE(line.draw("x").find(region), std::string::npos) << gone;
  }
  line.follow("\033[3;10r");  // a scroll region of an editor
  EXPECT_EQ(line.draw("x"), "");
  line.resize(30, 100);
  EXPECT_NE(line.draw("x").find("\033[1;29r"), std::string::npos);
}

}  // namespace
}  // namespace verbatim::cli
