#include "tools/verbatim/completion.h"

#include <fmt/format.h>

#include <vector>

namespace verbatim::cli {

namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Quotes text for use between single quotes.
std::string in_single_quotes(const std::string& text) {
  std::string safe = "'";
  for (const char letter : text) safe += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return safe + "'";
}

// zsh can load bash's completion, so one function serves both.
std::string bash_script(const std::vector<VerbText>& verbs) {
  std::string options, values, known;
  for (const VerbText& verb : verbs) {
    std::vector<std::string> names;
    for (const OptionText& option : verb.options) {
      for (const std::string& name : option.names()) {
        names.push_back(name);
        if (option.takes_value)
          values += fmt::format("    {}) _verbatim_values={}; return 0;;\n", in_single_quotes(verb.words + " " + name),
                                in_single_quotes(line_of(option.choices, " ")));
      }
    }
    options += fmt::format("    {}) _verbatim_options={} _verbatim_verbs={};;\n", in_single_quotes(verb.words), in_single_quotes(line_of(names, " ")),
                           in_single_quotes(line_of(verb.below, " ")));
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

std::string zsh_script(const std::vector<VerbText>& verbs) {
  return "#compdef verbatim\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script(verbs);
}

std::string fish_script(const std::vector<VerbText>& verbs) {
  std::string script = "# Completion of verbatim(1) for fish.\ncomplete -c verbatim -n __fish_use_subcommand -f\n";
  for (const VerbText& verb : verbs) {
    const std::size_t last = verb.words.rfind(' ');
    const std::string above = last == verb.words.npos ? "" : verb.words.substr(0, last);
    const std::string name = verb.words.substr(last == verb.words.npos ? 0 : last + 1);
    if (!verb.words.empty()) {
      const std::string where = above.empty() ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + above;
      script += fmt::format("complete -c verbatim -n {} -a {} -d {}\n", in_single_quotes(where), name, in_single_quotes(first_line(verb.sentence)));
    }
    // A verb below another one is recognised when both words are present.
    std::string where = verb.words.empty() ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + name;
    if (!above.empty()) where += "; and __fish_seen_subcommand_from " + above;
    for (const OptionText& option : verb.options) {
      if (!option.positional.empty()) continue;
      script += fmt::format("complete -c verbatim -n {}", in_single_quotes(where));
      for (const std::string& one : option.names()) {
        script += one.starts_with("--") ? " -l " + one.substr(2) : " -s " + one.substr(1);
      }
      if (option.takes_value) script += option.choices.empty() ? " -r -F" : " -x -a " + in_single_quotes(line_of(option.choices, " "));
      script += " -d " + in_single_quotes(first_line(option.about)) + "\n";
    }
  }
  return script;
}

}  // namespace

std::string completion_of(const std::vector<VerbText>& verbs, const std::string& shell) {
  return shell == "fish" ? fish_script(verbs) : shell == "zsh" ? zsh_script(verbs) : bash_script(verbs);
}

}  // namespace verbatim::cli
