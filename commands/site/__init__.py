"""The documentation as a site: `make docs` builds it in build/site, and fails if a link or an anchor is broken.

The pages are those of docs/, which forges show as they are, with README.md as the first page. `pages` copies them with
links that fit the site, `samples` adds what Quorate itself writes, Material for MkDocs makes the HTML, and `checks`
reports what it does not.
"""
