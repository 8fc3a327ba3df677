"""Runs the vendor-neutral tests of rdma-core in the simulator and prints a table of their outcomes."""
import argparse
import collections
import gzip
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

INSTALLED = pathlib.Path("/usr/share/doc/rdma-core/tests")
OF_ONE_VENDOR = ("mlx5", "efa", "cuda")
TOPOLOGIES = {"InfiniBand": "two_hosts.json", "RoCE": "two_hosts_roce.json"}
# Races in the tests themselves: a test relies on an order that the specification does not promise, and --freedom spec
# changes it. Values: (reason, text in the failure); a failure without the text counts as an ordinary failure.
RACES = {
    ("cq", "CQTest", "test_resize_cq"): (
        "it resizes a completion queue to less than it has posted, expecting that all of it has completed", "not raised"),
    ("tag_matching", "TMTest", "test_tm_rndv"): (
        "it expects a send's completion before that of the answer to it, and the former may wait for its acknowledgement",
        "opcode expected value: 128, received 0"),
}
# "test_create_ah (tests.test_addr.AHTest)", the test's description, "... ok"
OUTCOME = re.compile(r"^(test\w+) \(tests\.test_(\w+)\.(\w+)(?:\.\w+)?\)(.*?)\.\.\. (ok|FAIL|ERROR|skipped (['\"].*?['\"]))$", re.M | re.S)
REASON = re.compile(r"^(?:FAIL|ERROR): (test\w+) \(tests\.test_(\w+)\.(\w+)(?:\.\w+)?\).*?^(\w[\w.]*(?:Error|Exception).*?)$", re.M | re.S)


def unpack(folder):
    if not INSTALLED.is_dir():
        sys.exit("conformance: python3-pyverbs and its tests are not installed; run tools/setup")
    for file in INSTALLED.iterdir():
        if file.suffix == ".gz":
            (folder / file.stem).write_bytes(gzip.decompress(file.read_bytes()))
        else:
            shutil.copy(file, folder)


def modules(folder):
    names = sorted(path.stem.removeprefix("test_") for path in folder.glob("test_*.py"))
    return [name for name in names if not name.startswith(OF_ONE_VENDOR)]


def run_module(arguments, folder, topology, module, options):
    """Returns outcomes by (module, class, test), each ('ok', ''), ('skipped', reason) or (outcome, reason of the failure), and
    None or, if the run itself failed or its output is incomplete, its error text."""
    host = json.loads(topology.read_text())["hosts"][0]["name"]
    with tempfile.TemporaryDirectory() as out:
        # Quoted, because the folder may have blanks in its name.
        program = f"{host}=/usr/bin/python3 -W ignore '{folder}/run_tests.py' --port 1 --gid 0 -v tests.test_{module}"
        command = [arguments.verbatim, "run", "--quiet", "--out", out, "--topology", str(topology), *options, program]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        said = "".join(path.read_text() for path in sorted(pathlib.Path(out).glob("*.stderr")))
    outcomes = {}
    for test, of, group, _, outcome, reason in OUTCOME.findall(said):
        outcomes[of, group, test] = ("skipped", reason[1:-1]) if outcome.startswith("skipped") else (outcome, "")
    for test, of, group, reason in REASON.findall(said):
        outcomes[of, group, test] = (outcomes.get((of, group, test), ("ERROR", ""))[0], reason)
    counted = re.search(r"^Ran (\d+) tests?", said, re.M)
    complete = counted is not None and int(counted[1]) == len(outcomes) and run.returncode in (0, 1)
    return outcomes, None if complete else run.stderr.strip() or said.strip()


def seeds_of(text):
    first, _, last = text.partition("..")
    return range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser(prog="tools/conformance", description=__doc__)
    parser.add_argument("--verbatim", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--topologies", required=True, type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--seeds", metavar="A..B", type=seeds_of, help="with --freedom spec, once for each of these seeds")
    parser.add_argument("modules", nargs="*", help="only these: mr, qp, cqex, ...")
    arguments = parser.parse_args()
    outcomes = collections.defaultdict(dict)  # by test and topology: the worst of all seeds
    missed = collections.defaultdict(list)    # likewise: the runs in which it did not pass
    broken = []
    rank = ["ok", "skipped", "race", "FAIL", "ERROR"]
    runs = [[]] if arguments.seeds is None else [["--freedom", "spec", "--seed", str(seed)] for seed in arguments.seeds]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        unpack(folder)
        known = modules(folder)
        for unknown in set(arguments.modules) - set(known):
            parser.error(f"there is no module {unknown}; there are {', '.join(known)}")
        for kind, file in TOPOLOGIES.items():
            for module in arguments.modules or known:
                for options in runs:
                    found, error = run_module(arguments, folder, arguments.topologies / file, module, options)
                    if error is not None:
                        broken.append((kind, module, " ".join(options), error))
                    for test, outcome in found.items():
                        if options and is_race(test, outcome):
                            outcome = ("race", outcome[1])
                        if rank.index(outcome[0]) > rank.index("skipped"):
                            missed[test, kind].append(options[-1] if options else "")
                        before = outcomes[test].get(kind, ("ok", ""))
                        outcomes[test][kind] = max(before, outcome, key=lambda one: rank.index(one[0]))
    report(outcomes, missed, broken, len(runs))
    failed = broken or any(one[0] in ("FAIL", "ERROR") for by_kind in outcomes.values() for one in by_kind.values())
    return 1 if failed else 0


def is_race(test, outcome):
    end, reason = outcome
    return end in ("FAIL", "ERROR") and test in RACES and re.search(RACES[test][1], reason) is not None


def report(outcomes, missed, broken, runs):
    print(f"{'':18}" + "".join(f"{kind:>27}" for kind in TOPOLOGIES))
    print(f"{'module':18}" + "".join(f"{what:>9}" for _ in TOPOLOGIES for what in ("passed", "failed", "skipped")))
    totals = collections.Counter()
    for module in sorted({test[0] for test in outcomes}):
        line = f"{module:18}"
        for kind in TOPOLOGIES:
            ends = [by_kind[kind][0] for test, by_kind in outcomes.items() if test[0] == module and kind in by_kind]
            for count in (ends.count("ok"), ends.count("FAIL") + ends.count("ERROR"), ends.count("skipped")):
                line += f"{count:>9}"
        print(line)
    for test, by_kind in outcomes.items():
        for kind, (end, _) in by_kind.items():
            totals[kind, "failed" if end in ("FAIL", "ERROR") else "passed" if end == "ok" else end] += 1
        totals["passed"] += any(end == "ok" or (end == "race" and len(missed[test, kind]) < runs)
                                for kind, (end, _) in by_kind.items())
    skipped = collections.Counter()
    for test, by_kind in sorted(outcomes.items()):
        for kind, (end, reason) in by_kind.items():
            if end in ("FAIL", "ERROR"):
                seeds = f" (seeds {', '.join(missed[test, kind])})" if any(missed[test, kind]) else ""
                print(f"{end} on {kind}: {'.'.join(test)}: {reason}{seeds}")
            if end == "race":
                print(f"race of the test on {kind}: {'.'.join(test)}: {RACES[test][0]}; {reason} "
                      f"(lost with seeds {', '.join(missed[test, kind])})")
        if all(end == "skipped" for end, _ in by_kind.values()):
            skipped[test[0], next(iter(by_kind.values()))[1]] += 1
    if skipped:
        print("\nskipped on both:")
    for (module, reason), count in sorted(skipped.items()):
        print(f"{count:5} {module}: {reason}")
    for kind, module, options, error in broken:
        print(f"\nconformance: test_{module} on {kind} {options} did not come to its end:\n{error}")
    of_each = "; ".join(f"{kind}: " + ", ".join(f"{totals[kind, what]} {what}" for what in ("passed", "failed", "skipped"))
                        + (f", {totals[kind, 'race']} races of the tests" if totals[kind, "race"] else "")
                        for kind in TOPOLOGIES)
    print(f"\n{totals['passed']} of {len(outcomes)} tests pass on one topology at least, each run {runs} time{'s'[:runs != 1]} ({of_each})")


if __name__ == "__main__":
    sys.exit(main())
