#include "sim/supervisor/code/code_table.h"

#include <link.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "sim/supervisor/code/elf_image.h"

namespace verbatim::code {

namespace {

using Words = std::vector<std::uint64_t>;
using BuildId = std::array<std::uint64_t, 3>;  // up to 24 bytes; the GNU linker's has 20

constexpr std::uint64_t kMagic = 0x3230'6564'6f43'5656;  // "VVCode02"

// Build id note of the executable, a hash of its content by the linker. All zero: none.
BuildId own_build_id() {
  BuildId id{};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* found) {
        constexpr std::uint64_t kAlignment = 4;
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& part = object->dlpi_phdr[i];
          if (part.p_type != PT_NOTE || part.p_align != kAlignment) continue;
          const auto* at = reinterpret_cast<const char*>(object->dlpi_addr + part.p_vaddr);
          for (const char* const end = at + part.p_memsz; at + sizeof(ElfW(Nhdr)) <= end;) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const char* const name = at + sizeof note;
            const char* const content = name + (note.n_namesz + kAlignment - 1) / kAlignment * kAlignment;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
              std::memcpy(found, content, std::min<std::size_t>(note.n_descsz, sizeof(BuildId)));
            at = content + (note.n_descsz + kAlignment - 1) / kAlignment * kAlignment;
          }
        }
        return 1;  // the first object is the executable
      },
      id.data());
  return id;
}

void put_bytes(Words& words, const std::vector<std::uint8_t>& bytes) {
  words.push_back(bytes.size());
  words.insert(words.end(), bytes.begin(), bytes.end());
}

void put(Words& words, const SearchResult& found) {
  words.push_back(found.sites.size());
  for (const Site& site : found.sites) {
    words.insert(words.end(), {site.address, site.offset, site.instruction.word(), site.length, site.jump_length});
    put_bytes(words, site.bytes);
    words.push_back(site.relatives.size());
    for (const Site::Relative& relative : site.relatives) words.insert(words.end(), {relative.at, relative.end});
  }
  words.push_back(found.doubts.size());
  for (const Doubt& doubt : found.doubts)
    words.insert(words.end(), {doubt.address, doubt.offset, static_cast<std::uint64_t>(doubt.kind)});
  words.push_back(found.memory_maps.size());
  words.insert(words.end(), found.memory_maps.begin(), found.memory_maps.end());
}

// Reads words in order; after the last it returns zeros and is_good() is false.
class Reader {
 public:
  explicit Reader(std::span<const std::uint64_t> words) : words_(words) {}
  std::uint64_t next() {
    is_good_ = is_good_ && at_ < words_.size();
    return is_good_ ? words_[at_++] : 0;
  }
  // Number of elements that have at least one word each.
  std::uint64_t count() {
    const std::uint64_t count = next();
    is_good_ = is_good_ && count <= words_.size() - at_;
    return is_good_ ? count : 0;
  }
  template <class T>
  T next_as() {
    return static_cast<T>(next());
  }
  bool is_good() const { return is_good_; }
  bool is_at_end() const { return is_good_ && at_ == words_.size(); }

 private:
  std::span<const std::uint64_t> words_;
  std::size_t at_ = 0;
  bool is_good_ = true;
};

std::optional<SearchResult> read(std::span<const std::uint64_t> words) {
  Reader reader(words);
  SearchResult found;
  found.sites.resize(reader.count());
  for (Site& site : found.sites) {
    site.address = reader.next();
    site.offset = reader.next();
    site.instruction = protocol::PatchedInstruction::of(reader.next_as<std::uint32_t>());
    site.length = reader.next_as<unsigned>();
    site.jump_length = reader.next_as<unsigned>();
    site.bytes.resize(reader.count());
    for (std::uint8_t& byte : site.bytes) byte = reader.next_as<std::uint8_t>();
    site.relatives.resize(reader.count());
    for (Site::Relative& relative : site.relatives) relative = {reader.next_as<unsigned>(), reader.next_as<unsigned>()};
  }
  found.doubts.resize(reader.count());
  for (Doubt& doubt : found.doubts) {
    doubt.address = reader.next();
    doubt.offset = reader.next();
    doubt.kind = reader.next_as<protocol::DecidedInstruction>();
  }
  found.memory_maps.resize(reader.count());
  for (std::uint64_t& offset : found.memory_maps) offset = reader.next();
  return reader.is_at_end() ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace

CodeTable::Hash CodeTable::hash_of(std::span<const std::byte> file) {
  const XXH128_hash_t hash = XXH3_128bits(file.data(), file.size());
  return {hash.low64, hash.high64};
}

CodeTable::CodeTable(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return;
  const auto size = static_cast<std::streamoff>(file.tellg());
  if (size <= 0 || size % static_cast<std::streamoff>(sizeof(std::uint64_t)) != 0) return;
  words_.resize(static_cast<std::size_t>(size) / sizeof(std::uint64_t));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(words_.data()), size)) return;
  const BuildId own = own_build_id();
  Reader reader(words_);
  bool is_own = reader.next() == kMagic && own != BuildId{};
  for (const std::uint64_t word : own) is_own = reader.next() == word && is_own;
  if (!is_own) return;
  Identity identity;
  const std::size_t head = 2 + identity.size() + 1;  // hash, identity, length
  for (std::size_t at = 1 + own.size(); at + head <= words_.size();) {
    const std::uint64_t length = words_[at + head - 1];
    if (length > words_.size() - at - head) break;
    const auto entry = std::span<const std::uint64_t>(words_).subspan(at + head, length);
    std::copy_n(words_.begin() + static_cast<std::ptrdiff_t>(at + 2), identity.size(), identity.begin());
    entries_[{words_[at], words_[at + 1]}] = entry;
    unchanged_[identity] = entry;
    sizes_.insert(identity[2]);
    at += head + length;
  }
}

CodeTable::Identity CodeTable::identity_of(const struct stat& file) {
  const auto word = [](auto value) { return static_cast<std::uint64_t>(value); };
  return {word(file.st_dev),          word(file.st_ino),         word(file.st_size),        word(file.st_mtim.tv_sec),
          word(file.st_mtim.tv_nsec), word(file.st_ctim.tv_sec), word(file.st_ctim.tv_nsec)};
}

std::optional<SearchResult> CodeTable::find(const struct stat& file) const {
  const auto it = unchanged_.find(identity_of(file));
  return it == unchanged_.end() ? std::nullopt : read(it->second);
}

std::optional<SearchResult> CodeTable::find(std::span<const std::byte> file) const {
  if (entries_.empty()) return std::nullopt;
  const auto it = entries_.find(hash_of(file));
  return it == entries_.end() ? std::nullopt : read(it->second);
}

std::string CodeTable::write(const std::string& path, const std::vector<std::string>& files) {
  Words words = {kMagic};
  std::ranges::copy(own_build_id(), std::back_inserter(words));
  for (const std::string& name : files) {
    struct stat status;
    if (stat(name.c_str(), &status) != 0) continue;
    std::ifstream file(name, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const auto bytes = std::as_bytes(std::span(text));
    const auto image = ElfImage::read(bytes);
    if (!image) continue;
    Words entry;
    put(entry, search_image(*image, bytes));
    const Hash hash = hash_of(bytes);
    words.insert(words.end(), {hash.first, hash.second});
    std::ranges::copy(identity_of(status), std::back_inserter(words));
    words.push_back(entry.size());
    words.insert(words.end(), entry.begin(), entry.end());
  }
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(words.size() * sizeof(std::uint64_t)));
  out.close();
  return out ? "" : "cannot write " + path;
}

}  // namespace verbatim::code
