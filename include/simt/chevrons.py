#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a .cu file of anyone's fit for g++: kernel<<<grid, block>>>(a, b) is not C++.

    chevrons.py kernel.cu > kernel.cpp      # then compile kernel.cpp as docs/simt.md says

Launches become simt_chevrons(grid, block)(kernel, a, b). For each `extern __shared__ T name[]` of
the file SIMT_DYNAMIC_SHARED(name) follows at the end. Lines keep their numbers, and #line keeps the
file's name.
"""
import re
import sys
from pathlib import Path

# What a C++ lexer takes whole: in none of these is a chevron a launch.
TOKEN = re.compile(
    r'//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/'
    r'|R"([^()\\\s]{0,16})\(.*?\)\1"'
    r'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\''
    r"|\d(?:'?[\w.])*"
    r'|\w+|<<<|>>>|\s+|.', re.DOTALL)
BLANK = re.compile(r'\s|//|/\*')
OPENING, CLOSING = '([{', ')]}'


def fail(path, line, message):
    sys.exit(f'{path}:{line}: {message}')


def tokens_of(text):
    return [m.group() for m in TOKEN.finditer(text)]


def solid(tokens, i, step):
    """The nearest token from i on, in steps of 1 or -1, that is neither space nor comment."""
    while 0 <= i < len(tokens) and BLANK.match(tokens[i]):
        i += step
    return i


def kernel_start(tokens, end):
    """Where the kernel's name begins, whose last token is at `end`: a::b<T, (c)>, (*p)."""
    i = end
    while True:
        if tokens[i] == '>':  # template arguments, back to their '<'
            depth, nested = 0, 0
            while i >= 0:
                depth += tokens[i] in CLOSING
                depth -= tokens[i] in OPENING
                if not depth:
                    nested += (tokens[i] == '>') - (tokens[i] == '<')
                    if not nested:
                        break
                i -= 1
            i = solid(tokens, i - 1, -1)
        if tokens[i] in (')', ']'):
            depth = 0
            while i >= 0:
                depth += (tokens[i] in CLOSING) - (tokens[i] in OPENING)
                if not depth:
                    break
                i -= 1
        before = solid(tokens, i - 1, -1)
        if before >= 1 and tokens[before] == ':' and tokens[before - 1] == ':':
            inner = solid(tokens, before - 2, -1)
            named = re.match(r'\w', tokens[inner]) and tokens[inner] != 'return'
            if inner >= 0 and (named or tokens[inner] == '>'):
                i = inner
                continue
            return before - 1
        if before >= 0 and tokens[before] == '.':
            i = solid(tokens, before - 1, -1)
            continue
        return i


def convert(text, path):
    tokens = tokens_of(text)
    line_of = lambda i: 1 + ''.join(tokens[:i]).count('\n')
    shared = []
    i = 0
    while i < len(tokens):
        if tokens[i] == '<<<':
            opened = i
            depth, close = 0, i + 1
            while close < len(tokens) and (depth or tokens[close] != '>>>'):
                depth += (tokens[close] in OPENING) - (tokens[close] in CLOSING)
                close += 1
            if close == len(tokens):
                fail(path, line_of(opened), '<<< without >>>')
            paren = solid(tokens, close + 1, 1)
            if paren == len(tokens) or tokens[paren] != '(':
                fail(path, line_of(close), '>>> is not followed by the arguments in parentheses')
            end = solid(tokens, opened - 1, -1)
            if end < 0:
                fail(path, line_of(opened), '<<< without a kernel before it')
            start = kernel_start(tokens, end)
            name = ''.join(tokens[start:opened]).strip()
            first = solid(tokens, paren + 1, 1)
            comma = '' if first < len(tokens) and tokens[first] == ')' else ', '
            # The name moves behind the launch; newlines stay, for the sake of line numbers.
            config = tokens[opened + 1:close]
            tokens[start:paren + 1] = (['simt_chevrons', '('] + config + [')'] +
                                       tokens[close + 1:paren] + ['(' + name + comma])
            i = start
        elif tokens[i] == '__shared__':
            before = solid(tokens, i - 1, -1)
            end = i
            while end < len(tokens) and tokens[end] != ';':
                end += 1
            declaration = ''.join(t for t in tokens[max(before, 0):end]
                                  if not t.startswith(('//', '/*')))
            m = re.match(r'(?:\S+\s+)?(?:extern|__shared__\s+extern)\b.*?(\w+)\s*\[\s*\]\s*$',
                         declaration, re.DOTALL)
            if m and m.group(1) not in shared:
                shared.append(m.group(1))
        i += 1
    out = ''.join(tokens)
    if out and not out.endswith('\n'):
        out += '\n'
    return (f'#include <cuda_runtime.h>\n#line 1 "{path}"\n' + out +
            ''.join(f'SIMT_DYNAMIC_SHARED({name});\n' for name in shared))


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith('-'):
        sys.exit(__doc__)
    path = Path(sys.argv[1])
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f'{path}: {error}')
    sys.stdout.write(convert(text, str(path).replace('\\', '\\\\').replace('"', '\\"')))


if __name__ == '__main__':
    main()
