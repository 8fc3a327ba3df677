// Files that a command writes.
//
// A finished document (report, ladder, JUnit XML, replay file, run.json) is written beside its target and then renamed over it:
// the target has all of it, or what it had before. The rename goes through a symbolic link, and keeps mode and owner of what was
// there. A stream (trace, pcap, calls, recording, output of programs) is written in place, and so is everything whose target is
// no regular file (a device, a FIFO, "-" or /dev/stdout), has other names, or cannot keep its owner.
// Folders, files in folders that are missing or may not be written, and files that the same command reads are refused.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace verbatim::cli {

// No output of this command may replace the file at `path`, by whatever name. A file that does not exist is ignored.
void protect_input(const std::string& path);

// A sentence why a file cannot be written to `path`, found without changing anything; empty: nothing speaks against it.
std::string output_refusal(const std::string& path);

// Flushes standard output. The error of the first time that this failed, as errno, else 0.
int flush_standard_output();

// False: nothing can be written to `path`, and a sentence on standard error says why. An empty path is none.
bool can_write(const std::string& path);

// Whether `path` is "-" or another name of standard output.
bool is_standard_output(const std::string& path);

// Writes all of `text`. A sentence on failure, which names `path` and the error in words; else empty.
std::string write_document(const std::string& path, std::string_view text);

class OutputStream {
 public:
  enum class From { kStart, kEnd };  // kEnd keeps what the file has

  OutputStream() = default;
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;
  ~OutputStream() { close(); }

  // A sentence when it cannot be opened, else empty. Not while it is open.
  std::string open(const std::string& path, From from = From::kStart);
  // nullptr while it is not open.
  std::FILE* get() const { return file_; }
  // A sentence when something could not be written since it was opened, else empty.
  std::string close();

 private:
  static ssize_t write(void* stream, const char* bytes, std::size_t size);

  std::string path_;
  std::FILE* file_ = nullptr;
  int descriptor_ = -1;
  int error_ = 0;  // the first that a write has met
};

}  // namespace verbatim::cli
