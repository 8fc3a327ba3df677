// Files that programs map or execute, read as ELF: functions, symbols, needed libraries, code. The first
// eight bytes of an input are an address to look up; if it is odd the file's bytes are also searched as
// memory at that address. The file follows. All results must be within the file.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "sim/core/check.h"
#include "sim/supervisor/code/access_search.h"
#include "sim/supervisor/code/call_frames.h"
#include "sim/supervisor/code/code_search.h"
#include "sim/supervisor/code/elf_image.h"
#include "sim/supervisor/machine/launcher.h"
#include "sim/supervisor/machine/needed_libraries.h"
#include "tests/fuzz/bytes.h"

namespace verbatim {

namespace {

void check_sites(const code::SearchResult& found, std::span<const std::byte> file) {
  for (const code::Site& site : found.sites) {
    CHECK(site.length > 0 && site.bytes.size() == std::max(site.length, site.jump_length));
    CHECK(site.offset <= file.size() && site.bytes.size() <= file.size() - site.offset);
    CHECK(site.jump_length == 0 || site.jump_length >= code::kJumpSize);
    for (const code::Site::Relative& relative : site.relatives) {
      CHECK(relative.at + sizeof(std::uint32_t) <= relative.end && relative.end <= site.bytes.size());
    }
  }
  for (const code::Doubt& doubt : found.doubts) CHECK(doubt.offset < file.size());
  for (const std::uint64_t offset : found.memory_maps) CHECK(offset < file.size());
}

void read_code(std::span<const std::byte> file) {
  const auto image = code::ElfImage::read(file);
  if (!image) return;
  for (const code::ExecutablePart& part : image->executable()) {
    CHECK(part.offset <= file.size() && part.size <= file.size() - part.offset);
  }
  std::uint64_t before = 0;
  for (const code::Function& function : image->functions()) {
    CHECK(function.begin < function.end && (before == 0 || function.begin > before));
    before = function.begin;
  }
  check_sites(code::search_image(*image, file), file);
  for (const code::CallSite& call : code::search_calls(*image, file)) {
    CHECK(call.offset <= file.size() && call.bytes.size() <= file.size() - call.offset);
    CHECK(call.call_at + code::CallSite::kCallSize <= call.bytes.size());
  }
  for (const code::AccessSite& access : code::search_accesses(*image, file)) {
    CHECK(access.offset <= file.size() && access.place.length <= file.size() - access.offset);
  }
}

// The readers of what is to be executed open files by their paths.
void read_program(std::span<const std::byte> file) {
  static const int fd = memfd_create("file", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  CHECK(ftruncate(fd, 0) == 0 &&
        pwrite(fd, file.data(), file.size(), 0) == static_cast<ssize_t>(file.size()));
  const supervisor::DynamicNames names = supervisor::dynamic_names_of(path);
  CHECK(names.all.size() <= file.size());
  (void)names.has_address_sanitizer();
  (void)names.needed_first();
  (void)supervisor::inspect_program(path, "/", nullptr);
}

}  // namespace

}  // namespace verbatim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace verbatim;
  if (size <= sizeof(std::uint64_t)) return 0;
  const std::uint64_t address = fuzz::Bytes(std::span(data, size)).next();
  const auto file = std::as_bytes(std::span(data, size).subspan(sizeof address));
  read_code(file);
  read_program(file);
  if (const auto function = code::function_at(file, address))
    CHECK(address - function->begin < function->end - function->begin);
  (void)code::exported_function(file, "free");
  (void)code::first_address(file);
  if (address % 2 != 0) check_sites(code::search_memory(address, file), file);
  return 0;
}
