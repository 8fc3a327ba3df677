#include "tests/real/shell.h"

#include "tests/support/verbatim_run.h"

namespace verbatim::real {

Commands pipelines() {
  return {
      "server=bash -c 'seq 1 2000 | sort -rn | head -3; (sleep 2; echo late) & (sleep 1; echo early) & "
      "wait; "
      "(exit 3) || echo failed $?; echo {a,b}{1,2}; for i in 1 2 3; do echo $i; done | while read x; do "
      "echo "
      "$((x * x)); done; cat <(echo substituted); [ $$ = $BASHPID ] && trap \"echo trapped\" EXIT'"};
}

Commands netcat() {
  return {"server=bash -c 'nc -l -p 5000 | sha256sum'",
          "client=bash -c 'seq 1 100000 | tee >(sha256sum >&2) | nc -N server 5000'"};
}

Commands iperf3() { return {"server=iperf3 -s -1 -J", "client=iperf3 -c server -n 4M -i 0 -J"}; }

Commands make_certificate(const std::string& key, const std::string& certificate) {
  return {"server=openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=server -keyout " + key + " -out " +
          certificate};
}

Commands tls(const std::string& key, const std::string& certificate) {
  return {"server=bash -c 'openssl s_server -quiet -naccept 1 -accept 4433 -key " + key + " -cert " +
              certificate + " < <(sleep 1; echo from the server)'",
          "client=bash -c '(echo from the client; sleep 2) | openssl s_client -quiet -connect server:4433 "
          "2>/dev/null'"};
}

Commands python_processes() {
  return {"server=python3 " + support::quoted(std::string(REAL_FOLDER) + "/processes.py")};
}

}  // namespace verbatim::real
