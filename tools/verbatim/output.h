// The programs' output: on the terminal line by line as `host| text`, and without prefix in files.
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

// Labels of the programs: "server", and "server.2" for the second program on a host.
std::vector<std::string> labels_of(const std::vector<std::string>& hosts);

// Receives the programs' writes in virtual-time order. Complete lines are shown at once, a last line without
// a newline at the program's end.
class ProgramOutput final : public supervisor::OutputListener {
 public:
  // `to_terminal` is false with --quiet.
  ProgramOutput(std::vector<std::string> labels, bool to_terminal);
  ~ProgramOutput();

  // Also writes `LABEL.stdout` and `LABEL.stderr` in `folder`. Returns a sentence on failure, else "".
  std::string open_files(const std::string& folder);

  void on_output(std::size_t program, int fd, std::string_view bytes) override;
  void on_exit(std::size_t program) override;
  void on_start(std::size_t program, int native_pid) override {
    if (start_listener_) start_listener_(program, native_pid);
  }
  void set_start_listener(std::function<void(std::size_t program, int native_pid)> listener) {
    start_listener_ = std::move(listener);
  }
  // Shows every unfinished line and closes the files. Returns a sentence if something could not be written.
  std::string finish();

  // Stores the programs' output, for comparison with the expected output.
  void keep_output() { keep_ = true; }
  const std::string& kept(std::size_t program) const { return streams_.at(2 * program).kept; }
  const std::string& kept_errors(std::size_t program) const { return streams_.at(2 * program + 1).kept; }
  // The last line that is not blank of the program's standard error, else of its standard output.
  std::string last_words(std::size_t program) const;
  // The first report of a sanitizer in the program's standard error: the lines from "ERROR: AddressSanitizer: …" to
  // its summary, at most kLongestReport bytes; empty: none.
  const std::string& sanitizer_report(std::size_t program) const {
    return streams_.at(2 * program + 1).sanitizer_report;
  }
  // Number of lines of programs that could not be written to standard error.
  std::uint64_t lost_lines() const { return lost_lines_; }
  const std::string& label(std::size_t program) const { return labels_.at(program); }

 private:
  struct Stream {
    std::string line;
    std::string kept;
    std::string last_line;       // without its newline; at most kLongestWords
    std::string sanitizer_report;
    bool is_in_report = false;
    std::string path;            // of its file; empty: none
    std::unique_ptr<OutputStream> file;  // open only while recently used
  };

  void flush_line(std::size_t stream);
  static void keep_report(Stream& stream);
  // Closes the file opened first if many are open. Returns a sentence on failure, else "".
  std::string open_file(std::size_t stream, OutputStream::From from);
  void close_file(std::size_t stream);

  std::vector<std::string> labels_;
  std::vector<Stream> streams_;  // stdout and stderr of program 0, of program 1, …
  std::deque<std::size_t> open_;  // indices of streams with an open file, in the order of opening
  bool to_terminal_;
  bool keep_ = false;
  std::string failure_;
  std::uint64_t lost_lines_ = 0;  // lines of programs that could not be written to standard error
  int lost_by_ = 0;               // errno of the first of these
  std::function<void(std::size_t, int)> start_listener_;
};

}  // namespace verbatim::cli
