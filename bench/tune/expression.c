// SPDX-License-Identifier: MIT
//
// What --require, --let and --flop say: C of whole numbers, the knobs and the sizes. It is worked out
// here, before there is anything to compile.

#include "tune.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const tune_problem *problem;
    const tune_setting *setting;
    int rules; // those whose names are known: a --let knows the ones before it
    const char *at;
    char *message; // the first mistake
    size_t size;
    bool good;
} reading;

static double choice(reading *r);

static double mistake(reading *r, const char *what, const char *at, int length)
{
    if (r->good)
        tune_fail(r->message, r->size, "%s \"%.*s\"", what, length, at);
    r->good = false;
    return NAN;
}

static bool accept(reading *r, const char *token)
{
    r->at += strspn(r->at, " \t");
    const bool there = strncmp(r->at, token, strlen(token)) == 0;
    r->at += there ? strlen(token) : 0;
    return there;
}

static double value_of(reading *r, const char *name, size_t length)
{
    const tune_problem *const p = r->problem;
    for (int k = 0; k < p->knobs; k++)
        if (strlen(p->knob[k].name) == length && !strncmp(p->knob[k].name, name, length))
            return r->setting ? (double)r->setting->value[k] : (double)p->knob[k].standard;
    for (int s = 0; s < p->sizes; s++)
        if (strlen(p->size[s].name) == length && !strncmp(p->size[s].name, name, length))
            return (double)p->size[s].value;
    for (int i = 0; i < r->rules; i++)
        if (strlen(p->rule[i].name) == length && !strncmp(p->rule[i].name, name, length)) {
            reading of = *r;
            of.at = p->rule[i].text;
            of.rules = i;
            const double value = choice(&of);
            r->good = of.good;
            return value;
        }
    return mistake(r, "no knob, size or --let is called", name, (int)length);
}

static double operand(reading *r)
{
    if (accept(r, "!"))
        return !operand(r);
    if (accept(r, "-"))
        return -operand(r);
    if (accept(r, "(")) {
        const double value = choice(r);
        return accept(r, ")") ? value : mistake(r, "a ) is missing before", r->at, 40);
    }
    const char *const from = r->at;
    if (isdigit((unsigned char)*from)) {
        char *end;
        const double value = (double)strtoull(from, &end, 10);
        r->at = end;
        return value;
    }
    while (isalnum((unsigned char)*r->at) || *r->at == '_')
        r->at++;
    return r->at > from ? value_of(r, from, (size_t)(r->at - from))
                        : mistake(r, "a number or a name is missing before", from, 40);
}

// What is divided by zero is no number, and neither is what is made of it.
static double apply(char operation, double a, double b)
{
    switch (operation) {
    case '|':
        return (a != 0 && !isnan(a)) || (b != 0 && !isnan(b)) ? 1 : a + b;
    case '&':
        return a == 0 || b == 0 ? 0 : isnan(a + b) ? NAN : 1;
    case '*':
        return a * b;
    case '/':
        return b == 0 ? NAN : trunc(a / b);
    case '%':
        return b == 0 ? NAN : fmod(a, b);
    case '+':
        return a + b;
    case '-':
        return a - b;
    }
    const bool less = operation == '<' || operation == 'l',
               same = operation == 'l' || operation == 'g' || operation == '=';
    return isnan(a + b)       ? NAN
           : operation == '!' ? a != b
                              : (same && a == b) || (less ? a < b : operation != '=' && a > b);
}

// Operators that bind no less than `least`.
static double operation(reading *r, int least)
{
    static const struct {
        const char *text;
        int binds;
        char name;
    } operators[] = {{"||", 1, '|'}, {"&&", 2, '&'}, {"==", 3, '='}, {"!=", 3, '!'}, {"<=", 4, 'l'},
                     {">=", 4, 'g'}, {"<", 4, '<'},  {">", 4, '>'},  {"+", 5, '+'},  {"-", 5, '-'},
                     {"*", 6, '*'},  {"/", 6, '/'},  {"%", 6, '%'}};
    enum { OPERATORS = sizeof(operators) / sizeof(*operators) };
    double left = operand(r);
    for (int o = 0; o < OPERATORS && r->good; o++)
        if (operators[o].binds >= least && accept(r, operators[o].text)) {
            left = apply(operators[o].name, left, operation(r, operators[o].binds + 1));
            o = -1; // what comes next
        }
    return left;
}

static double choice(reading *r)
{
    const double condition = operation(r, 1);
    if (!accept(r, "?"))
        return condition;
    const double yes = choice(r);
    if (!accept(r, ":"))
        return mistake(r, "a : is missing before", r->at, 40);
    const double no = choice(r);
    return isnan(condition) ? NAN : condition != 0 ? yes : no;
}

bool tune_evaluate(const tune_problem *problem, const tune_setting *setting, int rules,
                   const char *text, double *value, char *message, size_t size)
{
    reading r = {problem, setting, rules, text, message, size, true};
    *value = choice(&r);
    r.at += strspn(r.at, " \t");
    if (r.good && *r.at)
        mistake(&r, "an operator is missing before", r.at, 40);
    return r.good;
}
