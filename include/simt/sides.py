# SPDX-License-Identifier: MIT
"""One text of a file's two sides.

nvcc compiles a file twice: for the host, where __CUDA_ARCH__ is undefined, and for the device, where it is a number.
What the preprocessor makes of both is merged here. A kernel or a __device__ function is the device's, a host function
the host's. A __host__ __device__ function whose body differs has both bodies, and asks where it runs. What only one
side declares is declared.
"""
import re
from collections import Counter
from difflib import SequenceMatcher

from chevrons import BLANK, CLOSING, MARKER, OPENING, tokens_of

MARKS = ('__global__', '__device__', '__host__')
# Words of a head that two declarations of the same thing may differ in.
MANNER = (*MARKS, 'static', 'inline', '__inline__', '__inline', 'constexpr')
# An instruction of PTX has a dot in its name: mov.u32, and few don't. g++ takes them for x86's.
PTX = re.compile(r'[a-z]\w*(?:::\w+)?\.[a-z]\w*|%%?(?:laneid|warpid|smid|clock)|^\W*(?:trap|exit|brkpt|ret)\s*;')


def ptx(tokens):
    """The indices of the strings of PTX."""
    asm = False
    for i, token in enumerate(tokens):
        if token in ('asm', '__asm__', '__asm', ';', '{', '}'):
            asm = 'asm' in token
        elif asm and token.startswith('"') and PTX.search(token[1:]):
            yield i


def words(tokens):
    return [t for t in tokens if not BLANK.match(t)]


def closing(tokens, i):
    """Where the bracket ends that opens at i."""
    depth = 0
    for j in range(i, len(tokens)):
        depth += (tokens[j] in OPENING) - (tokens[j] in CLOSING)
        if not depth:
            return j
    return len(tokens) - 1


def bare(tokens):
    """A head without attributes and without the words that don't tell what it declares."""
    tokens, out, i = words(tokens), [], 0
    while i < len(tokens):
        if tokens[i] in ('__attribute__', 'alignas') and tokens[i + 1:i + 2] == ['(']:
            i = closing(tokens, i + 1)
        elif tokens[i] not in MANNER:
            out.append(tokens[i])
        i += 1
    return out


def untemplated(tokens):
    """Without template <...> in front."""
    while tokens[:1] == ['template']:
        depth = 0
        for i, t in enumerate(tokens):
            depth += (t == '<') - (t == '>')
            if i and not depth:
                break
        if tokens[1:2] != ['<']:
            return tokens[1:]
        tokens = tokens[i + 1:]
    return tokens


def split_constructor(head):
    """What a function is, and the initializers of a constructor's members."""
    depth = 0
    for i, t in enumerate(head):
        depth += (t in OPENING) - (t in CLOSING)
        if t == ':' and not depth and ':' not in (head[i - 1], head[i + 1]):
            return head[:i], head[i:]
    return head, []


class Item:
    """A declaration, the start or the end of a scope, a function, a directive, or a part of the system's headers."""

    def __init__(self, lead, head, body, place):
        self.lead, self.head, self.body, self.place = lead, head, body, place
        self.text = ''.join(head + body)
        self.key = (*place[:2], ''.join(words(head + body)) if place[0] else self.text)
        self.what = bare(head)
        if body:
            self.what, self.initializers = split_constructor(self.what)
        self.marks = {t for t in head if t in MARKS}
        self.system = head[0].startswith('# ')
        self.ends = head == ['}']
        self.begins = head[-1] == '{'
        self.device_only = bool(self.marks) and '__host__' not in self.marks
        self.host_only = not self.marks - {'__host__'} and 'constexpr' not in head

    def subject(self):
        """What it is, on whichever side."""
        return ('system',) if self.system else (*self.what, bool(self.body))

    def name(self):
        """What it declares, and None where two may stand side by side: functions, using namespace, an assertion."""
        tokens = untemplated(self.what)
        if self.body or self.system or self.ends or tokens[:1] in (['#'], ['static_assert'], ['friend'], ['namespace']):
            return None
        if tokens[:1] == ['extern'] or tokens[:2] == ['using', 'namespace']:
            return None
        for i, (t, after) in enumerate(zip(tokens, tokens[1:])):
            if tokens[i + 1:i + 3] == [':', ':']:
                continue
            if re.match(r'[A-Za-z_]', t) and after in ('=', '[', ';', '{', ':', '('):
                return None if after == '(' else t
        return None


def opens_scope(head):
    """Whether a brace after these tokens begins a namespace or a class: True; a function: False; a value: None."""
    tokens = untemplated(bare(head))
    if 'namespace' in tokens[:2] or tokens == ['extern', '"C"']:
        return True
    depth = 0
    for i, t in enumerate(tokens):
        if t == 'operator' or t == '(' and not depth and tokens[i - 1] not in ('decltype', 'noexcept'):
            return False
        if t == '=' or t == 'enum':
            return None
        depth += (t in '(<[') - (t in ')>]')
    return True if {'class', 'struct', 'union'} & set(tokens) else None


def items_of(text):
    tokens, items = tokens_of(text), []
    file, line, column, flag = '', 1, 0, ''
    lead, head, place, i, scopes = [], [], None, 0, []

    def pass_over(token):
        nonlocal file, line, column, flag
        for m in MARKER.finditer(token):
            file, line, flag = m[2], int(m[1]), ' 3' if ' 3' in m[3] else ''
            token = token[m.end():]
            column = 0
        if '\n' in token:
            line += token.count('\n')
            column = 0
            token = token.rpartition('\n')[2]
        column += len(token)

    def take(until):
        nonlocal i
        taken = tokens[i:until]
        for token in taken:
            pass_over(token)
        i = max(i, until)
        return taken

    def end(body):
        nonlocal lead, head
        x = Item(lead, head, body, place)
        if x.begins:
            scopes.append(x)
        elif x.ends and scopes:
            x.what = [*scopes.pop().what, '}']
        items.append(x)
        lead, head = [], []

    while i < len(tokens):
        t = tokens[i]
        if not head:
            place = (file, line, column, flag)
            if t.startswith('# ') and t.count('\n') > 1:  # a part of the system's headers
                place = ('', 0, 0, '')
                head = take(i + 1)
                end([])
                continue
            if BLANK.match(t):
                lead += take(i + 1)
                continue
            if t == '#':
                until = next((j for j in range(i, len(tokens)) if '\n' in tokens[j]), len(tokens))
                head = take(until)
                end([])
                continue
        if t == '{':
            scope = opens_scope(head)
            after = closing(tokens, i) + 1
            if scope:
                head += take(i + 1)
                end([])
            elif scope is None:
                head += take(after)
            else:
                following = next((x for x in tokens[after:after + 8] if not BLANK.match(x)), '')
                if following in (',', '{'):  # it initializes a member
                    head += take(after)
                else:
                    end(take(after))
        elif t in OPENING:
            head += take(closing(tokens, i) + 1)
        elif t == '}' and head:  # a macro without a semicolon
            end([])
        else:
            head += take(i + 1)
            if t in (';', '}') or t == ':' and head[0] in ('public', 'private', 'protected'):
                end([])
    if lead or head:
        items.append(Item(lead, head or [''], [], place or ('', 0, 0, '')))
    return items


def marker(place):
    return '\n# {1} "{0}"{3}\n'.format(*place) + ' ' * place[2]


def device_text(tokens):
    """Without what markers say of entering files, which is true on the host's side."""
    return MARKER.sub(lambda m: f'# {m[1]} "{m[2]}"{" 3" if " 3" in m[3] else ""}\n', ''.join(tokens))


def lambdas(tokens):
    """Of each lambda with __device__: where its body begins and ends, and whether the host may call it."""
    i = 0
    while i < len(tokens):
        if tokens[i] == '__device__':
            before = i
            while before and (BLANK.match(tokens[before]) or tokens[before] in MARKS):
                before -= 1
            body = i
            while body < len(tokens) and tokens[body] not in ('{', ';'):
                body = closing(tokens, body) + 1 if tokens[body] in OPENING else body + 1
            if tokens[before] == ']' and tokens[body:body + 1] == ['{']:
                end = closing(tokens, body)
                yield body, end + 1, '__host__' in tokens[before:body]
                i = end
        i += 1


def place_after(place, tokens):
    file, line, column, flag = place
    for token in tokens:
        for m in MARKER.finditer(token):
            file, line, flag, column, token = m[2], int(m[1]), ' 3' if ' 3' in m[3] else '', 0, token[m.end():]
        if '\n' in token:
            line, column = line + token.count('\n'), 0
        column += len(token.rpartition('\n')[2])
    return file, line, column, flag


def aligned(host, device):
    return SequenceMatcher(None, host, device, autojunk=False).get_opcodes()


class Merge:
    def __init__(self, host, device, warn):
        self.out, self.warn, self.unplaced = [], warn, False
        self.extra = {True: Counter(), False: Counter()}  # what only one side has had so far
        self.open = []  # where the scopes begin
        self.files = {m[2] for m in MARKER.finditer(host)}
        host, device = items_of(host), items_of(device)
        for how, a, b, c, d in aligned([x.key for x in host], [x.key for x in device]):
            if how == 'equal':
                for x in host[a:b]:
                    self.host(x)
            else:
                self.differ(host[a:b], device[c:d])

        for x in self.open[:1]:
            warn(x.place, 'a scope begins here that depends on __CUDA_ARCH__: let it end before the #endif')

    def differ(self, host, device):
        for how, a, b, c, d in aligned([x.subject() for x in host], [x.subject() for x in device]):
            if how == 'equal':
                for x, y in zip(host[a:b], device[c:d]):
                    self.both(x, y)
                continue
            names = {y.name(): y.place for y in device[c:d]}
            for x in host[a:b]:
                if x.name() and x.name() in names:
                    self.warn(names[x.name()], f'{x.name()} depends on __CUDA_ARCH__, and the host gets the '
                              "device's: put the #if into a function")
                    self.out += x.lead
                else:
                    self.only(x, True)
            for y in device[c:d]:
                self.only(y, False)

    def only(self, x, of_host):
        other = self.extra[not of_host]
        if other[x.key]:  # the other side includes it elsewhere
            other[x.key] -= 1
            if of_host:
                self.out += x.lead
            return
        self.extra[of_host][x.key] += 1
        if of_host:
            self.host(x)
        elif x.system:
            self.system(x)
        else:
            self.device(x)

    def host(self, x):
        self.out += x.lead
        self.nest(x)
        if self.unplaced and not x.system and x.place[0]:
            self.out.append(marker(x.place))
        self.unplaced = False
        self.out.append(x.text)

    def device(self, x):
        self.nest(x)
        self.out += [marker(x.place), device_text(x.head + x.body)]
        self.unplaced = True

    def nest(self, x):
        if x.begins:
            self.open.append(x)
        elif x.ends and self.open:
            self.open.pop()

    def system(self, x):
        """A header that only the device's side includes, without those that the host's has."""
        parts = list(MARKER.finditer(x.text))
        for m, after in zip(parts, [*parts[1:], None]):
            if m[2] not in self.files:
                self.out.append('\n' + device_text([x.text[m.start():after.start() if after else None]]))
        self.unplaced = True

    def both(self, x, y):
        if not x.body or x.device_only and y.device_only or x.system:
            if x.system:
                self.host(x)
                self.system(y)
                return
            self.out += x.lead
            self.device(y)
        elif x.host_only and y.host_only:
            self.host(x)
            self.out[-1:] = x.head + self.with_lambdas(x, y)
        elif x.initializers != y.initializers:
            self.warn(y.place, "a constructor's initializers depend on __CUDA_ARCH__, and the host gets the device's: "
                      'put the #if into its body')
            self.out += x.lead
            self.device(y)
        elif words(x.body) == words(y.body):
            self.host(x)
        else:
            self.host(x)
            self.out[-1:] = x.head + self.either(x.body, y.body, place_after(x.place, x.head),
                                                 place_after(y.place, y.head))

    def either(self, host, device, host_place, device_place):
        """A body that is the device's or the host's, by where it runs."""
        found = next(ptx(device), None)
        if found is not None and next(ptx(host), None) is None:
            self.warn(place_after(device_place, device[:found]), f'simt does not have PTX ({device[found]}), so a '
                      "kernel gets the host's side of this function: write C++ between #ifdef SIMT and #else")
            return host
        return ['{ if (simt_on_device()) ', marker(device_place), device_text(device), ' else', marker(host_place),
                *host, ' }']

    def with_lambdas(self, x, y):
        spans, others = list(lambdas(x.body)), list(lambdas(y.body))
        if len(spans) != len(others):
            return x.body
        out, at = [], 0
        for (start, end, hosts), (first, last, _) in zip(spans, others):
            host, device = x.body[start:end], y.body[first:last]
            out += x.body[at:start]
            at = end
            if words(host) == words(device):
                out += host
                continue
            host_place = place_after(x.place, x.head + x.body[:start])
            device_place = place_after(y.place, y.head + y.body[:first])
            if hosts:
                out += self.either(host, device, host_place, device_place)
            else:
                out += [marker(device_place), device_text(device), marker(place_after(host_place, host))]
        return out + x.body[at:]


def merge(host, device, warn):
    """Of two preprocessed texts, in which the words of MARKS stand as written. warn(place, message)."""
    return unmarked(''.join(Merge(host, device, warn).out))


def unmarked(text):
    return ''.join(' ' * len(t) if t in MARKS else t for t in tokens_of(text))
