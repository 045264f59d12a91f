#!/usr/bin/env python3
"""Check the rules of the house that a script can check. usage: check.py SOURCE_FOLDER BUILD_FOLDER"""
import json
import pathlib
import re
import sys

root, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
complaints = []


def complain(path, line, text):
    complaints.append(f'{path.relative_to(root)}:{line}: {text}')


# Which folders a folder may include. Names of public and internal folders are one.
BELOW = {
    'core': set(),
    'policy': {'core'},
    'comm': {'core'},
    'observe': {'core'},
    'data': {'core'},
    'device': {'core'},
    'layers': {'core', 'device'},
    'testing': {'core', 'device', 'layers'},
    'models': {'core', 'device', 'layers'},
    'sharded': {'core', 'device', 'layers', 'policy', 'comm', 'observe'},
    'optim': {'core', 'device', 'layers', 'policy', 'comm', 'observe', 'sharded'},
    'checkpoint': {'core', 'device', 'layers', 'policy', 'comm', 'observe', 'sharded', 'optim'},
}
BELOW['strategy'] = set(BELOW)
INTERNAL = {'cpu': 'device'}  # internal folders that are part of a public one
TAGS = 'cleave/policy/category.hpp'  # only names; anyone may include it

LONGEST_HEADER = 400
LONGEST_FUNCTION = 60
LONGEST_LINE = 120
MAY_PRINT = ('include/cleave/observe/', 'include/cleave/comm/launch.hpp')
SAYS_OR_ENDS = re.compile(
    r'(?<![\w])(std::)?(v?f?printf|puts|fputs|putchar)\s*\(|std::(cout|cerr|clog)\b|fmt::v?print\b'
    r'|std::(abort|exit|quick_exit|_Exit|terminate)\b|(?<![\w.>:])(exit|_exit|abort)\s*\((?!std::string)'
)


def part_of(path):
    """The folder a header belongs to; cleave.hpp belongs to none, and what lies in detail/ itself to core."""
    folders = path.split('/')[1:-1]
    if folders == ['detail']:
        return 'core'
    name = next((f for f in folders if f != 'detail'), None)
    return INTERNAL.get(name, name)


def without_comments(text):
    """The text with comments and the insides of strings blanked; lines stay where they are."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)
    return pattern.sub(lambda m: re.sub(r'[^\n]', ' ', m[0]), text)


def functions(code):
    """(line, length) of each block in braces that is not a type, a namespace or a list."""
    opened, start = [], 0
    for at, c in enumerate(code):
        if c == '{':
            head = code[start:at]
            is_body = ')' in head and not re.search(r'\b(namespace|struct|class|enum|union|concept)\b[^()]*$', head)
            opened.append((code.count('\n', 0, at) + 1, is_body))
        elif c == '}' and opened:
            line, is_body = opened.pop()
            if is_body:
                yield line, code.count('\n', 0, at) + 2 - line
        if c in '{};':
            start = at + 1


def check_text(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LONGEST_LINE:
            complain(path, number, f'{len(line)} characters; lines have up to {LONGEST_LINE}')
        if '\t' in line or line != line.rstrip():
            complain(path, number, 'a tab, or space at the end of the line')
        if re.search(r'\b(TODO|FIXME|XXX)\b', line):
            complain(path, number, 'an open task')
    for line, length in functions(without_comments(text)):
        if length > LONGEST_FUNCTION:
            complain(path, line, f'a function of {length} lines; split it at {LONGEST_FUNCTION}')
    for match in re.finditer(r'\bconcept\s+[A-Z]', text):
        complain(path, text.count('\n', 0, match.start()) + 1, 'concepts are snake_case')


def check_header(path, text):
    code = without_comments(text)
    lines = text.count('\n')
    where = path.relative_to(root).as_posix()
    if lines > LONGEST_HEADER:
        complain(path, lines, f'{lines} lines; a header holds one idea, in up to {LONGEST_HEADER}')
    if not text.startswith('#pragma once\n'):
        complain(path, 1, 'does not start with #pragma once')
    if re.search(r'utils?|helper|manager|impl\b', path.stem):
        complain(path, 1, 'a name that says nothing')
    for number, line in enumerate(code.splitlines(), 1):
        if re.search(r'^\s*#\s*(define|undef)\b|#\s*if.*CLEAVE_', line):
            complain(path, number, 'headers define no macros and ask none of ours')
        if re.search(r'#\s*include\s*<(iostream|fstream|sstream|iomanip)>', line):
            complain(path, number, 'no iostreams in headers')
        if SAYS_OR_ENDS.search(line) and not where.startswith(MAY_PRINT):
            complain(path, number, 'the library does not print or end the program; throw')
    check_arrows(path, text)


def check_arrows(path, text):
    where = path.relative_to(root).as_posix()
    here = part_of(where[where.index('cleave/'):])
    if here is None:
        return
    if here not in BELOW:
        complain(path, 1, f'folder {here} has no place in the order of folders; see BELOW in tests/style/check.py')
        return
    for match in re.finditer(r'^#\s*include\s*<(cleave/[^>]+)>', text, re.M):
        there = part_of(match[1])
        if match[1] != TAGS and there != here and there not in BELOW[here]:
            complain(path, text.count('\n', 0, match.start()) + 1, f'{here} may not include {match[1]}')


def check_tests():
    """Every public header has a test at its own path, and every test is built."""
    built = {pathlib.Path(e['directory'], e['file']).resolve()
             for e in json.loads((build / 'compile_commands.json').read_text(encoding='utf-8'))}
    for header in sorted((root / 'include/cleave').rglob('*.hpp')):
        test = root / 'tests' / header.relative_to(root / 'include/cleave').with_suffix('.cpp')
        if header.parent.name != 'cleave' and not test.exists():
            complain(header, 1, f'has no test: {test.relative_to(root)}')
    for test in sorted((root / 'tests').rglob('*.cpp')):
        if 'compile_fail' not in test.parts and 'mpi' not in test.stem and test.resolve() not in built:
            complain(test, 1, 'is not built; add it to tests/meson.build')


def check_readme():
    """The README's program is the region of the example it names, between `// readme: begin` and `// readme: end`."""
    readme = root / 'README.md'
    text = readme.read_text(encoding='utf-8')
    for match in re.finditer(r'<!-- readme: (\S+) -->\n```cpp\n(.*?)```', text, re.S):
        if not (root / match[1]).exists():
            complain(readme, text.count('\n', 0, match.start()) + 1, f'shows {match[1]}, which does not exist')
            continue
        example = (root / match[1]).read_text(encoding='utf-8')
        region = re.search(r'// readme: begin\n(.*?)// readme: end', example, re.S)
        if match[2] != (region[1] if region else example):
            complain(readme, text.count('\n', 0, match.start()) + 1, f'does not show what {match[1]} holds')


for folder in ('include', 'detail', 'blas', 'tests', 'examples', 'benchmarks'):
    for file in sorted((root / folder).rglob('*.[hc]pp')):
        content = file.read_text(encoding='utf-8')
        check_text(file, content)
        if folder in ('include', 'detail', 'blas'):
            check_header(file, content)
        if folder == 'examples' and 'detail::' in content:
            complain(file, 1, 'an example names an internal; what it needs should be public')
check_tests()
check_readme()
print('\n'.join(complaints))
sys.exit(1 if complaints else 0)
