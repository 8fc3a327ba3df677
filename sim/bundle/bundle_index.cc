#include "sim/bundle/bundle_index.h"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/bundle/bundle_paths.h"
#include "sim/bundle/checksum.h"

namespace verbatim::bundle {

using supervisor::MachineLook;

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr std::uint64_t kHasContent = 1, kMayChange = 2, kWasListed = 4;  // flags of a look
constexpr std::uint64_t kMostErrno = 4095;
constexpr std::size_t kMostTarget = 4095;
constexpr std::size_t kNumberBytes = 8;
constexpr char kTooShort[] = "it ends within a number or text";

// The numbers among the attributes, in the order of the format.
template <class Attributes, class Take>
void for_each_attribute(Attributes& a, const Take& take) {
  take(a.device);
  take(a.inode);
  take(a.links);
  take(a.mode);
  take(a.user);
  take(a.group);
  take(a.device_number);
  take(a.size);
  take(a.block_size);
  take(a.blocks);
  take(a.modified_ns);
  take(a.changed_ns);
}

class IndexWriter {
 public:
  void number(std::uint64_t value) {
    char raw[kNumberBytes];
    std::memcpy(raw, &value, sizeof raw);
    bytes_.append(raw, sizeof raw);
  }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

void put_look(IndexWriter& out, const std::string& path, const MachineLook& look, const BundleIndex& index) {
  out.text(path);
  out.number(static_cast<std::uint64_t>(look.error));
  if (look.error != 0) {
    out.number(look.may_change ? kMayChange : 0);
    return;
  }
  for_each_attribute(look.attributes,
                     [&](const auto value) { out.number(static_cast<std::uint64_t>(value)); });
  out.number((look.has_content ? kHasContent : 0) | (look.may_change ? kMayChange : 0) |
             (look.names ? kWasListed : 0));
  out.text(look.target);
  if (look.names) {
    out.number(look.names->size());
    for (const std::string& name : *look.names) out.text(name);
  }
  if (look.has_content) out.number(index.looks_contents.at(path));
}

// Reads an index in order. The first problem ends it: later values are zeros.
class IndexReader {
 public:
  explicit IndexReader(std::string_view rest) : rest_(rest) {}

  const std::string& problem() const { return problem_; }
  bool has_failed() const { return !problem_.empty(); }
  bool is_at_end() const { return rest_.empty(); }
  void fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
    rest_ = {};
  }

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (rest_.size() < kNumberBytes) {
      fail(kTooShort);
      return 0;
    }
    std::memcpy(&value, rest_.data(), kNumberBytes);
    rest_.remove_prefix(kNumberBytes);
    return value;
  }
  // A number of entries, each of which has at least `least` bytes.
  std::uint64_t count(std::size_t least) {
    const std::uint64_t value = number();
    if (value <= rest_.size() / least) return value;
    fail(kTooShort);
    return 0;
  }
  std::string_view text() {
    const std::uint64_t size = number();
    if (size > rest_.size()) fail(kTooShort);
    if (has_failed()) return {};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  template <class Value>
  void into(Value& value) {
    const std::uint64_t read = number();
    value = static_cast<Value>(read);
    if (static_cast<std::uint64_t>(value) != read) fail("a number in it is too large");
  }

 private:
  std::string_view rest_;
  std::string problem_;
};

void read_contents(IndexReader& in, BundleIndex& index) {
  std::uint64_t left = in.count(6 * kNumberBytes);
  index.contents.reserve(left);
  for (; left > 0 && !in.has_failed(); --left) {
    BundleContent& content = index.contents.emplace_back();
    content.bytes = in.number();
    content.compressed = in.number();
    for (std::string* checksum : {&content.checksum, &content.frame_checksum}) {
      const std::uint64_t high = in.number(), low = in.number();
      *checksum = checksum_text({high, low});
    }
  }
}

void read_names(IndexReader& in, const std::string& path, MachineLook& look) {
  std::uint64_t left = in.count(kNumberBytes + 1);
  std::vector<std::string>& names = look.names.emplace();
  names.reserve(left);
  for (; left > 0 && !in.has_failed(); --left) {
    const std::string_view name = in.text();
    if (in.has_failed()) return;
    if (!is_name(name)) return in.fail("a name in folder " + printable(path) + " is none");
    if (!names.empty() && names.back() >= name)
      return in.fail("the names in folder " + printable(path) + " are not sorted");
    names.emplace_back(name);
  }
}

// The number of a content.
std::uint32_t read_content_number(IndexReader& in, const BundleIndex& index, std::string_view of) {
  const std::uint64_t number = in.number();
  if (!in.has_failed() && number >= index.contents.size())
    in.fail(printable(of) + " has a content that does not exist");
  return in.has_failed() ? 0 : static_cast<std::uint32_t>(number);
}

void read_look(IndexReader& in, BundleIndex& index) {
  const std::string path(in.text());
  MachineLook look;
  const std::uint64_t error = in.number();
  if (in.has_failed()) return;
  const std::string shown = printable(path);
  if (!is_look_path(path)) return in.fail("path " + shown + " is not allowed");
  if (!index.looks.empty() && index.looks.rbegin()->first >= path)
    return in.fail("path " + shown + " is not in its place, or there twice");
  if (error > kMostErrno) return in.fail(shown + " has an unknown errno");
  look.error = static_cast<int>(error);
  if (error == 0) for_each_attribute(look.attributes, [&](auto& value) { in.into(value); });
  const std::uint64_t flags = in.number();
  const std::uint64_t known = error == 0 ? kHasContent | kMayChange | kWasListed : kMayChange;
  if ((flags & ~known) != 0) return in.fail(shown + " has an unknown flag");
  look.may_change = (flags & kMayChange) != 0;
  look.has_content = (flags & kHasContent) != 0;
  if (error == 0) {
    const std::uint32_t mode = look.attributes.mode;
    if (mode > 0177777) return in.fail(shown + " has an unknown mode");
    look.target = in.text();
    if (look.target.size() > kMostTarget || look.target.find('\0') != std::string::npos)
      return in.fail("the link " + shown + " has no valid target");
    if (!look.target.empty() && !S_ISLNK(mode)) return in.fail(shown + " is no link and has a target");
    if ((flags & kWasListed) != 0) read_names(in, path, look);
    if (look.names && !S_ISDIR(mode)) return in.fail(shown + " is no folder and has names");
    if (look.has_content && !S_ISREG(mode)) return in.fail(shown + " is no file and has a content");
    if (look.has_content) index.looks_contents.emplace(path, read_content_number(in, index, path));
  }
  if (!in.has_failed()) index.looks.emplace_hint(index.looks.end(), path, std::move(look));
}

enum class PathKind { kMissing, kFolder, kOther };

// The first existing path that is below one that is no folder; empty: none. Paths that begin with the same
// bytes are neighbours in a sorted map. A lookup below a file finds nothing, so missing paths may be there.
template <class Map, class KindOf>
std::string misplaced_path(const Map& paths, const KindOf& kind_of) {
  std::vector<std::string_view> beginnings;  // of the current path; no folders
  for (const auto& entry : paths) {
    const std::string_view path = entry.first;
    const PathKind kind = kind_of(entry.second);
    if (kind == PathKind::kMissing) continue;
    while (!beginnings.empty() && !path.starts_with(beginnings.back())) beginnings.pop_back();
    for (const std::string_view beginning : beginnings) {
      if (path[beginning.size()] == '/') return std::string(path);
    }
    if (kind == PathKind::kOther) beginnings.push_back(path);
  }
  return "";
}

std::string misplaced_path(const BundleIndex& index) {
  const std::string path = misplaced_path(index.looks, [](const MachineLook& look) {
    if (look.error != 0) return PathKind::kMissing;
    return S_ISDIR(look.attributes.mode) ? PathKind::kFolder : PathKind::kOther;
  });
  return !path.empty() ? path
                       : misplaced_path(index.documents, [](std::uint32_t) { return PathKind::kOther; });
}

void read_documents(IndexReader& in, BundleIndex& index) {
  for (std::uint64_t left = in.count(2 * kNumberBytes); left > 0 && !in.has_failed(); --left) {
    const std::string name(in.text());
    const std::uint32_t content = read_content_number(in, index, name);
    if (in.has_failed()) return;
    if (!is_relative_path(name))
      return in.fail("the name " + printable(name) + " of a document is not allowed");
    if (!index.documents.empty() && index.documents.rbegin()->first >= name)
      return in.fail("document " + printable(name) + " is not in its place, or there twice");
    if (!index.contents[content].is_included())
      return in.fail("document " + printable(name) + " has no content");
    index.documents.emplace_hint(index.documents.end(), name, content);
  }
}

// Components of the paths that extraction makes; each may be a folder of its own.
std::size_t components_to_make(const BundleIndex& index) {
  std::size_t all = 0;
  for (const auto& [path, number] : index.looks_contents)
    all += static_cast<std::size_t>(std::ranges::count(path, '/'));
  for (const auto& [name, number] : index.documents)
    all += 1 + static_cast<std::size_t>(std::ranges::count(name, '/'));
  return all;
}

}  // namespace

std::string index_bytes(const BundleIndex& index) {
  IndexWriter out;
  out.text(index.manifest);
  out.number(index.contents.size());
  for (const BundleContent& content : index.contents) {
    out.number(content.bytes);
    out.number(content.compressed);
    for (const std::string* text : {&content.checksum, &content.frame_checksum}) {
      const Checksum checksum = checksum_from(*text);
      out.number(checksum.high);
      out.number(checksum.low);
    }
  }
  out.number(index.looks.size());
  for (const auto& [path, look] : index.looks) put_look(out, path, look, index);
  out.number(index.documents.size());
  for (const auto& [name, content] : index.documents) {
    out.text(name);
    out.number(content);
  }
  return out.take();
}

std::string parse_index(std::string_view bytes, BundleIndex* index) {
  IndexReader in(bytes);
  index->manifest = in.text();
  read_contents(in, *index);
  for (std::uint64_t left = in.count(3 * kNumberBytes); left > 0 && !in.has_failed(); --left)
    read_look(in, *index);
  read_documents(in, *index);
  if (!in.has_failed() && !in.is_at_end()) in.fail("bytes follow its index");
  if (!in.has_failed()) {
    if (const std::string path = misplaced_path(*index); !path.empty())
      in.fail("path " + printable(path) + " is below a file or link");
  }
  if (!in.has_failed() && components_to_make(*index) > kMostComponents)
    in.fail("its files are in too many folders");
  return in.has_failed() ? "is damaged: " + in.problem() : "";
}

std::uint64_t extracted_bytes(const BundleIndex& index) {
  std::uint64_t all = 0;
  bool is_too_much = false;
  const auto add = [&](std::uint32_t number) {
    const BundleContent& content = index.contents[number];
    if (content.is_included() && __builtin_add_overflow(all, content.bytes, &all)) is_too_much = true;
  };
  for (const auto& [path, number] : index.looks_contents) add(number);
  for (const auto& [name, number] : index.documents) add(number);
  return is_too_much ? UINT64_MAX : all;
}

std::uint32_t permissions_of(const MachineLook& look) { return (look.attributes.mode & 0777) | 0400; }

std::string bundle_end(std::string_view frame, std::uint64_t raw_bytes) {
  IndexWriter out;
  const Checksum checksum = checksum_of(frame);
  for (const std::uint64_t number : {std::uint64_t{frame.size()}, raw_bytes, checksum.high, checksum.low})
    out.number(number);
  return out.take() + std::string(kBundleEnd);
}

std::optional<BundleEnd> parse_bundle_end(std::string_view bytes) {
  if (bytes.size() != kBundleEndBytes || !bytes.ends_with(kBundleEnd)) return std::nullopt;
  IndexReader in(bytes);
  BundleEnd end;
  end.compressed = in.number();
  end.bytes = in.number();
  end.checksum.high = in.number();
  end.checksum.low = in.number();
  return end;
}

}  // namespace verbatim::bundle
