// The programs' output: on the terminal line by line as `host| text`, and unprefixed in files.
#pragma once

#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/trace.h"
#include "sim/supervisor/supervisor.h"
#include "tools/verbatim/output_file.h"

namespace verbatim::cli {

// "server", and "server.2" for the second program on it, so that every program has a label of its own.
std::vector<std::string> labels_of(const std::vector<std::string>& hosts);

// Takes the programs' writes in virtual-time order. Lines appear when they are complete; what a program
// leaves without a newline appears when it ends.
class ProgramOutput final : public supervisor::OutputListener {
 public:
  // `to_terminal`: false with --quiet.
  ProgramOutput(std::vector<std::string> labels, bool to_terminal);
  ~ProgramOutput();

  // Also writes `LABEL.stdout` and `LABEL.stderr` in `folder`. A sentence on failure, else empty.
  std::string open_files(const std::string& folder);

  void on_output(std::size_t program, int fd, std::string_view bytes) override;
  void on_exit(std::size_t program) override;
  void on_start(std::size_t program, int native_pid) override {
    if (start_listener_) start_listener_(program, native_pid);
  }
  void tell_starts(std::function<void(std::size_t program, int native_pid)> listener) { start_listener_ = std::move(listener); }
  // Shows every unfinished line; closes the files. A sentence when something could not be written.
  std::string finish();

  // Keeps what programs write, for comparison with what is expected of it.
  void keep_output() { keep_ = true; }
  const std::string& kept(std::size_t program) const { return streams_.at(2 * program).kept; }
  const std::string& kept_errors(std::size_t program) const { return streams_.at(2 * program + 1).kept; }
  // The last line with anything in it that the program wrote to standard error, else to standard output.
  std::string last_words(std::size_t program) const;
  // Lines of programs that standard error did not take, so far.
  std::uint64_t lost_lines() const { return lost_lines_; }
  const std::string& label(std::size_t program) const { return labels_.at(program); }

 private:
  struct Stream {
    std::string line;
    std::string kept;
    std::string last_line;       // without its newline; not longer than kLongestWords
    std::string path;            // of its file; empty: it has none
    std::unique_ptr<OutputStream> file;  // open while it is one of the last that were written to
  };

  void flush_line(std::size_t stream);
  // Closes the one that was opened first when many are open. A sentence when it cannot be opened, else empty.
  std::string open_file(std::size_t stream, OutputStream::From from);
  void close_file(std::size_t stream);

  std::vector<std::string> labels_;
  std::vector<Stream> streams_;  // stdout and stderr of program 0, of program 1, …
  std::deque<std::size_t> open_;  // those with an open file, in the order in which they were opened
  bool to_terminal_;
  bool keep_ = false;
  std::string failure_;
  std::uint64_t lost_lines_ = 0;  // that programs wrote to standard error and ours did not take
  int lost_by_ = 0;               // why, errno of the first
  std::function<void(std::size_t, int)> start_listener_;
};

}  // namespace verbatim::cli
