#!/usr/bin/env python3
"""Ends programs on several ranks in every way, and checks what they print and return. usage: launch.py PROGRAM [MPIRUN]"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

program = pathlib.Path(sys.argv[1]).resolve()
mpirun = sys.argv[2] if len(sys.argv) > 2 else 'mpirun'
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
TEXT = "cannot read 'text.txt'. Pass a file that exists."

# mode: (status of every rank, words of the one line of error)
MODES = {
    'well': (0, None),
    'status': (7, None),
    'all-throw': (2, TEXT),
    'last-throws-early': (2, TEXT),
    'last-throws-late': (2, TEXT),
    'first-throws': (2, TEXT),
    'first-is-done': (2, TEXT),
    'throws-in-flight': (2, TEXT),
    'last-throws-while-first-computes': (2, TEXT),
    'disagree': (2, 'in all-gather of unit 5 (3 x 4 bytes), rank 0 in all-gather of unit 4 (3 x 4 bytes)'),
    'last-is-late': (2, 's for rank'),
}
LONGEST = 30  # seconds: far beyond what any takes, far below what a hang would
failures = 0


def run(mode, ranks):
    """(what was printed, each rank's status as its shell saw it, mpirun's status, seconds)"""
    with tempfile.TemporaryDirectory() as folder:
        shell = f'{program} {mode}; echo $? > {folder}/$OMPI_COMM_WORLD_RANK'
        command = [mpirun, '-q', '-n', str(ranks), '--oversubscribe', '--bind-to', 'none', 'sh', '-c', shell]
        start = time.monotonic()
        done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, timeout=LONGEST)
        seconds = time.monotonic() - start
        statuses = [int(path.read_text()) for path in sorted(pathlib.Path(folder).iterdir())]
    return done.stderr, statuses, done.returncode, seconds


def check(mode, ranks):
    global failures
    status, words = MODES[mode]
    try:
        printed, statuses, _, seconds = run(mode, ranks)
    except subprocess.TimeoutExpired:
        print(f'{mode} on {ranks} ranks: still running after {LONGEST} s')
        failures += 1
        return
    errors = [line for line in printed.splitlines() if line.startswith('error: ')]
    problems = []
    if statuses != [status] * ranks:
        problems.append(f'statuses {statuses}, expected {status} on {ranks} ranks')
    if len(errors) != (words is not None):
        problems.append(f'{len(errors)} lines of error, expected {int(words is not None)}')
    if words is not None and errors and words not in errors[0]:
        problems.append(f'expected "{words}" in the error')
    print(f'{mode} on {ranks} ranks: {"; ".join(problems) or "right"} ({seconds:.1f} s)')
    if problems:
        print(printed)
        failures += 1


def check_plain(mode, ranks):
    """Without a shell between: mpirun's own status is what a user sees."""
    global failures
    command = [mpirun, '-q', '-n', str(ranks), '--oversubscribe', '--bind-to', 'none', program, mode]
    done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, timeout=LONGEST)
    status, words = MODES.get(mode, (2, TEXT))
    right = done.returncode == status and done.stderr.count('error: ') == (words is not None)
    print(f'{mode} under mpirun: {"right" if right else done}')
    failures += not right


for ranks in (1, 2, 4):
    for mode in MODES:
        if ranks > 1 or mode in ('well', 'status', 'all-throw'):
            check(mode, ranks)
# 'first-is-lost': rank 0 never answers; the others end without it, and mpirun ends it.
for mode in ('well', 'all-throw', 'last-throws-early', 'first-throws', 'first-is-lost'):
    check_plain(mode, 3)
sys.exit(1 if failures else 0)
