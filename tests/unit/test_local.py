# SPDX-License-Identifier: BSD-3-Clause
"""Reading local files: heads, blocks, chunks, and the choice between two copies of a chunk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.synthetic_runs import local_files as lf
from vtrace.errors import FormatError, VtraceError
from vtrace.io.local import records as r
from vtrace.io.local.local_files import INDEX, LocalFile, Stream, open_local, read_head, read_uctl, streams


def chunks(count: int, location: int = 0) -> list[lf.Chunk]:
    """Chunks of one call each, of function 10 * sequence, so that tests can identify each chunk."""
    found = []
    for n in range(count):
        chunk = lf.Chunk(location, n, 1000 + 100 * n, lost=n, pair=(n, n + 1, n + 2), thread=50 + n)
        found.append(chunk.enter(10 * n, 5).leave(10 * n, 5))
    return found


def only(files: list[LocalFile], key: tuple[int, int] = (r.EVENTS, 0)) -> Stream:
    return streams(files)[key]


def test_head(tmp_path: Path) -> None:
    path = tmp_path / "a.3.events.z"
    path.write_bytes(
        lf.write_head(
            r.EVENTS, rank=2, world_size=4, location=3, host="höst", pid=9, start=11, pair=(1, 2, 3), parent_pid=5,
            parent_start=6, forked=1, prefix="heat", directory="/gdir", buffer="/ldir/heat.buffer", world=99,
        )
    )  # fmt: skip
    head = read_head(path)
    assert (head.path, head.content, head.rank, head.world_size, head.location) == (path, r.EVENTS, 2, 4, 3)
    assert head.process == ("höst", 9, 11)
    assert (head.parent, head.forked, head.pair, head.world) == ((5, 6), True, (1, 2, 3), 99)
    assert (head.prefix, head.directory, head.buffer) == ("heat", "/gdir", "/ldir/heat.buffer")
    assert (head.run, head.tool, head.clock, head.ticks_per_second) == (b"R" * 16, "vtrace 0.1.0", r.CLOCK_TSC, 10**9)


def test_head_without_rank_and_parent(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(lf.write_head(r.DEFINITION_DATA, rank=None, world_size=0))
    assert (read_head(path).rank, read_head(path).parent, read_head(path).forked) == (None, None, False)


HEAD = lf.write_head(r.EVENTS)
OTHER = lf.write_head(r.EVENTS, version=1, tool="vtrace 9.1")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "not a file of vtrace"),
        (b"\x7fELF" + bytes(3000), "not a file of vtrace"),
        (HEAD.replace(b"\r\n", b"\n", 1), "text mode"),
        (HEAD[:5], "damaged or cut"),
        (HEAD[:2000], "cut at byte 2000"),
        (OTHER, "format 1 at byte 8, written by vtrace 9.1; vtrace 0.1.0 reads format 3"),
        (HEAD[:48] + b"\x07" + HEAD[49:], "wrong checksum"),
        (HEAD[:10] + b"\x09" + HEAD[11:], "unknown content 9 at byte 10"),
        (lf.write_head(r.EVENTS, head_bytes=4096), "head of 4096 bytes at byte 12"),
    ],
)
def test_wrong_heads(tmp_path: Path, data: bytes, text: str) -> None:
    path = tmp_path / "x.1.def.z"
    path.write_bytes(data)
    for read in (read_head, open_local):
        with pytest.raises(FormatError) as caught:
            read(path)
        assert str(path) in str(caught.value)
        assert text in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        for read in (read_head, open_local):
            with pytest.raises(VtraceError, match=str(path)):
                read(path)


@pytest.mark.parametrize("codec", [r.CODEC_RAW, r.CODEC_ZSTD_COLUMNS, r.CODEC_VARINT])
def test_blocks_are_indexed(tmp_path: Path, codec: int) -> None:
    path = lf.write_events(tmp_path / "e", chunks(3, location=2), codec=codec)
    with open_local(path) as file:
        assert file.cut is None
        assert file.blocks.dtype == INDEX
        for n, row in enumerate(file.blocks):
            assert (row["form"], row["content"], row["codec"], row["location"]) == (0, r.EVENTS, codec, 2)
            assert (row["sequence"], row["thread"], row["records"], row["lost"]) == (n, 50 + n, 2, n)
            assert (row["ticks"], row["end_ticks"], row["raw_bytes"]) == (1000 + 100 * n, 1010 + 100 * n, 16)
            assert row["classes"] == r.CLASS_FUNCTION | r.CLASS_NEW_CODE
            assert tuple(row["pair"]) == (n, n + 1, n + 2)
            assert file.read(int(row["address"]) - file.base, 4) == r.BLOCK_MAGIC
        assert len(file.blocks) == 3


def test_many_blocks_are_indexed_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lf.write_events(tmp_path / "e", chunks(5))
    whole = open_local(path)
    monkeypatch.setattr("vtrace.io.local.index._BATCH", 2)
    again = open_local(path)
    assert [*again.blocks["sequence"]] == [0, 1, 2, 3, 4]
    assert [*(again.blocks["address"] - again.base)] == [*(whole.blocks["address"] - whole.base)]


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.1.def.z")
    for read in (read_head, open_local, read_uctl):
        for path in (tmp_path / "a.1.def.z", tmp_path):
            with pytest.raises(VtraceError, match=f"cannot read {path}: not a regular file"):
                read(path)


def test_an_empty_file_has_an_empty_stream(tmp_path: Path) -> None:
    path = lf.write_defs(tmp_path / "d", [], location=4)
    with open_local(path) as file:
        stream = only([file], (r.DEFINITION_DATA, 4))
        assert (len(stream.index), stream.problems) == (0, [])


def block_start(n: int) -> int:
    return r.FILE_HEAD + sum(len(lf.block(c)) for c in chunks(n))


@pytest.mark.parametrize(("kept", "blocks"), [(1, 1), (200, 1), (367, 1), (368, 1), (378, 1)])
def test_a_cut_file_gives_what_is_whole(tmp_path: Path, kept: int, blocks: int) -> None:
    path = lf.write_events(tmp_path / "e", chunks(2))
    os.truncate(path, block_start(1) + kept)
    with open_local(path) as file:
        assert len(file.blocks) == blocks
        assert file.cut is not None
        assert file.cut.startswith(f"{path}: cut")
        assert f"byte {block_start(1)}" in file.cut
        assert only([file]).problems == [file.cut]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"magic": b"XXXX"}, "no block"),
        ({"version": 4}, "format 4"),
        ({"codec": 4}, "damaged"),
        ({"content": r.DEFINITION_DATA}, "damaged"),
        ({"raw_bytes": r.RAW_MAX + 8}, "damaged"),
        ({"raw_bytes": 12}, "damaged"),
        ({"nopen": 33}, "damaged"),
        ({"stored_bytes": 0xFFFFFFFF}, "cut within the block"),
    ],
)
def test_bad_block_heads_end_the_index(tmp_path: Path, fields: dict[str, int], text: str) -> None:
    first, second = chunks(2)
    path = tmp_path / "e"
    path.write_bytes(lf.write_head(r.EVENTS) + lf.block(first) + lf.block(second, **fields))
    with open_local(path) as file:
        assert len(file.blocks) == 1
        assert file.cut is not None
        assert text in file.cut
        assert f"{path}" in file.cut
        assert f"byte {block_start(1)}" in file.cut


def test_chunks_of_a_buffer(tmp_path: Path) -> None:
    one, two, three = chunks(3)
    path = lf.write_buffer(tmp_path / "b", [two, bytes(r.CHUNK_SIZE), one, three], filling=[3])
    with open_local(path) as file:
        assert file.cut is None
        assert [int(row["sequence"]) for row in file.blocks] == [1, 0, 2]
        assert [int(row["classes"]) for row in file.blocks] == [3, 3, r.CLASS_ALL]
        assert [int(row["end_ticks"]) for row in file.blocks] == [1110, 1010, 0]
        assert all(row["form"] == 1 and row["raw_bytes"] == 16 for row in file.blocks)
        stream = only([file])
        assert stream.index["sequence"].tolist() == [0, 1, 2]
        assert stream.where(0) == (path, 3 * r.CHUNK_SIZE)
        assert stream.problems == []


def test_the_chunk_behind_the_head_of_a_buffer(tmp_path: Path) -> None:
    """The chunk after the head is shorter than others. If its head says otherwise, the chunk is damaged."""
    last = lf.Chunk(sequence=1, content=r.DEFINITION_DATA).define("NOTE", "the end")
    path = lf.write_buffer(tmp_path / "b", chunks(1))
    data, part = path.read_bytes(), lf.chunk_bytes(last)[: r.CHUNK_SIZE - r.LAST_CHUNK]
    path.write_bytes(data[: r.LAST_CHUNK] + part + data[r.CHUNK_SIZE :])
    with open_local(path) as file:
        assert file.cut is None
        assert [(int(row["content"]), int(row["sequence"])) for row in file.blocks] == [(2, 1), (1, 0)]
        assert int(file.blocks[0]["address"]) - file.base == r.LAST_CHUNK
        assert int(file.blocks[0]["raw_bytes"]) == len(last.data)
    head = int(r.CHUNK.fields["head"][1]) + r.LAST_CHUNK  # type: ignore[index]
    for end in (0, r.CHUNK_SIZE - r.LAST_CHUNK + 8):
        path.write_bytes(path.read_bytes()[:head] + end.to_bytes(2, "little") + path.read_bytes()[head + 2 :])
        with open_local(path) as file:
            assert file.cut is not None
            assert "damaged chunk at byte 4096" in file.cut
            assert len(file.blocks) == 1


def test_a_full_chunk_of_a_buffer(tmp_path: Path) -> None:
    chunk = lf.Chunk()
    for _ in range(r.RAW_MAX // 8):
        chunk.enter(1)
    with open_local(lf.write_buffer(tmp_path / "b", [chunk])) as file:
        assert file.blocks["raw_bytes"].tolist() == [r.RAW_MAX]


@pytest.mark.parametrize("fields", [{"state": 3}, {"head": 511}, {"head": 517}, {"content": 5}, {"nopen": 33}])
def test_a_damaged_chunk_is_reported_and_left_out(tmp_path: Path, fields: dict[str, int]) -> None:
    one, two = chunks(2)
    path = lf.write_buffer(tmp_path / "b", [lf.chunk_bytes(one, **fields), two])
    with open_local(path) as file:
        assert file.blocks["sequence"].tolist() == [1]
        assert file.cut == f"{path}: a damaged chunk at byte {r.CHUNK_SIZE}"
        assert file.cut in only([file]).problems


def test_a_cut_buffer(tmp_path: Path) -> None:
    path = lf.write_buffer(tmp_path / "b", chunks(2))
    os.truncate(path, 3 * r.CHUNK_SIZE - 100)
    with open_local(path) as file:
        assert file.blocks["sequence"].tolist() == [0]
        assert file.cut == f"{path}: cut at byte {3 * r.CHUNK_SIZE - 100}"


def test_buffer_goes_on_where_the_file_ends(tmp_path: Path) -> None:
    one, two, three = chunks(3)
    with (
        open_local(lf.write_events(tmp_path / "e", [one])) as file,
        open_local(lf.write_buffer(tmp_path / "b", [three, two, chunks(1, location=1)[0]])) as buffer,
    ):
        found = streams([file, buffer])
        assert found.keys() == {(r.EVENTS, 0), (r.EVENTS, 1)}
        assert found[r.EVENTS, 0].index["form"].tolist() == [0, 1, 1]
        assert found[r.EVENTS, 0].problems == []
        assert found[r.EVENTS, 1].index["form"].tolist() == [1]


def test_of_two_copies_the_good_block_wins(tmp_path: Path) -> None:
    with (
        open_local(lf.write_buffer(tmp_path / "b", chunks(2))) as buffer,
        open_local(lf.write_events(tmp_path / "e", chunks(2))) as file,
    ):
        stream = only([buffer, file])
        assert stream.index["form"].tolist() == [0, 0]
        assert stream.problems == []


def test_the_chunk_replaces_a_damaged_and_a_cut_block(tmp_path: Path) -> None:
    one, two = chunks(2)
    path = tmp_path / "e"
    path.write_bytes(lf.write_head(r.EVENTS) + lf.block(one, checksum=1) + lf.block(two)[:-1])
    with open_local(path) as file, open_local(lf.write_buffer(tmp_path / "b", [one, two])) as buffer:
        assert file.cut is not None
        stream = only([file, buffer])
        assert stream.index["form"].tolist() == [1, 1]
        assert stream.problems == []


@pytest.mark.parametrize(("in_buffer", "lost"), [(False, [2]), (True, [4])], ids=["blocks", "chunk"])
def test_of_copies_of_a_profile_the_newest_holds(tmp_path: Path, in_buffer: bool, lost: list[int]) -> None:
    """The chunk in the buffer, else the last good one of three blocks with one sequence. lost: a mark of each copy."""
    copies = [lf.Chunk(content=r.PROFILE, lost=n).enter(0, 5) for n in (1, 2, 3, 4)]
    path = tmp_path / "e"
    path.write_bytes(lf.write_head(r.EVENTS) + b"".join(map(lf.block, copies[:2])) + lf.block(copies[2], checksum=1))
    with open_local(path) as file, open_local(lf.write_buffer(tmp_path / "b", copies[3:] * in_buffer)) as buffer:
        assert only([file, buffer], (r.PROFILE, 0)).index["lost"].tolist() == lost


def test_holes_are_reported(tmp_path: Path) -> None:
    every = chunks(6)
    path = lf.write_events(tmp_path / "e", [every[1], every[2], every[5]])
    with open_local(path) as file:
        stream = only([file])
        assert stream.index["sequence"].tolist() == [1, 2, 5]
        first = r.FILE_HEAD
        third = first + len(lf.block(every[1])) + len(lf.block(every[2]))
        assert stream.problems == [
            f"{path}: block 0 is missing before byte {first} (location 0)",
            f"{path}: blocks 3 to 4 are missing before byte {third} (location 0)",
        ]


def test_uctl(tmp_path: Path) -> None:
    path = tmp_path / "a.uctl"
    path.write_text(f"vtrace uctl 1\nrun {'0f' * 16}\nworld ff\nranks 4\ntool vtrace 0.1.0\n")
    uctl = read_uctl(path)
    assert (uctl.run, uctl.world, uctl.ranks, uctl.tool) == (b"\x0f" * 16, 255, 4, "vtrace 0.1.0")


@pytest.mark.parametrize(
    "text",
    ["", "hello", "vtrace uctl 2\n", "vtrace uctl 1\nrun 00\nworld 1\nranks 1\ntool x\n", "vtrace uctl 1\nworld 1\n"],
)
def test_bad_uctl(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.uctl"
    path.write_text(text)
    with pytest.raises(FormatError, match=str(path)):
        read_uctl(path)


def test_a_closed_file_is_unmapped(tmp_path: Path) -> None:
    file = open_local(lf.write_events(tmp_path / "e", chunks(1)))
    file.close()
    with pytest.raises(ValueError, match="closed"):
        file.read(0, 1)
