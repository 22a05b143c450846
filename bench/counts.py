#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""simt's counters beside Nsight Compute's, for the same launches.

    bench/counts.py build/bench/counts-simt build/bench/counts-cuda
    bench/counts.py build/bench/counts_foreign-simt build/bench/counts_foreign-cuda [--header FILE]

runs both programs, the second under ncu, and prints a table of what each counted: of the ladders' kernels, or of small
kernels that are not coarsen's. It needs a GPU, and the permission to read its performance counters.

The last column of the second table is the executed instructions. There simt's figure is made of the executions of
each source line and the compiler's own instructions, which carry lines (nvdisasm -g): an instruction runs as often as
its line; outside the innermost loop that has instructions of the line, as often as the line's rarest block. --header
writes what was measured for tests/simt/foreign_test.cu, which compares with it where there is no GPU.
"""
import csv
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

L1 = 'l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum'
SHARED = 'l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum'
METRICS = {  # each count of simt, and the metrics of Nsight Compute whose sum it is
    'global loads': [L1.format('requests', 'ld')],
    'global stores': [L1.format('requests', 'st')],
    'requests': [L1.format('set_accesses', 'ld'), L1.format('set_accesses', 'st')],
    'sectors': [L1.format('sectors', 'ld'), L1.format('sectors', 'st')],
    'bytes': ['smsp__sass_data_bytes_mem_global.sum'],
    'shared loads': ['smsp__inst_executed_op_shared_ld.sum'],
    'shared stores': ['smsp__inst_executed_op_shared_st.sum'],
    'shared wavefronts': [SHARED.format('ld'), SHARED.format('st')],
    'bank conflicts': ['l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum'],
    'atomics': [L1.format('requests', 'red'), L1.format('requests', 'atom')],
    'instructions': ['smsp__inst_executed.sum'],
}


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f'{command[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}')
    return done


def disassemble(program):
    """Of each kernel, its instructions as (file, line, text), and where its labels are among them."""
    kernels = {}
    with tempfile.TemporaryDirectory() as folder:
        run(['cuobjdump', '-xelf', 'all', str(Path(program).resolve())], cwd=folder)
        for cubin in Path(folder).glob('*.cubin'):
            instructions = labels = place = None
            for text in run(['nvdisasm', '-g', '-c', str(cubin)]).stdout.splitlines():
                if section := re.match(r'\.text\.(\S+):', text):
                    instructions, labels, place = [], {}, (None, 0)
                    kernels[section[1]] = instructions, labels
                elif text.startswith('//--') or instructions is None:
                    instructions = None
                elif mark := re.match(r'\s+//## File "(.*)", line (\d+)', text):
                    place = os.path.basename(mark[1]), int(mark[2])
                elif label := re.match(r'(\.L\w+):', text):
                    labels[label[1]] = len(instructions)
                elif (line := re.match(r'\s+/\*[0-9a-f]+\*/\s+(.*);', text)) and not line[1].startswith('NOP'):
                    instructions.append((*place, line[1]))
    return kernels


def of_lines(instructions, labels):
    """Of each line, how many instructions it has in the innermost loop that has any of it, and outside."""
    depth = [0] * len(instructions)
    for i, (_, _, text) in enumerate(instructions):
        branch = re.search(r'BRA.*`\((\S+?)\)', text)
        for k in range(labels.get(branch[1], i + 1), i + 1) if branch and labels.get(branch[1]) != i else ():
            depth[k] += 1
    deepest = {}
    for (file, line, _), d in zip(instructions, depth):
        deepest[file, line] = max(d, deepest.get((file, line), 0))
    numbers = {}
    for (file, line, _), d in zip(instructions, depth):
        numbers.setdefault((file, line), [0, 0])[d != deepest[file, line]] += 1
    return numbers


def weigh(numbers, executions):
    """The instructions that are executed, if each line is executed as often as simt says."""
    return sum(inside * most + outside * least for place, (inside, outside) in numbers.items()
               for most, least in [executions.get(place, (0, 0))])


def write_header(file, kernels, measured, columns):
    with open(file, 'w') as out:
        print('// SPDX-License-Identifier: MIT\n//\n'
              '// What Nsight Compute counted of the kernels in counts_foreign.h, and their instructions: of each line,\n'
              '// those in the innermost loop that has any, and those outside. Written by counts.py --header.\n\n'
              '// clang-format off', file=out)
        for name, metrics in measured.items():
            figures = ', '.join(f'{sum(metrics[m] for m in METRICS[column]):.0f}' for column in columns)
            lines = ' '.join(f'{line}:{inside},{outside}' for (path, line), (inside, outside) in kernels[name].items()
                             if path == 'counts_foreign.h')
            print(f'MEASURED({name}, {figures},\n         "{lines}")', file=out)


def main():
    if len(sys.argv) not in (3, 5) or sys.argv[3:4] not in ([], ['--header']):
        sys.exit(__doc__)
    simt, gpu = sys.argv[1:3]
    counted = run([simt], env={**os.environ, 'COUNTS_LINES': '1'})
    rows = list(csv.DictReader(counted.stdout.splitlines()))
    lines = {}
    for line in counted.stderr.splitlines():
        kernel, file, number, most, least = line.rsplit(',', 4)
        lines.setdefault(kernel, {})[os.path.basename(file), int(number)] = int(most), int(least)
    if lines:
        code, kernels = disassemble(gpu), {}
        for row in rows:
            name = row['kernel']
            mangled = next(key for key in code if key.startswith(f'_Z{len(name)}{name}6arrays'))
            kernels[name] = of_lines(*code[mangled])
            row['instructions'] = weigh(kernels[name], lines[name])
    columns = [column for column in METRICS if column in rows[0]]

    wanted = sorted({metric for column in columns for metric in METRICS[column]})
    profiled = run(['ncu', '--clock-control', 'none', '--csv', '--print-units', 'base',
                    '--metrics', ','.join(wanted), gpu]).stdout.splitlines()
    measured = {}
    for row in csv.DictReader(line for line in profiled if line.startswith('"')):
        name = row['Kernel Name'].split('(')[0].removesuffix('_kernel')
        value = float(row['Metric Value'].replace(',', ''))
        measured.setdefault(name, {})[row['Metric Name']] = value

    if len(sys.argv) == 5:
        write_header(sys.argv[4], kernels, measured, columns)
    print('| kernel | ' + ' | '.join(columns) + ' |')
    print('|---|' + '---|' * len(columns))
    for row in rows:
        cells = []
        for name in columns:
            ours, theirs = int(row[name]), sum(measured[row['kernel']][m] for m in METRICS[name])
            cells.append(f'{ours}' if ours == theirs else f'**{ours}** ({theirs:.0f})')
        print(f'| {row["kernel"]} | ' + ' | '.join(cells) + ' |')
    print('\nOne figure: both count it so. **simt** (Nsight Compute): they differ.')


main()
