# SPDX-License-Identifier: BSD-3-Clause
"""The timeline of vtrace view: the data of any window of time, the server, and the page.

tiles.py builds tiles (times in bins) and tile_cache.py finds them; window_reader.py reads single events; the files
*_data.py answer requests of viewer_site.py, which server.py serves; page/ runs in the browser. An answer depends only
on the archive and the request, so a page may keep answers. Several threads may ask at once. Names from a trace are
data, never markup.
"""
