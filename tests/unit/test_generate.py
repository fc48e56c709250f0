# SPDX-License-Identifier: BSD-3-Clause
"""The shim generator: prototypes, meanings of arguments, templates, and the shim of each installed MPI."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from support.build import mpis
from support.tools import BIN
from vtrace import paths
from vtrace.errors import VtraceError
from vtrace.wrappers.mpi_shim import generate, mpi_header, shim
from vtrace.wrappers.mpi_shim.installation import Mpi, find_mpi
from vtrace.wrappers.mpi_shim.mpi_header import Argument, ArgumentMeaning, MpiFunction

TABLE_4_7 = """
Abort Error_string Recv Allgather Finalize Recv_init Allgatherv Gather Reduce Allreduce Gatherv Reduce_scatter Alltoall
Get_count Request_free Alltoallv Get_elements Rsend Attr_delete Get_processor_name Rsend_init Attr_get Graph_create Scan
Attr_put Graph_get Scatter Barrier Graph_map Scatterv Bcast Graph_neighbors Send Bsend Graph_neighbors_count Send_init
Bsend_init Graphdims_get Sendrecv Buffer_attach Group_compare Sendrecv_replace Buffer_detach Group_difference Ssend
Cancel Group_excl Ssend_init Cart_coords Group_free Start Cart_create Group_incl Startall Cart_get Group_intersection
Test Cart_map Group_range_excl Test_cancelled Cart_rank Group_range_incl Testall Cart_shift Group_rank Testany Cart_sub
Group_size Testsome Cartdim_get Group_translate_ranks Topo_test Comm_compare Group_union Type_commit Comm_create Ibsend
Type_contiguous Comm_dup Init Type_extent Comm_free Intercomm_create Type_free Comm_group Intercomm_merge Type_hindexed
Comm_rank Iprobe Type_hvector Comm_remote_group Irecv Type_indexed Comm_remote_size Irsend Type_lb Comm_size Isend
Type_size Comm_split Issend Type_struct Comm_test_inter Keyval_create Type_ub Dims_create Keyval_free Type_vector
Errhandler_create Op_create Unpack Errhandler_free Op_free Wait Errhandler_get Pack Waitall Errhandler_set Pack_size
Waitany Error_class Probe Waitsome
"""
TABLE_4_8 = """
Accumulate File_read_ordered_begin Type_create_darray Alltoallw File_read_ordered_end Type_create_f90_complex
Add_error_class File_read_shared Type_create_f90_integer Add_error_code File_seek Type_create_f90_real Alloc_mem
File_seek_shared Type_create_hindexed Comm_create_keyval File_set_atomicity Type_create_hvector Comm_delete_attr
File_set_info Type_create_indexed_block Comm_free_keyval File_set_size Type_create_keyval Comm_get_attr File_set_view
Type_create_resized Comm_get_name File_sync Type_create_struct Comm_set_attr File_write Type_create_subarray
Comm_set_name File_write_all Type_delete_attr Exscan File_write_all_begin Type_dup File_close File_write_all_end
Type_free_keyval File_delete File_write_at Type_get_attr File_get_amode File_write_at_all Type_get_contents
File_get_atomicity File_write_at_all_begin Type_get_envelope File_get_byte_offset File_write_at_all_end Type_get_extent
File_get_group File_write_ordered Type_get_name File_get_info File_write_ordered_begin Type_get_true_extent
File_get_position File_write_ordered_end Type_match_size File_get_position_shared File_write_shared Type_set_attr
File_get_size Free_mem Type_set_name File_get_type_extent Get Unpack_external File_get_view Get_version Win_complete
File_iread Grequest_start Win_create File_iread_at Info_create Win_create_keyval File_iread_shared Info_dup
Win_delete_attr File_iwrite Info_free Win_fence File_iwrite_at Info_get_nkeys Win_free File_iwrite_shared
Info_get_nthkey Win_free_keyval File_open Init_thread Win_get_attr File_preallocate Is_thread_main Win_get_group
File_read Initialized Win_get_name File_read_all Pack_external Win_lock File_read_all_begin Pack_external_size Win_post
File_read_all_end Put Win_set_attr File_read_at Query_thread Win_set_name File_read_at_all Register_datarep Win_start
File_read_at_all_begin Request_get_status Win_test File_read_at_all_end Status_set_cancelled Win_unlock
File_read_ordered Status_set_elements Win_wait
"""
CSRC = Path(__file__).resolve().parents[2] / "csrc"
TEMPLATES = CSRC / "mpiwrap" / "templates"
CORE_H = CSRC / "core" / "core.h"


@pytest.fixture(scope="module")
def mpi(mpi: mpis.Mpi) -> Mpi:
    """Each MPI installation."""
    found = find_mpi(str(mpi.mpicc))
    assert found is not None
    return found


@pytest.fixture(scope="module")
def functions(mpi: Mpi) -> list[MpiFunction]:
    return mpi_header.functions(mpi.preprocessed, mpi.library)


@pytest.fixture(scope="module")
def compiled(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The shim's source and object file, compiled with warnings as errors."""
    place = tmp_path_factory.mktemp("shim")
    shim.write_source(mpi, place / "shim.c")
    # The wrappers of all MPIs come from the same templates: one MPI shows the warnings that need an optimiser.
    quick = () if Path(mpi.mpicc).parent == BIN else ("-O0",)
    shim.compile_shim(mpi, place / "shim.c", place / "shim.o", ("-Wall", "-Wextra", "-Wshadow", "-Werror", *quick))
    return (place / "shim.c").read_text(), place / "shim.o"


def nm(path: Path, *options: str) -> dict[str, set[str]]:
    """Names of symbols by nm's letter for their type."""
    found: dict[str, set[str]] = {}
    shown = subprocess.run(["nm", *options, str(path)], capture_output=True, text=True, check=True).stdout
    for line in shown.splitlines():
        letter, name = line.split()[-2:]
        found.setdefault(letter, set()).add(name.split("@")[0])
    return found


def test_prototypes() -> None:
    text = """
    #define MPI_MACRO(a) int MPI_Not_this(int a);
    extern int MPI_One(const void *buf, int n[], MPI_Comm) __attribute__((visibility("default"), tagged(1, (2))));
    int PMPI_One(void);
    MPI_Fint MPI_Two(int ranges[][3], void (*fn)(MPI_Comm *, int *, ...)); int MPI_Three(const int level, ...);
    typedef int (MPI_Kind_function)(MPI_Comm, int);
    int QMPI_One(int); static inline int other(int MPI_x);
    unsigned char *MPIX_Four(char ***argv);
    """
    found = mpi_header.prototypes(text)
    assert set(found) == {"MPI_One", "PMPI_One", "MPI_Two", "MPI_Three", "MPIX_Four"}
    assert found["MPI_One"] == (
        "int",
        (Argument("const void *buf", "buf"), Argument("int n[]", "n"), Argument("MPI_Comm a2", "a2")),
        False,
    )
    assert found["PMPI_One"] == ("int", (), False)
    assert found["MPI_Two"] == (
        "MPI_Fint",
        (Argument("int ranges[][3]", "ranges"), Argument("void (*fn)(MPI_Comm *, int *, ...)", "fn")),
        False,
    )
    assert found["MPI_Three"] == ("int", (Argument("const int level", "level"),), True)
    assert found["MPIX_Four"] == ("unsigned char *", (Argument("char ***argv", "argv"),), False)


def test_standard() -> None:
    known = mpi_header.standard()
    assert known["MPI_Isend"][-2:] == (
        ArgumentMeaning("comm", "COMMUNICATOR", "in", False),
        ArgumentMeaning("request", "REQUEST", "out", False),
    )
    assert [m.name for m in known["MPI_Isend_c"]] == [m.name for m in known["MPI_Isend"]]
    assert known["MPI_Waitall"][1].array
    assert "MPI_Address" not in known
    assert "MPI_Barrier_c" not in known
    assert len(known) == 690


def test_a_wrapper_is_its_template_with_the_header_filled_in() -> None:
    templates = generate.read_templates(TEMPLATES)
    dup = MpiFunction(
        name="MPI_Comm_dup",
        result="int",
        arguments=(Argument("MPI_Comm old", "old"), Argument("MPI_Comm *fresh", "fresh")),
        variadic=False,
        meanings=mpi_header.standard()["MPI_Comm_dup"],
    )
    assert generate.wrapper(dup, templates).splitlines() == [
        "VT_WRAPPER int MPI_Comm_dup(MPI_Comm old, MPI_Comm *fresh)",
        "{",
        "    const uint32_t vt_region = vt_mpi_track(VT_F_MPI_Comm_dup);",
        "    if (!vt_region) return VT_MPI_NEXT(MPI_Comm_dup)(old, fresh);",
        "    const struct vt_mpi_creation vt_creation = vt_mpi_create_begin(vt_region, old, VT_COMM_DUP);",
        "    int vt_result = VT_MPI_NEXT(MPI_Comm_dup)(old, fresh);",
        "    vt_mpi_create_end(vt_region, vt_creation, 0, vt_result, fresh);",
        "    return vt_result;",
        "}",
    ]
    nothing = MpiFunction(name="MPIX_Nothing", result="void", arguments=(), variadic=False, meanings=None)
    text = generate.wrapper(nothing, templates)
    assert "VT_WRAPPER void MPIX_Nothing(void)" in text
    assert "vt_result" not in text


def test_templates_name_functions_of_the_standard_and_parameters_it_gives_them() -> None:
    templates = generate.read_templates(TEMPLATES)
    known = mpi_header.standard()
    own = {"FUNCTION", "BEGIN", "TRACK", "RESULT", "CALL", "IN_COMM", "OUT_COMM", "COMM_FIRST", "BARRIERS"}
    for name, text in templates.sections.items():
        if name.startswith("plain"):
            continue
        assert name in known, name
        assert set(re.findall(r"\$(\w+)", text)) <= own | {m.name for m in known[name]}, name


def test_no_templates(tmp_path: Path) -> None:
    with pytest.raises(VtraceError, match="no templates"):
        generate.read_templates(tmp_path)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("MPI_Send", "POINT2POINT"), ("MPI_Send_c", "POINT2POINT"), ("MPI_Isendrecv", "POINT2POINT"),
        ("MPI_Rsend_init", "POINT2POINT"), ("MPI_Testsome", "POINT2POINT"), ("MPI_Test_cancelled", "FUNCTION"),
        ("MPI_Topo_test", "FUNCTION"), ("MPI_Win_test", "RMA"), ("MPI_Get", "RMA"), ("MPI_Get_count", "FUNCTION"),
        ("MPI_Get_version", "FUNCTION"), ("MPI_Ibarrier", "BARRIER"), ("MPI_Barrier_init", "BARRIER"),
        ("MPI_Reduce", "COLL_ALL2ONE"), ("MPI_Reduce_local", "FUNCTION"), ("MPI_Ireduce_scatter", "COLL_ALL2ALL"),
        ("MPI_Ireduce", "COLL_ALL2ONE"), ("MPI_Scatterv", "COLL_ONE2ALL"), ("MPI_Neighbor_alltoallw", "COLL_ALL2ALL"),
        ("MPI_File_iread_at", "FILE_IO"), ("MPI_File_seek", "FILE_IO_METADATA"), ("MPI_Comm_dup", "COLL_OTHER"),
        ("MPI_Comm_create_keyval", "FUNCTION"), ("MPI_Comm_rank", "FUNCTION"), ("MPI_Status_set_cancelled", "FUNCTION"),
        ("MPI_Grequest_start", "FUNCTION"), ("MPI_Session_init", "FUNCTION"), ("MPI_Psend_init", "POINT2POINT"),
    ],
)  # fmt: skip
def test_roles(name: str, role: str) -> None:
    assert generate.role(name) == role


def test_roles_are_those_of_core_h() -> None:
    text = CORE_H.read_text()
    given = {generate.role(name) for name in mpi_header.standard()}
    assert {f"VT_ROLE_{role}" for role in given} <= set(re.findall(r"VT_ROLE_\w+", text))
    assert len(given) == 10


@mpis.EACH
def test_header_and_standard_agree_on_shapes(functions: list[MpiFunction]) -> None:
    """Prototypes have the standard's number of parameters, and pointers for its output parameters and arrays."""
    by_value = {"COMMUNICATOR", "DATATYPE", "RANK", "TAG", "INFO", "GROUP", "OPERATION"}
    compared = 0
    for function in functions:
        if function.meanings is None or function.variadic:
            continue
        assert len(function.meanings) == len(function.arguments), function
        for meaning, argument in zip(function.meanings, function.arguments, strict=True):
            if meaning.kind in by_value:
                pointed = "*" in argument.text or "[" in argument.text
                assert pointed == (meaning.array or meaning.direction != "in"), (function.name, argument)
                compared += 1
    assert compared > 500


@mpis.EACH
def test_every_function_is_wrapped_but_the_excepted(mpi: Mpi, functions: list[MpiFunction]) -> None:
    names = {function.name for function in generate.wrapped(functions)}
    exported = mpi_header.exported_symbols(mpi.library)
    tables = {f"MPI_{word}" for word in (TABLE_4_7 + TABLE_4_8).split()}
    assert len(tables) == 249
    assert tables & exported <= names
    assert {f"P{name}" for name in names} | names <= exported
    left_out = {name for name in mpi_header.prototypes(mpi.preprocessed) if not name.startswith("P")} - names
    assert not [n for n in left_out if not re.search("_FN|_NULL", n) and {n, f"P{n}"} <= exported]


@mpis.EACH
def test_non_blocking_and_persistent_twins_have_records(functions: list[MpiFunction]) -> None:
    templates = generate.read_templates(TEMPLATES)
    plain = templates.sections["plain"]
    blocking = [f.name for f in functions if "MPI_I" + f.name[4:].lower() in {g.name for g in functions}]
    assert {"MPI_Bcast", "MPI_Reduce_scatter_block", "MPI_Neighbor_alltoallw"} <= set(blocking)
    twins = {"MPI_I" + name[4:].lower() for name in blocking} | {f"{name}_init" for name in blocking}
    left_out = {f.name for f in functions if f.name in twins and templates.of(f) == plain}
    assert not left_out


@mpis.EACH
def test_large_counts_have_the_records_of_their_twins(functions: list[MpiFunction]) -> None:
    templates = generate.read_templates(TEMPLATES)
    large = [f for f in functions if f.name in ("MPI_Send_c", "MPI_Irecv_c", "MPI_Alltoallv_c", "MPI_Bcast_c")]
    if not large:
        pytest.skip("this MPI has no large-count functions")
    assert not [f.name for f in large if templates.of(f) == templates.sections["plain"]]


@mpis.EACH
def test_the_shim_defines_what_the_library_has_and_nothing_else_that_shows(
    mpi: Mpi, compiled: tuple[str, Path]
) -> None:
    symbols = nm(compiled[1])
    exported = nm(mpi.library, "-D", "--defined-only")
    library = set().union(*exported.values())
    assert len(symbols["W"]) > 300
    assert "w" not in symbols
    assert symbols["W"] <= exported.get("T", set()) | exported.get("W", set())
    assert not [name for letter in "TDBRV" for name in symbols.get(letter, set()) if not name.startswith("vt_")]
    core = (paths.LIB / "include" / "core.h").read_text()
    for name in symbols["U"] - library:
        known = re.search(rf"\b{name}\(|^extern .*\b{name} ", core, re.MULTILINE) or name in {
            "dlopen", "dlsym", "dladdr", "dl_iterate_phdr", "__errno_location", "sched_yield", "memcpy", "memset",
            "strlen", "strnlen", "strchr", "strrchr", "strcmp", "strncmp", "strspn", "strcspn", "strstr",
            "strncat", "strtoull", "snprintf", "getenv",
            "environ", "__environ", "getcwd", "getppid", "access", "clock_gettime", "syscall", "__tls_get_addr",
            "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail",
        }  # fmt: skip
        assert known, f"the shim needs {name}"
    shown = subprocess.run(["readelf", "-Ws", str(compiled[1])], capture_output=True, text=True, check=True).stdout
    assert re.search(r"DEFAULT +\d+ MPI_Send$", shown, re.MULTILINE)
    assert not re.search(r"GLOBAL +DEFAULT +\d+ vt_mpi_\w+$", shown, re.MULTILINE)


@mpis.EACH
def test_the_shim_bears_a_note(mpi: Mpi, compiled: tuple[str, Path]) -> None:
    from elftools.elf.elffile import ELFFile

    with compiled[1].open("rb") as file:
        section = ELFFile(file).get_section_by_name(".note.vtrace")
        assert section is not None
        notes = list(section.iter_notes())
    assert len(notes) == 1
    assert notes[0]["n_name"] == "vtrace"
    text = notes[0]["n_descdata"].rstrip(b"\0").decode()
    assert text.splitlines()[0] == f"mpi={mpi.label}"
    abi = re.search(r"#define VT_ABI (\d+)", CORE_H.read_text())
    assert abi is not None
    assert f"abi={abi[1]}" in text.splitlines()


@mpis.EACH
def test_wrappers_use_no_name_twice(compiled: tuple[str, Path]) -> None:
    defined = re.findall(r"^VT_WRAPPER .*?\b(MPIX?_\w+)\(", compiled[0], re.MULTILINE)
    assert len(defined) == len(set(defined)) > 300
