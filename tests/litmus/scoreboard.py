#!/usr/bin/env python3
"""How soon each race of tests/litmus is found, how small it gets, and whether a repair is ever blamed.

For each pair: searches of `buggy` from several seeds (`verbatim explore`), in how many of them something failed within the
runs allowed, the median of the runs and of the wall time that it took, decisions before and after shrinking, failures among
many schedules of `fixed`, which must be none, and the sites of what was left in the first search ("-": it always fails). Exit code 1: a race was not found by any search, or a repair failed.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"
PROGRAMS = BUILD / "tests/litmus/programs"
TOPOLOGY = ROOT / "topologies/two_hosts.json"

# Further options that a run needs to show the mistake, as in litmus.cc.
OPTIONS = {
    "ghost_write": ["--fault", '{"action": "delay", "from": "client", "opcode": "RDMA Write Only", "nth": 1, "delay": "300 us"}'],
    "two_threads": ["--check", "threads=error"],
}


def explore(out, program, variant, seed, options):
    command = f"'{PROGRAMS / program}' {variant}"
    begin = time.monotonic()
    run = subprocess.run(
        [BUILD / "verbatim", "explore", "--out", out, "--seed", str(seed), "--topology", TOPOLOGY, "--time-limit", "20s",
         *OPTIONS.get(program, []), *options, f"server={command}", f"client={command} server"],
        capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        sys.exit(f"{program} {variant}: {run.stderr}")
    seconds = time.monotonic() - begin
    return json.loads((pathlib.Path(out) / "explore.json").read_text()), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", help="default: all")
    parser.add_argument("--searches", type=int, default=5, help="seeds of the strategies, for each race")
    parser.add_argument("--runs", type=int, default=400, help="schedules that a search may try")
    parser.add_argument("--repaired", type=int, default=200, help="schedules of each repair")
    parser.add_argument("--strategy", default="portfolio")
    asked = parser.parse_args()
    programs = asked.programs or sorted(p.name for p in PROGRAMS.iterdir() if p.is_file() and p.name != "memory_model")
    for name in programs:
        if not (PROGRAMS / name).is_file():
            sys.exit(f"there is no litmus program {name}; it must be built, and is one of {PROGRAMS}")
    print(f"{'race':26} {'found':>8} {'runs':>6} {'seconds':>8} {'decisions':>10} {'shrunk':>7} {'repaired':>12}  sites", flush=True)
    is_good = True
    with tempfile.TemporaryDirectory() as folder:
        for name in programs:
            found = []
            sites = "-"
            for search in range(asked.searches):
                result, seconds = explore(folder, name, "buggy", 1000 * search + 1,
                                          ["--strategy", asked.strategy, "--runs", str(asked.runs)])
                if result["failures"]:
                    failure = result["failures"][0]
                    if not found:
                        sites = ", ".join(sorted({decision["site"] for decision in failure["decisions"]})) or "-"
                    found.append((failure["first_run"], seconds, failure["decisions_found"], len(failure["decisions"])))
            fixed, _ = explore(folder, name, "fixed", 1,
                               ["--strategy", asked.strategy, "--runs", str(asked.repaired), "--keep-going"])
            is_good = is_good and bool(found) and fixed["failed"] == 0
            median = [statistics.median(column) for column in zip(*found)] if found else None
            figures = (f"{median[0]:6.0f} {median[1]:8.1f} {median[2]:10.0f} {median[3]:7.0f}" if median
                       else f"{'-':>6} {'-':>8} {'-':>10} {'-':>7}")
            print(f"{name:26} {len(found):>4} / {asked.searches} {figures} {fixed['failed']:>5} / {fixed['runs']:<4}  {sites}", flush=True)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
