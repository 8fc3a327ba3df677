# Sourced by tools/setup, tools/build and tools/test: shows progress and duration of long work.

# 75 -> "1 min 15 s"
spoken_time() {
  if (($1 < 60)); then echo "$1 s"; else echo "$(($1 / 60)) min $(($1 % 60)) s"; fi
}

# show_progress NAME PATTERN: copies standard input to the file in `progress_log` and shows progress. The pattern's groups
# are: done, total, step. At a terminal one line rewrites itself each second; elsewhere there is a line every 10 %. A line that
# does not match is kept in the log; with `progress_others=show` it is also printed.
show_progress() {
  local name=$1 pattern=$2 line status state='' tenth=0 began=$SECONDS width terminal=no
  [[ -t 1 ]] && terminal=yes
  width=$(tput cols 2>/dev/null || echo 80)
  while true; do
    status=0
    IFS= read -r -t 1 line || status=$?
    if ((status == 0)); then
      [[ -n ${progress_log:-} ]] && printf '%s\n' "$line" >>"$progress_log"
      if [[ $line =~ $pattern ]]; then
        local done=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]} step=${BASH_REMATCH[3]}
        state="[$done/$total] $step"
        if [[ $terminal == no ]] && ((total > 0 && done * 10 / total > tenth)); then
          tenth=$((done * 10 / total))
          echo "$name: $((tenth * 10)) % [$done/$total] after $(spoken_time $((SECONDS - began)))"
        fi
      elif [[ ${progress_others:-} == show && -n $line && ! $line =~ ${progress_quiet:-^$} ]]; then
        [[ $terminal == yes ]] && printf '\r\033[K'
        printf '%s\n' "$line"
      fi
    elif ((status <= 128)); then
      break
    fi
    if [[ $terminal == yes && -n $state ]]; then
      local text="$name: $((SECONDS - began)) s $state"
      printf '\r\033[K%s' "${text:0:width - 1}"
    fi
  done
  [[ $terminal == yes ]] && printf '\r\033[K'
  return 0
}
