// A user's file, read with limits: a device, an endless pipe or a file without line ends takes bounded
// memory and yields an error text. The file is opened once; peek() reads its beginning without consuming
// it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace verbatim {

class InputFile {
 public:
  // Limits in bytes: a document read whole, a text read line by line, one line of a text.
  static constexpr std::size_t kMostDocument = std::size_t{64} << 20;
  static constexpr std::size_t kMostText = std::size_t{4} << 30;
  static constexpr std::size_t kMostLine = std::size_t{1} << 20;

  enum class Accepts { kRegularFiles, kRegularFilesAndPipes };

  // Opening an accepted pipe without a writer waits for one.
  explicit InputFile(const std::string& path, Accepts accepts = Accepts::kRegularFiles);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Why the file cannot be read or used, as the end of a sentence that begins with its name: "is larger
  // than 64 MiB". Empty: no problem so far.
  const std::string& problem() const { return problem_; }
  bool is_missing() const { return is_missing_; }
  bool is_folder() const { return is_folder_; }

  // The next bytes, at most `bytes`; they are not consumed. Fewer: end of file or a problem.
  std::string_view peek(std::size_t bytes);
  // All remaining bytes. nullopt: a problem; more than `most` bytes are one.
  std::optional<std::string> rest(std::size_t most = kMostDocument);
  // The next line without its newline; the view is valid until the next call. nullopt: end of file or a
  // problem. A line above kMostLine and a text above kMostText are problems.
  std::optional<std::string_view> line();

 private:
  // False: end of file or a problem.
  bool fill();

  int fd_ = -1;
  bool is_missing_ = false, is_folder_ = false;
  std::string problem_;
  std::string buffer_;
  std::size_t at_ = 0;     // first byte of the buffer that is not consumed
  std::size_t taken_ = 0;  // bytes read from the file
};

// "64 MiB", for limits in messages; whole powers of 2 from 1 KiB.
std::string size_text(std::size_t bytes);

}  // namespace verbatim
