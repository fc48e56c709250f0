/* SPDX-License-Identifier: BSD-3-Clause */
/* A plug-in of gcc, which calls the hooks of -finstrument-functions in each function that exists after inlining. gcc
   itself adds these calls before it inlines. vtrace-cc compiles this file for the user's gcc where gcc writes no sleds
   (src/vtrace/wrappers/compile/gcc_plugin.py).

   As with clang's -finstrument-functions-after-inlining, a function that an exception ends calls no exit hook. */
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

int plugin_is_GPL_compatible;

namespace {

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

int plugin_init(plugin_name_args *info, plugin_gcc_version *version)
{
    if (!plugin_default_version_check(version, &gcc_version)) return 1;
    /* the first pass after inlining that all levels of optimisation have */
    register_pass_info pass = {new vtrace_pass, "*all_optimizations", 1, PASS_POS_INSERT_BEFORE};
    register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &pass);
    return 0;
}
