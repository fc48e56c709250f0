/* SPDX-License-Identifier: BSD-3-Clause */
/* Colours, categories and ids of annotations: attributes of the event that enters a region. A region's description has
   the colour and category of its first event, so that a reader need not read the events for them. */
#include <stdio.h>
#include "annotations.h"

unsigned vt_add_attribute(uint64_t *words, enum vt_attribute_of_annotation which, uint64_t value)
{
    static const struct {
        const char *name, *description;
        enum vt_type type;
    } known[] = {
        [VT_ANNOTATION_COLOUR] = {"ANNOTATION_COLOR", "colour of an annotation, 0xRRGGBB", VT_TYPE_UINT32},
        [VT_ANNOTATION_CATEGORY] = {"ANNOTATION_CATEGORY", "category of an annotation", VT_TYPE_STRING},
        [VT_ANNOTATION_ID] = {"ANNOTATION_ID", "id of a task of ITT: its first number", VT_TYPE_UINT64},
        [VT_ANNOTATION_PARENT] = {"ANNOTATION_PARENT", "ANNOTATION_ID of the task's parent", VT_TYPE_UINT64},
    };
    static _Atomic uint32_t ids[sizeof known / sizeof *known];
    uint32_t id = atomic_load_explicit(&ids[which], memory_order_relaxed);
    if (!id) {
        id = vt_define_attribute(known[which].name, known[which].description, known[which].type);
        atomic_store(&ids[which], id);
    }
    if (!id) return 0;
    words[0] = VT_HEAD(VT_K_ATTRIBUTE, 1, id);
    words[1] = value;
    return 2;
}

/* The object of a category, apart from names of the program by its first character; its handle is the category's name. */
static struct vt_named *numbered(struct vt_named *domain, uint32_t number)
{
    char text[24];
    snprintf(text, sizeof text, "\001%u", number);
    return vt_named(domain, text);
}

void vt_name_category(struct vt_named *domain, uint32_t number, const char *name)
{
    struct vt_named *category = domain ? numbered(domain, number) : NULL;
    if (category && name && *name) atomic_store(&category->handle, vt_named(domain, name));
}

struct vt_named *vt_category(struct vt_named *domain, uint32_t number)
{
    struct vt_named *category = numbered(domain, number), *name = category ? atomic_load(&category->handle) : NULL;
    if (category && !name) atomic_store(&category->handle, name = vt_named(domain, &category->text[1]));
    return name;
}

uint32_t vt_label_of(struct vt_named *n)
{
    uint32_t label = atomic_load_explicit(&n->label, memory_order_relaxed);
    if (!label) atomic_store(&n->label, label = VT_User_text__(n->text));
    return label;
}

uint32_t vt_region_with(const struct vt_named *domain, const char *name, const uint32_t *rgb, const char *category)
{
    char colour[24] = "", text[VT_LABEL_BYTES];
    if (rgb) snprintf(colour, sizeof colour, "colour #%06x", *rgb & 0xffffff);
    snprintf(text, sizeof text, "%s%s%s%.*s", colour, rgb && category ? ", " : "", category ? "category " : "",
             VT_LABEL_BYTES - 64, category ? category : "");
    return VT_User_def_about__(name && *name ? name : VT_UNNAMED, domain->text, *text ? text : NULL);
}
