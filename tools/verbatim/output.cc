#include "tools/verbatim/output.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tools/verbatim/progress.h"

namespace verbatim::cli {

namespace {
// Longer lines are shown in pieces, because a program that never writes a newline must not exhaust memory.
constexpr std::size_t kLongestLine = 1 << 20;
constexpr std::size_t kLongestWords = 400;
constexpr std::size_t kLongestReport = 8192;
constexpr std::size_t kMostOpen = 256;  // open files, as thousands of programs would need thousands of descriptors
}  // namespace

std::vector<std::string> labels_of(const std::vector<std::string>& hosts) {
  std::vector<std::string> labels;
  std::map<std::string, int> seen;
  for (const std::string& host : hosts) {
    const int n = ++seen[host];
    labels.push_back(n == 1 ? host : host + "." + std::to_string(n));
  }
  return labels;
}

ProgramOutput::ProgramOutput(std::vector<std::string> labels, bool to_terminal)
    : labels_(std::move(labels)), streams_(2 * labels_.size()), to_terminal_(to_terminal) {}

ProgramOutput::~ProgramOutput() { finish(); }

std::string ProgramOutput::open_files(const std::string& folder) {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    streams_[i].path = folder + "/" + labels_[i / 2] + (i % 2 == 0 ? ".stdout" : ".stderr");
    if (std::string failure = open_file(i, OutputStream::From::kStart); !failure.empty()) return failure;
  }
  return "";
}

std::string ProgramOutput::open_file(std::size_t stream, OutputStream::From from) {
  if (open_.size() == kMostOpen) {
    close_file(open_.front());
    open_.pop_front();
  }
  auto file = std::make_unique<OutputStream>();
  if (std::string failure = file->open(streams_[stream].path, from); !failure.empty()) return failure;
  streams_[stream].file = std::move(file);
  open_.push_back(stream);
  return "";
}

void ProgramOutput::close_file(std::size_t stream) {
  if (std::string failure = streams_[stream].file->close(); !failure.empty()) failure_ = std::move(failure);
  streams_[stream].file.reset();
}

// Adds the stream's line to the report of a sanitizer if it begins or continues one.
void ProgramOutput::keep_report(Stream& stream) {
  const std::string& line = stream.line;
  std::string& report = stream.sanitizer_report;
  const bool is_of_sanitizer = line.find("Sanitizer: ") != line.npos;
  const bool begins = line.find("ERROR: ") != line.npos || line.find("WARNING: ") != line.npos;
  if (report.empty() && is_of_sanitizer && begins) stream.is_in_report = true;
  if (!stream.is_in_report) return;
  if (report.size() + line.size() <= kLongestReport) report += line;
  if (line.starts_with("SUMMARY: ")) stream.is_in_report = false;
}

void ProgramOutput::flush_line(std::size_t stream) {
  std::string& line = streams_[stream].line;
  if (line.empty()) return;
  keep_report(streams_[stream]);
  if (const std::size_t end = line.find_last_not_of("\r\n\t "); end != std::string::npos)
    streams_[stream].last_line.assign(line, 0, std::min(end + 1, kLongestWords));
  if (to_terminal_) {
    clear_progress();
    const std::string text = labels_[stream / 2] + "| " + line + (line.back() == '\n' ? "" : "\n");
    // If both streams have one destination, their order is kept.
    std::FILE* to = stream % 2 == 0 ? stdout : stderr;
    if (to == stderr) flush_standard_output();
    if (std::fwrite(text.data(), 1, text.size(), to) == text.size() || to == stdout) return line.clear();
    if (lost_lines_++ == 0) lost_by_ = errno;
  }
  line.clear();
}

void ProgramOutput::on_output(std::size_t program, int fd, std::string_view bytes) {
  const std::size_t index = 2 * program + (fd == 2 ? 1 : 0);
  Stream& stream = streams_.at(index);
  if (stream.file == nullptr && !stream.path.empty()) {
    if (std::string failure = open_file(index, OutputStream::From::kEnd); !failure.empty()) failure_ = std::move(failure);
  }
  if (stream.file != nullptr) std::fwrite(bytes.data(), 1, bytes.size(), stream.file->get());
  if (keep_) stream.kept += bytes;
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::size_t n = newline == std::string_view::npos ? bytes.size() : newline + 1;
    stream.line += bytes.substr(0, n);
    bytes.remove_prefix(n);
    if (newline != std::string_view::npos || stream.line.size() >= kLongestLine) flush_line(index);
  }
}

std::string ProgramOutput::last_words(std::size_t program) const {
  const std::string& error = streams_.at(2 * program + 1).last_line;
  return error.empty() ? streams_.at(2 * program).last_line : error;
}

void ProgramOutput::on_exit(std::size_t program) {
  flush_line(2 * program);
  flush_line(2 * program + 1);
}

std::string ProgramOutput::finish() {
  for (std::size_t i = 0; i < streams_.size(); ++i) flush_line(i);
  for (const std::size_t stream : open_) close_file(stream);
  open_.clear();
  flush_standard_output();
  if (lost_lines_ == 0 || !failure_.empty()) return failure_;
  return "standard error is not complete: " + std::string(std::strerror(lost_by_)) + "; it lacks " + std::to_string(lost_lines_) +
         (lost_lines_ == 1 ? " line" : " lines") + " of programs";
}

}  // namespace verbatim::cli
