# SPDX-License-Identifier: BSD-3-Clause
"""A terminal, a browser and a second user of the machine.

browser.py owns Chromium, viewer.py the page of vtrace view in the browser, axe.py looks for what keeps people with
disabilities from using a page, page_site.py asks the page's site without a server. No browser sends requests to other
machines.
"""
