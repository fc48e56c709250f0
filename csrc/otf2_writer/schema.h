/* SPDX-License-Identifier: BSD-3-Clause */
/* The schema as text: kinds of records and definitions, enumerations, constants and the structures that Python uses.
   src/vtrace/io/common/schema.py reads the text. Each line is one fact; tabs separate its words:

     kind         name, number, payload words, class, what the id is, payload (VT_KINDS)
     definition   name, values (VT_DEFINITION_KINDS)
     enumerator   enumeration, name, number
     constant     name, number
     text         name, bytes as hexadecimal digits
     field        structure, name, type, offset, size

   The type of a field is u1 u2 u4 u8 i1 i2 i4 i8 f8 (numbers with this number of bytes), S (characters), p (a pointer),
   pu4 etc. (a pointer to constant numbers of the type after p), or the name of a structure. A field whose size is a
   multiple of the type's is an array. */
#ifndef VT_SCHEMA_H
#define VT_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

struct vt_clock_pair;

struct vt_schema_field {
    const char *structure, *name, *type;
    size_t offset, size;
};

struct vt_schema_number {
    const char *group, *name;
    uint64_t number;
};

/* A text, cut to the available room. used: the length of the whole text. */
struct vt_schema_text {
    char *text;
    size_t room, used;
};

void vt_schema_line(struct vt_schema_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void vt_schema_fields(struct vt_schema_text *text, const struct vt_schema_field *fields, size_t count);
void vt_schema_numbers(struct vt_schema_text *text, const struct vt_schema_number *numbers, size_t count);

#define VT_SIZE(structure, field) sizeof(((struct structure *)0)->field)

/* clang-format off */
#define VT_TYPE(structure, field)                                                                                      \
    _Generic(&((struct structure *)0)->field,                                                                          \
        uint8_t *: "u1", uint16_t *: "u2", uint32_t *: "u4", uint64_t *: "u8", int32_t *: "i4", int64_t *: "i8",       \
        double *: "f8", char (*)[VT_SIZE(structure, field)]: "S", uint8_t (*)[VT_SIZE(structure, field)]: "u1",        \
        uint64_t (*)[VT_SIZE(structure, field) / 8]: "u8", struct vt_clock_pair *: "vt_clock_pair",                    \
        const uint8_t **: "pu1", const uint32_t **: "pu4", const uint64_t **: "pu8", default: "p")
/* clang-format on */

/* Two expansions of a list of fields, F(S, name) for each: rows of a table, and the sum of the sizes. */
#define VT_FIELD(structure, field)                                                                                     \
    {#structure, #field, VT_TYPE(structure, field), offsetof(struct structure, field), VT_SIZE(structure, field)},
#define VT_PLUS_SIZE(structure, field) +VT_SIZE(structure, field)
/* A list must name all fields, and a structure must have no padding. */
#define VT_WHOLE(structure, list)                                                                                      \
    _Static_assert(0 list(VT_PLUS_SIZE, structure) == sizeof(struct structure), "all fields of " #structure);

/* Defines the function that writes the schema of a folder's structures and numbers. list(X) has X(structure, fields) for
   each structure; numbers is an array of struct vt_schema_number. Returns the bytes of the whole text. */
#define VT_SCHEMA_FIELDS(structure, list) list(VT_FIELD, structure)
#define VT_SCHEMA(function, list, numbers)                                                                             \
    list(VT_WHOLE) VT_EXPORT size_t function(char *text, size_t room)                                                  \
    {                                                                                                                  \
        static const struct vt_schema_field fields[] = {list(VT_SCHEMA_FIELDS)};                                       \
        struct vt_schema_text found = {text, room, 0};                                                                 \
        vt_schema_numbers(&found, numbers, sizeof numbers / sizeof *numbers);                                          \
        vt_schema_fields(&found, fields, sizeof fields / sizeof *fields);                                              \
        return found.used;                                                                                             \
    }

#endif
