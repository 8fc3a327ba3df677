// Files that a command writes.
//
// A complete document (report, ladder, JUnit XML, replay file, run.json) is written beside its target and then renamed:
// the target has either all of it or its old content. The rename follows symbolic links and keeps mode and owner of an
// existing file. A stream (trace, pcap, calls, recording, output of programs) is written in place, and so is every
// document whose target is not a regular file (a device, a FIFO, "-" or /dev/stdout), has several links, or could not
// keep its owner. Folders, files in missing or unwritable folders, and files that the same command reads are refused.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace verbatim::cli {

// No output of this command may replace the file at `path`, by whatever name. A missing file is ignored.
void protect_input(const std::string& path);

// A sentence if no file can be written to `path`; empty otherwise. Changes nothing.
std::string output_refusal(const std::string& path);

// Flushes standard output. Returns the errno of the first failure of any call, else 0.
int flush_standard_output();

// Returns false, after an error message, if nothing can be written to `path`. An empty path is accepted.
bool can_write(const std::string& path);

// Whether `path` is "-" or another name of standard output.
bool is_standard_output(const std::string& path);

// Writes all of `text`. Returns a sentence with `path` and the error on failure, else "".
std::string write_document(const std::string& path, std::string_view text);
// The same for a document that `write` writes to a descriptor, front to back; it returns "" or a sentence.
std::string write_document(const std::string& path, const std::function<std::string(int descriptor)>& write);

class OutputStream {
 public:
  enum class From { kStart, kEnd };  // kEnd appends

  OutputStream() = default;
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;
  ~OutputStream() { close(); }

  // Returns a sentence on failure, else "". The file must not be open.
  std::string open(const std::string& path, From from = From::kStart);
  // nullptr if it is not open.
  std::FILE* get() const { return file_; }
  // Returns a sentence if any write since open() failed, else "".
  std::string close();

 private:
  static ssize_t write(void* stream, const char* bytes, std::size_t size);

  std::string path_;
  std::FILE* file_ = nullptr;
  int descriptor_ = -1;
  int error_ = 0;  // of the first failed write
};

}  // namespace verbatim::cli
