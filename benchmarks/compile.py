#!/usr/bin/env python3
"""What Cleave costs the compiler: time and memory, against the budget.

usage: compile.py BUILD_FOLDER

Uses the commands of the build folder's own compilation, one core, the fastest of two. Times are CPU seconds, so that other
work on the machine counts little.
"""
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile

build = sys.argv[1]
with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as f:
    commands = json.load(f)

GPT = '''#include <cleave/cleave.hpp>
using namespace cleave;
constexpr models::gpt::Config config{.vocabulary = 256, .context = 64, .layers = LAYERS, .width = 128, .heads = 4};
using Model = ShardedModule<models::gpt::Gpt<config>, comm::Self>;
int main() {
  comm::Self world;
  Model model(world, {.batch = 1, .sequence = 64});
  optim::AdamW adam(model);
  int const tokens[64] = {};
  model.backward(model.loss(tokens, tokens));
  adam.step();
}
'''


def command_of(suffix):
    entry = next(c for c in commands if c['file'].endswith(suffix))
    words = shlex.split(entry['command'])
    out = words.index('-o')
    del words[out:out + 2]
    words = [w for w in words if w not in ('-MD', '-c') and not w.startswith('-W')]
    for flag in ('-MQ', '-MF'):
        while flag in words:
            at = words.index(flag)
            del words[at:at + 2]
    words.pop()  # the source
    return words, os.path.join(entry['directory'], entry['file'])


def measure(words, source):
    """CPU seconds and peak memory in MB of compiling a file, the best of two."""
    best = None
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with tempfile.NamedTemporaryFile(suffix='.o') as out:
            pid = os.posix_spawn(shutil_which(words[0]), [*words, '-w', '-c', source, '-o', out.name], os.environ)
            _, status, usage = os.wait4(pid, 0)
        if status:
            sys.exit(f'{source}: does not compile')
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if best is None or seconds < best[0]:
            best = (seconds, usage.ru_maxrss / 1024)
    return best


def shutil_which(name):
    return subprocess.run(['which', name], capture_output=True, text=True, check=True).stdout.strip()


def main():
    words, program = command_of('examples/train_gpt.cpp')
    os.chdir(build)
    results = {}
    with tempfile.TemporaryDirectory() as folder:

        def text(name, source, flags=()):
            path = os.path.join(folder, name + '.cpp')
            with open(path, 'w', encoding='utf-8') as out:
                out.write(source)
            return measure([*words, *flags], path)

        results['umbrella header'] = text('umbrella', '#include <cleave/cleave.hpp>\n')
        results['train_gpt.cpp'] = measure(words, program)
        results['12 blocks'] = text('gpt12', GPT.replace('LAYERS', '12'))
        results['48 blocks'] = text('gpt48', GPT.replace('LAYERS', '48'))
    ratio = results['48 blocks'][0] / results['12 blocks'][0]
    rows = [
        ('cleave/cleave.hpp', results['umbrella header'][0], 's', 3.0),
        ('examples/train_gpt.cpp', results['train_gpt.cpp'][0], 's', 30.0),
        ('48 blocks / 12 blocks', ratio, '', 1.1),
    ]
    print(f'{"compiled":28}{"measured":>10}   budget')
    for name, value, unit, budget in rows:
        print(f'{name:28}{value:8.2f} {unit:1}   {budget:4.1f} {unit:1} {"" if value <= budget else "  over"}')
    print()
    print(json.dumps({'benchmark': 'compile', **{k: {'seconds': s, 'megabytes': m} for k, (s, m) in results.items()}}))


main()
