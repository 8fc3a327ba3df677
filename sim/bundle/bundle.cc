#include "sim/bundle/bundle.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>

#include "sim/bundle/bundle_index.h"
#include "sim/bundle/bundle_paths.h"
#include "sim/bundle/checksum.h"
#include "sim/bundle/descriptor_io.h"
#include "sim/bundle/frames.h"
#include "sim/core/open_file.h"

namespace verbatim::bundle {

namespace {

constexpr char kWrongFrame[] = "is damaged: it does not have its checksum";
constexpr char kNoEnd[] = "is cut off or damaged: its end is missing";

// Reads the index. Returns "" or the end of a sentence. Sets `contents_bytes`.
std::string read_index(int descriptor, std::uint64_t file_bytes, BundleIndex* index,
                       std::uint64_t* contents_bytes) {
  std::string bytes(std::min<std::uint64_t>(file_bytes, kBundleBegin.size()), '\0');
  if (read_at(descriptor, bytes.data(), bytes.size(), 0) < 0)
    return std::string("cannot be read: ") + std::strerror(errno);
  if (!bytes.starts_with(kBundleMark)) return "is not a bundle; `verbatim pack` makes them";
  if (bytes != kBundleBegin)
    return bytes.size() < kBundleBegin.size() ? kNoEnd
                                              : "is a bundle of another version; this one reads version 1";
  if (file_bytes < kBundleBegin.size() + kBundleEndBytes) return kNoEnd;
  bytes.resize(kBundleEndBytes);
  if (read_at(descriptor, bytes.data(), bytes.size(), file_bytes - kBundleEndBytes) !=
      static_cast<ssize_t>(kBundleEndBytes))
    return kNoEnd;
  const auto end = parse_bundle_end(bytes);
  if (!end) return kNoEnd;
  const std::uint64_t between = file_bytes - kBundleBegin.size() - kBundleEndBytes;
  if (end->compressed > between || end->compressed > kMostIndex ||
      end->bytes > most_index_bytes(end->compressed))
    return "is damaged: its index has an impossible size";
  std::string frame(end->compressed, '\0');
  *contents_bytes = between - end->compressed;
  if (read_at(descriptor, frame.data(), frame.size(), kBundleBegin.size() + *contents_bytes) !=
      static_cast<ssize_t>(frame.size()))
    return kNoEnd;
  if (checksum_of(frame) != end->checksum || !expand_frame(frame, end->bytes, &bytes))
    return "is damaged: its index does not have its checksum";
  return parse_index(bytes, index);
}

}  // namespace

bool is_bundle(const std::string& path) {
  const OwnedDescriptor file(open_file(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status;
  char begin[kBundleMark.size()];
  return file.get() >= 0 && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         read_at(file.get(), begin, sizeof begin, 0) == static_cast<ssize_t>(sizeof begin) &&
         std::string_view(begin, sizeof begin) == kBundleMark;
}

std::optional<Bundle> Bundle::open(const std::string& path, std::string* failure) {
  Bundle bundle;
  bundle.path_ = path;
  bundle.file_ = OwnedDescriptor(open_file(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status;
  if (bundle.file_.get() < 0 || ::fstat(bundle.file_.get(), &status) != 0) {
    *failure = printable(path) + " cannot be read: " + std::strerror(errno);
    return std::nullopt;
  }
  const auto fail = [&](const std::string& why) {
    *failure = printable(path) + " " + why;
    return std::nullopt;
  };
  if (!S_ISREG(status.st_mode)) return fail("is not a bundle: it is not a regular file");
  bundle.file_bytes_ = static_cast<std::uint64_t>(status.st_size);
  std::uint64_t left = 0;
  if (const std::string why = read_index(bundle.file_.get(), bundle.file_bytes_, &bundle.index_, &left);
      !why.empty())
    return fail(why);
  std::uint64_t offset = kBundleBegin.size();
  bundle.offsets_.reserve(bundle.index_.contents.size());
  for (const BundleContent& content : bundle.index_.contents) {
    bundle.offsets_.push_back(offset);
    if (content.compressed > left)
      return fail("is damaged: its contents have other sizes than its index says");
    offset += content.compressed;
    left -= content.compressed;
  }
  if (left != 0) return fail("is damaged: its contents have other sizes than its index says");
  if (extracted_bytes(bundle.index_) > most_content_bytes(bundle.file_bytes_))
    return fail("expands to more than " + std::to_string(most_content_bytes(bundle.file_bytes_) >> 20) +
                " MiB, which is too much for a bundle of its size");
  return bundle;
}

const BundleContent* Bundle::content_of(const std::string& look) const {
  const auto number = index_.looks_contents.find(look);
  return number == index_.looks_contents.end() ? nullptr : &index_.contents[number->second];
}

std::string Bundle::beginning_of(const BundleContent& content, std::size_t most) const {
  std::string beginning;
  FrameReader reader;
  read_content(reader, static_cast<std::uint32_t>(&content - index_.contents.data()),
               [&](std::string_view part) {
                 beginning += part.substr(0, most - beginning.size());
                 return beginning.size() < most;
               });
  return beginning;
}

std::string Bundle::checksum() const {
  // The frames depend on the version of zstd.
  BundleIndex plain = index_;
  for (BundleContent& content : plain.contents) {
    content.compressed = content.is_included() ? 1 : 0;
    content.frame_checksum.clear();
  }
  return checksum_text(checksum_of(index_bytes(plain)));
}

std::string Bundle::read_content(FrameReader& reader, std::uint32_t number,
                                 const std::function<bool(std::string_view part)>& take) const {
  const BundleContent& content = index_.contents[number];
  RunningChecksum checksum;
  Checksum frame;
  const auto take_part = [&](std::string_view part) {
    checksum.add(part);
    return take(part);
  };
  const std::string problem =
      reader.read(file_.get(), offsets_[number], content.compressed, content.bytes, take_part, &frame);
  if (!problem.empty()) return problem;
  if (checksum_text(frame) != content.frame_checksum) return kWrongFrame;
  return checksum_text(checksum.value()) == content.checksum
             ? ""
             : "is damaged: its content does not have its checksum";
}

std::string Bundle::users_of(std::uint32_t number) const {
  constexpr std::size_t kMostShown = 3;
  std::size_t users = 0;
  std::string text;
  const auto add = [&](const std::string& name) {
    if (++users <= kMostShown) text += (users == 1 ? "" : ", ") + printable(name);
  };
  for (const auto& [path, of] : index_.looks_contents) {
    if (of == number) add(path);
  }
  for (const auto& [name, of] : index_.documents) {
    if (of == number) add("document " + name);
  }
  if (users > kMostShown) text += " and " + std::to_string(users - kMostShown) + " more";
  return users == 0 ? "a content without a name" : text;
}

std::vector<std::string> Bundle::damage() const {
  constexpr std::size_t kPart = std::size_t{1} << 20;
  std::vector<std::string> sentences;
  std::string part;
  for (std::uint32_t number = 0; number < index_.contents.size(); ++number) {
    const BundleContent& content = index_.contents[number];
    RunningChecksum checksum;
    for (std::uint64_t read = 0; read < content.compressed; read += part.size()) {
      part.resize(std::min<std::uint64_t>(kPart, content.compressed - read));
      if (read_at(file_.get(), part.data(), part.size(), offsets_[number] + read) !=
          static_cast<ssize_t>(part.size()))
        break;
      checksum.add(part);
    }
    if (content.is_included() && checksum_text(checksum.value()) != content.frame_checksum)
      sentences.push_back(printable(path_) + ": " + users_of(number) + " " + kWrongFrame);
  }
  return sentences;
}

std::string Bundle::damage_summary() const {
  const std::vector<std::string> sentences = damage();
  if (sentences.size() < 2) return sentences.empty() ? "" : sentences.front();
  return sentences.front() + ", and so are " + std::to_string(sentences.size() - 1) +
         " other contents; `verbatim unpack --list` names all";
}

std::optional<std::string> Bundle::document(const std::string& name, std::string* failure,
                                            std::uint64_t most) const {
  const auto number = index_.documents.find(name);
  const std::string whole_name = printable(path_) + ": document " + printable(name);
  if (number == index_.documents.end()) {
    *failure = whole_name + " is missing";
    return std::nullopt;
  }
  if (index_.contents[number->second].bytes > most) {
    *failure = whole_name + " has more than " + std::to_string(most >> 20) + " MiB";
    return std::nullopt;
  }
  std::string text;
  FrameReader reader;
  const std::string problem = read_content(reader, number->second, [&](std::string_view part) {
    text += part;
    return true;
  });
  if (problem.empty()) return text;
  *failure = whole_name + " " + problem;
  return std::nullopt;
}

}  // namespace verbatim::bundle
