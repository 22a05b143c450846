#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a .cu file of anyone's fit for g++: kernel<<<grid, block>>>(a, b) is not C++.

    chevrons.py kernel.cu > kernel.cpp      # then compile kernel.cpp as docs/simt.md says

A launch becomes simt_callee(...)(grid, block)(a, b), which cuda_runtime.h explains. An array
`extern __shared__ T name[]` becomes the block's dynamic shared memory. Lines keep their numbers, and
a line marker keeps the file's name. simt-c++ does this to what the preprocessor leaves of a file.
"""
import re
import sys
from pathlib import Path

MARKER = re.compile(r'^# (\d+) "((?:[^"\\\n]|\\.)*)"([ \d]*)\n', re.M)

# What a C++ lexer takes whole: in none of these is a chevron a launch.
TOKEN = re.compile(
    r'//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/|^# \d+ "[^\n]*\n|\\\n'
    r'|R"([^()\\\s]{0,16})\(.*?\)\1"'
    r'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\''
    r"|\d(?:'?[\w.])*"
    r'|\w+|<<<|\s+|.', re.DOTALL | re.M)
BLANK = re.compile(r'\s|//|/\*|\\\n|# \d')
OPENING, CLOSING = '([{', ')]}'
KEYWORDS = ('if', 'while', 'for', 'switch', 'return', 'else', 'do', 'case', 'constexpr')


def fail(tokens, i, message):
    before = ''.join(tokens[:i])
    marker = list(MARKER.finditer(before))[-1]
    sys.exit(f'{marker[2]}:{int(marker[1]) + before.count(chr(10), marker.end())}: error: {message}')


def tokens_of(text):
    """A header of the system that launches nothing is one token."""
    tokens, system, start = [], False, 0
    markers = list(MARKER.finditer(text))
    own = {m[2] for m in markers if ' 3' not in m[3]}  # 3 is also for a macro of the system
    for m in [*markers, None]:
        if m and (m[2] not in own) == system:
            continue
        part = text[start:m.start() if m else len(text)]
        if system and not re.search(r'(?<!operator)<<<\w*|extern[^;]*\bthread_local\b', part):
            tokens.append(part)
        else:
            tokens += [t.group() for t in TOKEN.finditer(part)]
        if m:
            system, start = m[2] not in own, m.start()
    return tokens


def solid(tokens, i, step):
    """The nearest token from i on, in steps of 1 or -1, that is neither space nor comment."""
    while 0 <= i < len(tokens) and BLANK.match(tokens[i]):
        i += step
    return i


def opening(tokens, i):
    """Where the bracket begins that ends at i."""
    depth = 0
    while i >= 0:
        depth += (tokens[i] in CLOSING) - (tokens[i] in OPENING)
        if not depth:
            break
        i -= 1
    return i


def kernel_start(tokens, end):
    """Where the kernel's name begins, whose last token is at `end`: a::b<T, (c)>, (*p), p->k[i]."""
    i = end
    while i >= 0:
        if tokens[i] == '>':  # template arguments, back to their '<'
            nested = 0
            while i >= 0:
                if tokens[i] in CLOSING:
                    i = opening(tokens, i)
                nested += (tokens[i] == '>') - (tokens[i] == '<')
                if not nested:
                    break
                i -= 1
            i = solid(tokens, i - 1, -1)
            continue
        if tokens[i] in (')', ']'):
            bracket = tokens[i]
            i = opening(tokens, i)
            before = solid(tokens, i - 1, -1)
            callee = before >= 0 and (
                re.match(r'\w', tokens[before]) and tokens[before] not in KEYWORDS
                or tokens[before] == '>' and tokens[before - 1] != '-'
                or bracket == ']' and tokens[before] in (')', ']'))
            if callee:
                i = before
                continue
        before = solid(tokens, i - 1, -1)
        if before >= 0 and tokens[before] == 'template':
            before = solid(tokens, before - 1, -1)
        if before >= 1 and tokens[before] == ':' and tokens[before - 1] == ':':
            inner = solid(tokens, before - 2, -1)
            named = re.match(r'\w', tokens[inner]) and tokens[inner] not in KEYWORDS
            if inner >= 0 and (named or tokens[inner] == '>'):
                i = inner
                continue
            return before - 1
        if before >= 0 and tokens[before] == '.':
            i = solid(tokens, before - 1, -1)
            continue
        if before >= 1 and tokens[before - 1] == '-' and tokens[before] == '>':
            i = solid(tokens, before - 2, -1)
            continue
        return i
    return 0


def closing_chevrons(tokens, opened):
    """Where the >>> begins, and the parenthesis after it."""
    depth, nested, found = 0, 0, []
    for i in range(opened + 1, len(tokens)):
        t = tokens[i]
        if not depth and t == ';' or depth < 0:
            break
        depth += (t in OPENING) - (t in CLOSING)
        if not depth and tokens[i:i + 3] == ['>'] * 3:
            paren = solid(tokens, i + 3, 1)
            if paren < len(tokens) and tokens[paren] == '(':
                found.append((nested, i, paren))
        nested += 0 if depth else (t == '<') - (t == '>')
    if not found:
        fail(tokens, opened, '<<< without a >>> and the arguments in parentheses after it')
    # >>> may also close template arguments of the configuration.
    return next((f for f in found if not f[0]), found[0])[1:]


def callee(name, written, after):
    """C++ for the kernel of a launch. `written` and `after` say where it is, and what follows it."""
    name = re.sub(r'\s+', ' ', name)
    if not re.search(r'[\w>]$', name):
        return f'simt_callee({name}){after}'
    text = name.replace('\\', '\\\\').replace('"', '\\"')
    return (f'simt_callee([&](auto simt_w) -> decltype(simt_pick(simt_w, {written}{name})) '
            f'{{ return simt_pick(simt_w, {name}); }}, [&](const auto &...simt_a) '
            f'__attribute__((no_sanitize("thread"))) {{ {written}{name}(simt_a...); }}, "{text}"){after}')


def marker(tokens, i, place):
    """A line marker and space, so that what follows has the line and the column of token i."""
    line = ''
    while i > 0 and '\n' not in line:
        i -= 1
        line = tokens[i] + line
    column = re.sub(r'[^\t]', ' ', line.rpartition('\n')[2])
    return '\n# {1} "{0}"\n'.format(*place) + column


def launch(tokens, opened, place):
    """Rewrites the launch whose <<< is at `opened`; where to go on. In a text of lines with markers, g++ then shows
    the columns of the source. A text that isn't preprocessed may have the launch in a macro: lines stay lines."""
    end = solid(tokens, opened - 1, -1)
    if end < 0 or not re.match(r'[\w>)\]]', tokens[end]):
        fail(tokens, opened, '<<< without a kernel before it')
    close, paren = closing_chevrons(tokens, opened)
    start = kernel_start(tokens, end)
    name = tokens[start:end + 1]
    text = ''.join(' ' if BLANK.match(t) else t for t in name)
    written, after = '', ''.join(t for t in name if BLANK.match(t) and '\n' in t)
    if place and not any('\n' in t for t in tokens[start:opened]):
        written, after = marker(tokens, start, place), marker(tokens, end + 1, place)
    depth, i = 0, paren
    while i < len(tokens):  # NULL alone becomes a pointer for a template too, in place of an integer
        depth += (tokens[i] in OPENING) - (tokens[i] in CLOSING)
        if not depth:
            break
        if (depth == 1 and tokens[i] in ('NULL', '__null') and tokens[solid(tokens, i - 1, -1)] in ('(', ',')
                and tokens[solid(tokens, i + 1, 1)] in (')', ',')):
            tokens[i] = 'nullptr'
        i += 1
    tokens[close:close + 3] = [')', ' ', ' ']
    tokens[opened] = '(  '
    tokens[start:end + 1] = [callee(text, written, after)]
    return start + 1


def dynamic_shared(tokens, i, in_function):
    """Rewrites the declaration with a __shared__ at i, if it is of an extern array."""
    start = i
    while start >= 0 and tokens[start] not in ('extern', ';', '{', '}'):
        start -= 1
    end = i
    while end < len(tokens) and tokens[end] not in (';', '=', '{'):
        end += 1
    if start < 0 or tokens[start] != 'extern':
        start = solid(tokens, i + 1, 1)
    array = [j for j in range(start, end) if tokens[j] == '[' and tokens[solid(tokens, j + 1, 1)] == ']']
    if tokens[start:start + 1] != ['extern'] or not array or tokens[end:end + 1] != [';']:
        return
    name = solid(tokens, array[0] - 1, -1)
    last = end
    while tokens[last] != ']':
        last -= 1
    tokens[i] = ''
    if in_function:  # a function template has one for each of its types
        tokens[start] = ''
        tokens[name] = f'(&{tokens[name]})'
        tokens[last] += ' = simt_dynamic()'
    else:
        tokens[start] = 'extern __thread'
        tokens[last] += ' __asm__("simt_dynamic_shared")'


def convert(text, preprocessed):
    tokens = tokens_of(text)
    file, line = '', 0
    i, scopes, head = 0, [], []  # head: the declaration's first tokens
    while i < len(tokens):
        t = tokens[i]
        if t == '<<<' and tokens[solid(tokens, i - 1, -1)] != 'operator':
            i = launch(tokens, i, (file, line) if preprocessed else None)
            continue
        if '\n' in t:
            for m in MARKER.finditer(t):
                file, line = m[2], int(m[1])
                t = t[m.end():]
            line += t.count('\n')
        if t in ('__shared__', 'thread_local'):
            dynamic_shared(tokens, i, not all(scopes))
        if t == '{':
            scopes.append('namespace' in head[:2] or head == ['extern', '"C"'])
        elif t == '}' and scopes:
            scopes.pop()
        if t in ('{', '}', ';'):
            head = []
        elif len(head) < 3 and not BLANK.match(t):
            head.append(t)
        i += 1
    out = ''.join(tokens)
    return out if out.endswith('\n') else out + '\n'


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith('-'):
        sys.exit(__doc__)
    path = Path(sys.argv[1])
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f'{path}: {error}')
    name = str(path).replace('\\', '\\\\').replace('"', '\\"')
    sys.stdout.write('#include <cuda_runtime.h>\n' + convert(f'# 1 "{name}"\n{text}', False))


if __name__ == '__main__':
    main()
