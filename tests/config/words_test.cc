#include "sim/config/words.h"

#include <gtest/gtest.h>

#include "sim/config/diagnostics.h"

namespace verbatim::config {
namespace {

using Words = std::vector<std::string>;

Words split(std::string_view text) {
  std::string problem;
  const auto words = split_words(text, &problem);
  EXPECT_TRUE(words.has_value()) << problem;
  return words.value_or(Words{});
}

std::string refusal(std::string_view text) {
  std::string problem;
  EXPECT_FALSE(split_words(text, &problem).has_value()) << text;
  return problem;
}

// Each line was compared with `printf '<%s>' …` in a POSIX shell.
TEST(SplitWords, as_a_shell_splits_them) {
  EXPECT_EQ(split("ibv_rc_pingpong -s 64 server"), (Words{"ibv_rc_pingpong", "-s", "64", "server"}));
  EXPECT_EQ(split("  a\t b\n"), (Words{"a", "b"}));
  EXPECT_EQ(split(""), Words{});
  EXPECT_EQ(split("a '' \"\""), (Words{"a", "", ""}));
  EXPECT_EQ(split("a'b c'd"), (Words{"ab cd"}));
  EXPECT_EQ(split("\"a 'b'\""), (Words{"a 'b'"}));
  EXPECT_EQ(split("a\\ b"), (Words{"a b"}));
  EXPECT_EQ(split("'a\\'"), (Words{"a\\"}));
  EXPECT_EQ(split("\"a\\\"b\\n\""), (Words{"a\"b\\n"}));
  EXPECT_EQ(split("'$HOME *'"), (Words{"$HOME *"}));
  EXPECT_EQ(split("\\$5"), (Words{"$5"}));
  EXPECT_EQ(split("a#b a~b"), (Words{"a#b", "a~b"}));
}

TEST(SplitWords, what_only_a_shell_could_do_is_refused) {
  for (const char* text :
       {"a $b", "a `b`", "a *", "a | b", "a > b", "a & b", "a ; b", "\"$x\"", "~/a", "# a", "(a)"}) {
    EXPECT_NE(refusal(text).find("only to a shell"), std::string::npos) << text;
  }
  EXPECT_EQ(refusal("a 'b"), "the command has a single quote that is never closed");
  EXPECT_EQ(refusal("a \"b"), "the command has a double quote that is never closed");
  EXPECT_EQ(refusal("a \\"), "the command ends in a backslash");
}

TEST(JoinWords, split_gives_the_words_back) {
  for (const Words& words :
       {Words{"a", "b"}, Words{"", "a b", "it's", "$x", "\n", "\\"}, Words{"-s=1,2:3"}}) {
    EXPECT_EQ(split(join_words(words)), words);
  }
  EXPECT_EQ(join_words({"ibv_rc_pingpong", "-s", "64"}), "ibv_rc_pingpong -s 64");
}

TEST(Nearest, a_word_is_near_to_one_with_a_few_other_letters) {
  EXPECT_EQ(nearest("sever", {"client", "server"}), "server");
  EXPECT_EQ(nearest("Server", {"client", "server"}), "server");
  EXPECT_EQ(nearest("nothing", {"client", "server"}), "");
}

TEST(Nearest, a_letter_is_near_to_no_other_letter) {
  EXPECT_EQ(nearest("x", {"a", "b"}), "");
  EXPECT_EQ(nearest("A", {"a", "b"}), "a");
  EXPECT_EQ(nearest("h1", {"h2"}), "h2");
}

TEST(Ipv4, only_four_plain_decimal_numbers) {
  EXPECT_EQ(parse_ipv4("10.0.0.1"), 0x0a000001u);
  EXPECT_EQ(format_ipv4(0x0a0000feu), "10.0.0.254");
  for (const char* text :
       {"", "10.0.0", "10.0.0.1.2", "10.0.0.256", "10.0.0.01", "10.0.0.-1", " 10.0.0.1", "10..0.1"}) {
    EXPECT_FALSE(parse_ipv4(text).has_value()) << text;
  }
}

TEST(Signals, names_and_numbers) {
  EXPECT_EQ(signal_number("SIGSEGV"), 11);
  EXPECT_EQ(signal_name(9), "SIGKILL");
  EXPECT_EQ(signal_number("SIGNONSENSE"), 0);
  EXPECT_EQ(signal_name(63), "signal 63");
}

}  // namespace
}  // namespace verbatim::config
