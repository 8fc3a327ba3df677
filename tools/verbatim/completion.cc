#include "tools/verbatim/completion.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace verbatim::cli {

namespace {

struct Option {
  std::vector<std::string> names;   // "--out", "-o"
  std::vector<std::string> values;  // that it knows; none: files
  std::string about;                // the first line of its help
  bool takes_value = false;
};

struct Verb {
  std::string words;  // "lab run"; empty: the program itself
  std::string about;
  std::vector<Option> options;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Of "TEXT:{never,free}" the words between the braces.
std::vector<std::string> values_of(const std::string& type) {
  std::vector<std::string> values;
  const std::size_t begin = type.find('{'), end = type.find('}');
  if (begin == type.npos || end == type.npos) return values;
  std::string word;
  for (const char letter : type.substr(begin + 1, end - begin - 1) + ",") {
    if (letter != ',') {
      word += letter;
    } else if (!word.empty()) {
      values.push_back(std::exchange(word, ""));
    }
  }
  return values;
}

void gather(const CLI::App& app, const std::string& words, std::vector<Verb>& verbs) {
  Verb verb{.words = words, .about = first_line(app.get_description()), .options = {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    Option one{.names = {}, .values = values_of(option->get_type_name()), .about = first_line(option->get_description()),
               .takes_value = option->get_items_expected_max() > 0};
    for (const std::string& name : option->get_lnames()) one.names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) one.names.push_back("-" + name);
    if (!one.names.empty()) verb.options.push_back(std::move(one));
  }
  verbs.push_back(std::move(verb));
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (below->get_group().empty()) continue;  // a step of the build
    gather(*below, words.empty() ? below->get_name() : words + " " + below->get_name(), verbs);
  }
}

// For a word between single quotes.
std::string in_single_quotes(const std::string& text) {
  std::string safe = "'";
  for (const char letter : text) safe += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return safe + "'";
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

// The verbs one level below `words`.
std::vector<std::string> below(const std::vector<Verb>& verbs, const std::string& words) {
  const std::string start = words.empty() ? "" : words + " ";
  std::vector<std::string> names;
  for (const Verb& verb : verbs) {
    if (verb.words.size() <= start.size() || !verb.words.starts_with(start)) continue;
    const std::string rest = verb.words.substr(start.size());
    if (rest.find(' ') == rest.npos) names.push_back(rest);
  }
  return names;
}

// zsh loads bash's completion, so one function serves both.
std::string bash_script(const std::vector<Verb>& verbs) {
  std::string options, values, known;
  for (const Verb& verb : verbs) {
    std::vector<std::string> names;
    for (const Option& option : verb.options) {
      for (const std::string& name : option.names) {
        names.push_back(name);
        if (option.takes_value)
          values += fmt::format("    {}) _verbatim_values={}; return 0;;\n", in_single_quotes(verb.words + " " + name),
                                in_single_quotes(option.values.empty() ? "" : joined(option.values)));
      }
    }
    options += fmt::format("    {}) _verbatim_options={} _verbatim_verbs={};;\n", in_single_quotes(verb.words), in_single_quotes(joined(names)),
                           in_single_quotes(joined(below(verbs, verb.words))));
    known += (known.empty() ? "" : "|") + in_single_quotes(verb.words);
  }
  return "# Completion of verbatim(1) for bash; zsh reads it after `autoload -U bashcompinit && bashcompinit`.\n"
         "_verbatim_of_verb() {\n  case \"$1\" in\n" +
         options +
         "  esac\n}\n"
         "# Whether the option takes a value, and which it knows.\n"
         "_verbatim_takes_value() {\n  case \"$1\" in\n" +
         values +
         "  esac\n  return 1\n}\n"
         "_verbatim() {\n"
         "  local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" verb='' i next\n"
         "  local _verbatim_options _verbatim_verbs _verbatim_values\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    next=\"${verb:+$verb }${COMP_WORDS[i]}\"\n"
         "    case \"$next\" in " + known + ") verb=\"$next\";; esac\n"
         "  done\n"
         "  _verbatim_of_verb \"$verb\"\n"
         "  if _verbatim_takes_value \"$verb $before\"; then\n"
         "    if [[ -n \"$_verbatim_values\" ]]; then\n"
         "      COMPREPLY=($(compgen -W \"$_verbatim_values\" -- \"$word\"))\n"
         "    else\n"
         "      COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "    fi\n"
         "  elif [[ \"$word\" == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$_verbatim_options\" -- \"$word\"))\n"
         "  elif [[ -n \"$_verbatim_verbs\" ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$_verbatim_verbs\" -- \"$word\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _verbatim verbatim\n";
}

std::string zsh_script(const std::vector<Verb>& verbs) {
  return "#compdef verbatim\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script(verbs);
}

std::string fish_script(const std::vector<Verb>& verbs) {
  std::string script = "# Completion of verbatim(1) for fish.\ncomplete -c verbatim -n __fish_use_subcommand -f\n";
  for (const Verb& verb : verbs) {
    const std::size_t last = verb.words.rfind(' ');
    const std::string above = last == verb.words.npos ? "" : verb.words.substr(0, last);
    const std::string name = verb.words.substr(last == verb.words.npos ? 0 : last + 1);
    if (!verb.words.empty()) {
      const std::string where = above.empty() ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + above;
      script += fmt::format("complete -c verbatim -n {} -a {} -d {}\n", in_single_quotes(where), name, in_single_quotes(verb.about));
    }
    // A verb below another one is seen when both are.
    std::string where = verb.words.empty() ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + name;
    if (!above.empty()) where += "; and __fish_seen_subcommand_from " + above;
    for (const Option& option : verb.options) {
      script += fmt::format("complete -c verbatim -n {}", in_single_quotes(where));
      for (const std::string& one : option.names) {
        script += one.starts_with("--") ? " -l " + one.substr(2) : " -s " + one.substr(1);
      }
      if (option.takes_value) script += option.values.empty() ? " -r -F" : " -x -a " + in_single_quotes(joined(option.values));
      script += " -d " + in_single_quotes(option.about) + "\n";
    }
  }
  return script;
}

}  // namespace

std::string completion_of(const CLI::App& app, const std::string& shell) {
  std::vector<Verb> verbs;
  gather(app, "", verbs);
  return shell == "fish" ? fish_script(verbs) : shell == "zsh" ? zsh_script(verbs) : bash_script(verbs);
}

}  // namespace verbatim::cli
