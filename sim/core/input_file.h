// A file of the user's, read with limits: a device, an endless pipe or a file without line ends takes bounded memory and gives a
// sentence. The file is opened once; its beginning can be looked at before it is read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace verbatim {

class InputFile {
 public:
  // Limits, in bytes: of a document that is read whole, of a text that is read line by line, of one of its lines.
  static constexpr std::size_t kMostDocument = std::size_t{64} << 20;
  static constexpr std::size_t kMostText = std::size_t{4} << 30;
  static constexpr std::size_t kMostLine = std::size_t{1} << 20;

  enum class Accepts { kRegularFiles, kRegularFilesAndPipes };

  // Waits for a writer where the file is a pipe that is accepted and has none.
  explicit InputFile(const std::string& path, Accepts accepts = Accepts::kRegularFiles);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Why the file cannot be read or used, as the end of a sentence that begins with its name: "is larger than 64 MiB". Empty: all
  // was read so far.
  const std::string& problem() const { return problem_; }
  bool is_missing() const { return is_missing_; }
  bool is_folder() const { return is_folder_; }

  // The next bytes, at most as many as asked for; they are read again by what follows. Fewer: the file ends there, or there is a
  // problem.
  std::string_view peek(std::size_t bytes);
  // All that is left. nullopt: there is a problem; more than `most` bytes are one.
  std::optional<std::string> rest(std::size_t most = kMostDocument);
  // The next line without its newline; the view holds until the next call. nullopt: the file is at its end, or there is a
  // problem. A line above kMostLine and a text above kMostText are problems.
  std::optional<std::string_view> line();

 private:
  // False: the file is at its end, or there is a problem.
  bool fill();

  int fd_ = -1;
  bool is_missing_ = false, is_folder_ = false;
  std::string problem_;
  std::string buffer_;
  std::size_t at_ = 0;     // of the first byte in the buffer that is not read
  std::size_t taken_ = 0;  // bytes that the file has given
};

// "64 MiB", for sentences about limits; of whole powers of 2 from 1 KiB.
std::string size_text(std::size_t bytes);

}  // namespace verbatim
