/* SPDX-License-Identifier: BSD-3-Clause */
/* The global definitions of OTF2 3.2 with the arguments of the reader's callbacks. The names are those of the
   columns. */
#ifndef VT_READ_DEFINITIONS_H
#define VT_READ_DEFINITIONS_H

#include <stdint.h>

/* A union with floats among its members, which is passed like an integer. The name is OTF2's own, so that a test can
   include both headers. */
#ifndef OTF2_ATTRIBUTE_VALUE_H
union OTF2_AttributeValue_union {
    uint64_t uint64;
    double float64;
};
#endif
typedef union OTF2_AttributeValue_union vt_attribute_value;

/* clang-format off */
/* X(definition, arguments of the callback, values of the definition). */
#define VT_READ_DEFINITIONS(X)                                                                                         \
    X(ClockProperties, (void *user, uint64_t resolution, uint64_t offset, uint64_t length, uint64_t realtime),         \
      resolution, offset, length, realtime)                                                                            \
    X(Paradigm, (void *user, uint8_t id, uint32_t name, uint8_t class), id, name, class)                               \
    X(Attribute, (void *user, uint32_t id, uint32_t name, uint32_t description, uint8_t type),                         \
      id, name, description, type)                                                                                     \
    X(SystemTreeNode, (void *user, uint32_t id, uint32_t name, uint32_t class_name, uint32_t parent),                  \
      id, name, class_name, parent)                                                                                    \
    X(LocationGroup, (void *user, uint32_t id, uint32_t name, uint8_t type, uint32_t node, uint32_t creator),          \
      id, name, type, node, creator)                                                                                   \
    X(Location, (void *user, uint64_t id, uint32_t name, uint8_t type, uint64_t events, uint32_t group),               \
      id, name, type, events, group)                                                                                   \
    X(Region,                                                                                                          \
      (void *user, uint32_t id, uint32_t name, uint32_t canonical, uint32_t description, uint8_t role,                 \
       uint8_t paradigm, uint32_t flags, uint32_t file, uint32_t line, uint32_t end_line),                             \
      id, name, canonical, description, role, paradigm, flags, file, line, end_line)                                   \
    X(MetricMember,                                                                                                    \
      (void *user, uint32_t id, uint32_t name, uint32_t description, uint8_t type, uint8_t mode, uint8_t value_type,   \
       uint8_t base, int64_t exponent, uint32_t unit),                                                                 \
      id, name, description, type, mode, value_type, base, exponent, unit)                                             \
    X(MetricInstance,                                                                                                  \
      (void *user, uint32_t id, uint32_t metric_class, uint64_t recorder, uint8_t scope_type, uint64_t scope),         \
      id, metric_class, recorder, scope_type, scope)                                                                   \
    X(Comm, (void *user, uint32_t id, uint32_t name, uint32_t group, uint32_t parent, uint32_t flags),                 \
      id, name, group, parent, flags)                                                                                  \
    X(InterComm,                                                                                                       \
      (void *user, uint32_t id, uint32_t name, uint32_t group, uint32_t remote, uint32_t parent, uint32_t flags),      \
      id, name, group, remote, parent, flags)                                                                          \
    X(Parameter, (void *user, uint32_t id, uint32_t name, uint8_t type), id, name, type)                               \
    X(RmaWin, (void *user, uint32_t id, uint32_t name, uint32_t comm, uint32_t flags), id, name, comm, flags)          \
    X(SystemTreeNodeDomain, (void *user, uint32_t node, uint8_t domain), node, domain)                                 \
    X(SystemTreeNodeProperty,                                                                                          \
      (void *user, uint32_t node, uint32_t name, uint8_t type, vt_attribute_value value), node, name, type, value.uint64) \
    X(LocationGroupProperty,                                                                                           \
      (void *user, uint32_t group, uint32_t name, uint8_t type, vt_attribute_value value),                             \
      group, name, type, value.uint64)                                                                                 \
    X(LocationProperty, (void *user, uint64_t location, uint32_t name, uint8_t type, vt_attribute_value value),        \
      location, name, type, value.uint64)                                                                              \
    X(SourceCodeLocation, (void *user, uint32_t id, uint32_t file, uint32_t line), id, file, line)                     \
    X(CallingContext, (void *user, uint32_t id, uint32_t region, uint32_t source, uint32_t parent),                    \
      id, region, source, parent)                                                                                      \
    X(InterruptGenerator,                                                                                              \
      (void *user, uint32_t id, uint32_t name, uint8_t mode, uint8_t base, int64_t exponent, uint64_t period),         \
      id, name, mode, base, exponent, period)                                                                          \
    X(CartDimension, (void *user, uint32_t id, uint32_t name, uint32_t size, uint8_t periodicity),                     \
      id, name, size, periodicity)                                                                                     \
    X(IoFileProperty, (void *user, uint32_t file, uint32_t name, uint8_t type, vt_attribute_value value),              \
      file, name, type, value.uint64)                                                                                  \
    X(IoRegularFile, (void *user, uint32_t id, uint32_t name, uint32_t node), id, name, node)                          \
    X(IoDirectory, (void *user, uint32_t id, uint32_t name, uint32_t node), id, name, node)                            \
    X(IoHandle,                                                                                                        \
      (void *user, uint32_t id, uint32_t name, uint32_t file, uint8_t paradigm, uint32_t flags, uint32_t comm,         \
       uint32_t parent),                                                                                               \
      id, name, file, paradigm, flags, comm, parent)                                                                   \
    X(IoPreCreatedHandleState, (void *user, uint32_t handle, uint8_t mode, uint32_t status), handle, mode, status)

/* Definitions with texts or lists, whose callbacks are written by hand. offset and count refer to the list of members,
   or to bytes of text. */
#define VT_READ_LISTED_DEFINITIONS(X)                                                                                  \
    X(String, (void *user, uint32_t id, const char *text), id, offset, length)                                         \
    X(CartTopology,                                                                                                    \
      (void *user, uint32_t id, uint32_t name, uint32_t comm, uint8_t count, const uint32_t *dimensions),              \
      id, name, comm, offset, count)                                                                                   \
    X(CartCoordinate, (void *user, uint32_t topology, uint32_t rank, uint8_t count, const uint32_t *coordinates),      \
      topology, rank, offset, count)                                                                                   \
    X(IoParadigm,                                                                                                      \
      (void *user, uint8_t id, uint32_t identification, uint32_t name, uint8_t class, uint32_t flags, uint8_t count,   \
       const uint8_t *properties, const uint8_t *types, const union OTF2_AttributeValue_union *values),                \
      id, identification, name, class, flags)                                                                          \
    X(Group,                                                                                                           \
      (void *user, uint32_t id, uint32_t name, uint8_t type, uint8_t paradigm, uint32_t flags, uint32_t count,         \
       const uint64_t *members),                                                                                       \
      id, name, type, paradigm, flags, offset, count)                                                                  \
    X(MetricClass,                                                                                                     \
      (void *user, uint32_t id, uint8_t count, const uint32_t *members, uint8_t occurrence, uint8_t recorder),         \
      id, occurrence, recorder, offset, count)                                                                         \
    X(Unknown, (void *user), none)
/* clang-format on */

enum vt_read_definition {
#define VT_READ_NUMBER(name, ...) VT_DEF_##name,
    VT_READ_DEFINITIONS(VT_READ_NUMBER) VT_READ_LISTED_DEFINITIONS(VT_READ_NUMBER)
#undef VT_READ_NUMBER
        VT_DEF_KINDS
};

#endif
