/* SPDX-License-Identifier: BSD-3-Clause */
/* A plug-in of gcc with two parts, which its arguments choose. vtrace-cc compiles this file for the user's gcc
   (src/vtrace/wrappers/compile/gcc_plugin.py).

   keep: gcc inlines no function that works long, so that it is recorded: it has a loop, or calls such a function, or one
   of another file. Templates, and functions that the source marks inline, stay as gcc has them.

   hooks: calls the hooks of -finstrument-functions in each function that exists after inlining, where gcc writes no
   sleds. gcc itself adds these calls before it inlines. As with clang's -finstrument-functions-after-inlining, a
   function that an exception ends calls no exit hook. */
#include <gcc-plugin.h>
#include <plugin-version.h>
#include <tree.h>
#include <stringpool.h>
#include <attribs.h>
#include <gimple.h>
#include <gimple-iterator.h>
#include <tree-pass.h>
#include <ssa.h>
#include <tree-cfg.h>
#include <cgraph.h>
#include <context.h>
#include <calls.h>
#include <cfgloop.h>
#include <tree-scalar-evolution.h>

int plugin_is_GPL_compatible;

namespace {

/* ---- keep ---- */

const pass_data keeping = {SIMPLE_IPA_PASS, "vtrace_keep", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0};

/* With fewer turns, as far as gcc knows them, a call takes about as long as its record. */
const unsigned LEAST_TURNS = 100;

/* The turns of a loop for each call of its function; LEAST_TURNS if they are many or unknown. */
unsigned turns_of(loop_p loop)
{
    unsigned turns = 1;
    for (; loop_outer(loop); loop = loop_outer(loop)) {
        tree last = number_of_latch_executions(loop);
        if (!tree_fits_uhwi_p(last) || tree_to_uhwi(last) >= LEAST_TURNS) return LEAST_TURNS;
        turns *= tree_to_uhwi(last) + 1;
        if (turns >= LEAST_TURNS) return LEAST_TURNS;
    }
    return turns;
}

bool has_long_loop(function *f)
{
    bool is_long = false;
    push_cfun(f);
    loop_optimizer_init(LOOPS_NORMAL | LOOPS_HAVE_RECORDED_EXITS);
    scev_initialize();
    for (unsigned i = 1; i < number_of_loops(f) && !is_long; i++) {
        loop_p loop = get_loop(f, i);
        is_long = loop && turns_of(loop) >= LEAST_TURNS;
    }
    scev_finalize();
    loop_optimizer_finalize();
    pop_cfun();
    return is_long;
}

/* True if a call may take long: of a function that works long, or of one of another file, unless it computes like sin. */
bool may_take_long(const cgraph_edge *call, hash_set<cgraph_node *> &working)
{
    cgraph_node *callee = call->callee->ultimate_alias_target();
    if (callee->definition) return working.contains(callee);
    return !fndecl_built_in_p(callee->decl) &&
           !(flags_from_decl_or_type(callee->decl) & (ECF_CONST | ECF_PURE | ECF_NORETURN));
}

bool calls_long(const cgraph_node *node, hash_set<cgraph_node *> &working)
{
    for (cgraph_edge *call = node->callees; call; call = call->next_callee)
        if (may_take_long(call, working)) return true;
    return false;
}

/* Templates are in headers, as inline functions are: libraries of them count on inlining. */
bool is_written_to_be_called(tree f)
{
    return !DECL_DECLARED_INLINE_P(f) && !DECL_COMDAT(f) && !DECL_ARTIFICIAL(f) && !DECL_DISREGARD_INLINE_LIMITS(f) &&
           !in_system_header_at(DECL_SOURCE_LOCATION(f)) &&
           !lookup_attribute("no_instrument_function", DECL_ATTRIBUTES(f));
}

struct keep_pass : simple_ipa_opt_pass {
    keep_pass() : simple_ipa_opt_pass(keeping, g) {}

    unsigned execute(function *) override
    {
        hash_set<cgraph_node *> working;
        cgraph_node *node;
        FOR_EACH_FUNCTION_WITH_GIMPLE_BODY(node)
            if (has_long_loop(DECL_STRUCT_FUNCTION(node->decl))) working.add(node);
        for (size_t before = ~(size_t)0; before != working.elements();) {
            before = working.elements();
            FOR_EACH_FUNCTION_WITH_GIMPLE_BODY(node)
                if (!working.contains(node) && calls_long(node, working)) working.add(node);
        }
        FOR_EACH_FUNCTION_WITH_GIMPLE_BODY(node)
            if (working.contains(node) && is_written_to_be_called(node->decl)) DECL_UNINLINABLE(node->decl) = 1;
        return 0;
    }
};

/* ---- hooks ---- */

const pass_data description = {
    GIMPLE_PASS, "vtrace", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, TODO_update_ssa_only_virtuals};

/* The declaration of a hook. Each front end has its own declaration, unless the language has no hooks. */
tree hook(enum built_in_function code, const char *name)
{
    tree known = builtin_decl_implicit(code);
    if (known) return known;
    tree made = build_fn_decl(name, build_function_type_list(void_type_node, ptr_type_node, ptr_type_node, NULL_TREE));
    TREE_NOTHROW(made) = 1;
    return made;
}

/* Adds a call in a block to the call graph. */
void add_edge(gcall *call, basic_block block)
{
    cgraph_node *callee = cgraph_node::get_create(gimple_call_fndecl(call));
    cgraph_node::get(current_function_decl)->create_edge(callee, call, block->count);
}

/* The calls of a hook: hook(function, return address of the function). */
struct hook_calls {
    gcall *site, *call;
    hook_calls(enum built_in_function code, const char *name, location_t where)
    {
        site = gimple_build_call(builtin_decl_explicit(BUILT_IN_RETURN_ADDRESS), 1, integer_zero_node);
        tree address = make_ssa_name(ptr_type_node, site);
        gimple_call_set_lhs(site, address);
        call = gimple_build_call(hook(code, name), 2, build_fold_addr_expr(current_function_decl), address);
        gimple_set_location(site, where);
        gimple_set_location(call, where);
    }
    void note(basic_block block) const
    {
        add_edge(site, block);
        add_edge(call, block);
    }
};

void add_exit(basic_block block)
{
    gimple_stmt_iterator at = gsi_last_nondebug_bb(block);
    if (gsi_end_p(at) || gimple_code(gsi_stmt(at)) != GIMPLE_RETURN) return;
    hook_calls calls(BUILT_IN_PROFILE_FUNC_EXIT, "__cyg_profile_func_exit", gimple_location(gsi_stmt(at)));
    gsi_insert_before(&at, calls.site, GSI_SAME_STMT);
    gsi_insert_before(&at, calls.call, GSI_SAME_STMT);
    calls.note(block);
}

void add_enter(function *f)
{
    edge first = single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(f));
    hook_calls calls(BUILT_IN_PROFILE_FUNC_ENTER, "__cyg_profile_func_enter", DECL_SOURCE_LOCATION(f->decl));
    gsi_insert_on_edge(first, calls.site);
    gsi_insert_on_edge(first, calls.call);
    gsi_commit_edge_inserts();
    calls.note(gimple_bb(calls.call));
}

/* The loader calls a resolver of ifunc before the program and its libraries are ready for hooks. */
bool resolves(tree function)
{
    cgraph_node *node = cgraph_node::get(function);
    ipa_ref *alias;
    for (unsigned i = 0; node && node->iterate_direct_aliases(i, alias); i++)
        if (lookup_attribute("ifunc", DECL_ATTRIBUTES(alias->referring->decl))) return true;
    return false;
}

struct vtrace_pass : gimple_opt_pass {
    vtrace_pass() : gimple_opt_pass(description, g) {}

    bool gate(function *f) override
    {
        tree attributes = DECL_ATTRIBUTES(f->decl);
        return !lookup_attribute("no_instrument_function", attributes) && !lookup_attribute("naked", attributes) &&
               !resolves(f->decl);
    }

    unsigned execute(function *f) override
    {
        edge last;
        edge_iterator i;
        FOR_EACH_EDGE(last, i, EXIT_BLOCK_PTR_FOR_FN(f)->preds) add_exit(last->src);
        add_enter(f);
        return 0;
    }
};

} // namespace

bool is_chosen(const plugin_name_args *info, const char *part)
{
    for (int i = 0; i < info->argc; i++)
        if (!strcmp(info->argv[i].key, part)) return true;
    return false;
}

int plugin_init(plugin_name_args *info, plugin_gcc_version *version)
{
    if (!plugin_default_version_check(version, &gcc_version)) return 1;
    if (is_chosen(info, "keep")) {
        /* before the first pass that inlines */
        register_pass_info pass = {new keep_pass, "opt_local_passes", 1, PASS_POS_INSERT_BEFORE};
        register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &pass);
    }
    if (is_chosen(info, "hooks")) {
        /* the first pass after inlining that all levels of optimisation have */
        register_pass_info pass = {new vtrace_pass, "*all_optimizations", 1, PASS_POS_INSERT_BEFORE};
        register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &pass);
    }
    return 0;
}
