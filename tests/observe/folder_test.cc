// Files of a run in the digest: one bit of one of them, its name, its length or its kind, and nothing that the machine
// decides.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "sim/observe/digest_sink.h"
#include "sim/observe/folder_content.h"

namespace verbatim::observe {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// Digest of a folder with files, an empty folder and a link, after `change`, which gets its path.
std::string digest_after(const std::function<void(const fs::path&)>& change, std::size_t failures = 0) {
  std::string name = fs::temp_directory_path() / "folder_content_XXXXXX";
  const fs::path folder = mkdtemp(name.data());
  fs::create_directories(folder / "one/two");
  fs::create_directories(folder / "empty");
  write(folder / "one/two/big", std::string(300'000, 'x'));
  write(folder / "one/small", "text");
  write(folder / "nothing", "");
  fs::create_symlink("one/small", folder / "link");
  if (change) change(folder);
  Engine engine;
  Tracer tracer(engine);
  DigestSink digest;
  tracer.add(digest);
  EXPECT_EQ(record_folder(tracer, ComponentId{1}, folder).size(), failures);
  std::error_code missing;
  for (const char* one : {"", "one"}) fs::permissions(folder / one, fs::perms::all, missing);
  fs::remove_all(folder);
  return digest.hex();
}

TEST(FolderContent, the_same_files_elsewhere_and_made_in_another_order_are_the_same) {
  EXPECT_EQ(digest_after({}), digest_after({}));
  EXPECT_EQ(digest_after({}), digest_after([](const fs::path& folder) {
              fs::remove(folder / "nothing");
              fs::remove(folder / "one/small");
              write(folder / "one/small", "text");
              write(folder / "nothing", "");
              fs::permissions(folder / "nothing", fs::perms::owner_all);
              fs::last_write_time(folder / "nothing", fs::file_time_type::min());
            }));
}

TEST(FolderContent, one_bit_of_a_file) {
  for (const std::streamoff at : {0, 1, 4095, 4096, 262'143, 262'144, 299'999}) {
    EXPECT_NE(digest_after({}), digest_after([at](const fs::path& folder) {
                std::fstream file(folder / "one/two/big", std::ios::in | std::ios::out | std::ios::binary);
                file.seekp(at);
                file.put('x' ^ 1);
              }))
        << at;
  }
}

TEST(FolderContent, a_name_a_length_a_kind_and_where_a_link_leads) {
  const std::string plain = digest_after({});
  EXPECT_NE(plain, digest_after([](const fs::path& folder) { fs::rename(folder / "nothing", folder / "nothinh"); }));
  EXPECT_NE(plain, digest_after([](const fs::path& folder) { fs::rename(folder / "nothing", folder / "one/nothing"); }));
  EXPECT_NE(plain, digest_after([](const fs::path& folder) { fs::resize_file(folder / "nothing", 1); }));
  EXPECT_NE(plain, digest_after([](const fs::path& folder) { fs::resize_file(folder / "one/two/big", 299'999); }));
  EXPECT_NE(plain, digest_after([](const fs::path& folder) { write(folder / "new", ""); }));
  EXPECT_NE(plain, digest_after([](const fs::path& folder) { fs::remove(folder / "empty"); }));
  EXPECT_NE(plain, digest_after([](const fs::path& folder) {
              fs::remove(folder / "nothing");
              EXPECT_EQ(mkfifo((folder / "nothing").c_str(), 0600), 0);
            }));
  EXPECT_NE(plain, digest_after([](const fs::path& folder) {
              fs::remove(folder / "link");
              fs::create_symlink("one/smalk", folder / "link");
            }));
}

// A hole is zeros: which of the two a file system keeps is its own affair. And it costs nothing.
TEST(FolderContent, holes_are_zeros) {
  const auto with = [](bool holes, const std::string& end) {
    return digest_after([&](const fs::path& folder) {
      std::ofstream file(folder / "sparse", std::ios::binary);
      file << "begin";
      if (holes) {
        file.seekp(200'000);
      } else {
        file << std::string(200'000 - 5, '\0');
      }
      file << end;
    });
  };
  EXPECT_EQ(with(true, "end"), with(false, "end"));
  EXPECT_NE(with(true, "end"), with(true, "enc"));
  const auto huge = [](const fs::path& folder) {
    write(folder / "huge", "x");
    fs::resize_file(folder / "huge", std::uintmax_t{1} << 40);
  };
  EXPECT_EQ(digest_after(huge), digest_after(huge));
}

// Whoever runs the simulator.
TEST(FolderContent, what_its_owner_may_not_read_is_read) {
  const auto plain = [](const fs::path&) {};
  const auto closed = [](const fs::path& folder) {
    fs::permissions(folder / "one/small", fs::perms::none);
    fs::permissions(folder / "one", fs::perms::none);
  };
  EXPECT_EQ(digest_after(closed), digest_after(plain));
}

TEST(FolderContent, a_folder_that_is_not_there_holds_nothing) {
  Engine engine;
  Tracer tracer(engine);
  DigestSink digest, none;
  tracer.add(digest);
  EXPECT_TRUE(record_folder(tracer, ComponentId{1}, fs::temp_directory_path() / "nobody made this folder").empty());
  EXPECT_EQ(digest.hex(), none.hex());
}

}  // namespace
}  // namespace verbatim::observe
