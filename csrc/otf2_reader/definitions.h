/* SPDX-License-Identifier: BSD-3-Clause */
/* The global definitions of OTF2 3.2, each with its values in the order of the reader's callback, which is that of the
   writer's function. The names are those of the columns. For each value X(use, type, kind, name):

     OWN      the number of the definition among those of its kind
     PART     the definition belongs to that one, and stays if that one stays
     REF      another definition, which stays, too
     WEAK     another definition, or undefined if that one does not stay
     TYPE     the type of the attribute value that follows
     VALUE    an attribute value, perhaps a reference
     SCOPED   the scope of a metric instance, whose kind the value before says
     RANK     a rank in the communicator of a topology
     RAW      any other value */
#ifndef VT_READ_DEFINITIONS_H
#define VT_READ_DEFINITIONS_H

#include "../otf2_writer/otf2.h"

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
#define VT_D_Paradigm(X) X(OWN, uint8_t, Paradigm, id) X(REF, uint32_t, String, name) X(RAW, uint8_t, None, class)
#define VT_D_ParadigmProperty(X)                                                                                       \
    X(PART, uint8_t, Paradigm, paradigm) X(RAW, uint8_t, None, property) X(TYPE, uint8_t, None, type)                  \
    X(VALUE, vt_attribute_value, None, value)
#define VT_D_Attribute(X)                                                                                              \
    X(OWN, uint32_t, Attribute, id) X(REF, uint32_t, String, name) X(REF, uint32_t, String, description)               \
    X(RAW, uint8_t, None, type)
#define VT_D_SystemTreeNode(X)                                                                                         \
    X(OWN, uint32_t, SystemTreeNode, id) X(REF, uint32_t, String, name) X(REF, uint32_t, String, class_name)           \
    X(REF, uint32_t, SystemTreeNode, parent)
#define VT_D_SystemTreeNodeProperty(X)                                                                                 \
    X(PART, uint32_t, SystemTreeNode, node) X(REF, uint32_t, String, name) X(TYPE, uint8_t, None, type)                \
    X(VALUE, vt_attribute_value, None, value)
#define VT_D_SystemTreeNodeDomain(X) X(PART, uint32_t, SystemTreeNode, node) X(RAW, uint8_t, None, domain)
#define VT_D_LocationGroup(X)                                                                                          \
    X(OWN, uint32_t, LocationGroup, id) X(REF, uint32_t, String, name) X(RAW, uint8_t, None, type)                     \
    X(REF, uint32_t, SystemTreeNode, node) X(WEAK, uint32_t, LocationGroup, creator)
#define VT_D_LocationGroupProperty(X)                                                                                  \
    X(PART, uint32_t, LocationGroup, group) X(REF, uint32_t, String, name) X(TYPE, uint8_t, None, type)                \
    X(VALUE, vt_attribute_value, None, value)
#define VT_D_Location(X)                                                                                               \
    X(OWN, uint64_t, Location, id) X(REF, uint32_t, String, name) X(RAW, uint8_t, None, type)                          \
    X(RAW, uint64_t, None, events) X(REF, uint32_t, LocationGroup, group)
#define VT_D_LocationProperty(X)                                                                                       \
    X(PART, uint64_t, Location, location) X(REF, uint32_t, String, name) X(TYPE, uint8_t, None, type)                  \
    X(VALUE, vt_attribute_value, None, value)
#define VT_D_Region(X)                                                                                                 \
    X(OWN, uint32_t, Region, id) X(REF, uint32_t, String, name) X(REF, uint32_t, String, canonical)                    \
    X(REF, uint32_t, String, description) X(RAW, uint8_t, None, role) X(REF, uint8_t, Paradigm, paradigm)              \
    X(RAW, uint32_t, None, flags) X(REF, uint32_t, String, file) X(RAW, uint32_t, None, line)                          \
    X(RAW, uint32_t, None, end_line)
#define VT_D_Callsite(X)                                                                                               \
    X(OWN, uint32_t, Callsite, id) X(REF, uint32_t, String, file) X(RAW, uint32_t, None, line)                         \
    X(REF, uint32_t, Region, entered) X(REF, uint32_t, Region, left)
#define VT_D_Callpath(X)                                                                                               \
    X(OWN, uint32_t, Callpath, id) X(REF, uint32_t, Callpath, parent) X(REF, uint32_t, Region, region)
#define VT_D_CallpathParameter(X)                                                                                      \
    X(PART, uint32_t, Callpath, path) X(REF, uint32_t, Parameter, parameter) X(TYPE, uint8_t, None, type)              \
    X(VALUE, vt_attribute_value, None, value)
#define VT_D_MetricMember(X)                                                                                           \
    X(OWN, uint32_t, MetricMember, id) X(REF, uint32_t, String, name) X(REF, uint32_t, String, description)            \
    X(RAW, uint8_t, None, type) X(RAW, uint8_t, None, mode) X(RAW, uint8_t, None, value_type)                          \
    X(RAW, uint8_t, None, base) X(RAW, int64_t, None, exponent) X(REF, uint32_t, String, unit)
#define VT_D_MetricInstance(X)                                                                                         \
    X(OWN, uint32_t, Metric, id) X(REF, uint32_t, Metric, metric_class) X(WEAK, uint64_t, Location, recorder)          \
    X(RAW, uint8_t, None, scope_type) X(SCOPED, uint64_t, None, scope)
#define VT_D_MetricClassRecorder(X) X(PART, uint32_t, Metric, metric_class) X(PART, uint64_t, Location, recorder)
#define VT_D_Comm(X)                                                                                                   \
    X(OWN, uint32_t, Comm, id) X(REF, uint32_t, String, name) X(REF, uint32_t, Group, group)                           \
    X(REF, uint32_t, Comm, parent) X(RAW, uint32_t, None, flags)
#define VT_D_InterComm(X)                                                                                              \
    X(OWN, uint32_t, Comm, id) X(REF, uint32_t, String, name) X(REF, uint32_t, Group, group)                           \
    X(REF, uint32_t, Group, remote) X(REF, uint32_t, Comm, parent) X(RAW, uint32_t, None, flags)
#define VT_D_Parameter(X) X(OWN, uint32_t, Parameter, id) X(REF, uint32_t, String, name) X(RAW, uint8_t, None, type)
#define VT_D_RmaWin(X)                                                                                                 \
    X(OWN, uint32_t, RmaWin, id) X(REF, uint32_t, String, name) X(REF, uint32_t, Comm, comm)                           \
    X(RAW, uint32_t, None, flags)
#define VT_D_SourceCodeLocation(X)                                                                                     \
    X(OWN, uint32_t, SourceCodeLocation, id) X(REF, uint32_t, String, file) X(RAW, uint32_t, None, line)
#define VT_D_CallingContext(X)                                                                                         \
    X(OWN, uint32_t, CallingContext, id) X(REF, uint32_t, Region, region)                                              \
    X(REF, uint32_t, SourceCodeLocation, source) X(REF, uint32_t, CallingContext, parent)
#define VT_D_CallingContextProperty(X)                                                                                 \
    X(PART, uint32_t, CallingContext, context) X(REF, uint32_t, String, name) X(TYPE, uint8_t, None, type)             \
    X(VALUE, vt_attribute_value, None, value)
#define VT_D_InterruptGenerator(X)                                                                                     \
    X(OWN, uint32_t, InterruptGenerator, id) X(REF, uint32_t, String, name) X(RAW, uint8_t, None, mode)                \
    X(RAW, uint8_t, None, base) X(RAW, int64_t, None, exponent) X(RAW, uint64_t, None, period)
#define VT_D_CartDimension(X)                                                                                          \
    X(OWN, uint32_t, CartDimension, id) X(REF, uint32_t, String, name) X(RAW, uint32_t, None, size)                    \
    X(RAW, uint8_t, None, periodicity)
#define VT_D_IoRegularFile(X)                                                                                          \
    X(OWN, uint32_t, IoFile, id) X(REF, uint32_t, String, name) X(REF, uint32_t, SystemTreeNode, node)
#define VT_D_IoDirectory(X) VT_D_IoRegularFile(X)
#define VT_D_IoFileProperty(X)                                                                                         \
    X(PART, uint32_t, IoFile, file) X(REF, uint32_t, String, name) X(TYPE, uint8_t, None, type)                        \
    X(VALUE, vt_attribute_value, None, value)
#define VT_D_IoHandle(X)                                                                                               \
    X(OWN, uint32_t, IoHandle, id) X(REF, uint32_t, String, name) X(REF, uint32_t, IoFile, file)                       \
    X(REF, uint8_t, IoParadigm, paradigm) X(RAW, uint32_t, None, flags) X(REF, uint32_t, Comm, comm)                   \
    X(REF, uint32_t, IoHandle, parent)
#define VT_D_IoPreCreatedHandleState(X)                                                                                \
    X(PART, uint32_t, IoHandle, handle) X(RAW, uint8_t, None, mode) X(RAW, uint32_t, None, status)
#define VT_D_ClockProperties(X)                                                                                        \
    X(RAW, uint64_t, None, resolution) X(RAW, uint64_t, None, offset) X(RAW, uint64_t, None, length)                   \
    X(RAW, uint64_t, None, realtime)

/* Without their lists, which follow the values. */
#define VT_D_String(X) X(OWN, uint32_t, String, id)
#define VT_D_Group(X)                                                                                                  \
    X(OWN, uint32_t, Group, id) X(REF, uint32_t, String, name) X(RAW, uint8_t, None, type)                             \
    X(REF, uint8_t, Paradigm, paradigm) X(RAW, uint32_t, None, flags)
#define VT_D_MetricClass(X)                                                                                            \
    X(OWN, uint32_t, Metric, id) X(RAW, uint8_t, None, occurrence) X(RAW, uint8_t, None, recorder)
#define VT_D_CartTopology(X)                                                                                           \
    X(OWN, uint32_t, CartTopology, id) X(REF, uint32_t, String, name) X(REF, uint32_t, Comm, comm)
#define VT_D_CartCoordinate(X) X(PART, uint32_t, CartTopology, topology) X(RANK, uint32_t, None, rank)
#define VT_D_IoParadigm(X)                                                                                             \
    X(OWN, uint8_t, IoParadigm, id) X(REF, uint32_t, String, identification) X(REF, uint32_t, String, name)            \
    X(RAW, uint8_t, None, class) X(RAW, uint32_t, None, flags)

/* The definitions that the reader knows. */
#define VT_READ_DEFINITIONS(X)                                                                                         \
    X(ClockProperties) X(Paradigm) X(Attribute) X(SystemTreeNode) X(LocationGroup) X(Location) X(Region)               \
    X(MetricMember) X(MetricInstance) X(Comm) X(InterComm) X(Parameter) X(RmaWin) X(SystemTreeNodeDomain)              \
    X(SystemTreeNodeProperty) X(LocationGroupProperty) X(LocationProperty) X(SourceCodeLocation) X(CallingContext)     \
    X(InterruptGenerator) X(CartDimension) X(IoFileProperty) X(IoRegularFile) X(IoDirectory) X(IoHandle)               \
    X(IoPreCreatedHandleState)

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

/* A value as a word; signed values keep their bits. */
#define VT_WORD(use, type, kind, name) VT_IF_VALUE(use, (name).uint64, (uint64_t)(name)),
#define VT_IF_VALUE(use, text, other) VT_PICK(VT_IS_VALUE_##use text, other)
#define VT_IS_VALUE_VALUE ~,

enum vt_read_definition {
#define VT_READ_NUMBER(name, ...) VT_DEF_##name,
    VT_READ_DEFINITIONS(VT_READ_NUMBER) VT_READ_LISTED_DEFINITIONS(VT_READ_NUMBER)
#undef VT_READ_NUMBER
        VT_DEF_KINDS
};

#endif
