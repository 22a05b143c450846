#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""simt's counters beside Nsight Compute's, for the same launches of counts.cu.

    bench/counts.py build/bench/counts-simt build/bench/counts-cuda

runs both programs, the second under ncu, and prints a table of what each counted. It needs a GPU, and the
permission to read its performance counters.
"""
import csv
import subprocess
import sys

L1 = 'l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum'
METRICS = {  # each count of simt, and the metrics of Nsight Compute whose sum it is
    'global loads': [L1.format('requests', 'ld')],
    'global stores': [L1.format('requests', 'st')],
    'requests': [L1.format('set_accesses', 'ld'), L1.format('set_accesses', 'st')],
    'sectors': [L1.format('sectors', 'ld'), L1.format('sectors', 'st')],
    'bytes': ['smsp__sass_data_bytes_mem_global.sum'],
    'bank conflicts': ['l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum'],
    'atomics': [L1.format('requests', 'red'), L1.format('requests', 'atom')],
}


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'{command[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}')
    return done.stdout.splitlines()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    simt, gpu = sys.argv[1:]
    wanted = sorted({metric for metrics in METRICS.values() for metric in metrics})
    profiled = run(['ncu', '--clock-control', 'none', '--csv', '--print-units', 'base',
                    '--metrics', ','.join(wanted), gpu])
    measured = {}
    for row in csv.DictReader(line for line in profiled if line.startswith('"')):
        name = row['Kernel Name'].split('(')[0].removesuffix('_kernel')
        value = float(row['Metric Value'].replace(',', ''))
        measured.setdefault(name, {})[row['Metric Name']] = value

    print('| kernel | ' + ' | '.join(METRICS) + ' |')
    print('|---|' + '---|' * len(METRICS))
    for row in csv.DictReader(run([simt])):
        cells = []
        for name, metrics in METRICS.items():
            ours, theirs = int(row[name]), sum(measured[row['kernel']][m] for m in metrics)
            cells.append(f'{ours}' if ours == theirs else f'**{ours}** ({theirs:.0f})')
        print(f'| {row["kernel"]} | ' + ' | '.join(cells) + ' |')
    print('\nOne figure: both count it so. **simt** (Nsight Compute): they differ.')


main()
