#!/usr/bin/env python3
"""Trains well and badly, as a user would, on several ranks, and checks what is printed, returned and left behind.

usage: train_gpt.py TRAIN_GPT
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1', TERM='dumb',
                   OMP_NUM_THREADS='1')
# mpirun ends well, so that no rank is killed before its shell has written its status down.
RECORD = '"$@"; echo $? > "$STATUSES/$OMPI_COMM_WORLD_RANK"'
LONGEST = 120  # seconds: far beyond what any run takes
CONTEXT, LAYERS, WIDTH = 64, 4, 128
BEFORE = b'the weights of yesterday'

temporary = tempfile.TemporaryDirectory()
folder = pathlib.Path(temporary.name)
pool = concurrent.futures.ThreadPoolExecutor(4)
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print('wrong:', what)


class Run:
    """One run, in a folder of its own. `before` lies where it saves; `first` is what each rank's shell does first."""

    def __init__(self, arguments, ranks=1, before=None, record=True, first=''):
        self.what = f'{" ".join(map(str, arguments))} on {ranks} ranks'.replace(f'{folder}/', '')
        self.ranks = ranks
        self.record = record
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=folder))
        if before is not None:
            (self.folder / 'gpt.safetensors').write_bytes(before)
        statuses = pathlib.Path(tempfile.mkdtemp(dir=folder))
        command = ['mpirun', '-q', '-n', str(ranks), '--oversubscribe', '--bind-to', 'none', '--timeout', str(LONGEST)]
        command += (['sh', '-c', first + RECORD, 'sh'] if record else []) + [PROGRAM, *map(str, arguments)]
        done = subprocess.run(command, cwd=self.folder, env=dict(ENVIRONMENT, STATUSES=str(statuses)),
                              stdin=subprocess.DEVNULL, capture_output=True)
        self.out, self.err = (text.decode() for text in (done.stdout, done.stderr))
        self.statuses = [int(path.read_text()) for path in sorted(statuses.iterdir())] if record else [done.returncode]
        self.files = {path.name: path.read_bytes() for path in self.folder.iterdir()}
        shutil.rmtree(self.folder)

    def expect(self, condition, what):
        expect(condition, f'{self.what}: {what}\n{self.out}{self.err}')

    def has_all_statuses(self):
        return len(self.statuses) == (self.ranks if self.record else 1)

    def expect_failure(self, words, files, said=''):
        self.expect(set(self.statuses) == {2} and self.has_all_statuses(), f'statuses {self.statuses}')
        self.expect(self.err.startswith('error: ') and self.err.count('\n') == 1 and self.err.endswith('\n'),
                    'expected one line of error')
        for word in words:
            self.expect(word in self.err, f'expected "{word}" in the error')
        self.expect(re.fullmatch(said, self.out), 'printed something else too')
        self.expect(self.files == files, f'left {list(self.files)}')

    def expect_success(self):
        self.expect(set(self.statuses) == {0} and self.has_all_statuses(), f'statuses {self.statuses}')
        self.expect(self.err == '', 'printed errors')
        return self

    def metrics(self):
        return [json.loads(line) for line in self.files.get('metrics.jsonl', b'').decode().splitlines()]

    def validation(self):
        found = re.search(r'^validation loss (\d+\.\d+)$', self.out, re.M)
        return float(found[1] if found else 'nan')


def write(name, content):
    path = folder / name
    path.write_bytes(content)
    return path


def u16(tokens):
    return b''.join(struct.pack('<H', token) for token in tokens)


TEXT = write('text.txt', ''.join(f'{i} times {i} is {i * i}.\n' for i in range(400)).encode())
TINY = ['--text', TEXT, '--sample', 0]


# Weights, and what can be wrong with them.

def read_tensors(data):
    """name: (dtype, shape, bytes)"""
    length, = struct.unpack_from('<Q', data)
    header, data = json.loads(data[8:8 + length]), data[8 + length:]
    return {name: (tensor['dtype'], tensor['shape'], data[slice(*tensor['data_offsets'])])
            for name, tensor in header.items() if name != '__metadata__'}


def write_tensors(name, tensors, **changes):
    header, end = {}, 0
    tensors = {name: tensor for name, tensor in {**tensors, **changes}.items() if tensor}
    for key, (dtype, shape, data) in tensors.items():
        header[key] = {'dtype': dtype, 'shape': shape, 'data_offsets': [end, end + len(data)]}
        end += len(data)
    text = json.dumps(header).encode()
    return write(name, struct.pack('<Q', len(text)) + text + b''.join(data for _, _, data in tensors.values()))


def gpt2_shapes():
    """As Hugging Face names GPT-2's tensors, and stores them."""
    shapes = {'wte.weight': [256, WIDTH], 'wpe.weight': [CONTEXT, WIDTH], 'ln_f.weight': [WIDTH], 'ln_f.bias': [WIDTH]}
    for layer in range(LAYERS):
        for name, shape in {'ln_1': [WIDTH], 'attn.c_attn': [WIDTH, 3 * WIDTH], 'attn.c_proj': [WIDTH, WIDTH],
                            'ln_2': [WIDTH], 'mlp.c_fc': [WIDTH, 4 * WIDTH], 'mlp.c_proj': [4 * WIDTH, WIDTH]}.items():
            shapes[f'h.{layer}.{name}.weight'] = shape
            shapes[f'h.{layer}.{name}.bias'] = shape[-1:]
    return shapes


def bad_weights(good):
    """words of the error: the file"""
    tensors = read_tensors(good)
    bias = tensors['ln_f.bias']
    half = len(good) // 2
    return {
        ('cut.safetensors', 'again'): write('cut.safetensors', good[:half]),
        ('stub.safetensors', '5 bytes'): write('stub.safetensors', good[:5]),
        ('random.safetensors', 'another format'): write('random.safetensors', bytes(range(255, 0, -1)) * 40),
        ('model.json', 'another format'): write('model.json', json.dumps({'layers': list(range(99))}).encode()),
        ('model.gz', 'another format'): write('model.gz', b'\x1f\x8b\x08\0\0\0\0\0\0\x03' + bytes(range(256)) * 9),
        ('ln_f.bias', '(128)', '(127)', 'shape.safetensors'):
            write_tensors('shape.safetensors', tensors, **{'ln_f.bias': ('F32', [127], bias[2][4:])}),
        ('ln_f.bias', 'F32', 'I64', 'type.safetensors'):
            write_tensors('type.safetensors', tensors, **{'ln_f.bias': ('I64', [128], bias[2] * 2)}),
        ('ln_f.bias', 'missing.safetensors'): write_tensors('missing.safetensors', tensors, **{'ln_f.bias': None}),
        ('head.bias', 'unknown.safetensors'): write_tensors('unknown.safetensors', tensors, **{'head.bias': bias}),
        ('none.safetensors', 'No such file'): folder / 'none.safetensors',
    }


def bad_sources():
    fifo = folder / 'pipe'
    os.mkfifo(fifo)
    least = 10 * CONTEXT + 1
    return {
        ('none.txt', 'No such file'): ['--text', folder / 'none.txt'],
        ('empty.txt', 'empty'): ['--text', write('empty.txt', b'')],
        ('short.txt', f'{least} tokens', 'found 40'): ['--text', write('short.txt', b'a' * 40)],
        ('part.txt', 'found 640', 'last tenth'): ['--text', write('part.txt', b'a' * (least - 1))],
        (folder.name, 'a folder'): ['--text', folder],
        ('pipe', 'regular file'): ['--text', fifo],
        ('large.u16', '256', 'found 300 at position 7'):
            ['--tokens', write('large.u16', u16([*range(7), 300, *range(256)] * 3))],
        ('odd.u16', '2 bytes', '1999 bytes'): ['--tokens', write('odd.u16', b'\0' * 1999)],
        ('tokens.txt', '.u16'): ['--tokens', write('tokens.txt', b'\0' * 2000)],
        ('--text and --tokens', 'Leave one out'): [*TINY, '--tokens', 'x.u16'],
    }


BAD_OPTIONS = {
    ('--ran', '--help'): ['--ran', 2],
    ("'more'", '--help'): ['more'],
    ('--text', '--help'): ['--text'],
    ('--steps', "'-1'", 'from 0'): ['--steps', -1],
    ('--steps', "'1e3'", 'whole number'): ['--steps', '1e3'],
    ('--lr', "'abc'", 'a number'): ['--lr', 'abc'],
    ('--lr', "'nan'", 'a number'): ['--lr', 'nan'],
    ('--schedule', "'foo'", 'constant or cosine'): ['--schedule', 'foo'],
    ('--optimizer', "'foo'", 'adamw or sgd'): ['--optimizer', 'foo'],
    ('--dropout', "'1'", 'below 1'): ['--dropout', 1],
    ('--seed', "'-1'", 'from 0'): ['--seed', -1],
    ('--batch', "'0'", 'from 1'): ['--batch', 0],
    ('--betas', '2'): ['--betas', '0.9'],
    ('--betas', "'1'", 'below 1'): ['--betas', '0.9', '1'],
    ('--momentum', '--nesterov', 'found 0'): ['--optimizer', 'sgd', '--nesterov'],
    ('--momentum', 'sgd only', 'adamw'): ['--momentum', 0.9],
    ('--text', 'the name of a file'): ['--text', ''],
    ('no/metrics.jsonl', 'No such file'): ['--metrics', 'no/metrics.jsonl'],
}
BAD_BATCHES = {
    ('7 sequences', '12 micro-batches', 'a multiple of'): ['--batch', 7, '--micro-batches', 12],
    ('at least one sequence for each', 'found a batch of 1', 'fewer ranks'): ['--batch', 1],
}
BAD_PLACES = {('--save', '/no'): 'no/gpt.safetensors', ('--save', 'a folder'): '.', ('--save', 'file'): '/dev/null'}
INTRODUCTION = r'[\d,]+ parameters on \d ranks?, [\d,]+ tokens of .*\n'


def expect_failures(cases, all_ranks):
    """Those on an even number of ranks have a file where they save."""
    runs = {}
    for index, (words, arguments) in enumerate(cases.items()):
        for ranks in all_ranks or [index % 3 + 1]:
            before = None if ranks % 2 else BEFORE
            runs[pool.submit(Run, arguments, ranks, before)] = (words, {'gpt.safetensors': before} if before else {})
    for run, (words, files) in runs.items():
        run.result().expect_failure(words, files)


def check_failures(good):
    weights = {words: [*TINY, '--init', path] for words, path in bad_weights(good).items()}
    expect_failures({**weights, **bad_sources()}, [1, 2, 3])
    expect_failures({words: [*TINY, *arguments] for words, arguments in BAD_OPTIONS.items()}, None)
    expect_failures({words: [*TINY, *arguments] for words, arguments in BAD_BATCHES.items()}, [2, 3])
    expect_failures({words: [*TINY, '--save', name] for words, name in BAD_PLACES.items()}, [1, 3])


def check_divergence():
    diverged = ['--steps', 3, '--optimizer', 'sgd', '--lr', '1e30', '--schedule', 'constant', '--clip', 0]
    for steps in (1, 3):  # 1: nothing but the validation finds out
        runs = [pool.submit(Run, [*TINY, *diverged, '--steps', steps], ranks, BEFORE) for ranks in (1, 2, 3)]
        for run in runs:
            run.result().expect_failure(['found', 'nan', 'step', '--lr'], {'gpt.safetensors': BEFORE},
                                        INTRODUCTION + rf' *1/{steps} .*\n')


def check_status_of_mpirun():
    """What a user sees, without a shell between."""
    for run in [pool.submit(Run, ['--text', folder / 'none.txt'], ranks, record=False) for ranks in (1, 2, 3)]:
        run.result().expect_failure(['No such file'], {})


def check_full_disk():
    """A limit on the size of files is a full disk to the program. One rank: others would share memory in files."""
    run = Run([*TINY, '--steps', 1], 1, BEFORE, first='trap "" XFSZ; ulimit -f 2000;')
    run.expect_failure(['expected to write', 'gpt.safetensors', 'too large'], {'gpt.safetensors': BEFORE},
                       INTRODUCTION + r'1/1 .*\nvalidation loss .*\n')


def check_ranks_option():
    for arguments in (['--ranks', '0'], ['--ranks', 'x'], ['--ranks='], ['--steps', '1', '--ranks']):
        done = subprocess.run([ROOT / 'run', 'train', *arguments], capture_output=True, text=True, timeout=LONGEST)
        right = done.returncode == 2 and re.fullmatch(r'run: --ranks .*\.\n', done.stderr) and done.stdout == ''
        expect(right, f'run train {arguments}: {done}')


# Good runs.

HELP = ['text', 'tokens', 'init', 'save', 'steps', 'batch', 'micro-batches', 'optimizer', 'lr', 'betas', 'eps',
        'weight-decay', 'momentum', 'nesterov', 'clip', 'schedule', 'warmup', 'min-lr', 'seed', 'dropout', 'metrics',
        'help']


def check_help():
    for ranks in (1, 3):
        run = Run(['--help'], ranks).expect_success()
        missing = [option for option in HELP if not re.search(rf'^  (-h,)?--{option}\b', run.out, re.M)]
        run.expect(not missing and '--ranks' in run.out, f'help lacks {missing}')
        run.expect(run.out.count('Usage: ') == 1 and run.files == {}, 'printed twice, or left a file')


def train(*arguments, source=('--text', TEXT), ranks=1):
    words = [*source, '--sample', 0, '--steps', 3, '--metrics', 'metrics.jsonl', *arguments]
    return pool.submit(Run, words, ranks)


def expect_equal(runs):
    """Their losses and gradient norms are the first one's, up to rounding."""
    first = runs[0].metrics()
    for run in runs:
        run.expect(len(run.metrics()) == 3, 'expected three lines of metrics')
        for one, other in zip(first, run.metrics()):
            for key in ('loss', 'grad_norm', 'lr'):
                run.expect(abs(one[key] - other[key]) <= 1e-4 * abs(one[key]),
                           f'{key} of step {one["step"]} is {other[key]}, expected {one[key]}')
    for run in runs:
        run.expect(abs(run.validation() - runs[0].validation()) < 1e-3, 'another validation loss')


def check_metrics(run):
    lines = run.metrics()
    run.expect([line['step'] for line in lines] == [0, 1, 2], 'expected a line a step')
    for line in lines:
        run.expect(list(line) == ['step', 'loss', 'grad_norm', 'lr', 'tokens_per_second'], f'keys {list(line)}')
        run.expect(5 < line['loss'] < 6.5 and line['grad_norm'] > 0 and line['tokens_per_second'] > 0, f'{line}')
    run.expect(lines[2]['lr'] > lines[0]['lr'] > 0, 'warm-up does not rise')


def check_output(run):
    """What a log sees: lines, and nothing that only a terminal knows."""
    run.expect('\r' not in run.out and '\x1b' not in run.out, 'a carriage return or an escape sequence')
    run.expect(max(map(len, run.out.splitlines())) <= 80, 'a line of more than 80 columns')
    run.expect(re.fullmatch(INTRODUCTION + r'( *\d/3 .*loss \d\.\d{4} .*/rank\n)+validation loss \d\.\d{4}\n'
                            r'weights saved to gpt\.safetensors\n', run.out), 'printed something else')


def check_training():
    ranks = [train(ranks=ranks) for ranks in (1, 2, 3, 4)]
    parts = [train('--micro-batches', parts, ranks=2) for parts in (1, 2, 3)]
    dropout = [train('--dropout', 0.2, ranks=ranks) for ranks in (1, 2, 4)]
    file = write('text.u16', u16(TEXT.read_bytes()))
    tokens = [train(source=('--tokens', file), ranks=ranks) for ranks in (1, 2)]
    nesterov = ['--optimizer', 'sgd', '--momentum', 0.9, '--nesterov', '--schedule', 'constant', '--lr', 0.1]
    sgd = [train(*nesterov, ranks=ranks) for ranks in (1, 2)]
    runs = [[run.result().expect_success() for run in group] for group in (ranks, parts, dropout, tokens, sgd)]
    for group in (runs[0] + runs[1] + runs[3], runs[2], runs[4]):
        expect_equal(group)
    for run in runs[0]:
        check_metrics(run)
        check_output(run)
    dropped, kept = runs[2][0].metrics()[0]['loss'], runs[0][0].metrics()[0]['loss']
    expect(abs(dropped - kept) > 1e-4, f'dropout does nothing: the first loss is {dropped}')
    expect([line['lr'] for line in runs[4][0].metrics()] == [0.1] * 3, 'a constant schedule is not constant')
    return runs[0][1]


def check_saved(run):
    run.expect(sorted(run.files) == ['gpt.safetensors', 'metrics.jsonl'], f'left {sorted(run.files)}')
    saved = read_tensors(run.files['gpt.safetensors'])
    run.expect({name: shape for name, (_, shape, _) in saved.items()} == gpt2_shapes(), f'saved {list(saved)}')
    path = write('good.safetensors', run.files['gpt.safetensors'])
    for ranks in (1, 3):
        again = Run([*TINY, '--steps', 0, '--init', path], ranks, BEFORE).expect_success()
        again.expect(again.validation() == run.validation(), f'expected a validation loss of {run.validation()}')
        again.expect(again.files == {'gpt.safetensors': run.files['gpt.safetensors']}, 'other weights, or other files')


def check_sample():
    run = Run(['--text', TEXT, '--steps', 0, '--sample', 5, '--save', 'a b.safetensors'], 2).expect_success()
    sample = r'validation loss .*\nsample:\n[\n -~]{5}\nweights saved to a b.safetensors\n'
    run.expect(re.fullmatch(INTRODUCTION + sample, run.out), 'no sample of five printable characters')
    run.expect(list(run.files) == ['a b.safetensors'], f'left {list(run.files)}')


good = check_training()
check_saved(good)
check_sample()
check_help()
check_failures(good.files['gpt.safetensors'])
check_divergence()
check_status_of_mpirun()
check_full_disk()
check_ranks_option()
print(f'{len(failures)} failures')
sys.exit(1 if failures else 0)
