#include "tools/verbatim/shell/session_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace verbatim::cli {
namespace {

class SessionFile : public testing::Test {
 protected:
  SessionFile() {
    char name[] = "/tmp/session_file_XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/session.rec";
  }
  ~SessionFile() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
  std::string text() {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string failure() {
    std::string why;
    EXPECT_FALSE(read_session(path_, &why));
    return why;
  }

  std::string folder_, path_;
};

Session some_session() {
  Session session;
  session.replay.words = {"--topology", "t.json", "a=bash"};
  session.replay.files.texts["t.json"] = "{}";
  session.environment["TERM"] = "dumb";
  session.rows = 30;
  return session;
}

Session::Event keys(std::int64_t when, std::string text) {
  Session::Event event;
  event.time_ps = when;
  event.input.keys = std::move(text);
  return event;
}

TEST_F(SessionFile, what_was_written_is_read_again) {
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) all_bytes += static_cast<char>(byte);
  SessionWriter writer;
  ASSERT_EQ(writer.open(path_, some_session()), "");
  writer.write(keys(5, all_bytes));
  Session::Event resize = keys(6, "");
  resize.input.kind = supervisor::TerminalInput::Kind::kResize;
  resize.input.rows = 50;
  writer.write(resize);
  Session::Event opened = keys(7, "");
  opened.input.kind = supervisor::TerminalInput::Kind::kOpen;
  opened.input.host = 3;
  writer.write(opened);
  Session::Event shown = keys(7, "");
  shown.shows = 1;
  shown.shown = 99;
  writer.write(shown);
  Session::Event hung_up = keys(8, "");
  hung_up.input.kind = supervisor::TerminalInput::Kind::kHangUp;
  writer.write(hung_up);
  writer.write(Session::End{9, "finished", {"00"}, {{"/bin/bash", "11"}}});
  ASSERT_EQ(writer.close(), "");

  std::string why;
  EXPECT_TRUE(is_session(path_));
  const auto read = read_session(path_, &why);
  ASSERT_TRUE(read) << why;
  EXPECT_EQ(read->replay.words, some_session().replay.words);
  EXPECT_EQ(read->rows, 30);
  ASSERT_EQ(read->events.size(), 5u);
  EXPECT_EQ(read->events[0].input.keys, all_bytes);
  EXPECT_EQ(read->events[1].input.rows, 50);
  EXPECT_EQ(read->events[2].input.host, 3u);
  EXPECT_EQ(read->events[3].shows, 1u);
  EXPECT_EQ(read->events[3].shown, 99u);
  EXPECT_EQ(read->end->digest.hex, "00");
  EXPECT_TRUE(read->end->digest.is_comparable());
  EXPECT_EQ(read->events[4].input.kind, supervisor::TerminalInput::Kind::kHangUp);
  ASSERT_TRUE(read->end);
  EXPECT_EQ(read->end->contents.front().path, "/bin/bash");
}

TEST_F(SessionFile, a_file_that_is_there_is_not_written_over) {
  write("precious");
  SessionWriter writer;
  EXPECT_NE(writer.open(path_, some_session()), "");
  EXPECT_EQ(text(), "precious");
}

TEST_F(SessionFile, a_line_that_was_cut_off_counts_as_not_written) {
  SessionWriter writer;
  ASSERT_EQ(writer.open(path_, some_session()), "");
  writer.write(keys(5, "ls\r"));
  writer.write(keys(6, "exit\r"));
  ASSERT_EQ(writer.close(), "");
  write(text().substr(0, text().size() - 10));
  std::string why;
  const auto read = read_session(path_, &why);
  ASSERT_TRUE(read) << why;
  EXPECT_EQ(read->events.size(), 1u);
  EXPECT_FALSE(read->end);
}

TEST_F(SessionFile, what_is_no_session_is_refused_in_a_sentence) {
  SessionWriter writer;
  ASSERT_EQ(writer.open(path_, some_session()), "");
  ASSERT_EQ(writer.close(), "");
  const std::string head = text();
  for (const std::string& text : {std::string(), std::string("\0\1\2", 3), std::string("{\"session\":"),
                                  std::string("{\"session\":2}\n"), std::string("{\"session\":1}\n"), std::string("[]\n"), head + "{}\n", head + "7\n",
                                  head + "{\"at_ps\":1,\"terminal\":-1,\"keys\":\"a\"}\n", head + "{\"at_ps\":1,\"terminal\":0}\n",
                                  head + "{\"at_ps\":\"x\",\"terminal\":0,\"keys\":\"a\"}\n",
                                  head + "{\"at_ps\":5,\"terminal\":0,\"keys\":\"a\"}\n{\"at_ps\":4,\"terminal\":0,\"keys\":\"a\"}\n",
                                  head + "{\"end_ps\":1,\"outcome\":\"finished\",\"digest\":\"\",\"contents\":[]}\n{\"at_ps\":1}\n"}) {
    write(text);
    EXPECT_NE(failure(), "") << text;
  }
}

}  // namespace
}  // namespace verbatim::cli
