// Warnings about files that one may not want to mail.
#include "sim/bundle/bundle_paths.h"
#include "tests/bundle/sample.h"

namespace verbatim::bundle {
namespace {

bool is_suspicious(const std::string& path) {
  const auto sentences = suspicious_paths({{path, look_of_file(0644, 4)}});
  for (const std::string& sentence : sentences) EXPECT_TRUE(sentence.starts_with(path));
  return !sentences.empty();
}

TEST(SuspiciousPaths, homes_and_secrets) {
  for (const char* path : {"/home"
                           "/someone/data.csv",
                           "/root"
                           "/.bashrc",
                           "/srv/id_rsa", "/etc/ssl/private/server.key", "/opt/app/key.pem", "/opt/app/.env",
                           "/opt/app/.env.local", "/opt/app/prod.env", "/var/lib/x/.netrc", "/etc/shadow",
                           "/srv/Credentials.json", "/srv/api_token", "/opt/.ssh/config", "/srv/.aws/config",
                           "/opt/app/db-password.txt"})
    EXPECT_TRUE(is_suspicious(path)) << path;
}

TEST(SuspiciousPaths, files_of_every_machine_are_not) {
  for (const char* path :
       {"/etc/passwd", "/etc/hosts", "/usr/lib/python3.11/token.py", "/usr/lib/python3.11/secrets.py",
        "/usr/lib/python3.11/__pycache__/tokenize.cpython-311.pyc",
        "/usr/lib/x86_64-linux-gnu/libsecret-1.so.0.0.0", "/etc/ssl/certs/ca.pem", "/usr/bin/env",
        "/homestead/x", "/usr/include/monkey.h", "/etc/environment"})
    EXPECT_FALSE(is_suspicious(path)) << path;
}

TEST(SuspiciousPaths, only_of_contents) {
  supervisor::MachineLooks looks{{"/root"
                                  "/.ssh",
                                  look_of_nothing()},
                                 {"/root", look_of_folder({".ssh"})},
                                 {"/home"
                                  "/x",
                                  look_of_link("/srv")}};
  EXPECT_TRUE(suspicious_paths(looks).empty());
  looks["/srv/\x1b[31m.pem"] = look_of_file(0600, 4);
  EXPECT_EQ(suspicious_paths(looks),
            std::vector<std::string>{"/srv/\\x1b[31m.pem may hold keys or passwords, by its name"});
}

}  // namespace
}  // namespace verbatim::bundle
