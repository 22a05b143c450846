// SPDX-License-Identifier: MIT
//
// npy.h: reads a numeric array from a NumPy .npy file, of format version 1, 2 or 3, and writes one.
//
//     npy_array array;
//     char error[NPY_ERROR];
//     if (!npy_read("values.npy", &array, error))
//         fprintf(stderr, "%s\n", error); // one line: the file, what is wrong, what to do
//     ... array.type, array.count, array.data ...
//     npy_free(&array);
//     size_t shape[] = {rows, columns};
//     if (!npy_write("values.npy", NPY_F4, 2, shape, values, error)) // of up to three dimensions, version 1
//         ... the same ...
//
// What the examples need, each of which on an error prints that line and exits with 1:
//     npy_array array = npy_floats("values.npy");       // f4, of any shape
//     npy_array array = npy_matrix("values.npy", 0);    // f4, of two dimensions, and in C order
//     npy_array array = npy_matrix("values.npy", 12);   // and of 12 columns; or of one dimension, 12 a row
//     npy_save("values.npy", NPY_F4, 2, shape, values); // as npy_write
//
// It reads little-endian f4, f8, i4 and i8, of any shape, in C and in Fortran order. The elements keep
// the order of the file. No byte of the file is trusted. It needs only the C library.
//
// Source: the format's description, numpy.lib.format in NumPy's reference.

#ifndef NPY_H
#define NPY_H

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "npy.h: this machine is big-endian, and npy.h reads elements as they lie in the file"
#endif

#define NPY_ERROR 1024 // size of the buffer for the message

typedef enum { NPY_F4, NPY_F8, NPY_I4, NPY_I8 } npy_type;

typedef struct {
    npy_type type;
    size_t count;      // elements, all dimensions multiplied
    size_t dimensions; // how many
    size_t shape[3];   // the first three of them
    bool fortran;      // the first index is the one that changes fastest
    void *data;        // from malloc; NULL when count is 0
} npy_array;

static inline size_t npy_item_bytes(npy_type type)
{
    return type == NPY_F4 || type == NPY_I4 ? 4 : 8;
}

static inline void npy_free(npy_array *array)
{
    free(array->data);
    array->data = NULL;
    array->count = 0;
}

// ---- Errors -------------------------------------------------------------------------------------

// What a read in progress needs: its place in the file, and where the message goes.
typedef struct {
    const char *path;
    FILE *file;
    char *error;
} npy_reader;

// Writes "PATH: message" and returns false, for the caller to return.
__attribute__((format(printf, 2, 3))) static inline bool npy_fail(const npy_reader *reader,
                                                                  const char *format, ...)
{
    va_list args;
    const int length = snprintf(reader->error, NPY_ERROR, "%.512s: ", reader->path);
    va_start(args, format);
    vsnprintf(reader->error + length, NPY_ERROR - (size_t)length, format, args);
    va_end(args);
    return false;
}

// Reads exactly `bytes`, or fails and says what was missing.
static inline bool npy_take(const npy_reader *reader, void *to, size_t bytes, const char *what)
{
    const size_t got = fread(to, 1, bytes, reader->file);
    if (got == bytes)
        return true;
    if (ferror(reader->file))
        return npy_fail(reader, "cannot read: %s", strerror(errno));
    return npy_fail(reader,
                    "truncated: %zu of the %zu bytes of its %s are there; save or copy it again",
                    got, bytes, what);
}

// ---- Header: a Python dictionary of three keys --------------------------------------------------

#define NPY_HEADER_MAX 65536 // NumPy writes a few hundred bytes

static inline const char *npy_skip(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')
        p++;
    return p;
}

// Steps over `mark` and the space before it; NULL when p is NULL or something else is there.
static inline const char *npy_expect(const char *p, char mark)
{
    if (!p)
        return NULL;
    p = npy_skip(p);
    return *p == mark ? p + 1 : NULL;
}

// A quoted string without escapes, into text; NULL when there is none or it is too long.
static inline const char *npy_string(const char *p, char *text, size_t size)
{
    if (!p)
        return NULL;
    p = npy_skip(p);
    const char quote = *p;
    if (quote != '\'' && quote != '"')
        return NULL;
    for (p++; *p && *p != quote && *p != '\\' && size > 1; size--)
        *text++ = *p++;
    *text = '\0';
    return *p == quote ? p + 1 : NULL;
}

// (), (3,), (3, 4), (3, 4,): the product goes to array->count. Sets *overflow if it, or a dimension, is
// more than a size_t holds. An empty dimension makes the whole array empty, whatever the others are.
static inline const char *npy_shape(const char *p, npy_array *array, bool *overflow)
{
    bool comma = true, empty = false;
    array->count = 1;
    array->dimensions = 0;
    *overflow = false;
    p = npy_expect(p, '(');
    while (p && *(p = npy_skip(p)) != ')') {
        size_t length = 0;
        bool too_long = false;
        if (!comma || !isdigit((unsigned char)*p))
            return NULL;
        for (; isdigit((unsigned char)*p); p++)
            too_long |= __builtin_mul_overflow(length, (size_t)10, &length) ||
                        __builtin_add_overflow(length, (size_t)(*p - '0'), &length);
        p += *p == 'L'; // Python 2 wrote 3L
        *overflow |= too_long || __builtin_mul_overflow(array->count, length, &array->count);
        empty |= length == 0 && !too_long;
        if (array->dimensions < 3)
            array->shape[array->dimensions] = length;
        array->dimensions++;
        p = npy_skip(p);
        comma = *p == ',';
        p += comma;
    }
    if (!p || (array->dimensions == 1 && !comma)) // (3) is a number
        return NULL;
    if (empty) {
        array->count = 0;
        *overflow = false;
    }
    return p + 1;
}

// Whether descr is a type that can be read; it goes to *type.
static inline bool npy_descr(const npy_reader *reader, const char *descr, npy_type *type)
{
    static const char names[][3] = {"f4", "f8", "i4", "i8"}; // in npy_type's order
    const char *name = descr + (descr[0] && strchr("<>=", descr[0]));
    for (int t = 0; t < 4; t++)
        if (strcmp(name, names[t]) == 0) {
            *type = (npy_type)t;
            return descr[0] != '>' || npy_fail(reader,
                                               "big-endian ('%s'); save it little-endian: "
                                               "numpy.save(path, a.astype('<%s'))",
                                               descr, name);
        }
    return npy_fail(reader,
                    "elements are '%s'; f4, f8, i4 and i8 are taken: "
                    "numpy.save(path, a.astype('<f8'))",
                    descr);
}

static inline bool npy_malformed(const npy_reader *reader, const char *what)
{
    return npy_fail(reader, "header malformed: %s; write the file with numpy.save", what);
}

static inline bool npy_header(const npy_reader *reader, const char *p, npy_array *array)
{
    char key[16], descr[16];
    bool descr_seen = false, order_seen = false, shape_seen = false, overflow = false;

    if (!(p = npy_expect(p, '{')))
        return npy_malformed(reader, "it is no dictionary");
    while (*(p = npy_skip(p)) != '}') {
        if (!(p = npy_expect(npy_string(p, key, sizeof(key)), ':')))
            return npy_malformed(reader, "a key is no string followed by ':'");
        p = npy_skip(p);
        if (strcmp(key, "descr") == 0 && !descr_seen) {
            descr_seen = true;
            if (*p == '[')
                return npy_fail(reader, "elements are records; save one field of them: "
                                        "numpy.save(path, a['field'])");
            if (!(p = npy_string(p, descr, sizeof(descr))))
                return npy_malformed(reader, "'descr' is no short string");
            for (char *c = descr; *c; c++)
                if (!isprint((unsigned char)*c))
                    return npy_malformed(reader, "'descr' is not printable");
        } else if (strcmp(key, "fortran_order") == 0 && !order_seen) {
            order_seen = true;
            if (strncmp(p, "True", 4) != 0 && strncmp(p, "False", 5) != 0)
                return npy_malformed(reader, "'fortran_order' is neither True nor False");
            array->fortran = *p == 'T';
            p += array->fortran ? 4 : 5;
        } else if (strcmp(key, "shape") == 0 && !shape_seen) {
            shape_seen = true;
            if (!(p = npy_shape(p, array, &overflow)))
                return npy_malformed(reader, "'shape' is no tuple of sizes");
        } else {
            return npy_malformed(reader, "its keys are not 'descr', 'fortran_order' and 'shape'");
        }
        p = npy_skip(p);
        if (*p == ',')
            p++;
        else if (*p != '}')
            return npy_malformed(reader, "a value is not followed by ',' or '}'");
    }
    if (!descr_seen || !order_seen || !shape_seen)
        return npy_malformed(reader, "'descr', 'fortran_order' or 'shape' is missing");
    if (*npy_skip(p + 1))
        return npy_malformed(reader, "something follows the dictionary");
    if (!npy_descr(reader, descr, &array->type))
        return false;
    if (overflow || array->count > PTRDIFF_MAX / npy_item_bytes(array->type))
        return npy_fail(reader, "its shape has more elements than memory can hold; if the file is "
                                "smaller than that, its header is damaged");
    return true;
}

// ---- File ---------------------------------------------------------------------------------------

static inline bool npy_read_file(const npy_reader *reader, npy_array *array)
{
    static const char magic[] = "\x93NUMPY";
    unsigned char prefix[8], length_bytes[4];
    size_t length = 0;

    const size_t got = fread(prefix, 1, sizeof(prefix), reader->file);
    if (ferror(reader->file))
        return npy_fail(reader, "cannot read: %s", strerror(errno));
    if (got == 0)
        return npy_fail(reader, "truncated: the file is empty; save or copy it again");
    if (memcmp(prefix, magic, got < 6 ? got : 6) != 0)
        return npy_fail(reader, "not a .npy file: it does not begin with \\x93NUMPY; "
                                "write one with numpy.save");
    if (got < sizeof(prefix))
        return npy_fail(reader,
                        "truncated: it ends within its first 8 bytes; save or copy it again");
    if (prefix[6] < 1 || prefix[6] > 3 || prefix[7] != 0)
        return npy_fail(reader,
                        "format version %d.%d; 1.0, 2.0 and 3.0 are taken; "
                        "write it with numpy.save",
                        prefix[6], prefix[7]);

    const size_t width = prefix[6] == 1 ? 2 : 4;
    if (!npy_take(reader, length_bytes, width, "header's length"))
        return false;
    for (size_t i = 0; i < width; i++)
        length |= (size_t)length_bytes[i] << 8 * i;
    if (length > NPY_HEADER_MAX)
        return npy_malformed(reader, "it is longer than 64 KiB");

    char *header = (char *)malloc(length + 1);
    if (!header)
        return npy_fail(reader, "no memory for its header; free some");
    bool ok = npy_take(reader, header, length, "header");
    if (ok) {
        header[length] = '\0';
        ok = strlen(header) == length ? npy_header(reader, header, array)
                                      : npy_malformed(reader, "it has a zero byte");
    }
    free(header);
    if (!ok)
        return false;

    const size_t bytes = array->count * npy_item_bytes(array->type);
    if (bytes > 0) {
        array->data = malloc(bytes);
        if (!array->data)
            return npy_fail(reader,
                            "no memory for its %zu bytes of data; free some, or if the file "
                            "is smaller, its header is damaged",
                            bytes);
        if (!npy_take(reader, array->data, bytes, "data"))
            return false;
    }
    if (fgetc(reader->file) != EOF)
        return npy_fail(reader,
                        "trailing bytes after its %zu elements; "
                        "the file is damaged: save or copy it again",
                        array->count);
    if (ferror(reader->file))
        return npy_fail(reader, "cannot read: %s", strerror(errno));
    return true;
}

// Whether path was read completely. If not, error holds a line that says why, and array is empty.
static inline bool npy_read(const char *path, npy_array *array, char error[NPY_ERROR])
{
    npy_reader reader = {path, fopen(path, "rb"), error};
    array->type = NPY_F8;
    array->count = 0;
    array->dimensions = 0;
    array->fortran = false;
    array->data = NULL;
    if (!reader.file)
        return npy_fail(&reader, "cannot open: %s; give the path of a .npy file", strerror(errno));
    const bool ok = npy_read_file(&reader, array);
    fclose(reader.file);
    if (!ok)
        npy_free(array);
    return ok;
}

// Writes an array in C order. If it returns false, error holds a line that says why, and the file is not whole.
static inline bool npy_write(const char *path, npy_type type, size_t dimensions,
                             const size_t *shape, const void *data, char error[NPY_ERROR])
{
    static const char *const names[] = {"<f4", "<f8", "<i4", "<i8"};
    const npy_reader writer = {path, fopen(path, "wb"), error};
    char head[193], sizes[72] = ""; // of 192 bytes: the data is to begin at a multiple of 64
    size_t count = 1;
    int used = 0;
    if (!writer.file)
        return npy_fail(&writer, "cannot write: %s", strerror(errno));
    for (size_t d = 0; d < dimensions; d++) {
        used += snprintf(sizes + used, sizeof(sizes) - (size_t)used, "%zu, ", shape[d]);
        count *= shape[d];
    }
    const int length = snprintf(head, sizeof(head),
                                "\x93NUMPY\x01%c%c%c{'descr': '%s', 'fortran_order': False, "
                                "'shape': (%.*s), }",
                                0, 192 - 10, 0, names[type], used - 1, sizes);
    memset(head + length, ' ', (size_t)(191 - length));
    head[191] = '\n';
    bool ok = fwrite(head, 1, 192, writer.file) == 192;
    ok &= fwrite(data, npy_item_bytes(type), count, writer.file) == count;
    ok &= fclose(writer.file) == 0;
    return ok || npy_fail(&writer, "cannot write: %s", strerror(errno));
}

// ---- For the examples: on an error a line, exit 1 -----------------------------------------------

__attribute__((format(printf, 2, 3))) static inline void npy_refuse(const char *path,
                                                                    const char *format, ...)
{
    va_list args;
    fprintf(stderr, "%s: ", path);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

static inline npy_array npy_floats(const char *path)
{
    npy_array array;
    char error[NPY_ERROR];
    if (!npy_read(path, &array, error)) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    if (array.type != NPY_F4)
        npy_refuse(path, "holds no f4; save it so: numpy.save(path, a.astype('f4'))");
    return array;
}

static inline npy_array npy_matrix(const char *path, size_t columns)
{
    npy_array array = npy_floats(path);
    if (columns > 0 && array.dimensions == 1) {
        if (array.count % columns != 0)
            npy_refuse(path, "its %zu elements are no rows of %zu", array.count, columns);
        array.shape[0] = array.count / columns;
        array.shape[1] = columns;
        array.fortran = false; // of one dimension both orders are the same
        return array;
    }
    if (array.dimensions != 2)
        npy_refuse(path, "has %zu dimension%s, and a matrix has 2: reshape it", array.dimensions,
                   array.dimensions == 1 ? "" : "s");
    if (columns > 0 && array.shape[1] != columns)
        npy_refuse(path, "is %zu x %zu, and its rows must have %zu elements: reshape it",
                   array.shape[0], array.shape[1], columns);
    if (array.fortran && array.count > 0) {
        float *const from = (float *)array.data;
        float *const to = (float *)malloc(array.count * sizeof(float));
        if (!to)
            npy_refuse(path, "no memory to turn it; save it so: numpy.ascontiguousarray(a)");
        for (size_t i = 0; i < array.count; i++)
            to[i] = from[i / array.shape[1] + i % array.shape[1] * array.shape[0]];
        free(from);
        array.data = to;
        array.fortran = false;
    }
    return array;
}

static inline void npy_save(const char *path, npy_type type, size_t dimensions, const size_t *shape,
                            const void *data)
{
    char error[NPY_ERROR];
    if (!npy_write(path, type, dimensions, shape, data, error)) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
}

#endif // NPY_H
