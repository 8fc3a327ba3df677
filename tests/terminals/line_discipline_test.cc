#include "sim/supervisor/files/line_discipline.h"

#include <gtest/gtest.h>

#include <csignal>

namespace verbatim::supervisor {
namespace {

TerminalSettings raw(std::uint8_t minimum = 1, std::uint8_t time = 0) {
  TerminalSettings settings;
  settings.local &= ~static_cast<std::uint32_t>(ICANON | ECHO);
  settings.characters[VMIN] = minimum;
  settings.characters[VTIME] = time;
  return settings;
}

TEST(LineDiscipline, a_line_can_be_read_when_it_is_complete) {
  LineDiscipline line;
  EXPECT_EQ(line.type("ab").echo, "ab");
  EXPECT_FALSE(line.is_readable());
  EXPECT_EQ(line.read(10), std::nullopt);
  EXPECT_EQ(line.type("c\r").echo, "c\r\n");
  EXPECT_TRUE(line.is_readable());
  EXPECT_EQ(line.read(10), "abc\n");
  EXPECT_FALSE(line.is_readable());
}

TEST(LineDiscipline, a_read_gives_no_more_than_one_line_and_no_more_than_it_asks_for) {
  LineDiscipline line;
  line.type("one\rtwo\r");
  EXPECT_EQ(line.readable_bytes(), 8u);
  EXPECT_EQ(line.read(2), "on");
  EXPECT_EQ(line.read(9), "e\n");
  EXPECT_EQ(line.read(9), "two\n");
}

TEST(LineDiscipline, keys_that_erase_take_characters_words_and_lines_away) {
  LineDiscipline line;
  EXPECT_EQ(line.type("ab\177c").echo, "ab\b \bc");
  EXPECT_EQ(line.type("\025").echo, "\b \b\b \b");
  EXPECT_EQ(line.type("x yz\027").echo, "x yz\b \b\b \b");
  EXPECT_EQ(line.type("\177\177\177\177").echo, "\b \b\b \b");
  line.type("q\r");
  EXPECT_EQ(line.read(10), "q\n");
}

TEST(LineDiscipline, a_character_of_several_bytes_is_erased_as_one) {
  LineDiscipline line;
  line.type("a\303\244");
  EXPECT_EQ(line.type("\177").echo, "\b \b");
  line.type("\r");
  EXPECT_EQ(line.read(10), "a\n");
}

TEST(LineDiscipline, a_tab_is_erased_back_to_where_it_began) {
  LineDiscipline line;
  line.to_screen("$ ");
  line.type("a\t");
  EXPECT_EQ(line.type("\177").echo, "\b\b\b\b\b");
}

TEST(LineDiscipline, the_key_for_the_end_ends_a_line_without_being_in_it) {
  LineDiscipline line;
  line.type("ab\004");
  EXPECT_EQ(line.read(10), "ab");
  EXPECT_EQ(line.read(10), std::nullopt);
  line.type("\004");
  EXPECT_TRUE(line.is_readable());
  EXPECT_EQ(line.readable_bytes(), 0u);
  EXPECT_EQ(line.read(10), "");
}

TEST(LineDiscipline, a_key_behind_that_for_literal_ones_has_no_meaning) {
  LineDiscipline line;
  EXPECT_EQ(line.type("\026\003").echo, "^\b^C");
  EXPECT_TRUE(line.type("\026\004\r").signals.empty());
  EXPECT_EQ(line.read(10), "\003\004\n");
}

TEST(LineDiscipline, keys_are_signals_and_what_was_typed_before_is_gone) {
  LineDiscipline line;
  const auto effects = line.type("abc\003\032\034");
  EXPECT_EQ(effects.signals, (std::vector<int>{SIGINT, SIGTSTP, SIGQUIT}));
  EXPECT_EQ(effects.echo, "abc^C^Z^\\");
  line.type("\r");
  EXPECT_EQ(line.read(10), "\n");
  TerminalSettings settings;
  settings.local |= NOFLSH;
  line.set(settings);
  line.type("abc\003\r");
  EXPECT_EQ(line.read(10), "abc\n");
  settings.local &= ~static_cast<std::uint32_t>(ISIG);
  line.set(settings);
  EXPECT_TRUE(line.type("\003").signals.empty());
}

TEST(LineDiscipline, in_raw_mode_bytes_come_as_they_are) {
  LineDiscipline line;
  TerminalSettings settings = raw();
  settings.input &= ~static_cast<std::uint32_t>(ICRNL);
  line.set(settings);
  EXPECT_EQ(line.type("a\177\r\004").echo, "");
  EXPECT_EQ(line.read(2), "a\177");
  EXPECT_EQ(line.read(10), "\r\004");
  EXPECT_EQ(line.read(10), std::nullopt);
}

TEST(LineDiscipline, in_raw_mode_poll_waits_for_as_many_bytes_as_a_read_does) {
  LineDiscipline line;
  line.set(raw(3));
  line.type("ab");
  EXPECT_FALSE(line.is_readable());
  line.type("c");
  EXPECT_TRUE(line.is_readable());
  LineDiscipline timed;
  timed.set(raw(3, 5));
  timed.type("a");
  EXPECT_TRUE(timed.is_readable());
  EXPECT_EQ(timed.patience().minimum, 3u);
  EXPECT_EQ(timed.patience().time, Duration(500'000'000'000));
}

TEST(LineDiscipline, what_was_typed_ahead_survives_a_change_of_mode) {
  LineDiscipline line;
  line.type("ls");
  line.set(raw());
  EXPECT_EQ(line.read(1), "l");
  line.set(TerminalSettings());
  EXPECT_TRUE(line.is_readable());
  EXPECT_EQ(line.read(10), "s");
}

TEST(LineDiscipline, output_gets_carriage_returns_and_tabs_where_they_are_asked_for) {
  LineDiscipline line;
  EXPECT_EQ(line.to_screen("a\nb\r\n"), "a\r\nb\r\r\n");
  TerminalSettings settings;
  settings.output |= TAB3;
  line.set(settings);
  EXPECT_EQ(line.to_screen("ab\tc"), "ab      c");
  settings.output = 0;
  line.set(settings);
  EXPECT_EQ(line.to_screen("a\nb\t"), "a\nb\t");
}

TEST(LineDiscipline, output_stops_and_goes_on_by_keys) {
  LineDiscipline line;
  EXPECT_EQ(line.type("\023").echo, "");
  EXPECT_TRUE(line.is_stopped());
  line.type("\021");
  EXPECT_FALSE(line.is_stopped());
  line.type("\023\003");
  EXPECT_FALSE(line.is_stopped());
}

TEST(LineDiscipline, a_line_without_end_takes_no_more_than_4095_bytes) {
  LineDiscipline line;
  line.type(std::string(10'000, 'x'));
  line.type("\177\r");
  EXPECT_EQ(line.read(100'000), std::string(4094, 'x') + "\n");
}

TEST(LineDiscipline, any_keys_in_any_mode_end_well) {
  LineDiscipline line;
  std::uint32_t state = 1;
  const auto next = [&] { return state = state * 1664525 + 1013904223; };
  for (int i = 0; i < 20'000; ++i) {
    std::string keys;
    for (unsigned n = next() >> 28; n > 0; --n) keys += static_cast<char>(next() >> 24);
    line.type(keys);
    line.to_screen(keys);
    if (i % 7 == 0) line.read(next() >> 27);
    if (i % 13 != 0) continue;
    TerminalSettings settings;
    settings.input = next();
    settings.output = next();
    settings.local = next();
    for (std::uint8_t& character : settings.characters) character = static_cast<std::uint8_t>(next() >> 24);
    line.set(settings);
  }
  EXPECT_LE(line.readable_bytes(), 4096u);
}

}  // namespace
}  // namespace verbatim::supervisor
