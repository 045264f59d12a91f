#!/usr/bin/env python3
"""Compile a file that must not compile, and check that it fails for its stated reasons.

usage: check.py SOURCE BUILD_FOLDER MODEL

Flags are those that the build uses for the library's dependents, taken from its first source named *MODEL.
With -DCONTROL the file must compile. Without it, it must not: the first error must match its first
`// expect: REGEX` line, and each further such line must match something the compiler says. A file may hold several
such cases: those of `// expect NAME: REGEX` lines are compiled with -DNAME.
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys


def flags_of(build, model):
    """The compiler and its flags for the source that ends in `model`, less what names input and output."""
    entries = json.loads((build / 'compile_commands.json').read_text(encoding='utf-8'))
    entry = next(e for e in entries if e['file'].endswith(model))
    flags, words = [], iter(shlex.split(entry['command']))
    for word in words:
        if word in ('-o', '-MF', '-MQ', '-MT', '-c'):
            next(words)
        elif word not in ('-MD', '-MMD', '-Winvalid-pch'):
            flags.append(word)
    return flags


def check(what, broken, expected):
    """Compare what the compiler said of a case with what it should say."""
    if broken.returncode == 0:
        sys.exit(f'{what}: compiles, but must not')
    first = next(line for line in broken.stderr.splitlines() if 'error: ' in line)
    if not re.search(expected[0], first):
        sys.exit(f'{what}: the first error is not {expected[0]!r}, but:\n{broken.stderr}')
    unsaid = [e for e in expected if not re.search(e, broken.stderr)]
    if unsaid:
        sys.exit(f'{what}: the compiler did not say {unsaid}, but:\n{broken.stderr}')


def main():
    source, build, model = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    command = [*flags_of(build, model), '-fdiagnostics-color=never', '-fsyntax-only', str(source.resolve())]

    def compiler(*extra):
        return subprocess.run([*command, *extra], cwd=build, capture_output=True, text=True, check=False)

    cases = {}
    for name, regex in re.findall(r'^ *// expect(?: (\w+))?: (.+)$', source.read_text(encoding='utf-8'), re.M):
        cases.setdefault(name, []).append(regex)
    if not cases:
        sys.exit(f'{source.name}: has no `// expect: REGEX` line')
    control = compiler('-DCONTROL')
    if control.returncode != 0:
        sys.exit(f'{source.name}: its control must compile, but does not:\n{control.stderr}')
    for name, expected in cases.items():
        broken = compiler(*([f'-D{name}'] if name else []))
        check(f'{source.name} {name}'.strip(), broken, expected)


main()
