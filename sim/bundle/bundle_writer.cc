#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>

#include "sim/bundle/bundle.h"
#include "sim/bundle/bundle_index.h"
#include "sim/bundle/bundle_paths.h"
#include "sim/bundle/checksum.h"
#include "sim/bundle/descriptor_io.h"
#include "sim/bundle/frames.h"
#include "sim/core/open_file.h"

namespace verbatim::bundle {

namespace {

// Contents are read in parts of this size.
constexpr std::size_t kPart = std::size_t{1} << 20;

class ContentWriter {
 public:
  ContentWriter(int descriptor, BundleIndex& index) : frames_(descriptor), index_(index) {}

  // Adds the file's content unless an equal one is there. Returns its number; nullopt after a failure.
  std::optional<std::uint32_t> add(const ContentSource& source);
  const std::string& failure() const { return failure_; }

 private:
  struct Found {
    std::uint64_t bytes = 0;
    Checksum checksum;
  };
  // Reads the file from its beginning; compresses it if asked to.
  std::optional<Found> read(int descriptor, const std::string& path, bool compresses);
  std::optional<Found> fail(const std::string& sentence) {
    failure_ = sentence;
    return std::nullopt;
  }

  FrameWriter frames_;
  BundleIndex& index_;
  std::map<std::pair<Checksum, std::uint64_t>, std::uint32_t> numbers_;  // of included contents
  std::map<std::pair<Checksum, std::uint64_t>, std::uint32_t> left_out_;
  std::string part_, failure_;
};

std::optional<ContentWriter::Found> ContentWriter::read(int descriptor, const std::string& path,
                                                        bool compresses) {
  part_.resize(kPart);
  Found found;
  RunningChecksum checksum;
  frames_.begin();
  while (true) {
    const ssize_t n = read_at(descriptor, part_.data(), part_.size(), found.bytes);
    if (n < 0) return fail("cannot read " + printable(path) + ": " + std::strerror(errno));
    const std::string_view bytes(part_.data(), static_cast<std::size_t>(n));
    checksum.add(bytes);
    found.bytes += bytes.size();
    const bool is_end = bytes.size() < part_.size();
    int error = compresses ? frames_.add(bytes) : 0;
    if (compresses && error == 0 && is_end) error = frames_.end();
    if (error != 0) return fail(std::string("cannot write the bundle: ") + std::strerror(error));
    if (is_end) break;
  }
  found.checksum = checksum.value();
  return found;
}

std::optional<std::uint32_t> ContentWriter::add(const ContentSource& source) {
  const OwnedDescriptor file(open_file(source.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status;
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) {
    fail("cannot read " + printable(source.path) + ": " + std::strerror(errno));
    return std::nullopt;
  }
  if (!S_ISREG(status.st_mode)) {
    fail("cannot read " + printable(source.path) + ": it is not a regular file");
    return std::nullopt;
  }
  const auto seen = read(file.get(), source.path, false);
  if (!seen) return std::nullopt;
  auto& numbers = source.is_included ? numbers_ : left_out_;
  const auto [known, is_new] =
      numbers.try_emplace({seen->checksum, seen->bytes}, static_cast<std::uint32_t>(index_.contents.size()));
  if (!is_new) return known->second;
  BundleContent content{seen->bytes, 0, checksum_text(seen->checksum), checksum_text({})};
  if (source.is_included) {
    const auto again = read(file.get(), source.path, true);
    if (!again) return std::nullopt;
    if (again->checksum != seen->checksum) {
      fail(printable(source.path) + " has changed while it was read; try again");
      return std::nullopt;
    }
    content.compressed = frames_.frame_bytes();
    content.frame_checksum = checksum_text(frames_.frame_checksum());
  }
  index_.contents.push_back(content);
  return known->second;
}

std::string cannot_write(int error) {
  return std::string("cannot write the bundle: ") + std::strerror(error);
}

// Index and end of the bundle whose contents have been written. Returns "" or a sentence.
std::string write_index(int descriptor, const BundleIndex& index) {
  const std::string bytes = index_bytes(index);
  BundleIndex again;
  if (const std::string problem = parse_index(bytes, &again); !problem.empty())
    return "the bundle could not be read: it " + problem;
  const std::string frame = compressed_frame(bytes);
  if (bytes.size() > most_index_bytes(frame.size()))
    return "the bundle has too many files, or its manifest is too large";
  const std::string end = bundle_end(frame, bytes.size());
  std::uint64_t file_bytes = kBundleBegin.size() + frame.size() + end.size();
  for (const BundleContent& content : index.contents) file_bytes += content.compressed;
  if (extracted_bytes(index) > most_content_bytes(file_bytes))
    return "the files expand to more than " + std::to_string(most_content_bytes(file_bytes) >> 20) +
           " MiB, which is too much for a bundle of its size; leave large files out";
  int error = write_all(descriptor, frame);
  if (error == 0) error = write_all(descriptor, end);
  return error == 0 ? "" : cannot_write(error);
}

}  // namespace

std::string write_bundle(int descriptor, std::string_view manifest, const supervisor::MachineLooks& looks,
                         const std::function<ContentSource(const std::string& path)>& content_of,
                         const std::map<std::string, std::string>& documents) {
  if (const int error = write_all(descriptor, kBundleBegin); error != 0) return cannot_write(error);
  BundleIndex index;
  index.manifest = manifest;
  index.looks = looks;
  ContentWriter contents(descriptor, index);
  for (const auto& [path, look] : looks) {
    if (!look.has_content) continue;
    const auto number = contents.add(content_of(path));
    if (!number) return contents.failure();
    index.looks_contents.emplace(path, *number);
  }
  for (const auto& [name, native] : documents) {
    const auto number = contents.add(native);
    if (!number) return contents.failure();
    index.documents.emplace(name, *number);
  }
  return write_index(descriptor, index);
}

}  // namespace verbatim::bundle
