#include "sim/bundle/bundle_paths.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace verbatim::bundle {

namespace {

constexpr std::size_t kMostPath = 4095, kMostName = 255;  // PATH_MAX without its NUL, NAME_MAX

// Names of files that hold keys, passwords and tokens of common programs.
constexpr std::string_view kSecretNames[] = {
    "id_rsa",     "id_dsa",        "id_ecdsa",     "id_ed25519",       ".netrc",
    "_netrc",     ".pgpass",       ".my.cnf",      ".git-credentials", ".npmrc",
    ".pypirc",    ".htpasswd",     "shadow",       "gshadow",          "shadow-",
    "gshadow-",   "sudoers",       "krb5.keytab",  ".dockercfg",       ".Xauthority",
    ".kube",      ".bash_history", ".zsh_history", ".python_history",  "secring.gpg",
    "master.key", ".vault-token",
};
constexpr std::string_view kSecretEnds[] = {".pem",  ".key",    ".p12", ".pfx", ".jks",
                                            ".kdbx", ".keytab", ".ppk", ".asc"};
// Words within a name. Names of libraries and of source files contain some of these as well ("token.py",
// "secrets.py"), so code is left out.
constexpr std::string_view kSecretWords[] = {"credential", "password", "passwd", "secret",
                                             "token",      "apikey",   "api_key"};
constexpr std::string_view kCodeEnds[] = {".py", ".pyc", ".so", ".h",  ".c",
                                          ".cc", ".pm",  ".pl", ".js", ".rb"};
constexpr std::string_view kSecretFolders[] = {".ssh",    ".gnupg", ".aws",           ".azure",
                                               ".docker", ".kube",  ".password-store"};

// Files of every Linux machine whose names contain a word of a secret, without holding one.
constexpr std::string_view kHarmless[] = {"/etc/passwd", "/etc/passwd-"};

bool is_code(std::string_view name) {
  // Versions follow the end of a library's name: libsecret-1.so.0.0.0.
  return name.find(".so.") != name.npos ||
         std::ranges::any_of(kCodeEnds, [&](std::string_view end) { return name.ends_with(end); });
}

// The secret that a file of this name may hold; empty: none.
std::string secret_of(std::string_view path) {
  if (std::ranges::find(kHarmless, path) != std::end(kHarmless)) return "";
  std::string lower(path.substr(path.rfind('/') + 1));
  if (std::ranges::find(kSecretNames, lower) != std::end(kSecretNames))
    return "may hold keys or passwords: its name is usual for them";
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  // Certificates of public authorities end in .pem as well, and are in everyone's hands.
  const bool is_public =
      path.starts_with("/etc/ssl/certs/") || path.starts_with("/usr/share/ca-certificates/");
  const bool is_env = lower == ".env" || lower.starts_with(".env.") || lower.ends_with(".env");
  const bool ends_so = !is_public && std::ranges::any_of(kSecretEnds, [&](std::string_view end) {
    return lower.ends_with(end);
  });
  const bool has_word = !is_code(lower) && std::ranges::any_of(kSecretWords, [&](std::string_view word) {
    return lower.find(word) != lower.npos;
  });
  if (is_env || ends_so || has_word) return "may hold keys or passwords, by its name";
  for (const std::string_view folder : kSecretFolders) {
    if (path.find("/" + std::string(folder) + "/") != path.npos)
      return "is in a folder for keys or passwords (" + std::string(folder) + ")";
  }
  return "";
}

bool is_below_home(std::string_view path) {
  const auto is_below = [&](std::string_view folder) {
    return path.starts_with(folder) && path.substr(folder.size()).starts_with('/');
  };
  return is_below("/home") || is_below("/root");
}

}  // namespace

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostName && name != "." && name != ".." &&
         name.find('/') == name.npos && name.find('\0') == name.npos;
}

bool is_relative_path(std::string_view path) {
  if (path.empty() || path.size() > kMostPath) return false;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (!is_name(path.substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return true;
}

bool is_look_path(std::string_view path) {
  return path.empty() ||
         (path.size() <= kMostPath && path.front() == '/' && is_relative_path(path.substr(1)));
}

std::string printable(std::string_view path) {
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f && byte != '\\') {
      text += c;
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
    text += escaped;
  }
  return text;
}

std::vector<std::string> suspicious_paths(const supervisor::MachineLooks& looks) {
  std::vector<std::string> sentences;
  for (const auto& [path, look] : looks) {
    if (!look.has_content) continue;
    if (const std::string secret = secret_of(path); !secret.empty())
      sentences.push_back(printable(path) + " " + secret);
    else if (is_below_home(path))
      sentences.push_back(printable(path) + " is in a home folder");
  }
  return sentences;
}

}  // namespace verbatim::bundle
